"""The truth that intervals are compared with, and the levels, on numbers made up for it."""

import numpy as np
import pytest

from coverage_study.levels import Level, expectation_levels, expectation_misses, variance_misses
from coverage_study.truth import Results, between_pools, expectation_target

RNG = np.random.default_rng(0)
POOLS, GAMES, BETWEEN, WITHIN = 4000, 1000, 0.5, 30.0


def look(means, half, within=WITHIN):
    full = np.full_like(means, 1.0)
    found = {
        "mean": means,
        "error": full * np.sqrt(BETWEEN + within / GAMES),
        "low": means - half,
        "high": means + half,
        "alone": full * 1.96 * np.sqrt(within / GAMES),
        "within": full * within,
        "variance": full * within,
        "variance_low": full * 0.9 * within,
        "variance_high": full * 1.1 * within,
    }
    return {name: values.tolist() for name, values in found.items()}


def results(sampling, means, half=1.0, **extra):
    records = [
        {"group": None, "at": {str(GAMES): look(mean, half)}}
        | {name: values[at].tolist() for name, values in extra.items()}
        for at, mean in enumerate(means)
    ]
    return Results(sampling, {"records": records})


def pooled_means():
    return 3.0 + RNG.normal(size=(POOLS, 2)) * np.sqrt(BETWEEN + WITHIN / GAMES)


def test_a_pool_is_compared_with_the_mean_of_all_others():
    means = np.array([[1.0], [2.0], [6.0]])
    found = results("pooled", means)
    assert expectation_target(found, found).tolist() == [[4.0], [3.5], [1.5]]


def test_draws_without_replacement_are_compared_with_fresh_games():
    fresh = results("fresh", np.array([[1.0], [3.0]]))
    found = results("subsets", np.array([[5.0], [6.0], [7.0]]))
    assert expectation_target(found, fresh).tolist() == [[2.0], [2.0], [2.0]]


def test_the_variance_between_pools_is_found():
    found = results("pooled", pooled_means())
    # Standard error of a variance: a factor √(2 / 4000).
    fresh = results("fresh", np.array([[3.0, 3.0]] * 2))
    np.testing.assert_allclose(between_pools(found, fresh), BETWEEN, rtol=4 * np.sqrt(2 / POOLS))


@pytest.mark.parametrize(("widened", "least", "most"), [(1.0, 0.94, 0.96), (0.5, 0.6, 0.72)])
def test_intervals_of_the_right_width_hold_and_others_do_not(widened, least, most):
    half = widened * 1.96 * np.sqrt(BETWEEN + WITHIN / GAMES)
    fresh = results("fresh", np.array([[3.0, 3.0]] * 2))
    (level,) = expectation_levels(results("pooled", pooled_means(), half), fresh)
    assert least < level.mean < most
    assert level.width == pytest.approx(widened, rel=0.05)
    assert level.control < 0.5
    assert level.reported == pytest.approx(1, abs=4 / np.sqrt(2 * POOLS))


def test_stratified_pools_are_compared_at_the_sizes_that_they_chose():
    """A pool with a high error chooses large draws; the truth must not follow the error."""
    error = RNG.normal(size=(POOLS, 1))
    sizes = 60 + np.round(10 * error + RNG.normal(size=(POOLS, 1)))
    others = np.roll(sizes, -1, axis=0)
    slope, level = 12.0, 5.0
    found = results(
        "stratified",
        level + slope * np.log(sizes / 60) + error,
        sizes=sizes,
        other_sizes=others,
        crossed=level + slope * np.log(others / 60) + error,
    )
    expected = level + slope * np.log(sizes / 60)
    np.testing.assert_allclose(expectation_target(found, found), expected, atol=0.08)


def test_misses_are_told():
    good = Level(30, 0.95, 0.01, 0.91, 1.3, 0.5)
    assert expectation_misses("wine-stock", [good]) == []
    bad = Level(200, 0.925, 0.01, 0.88, 1.3, 0.5)
    assert expectation_misses("wine-stock", [bad]) == [
        "mean 92.5 at 200",
        "provider 88.0 at 200",
        "width 1.30 at 200",
    ]
    assert expectation_misses("synthetic-250", [bad]) == ["width 1.30 at 200"]


def test_a_variance_without_a_target_is_as_measured():
    found = results("pooled", pooled_means()[:3])
    levels = [Level(1000, 0.4, 0.01, 0.3)]
    assert variance_misses("gaussian", found, levels) is None
    subsets = results("subsets", pooled_means()[:3])
    assert variance_misses("wine-stock", subsets, levels) == [
        "40.0 at 1,000",
        "provider 30.0 at 1,000",
    ]
    assert variance_misses("ridge", subsets, [Level(1000, 0.9, 0.01, 0.3)]) == []
