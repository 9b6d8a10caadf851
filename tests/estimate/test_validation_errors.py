"""The error that is due to the choice of the validation rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import shapband as sb
from shapband.errors import InvalidInput
from shapband.estimate.differences import independent_difference
from shapband.estimate.estimate import Estimate
from shapband.estimate.estimator import Estimator
from shapband.estimate.joint import difference, probability_above, two_sided_p
from shapband.estimate.validation import ValidationErrors, errors_apart
from shapband.sampling.design import Design
from shapband.solvers.base import Solution


def test_effects_that_are_the_same_in_all_games_give_the_jackknife() -> None:
    # The mean of 20 rows, with two rows in each of 10 folds: the jackknife of a mean has the
    # variance of the folds' means over their number.
    rows = np.random.default_rng(0).normal(size=(10, 2))
    without = [np.delete(rows, fold, axis=0).mean() for fold in range(10)]
    folds = np.tile((np.array(without) - rows.mean())[None, :, None], (5, 1, 1))
    found = ValidationErrors.of(folds)
    assert found is not None
    assert found.variance[0] == pytest.approx(rows.mean(axis=1).var(ddof=1) / 10, rel=1e-12)
    assert found.freedom.tolist() == [9]


def test_differences_from_game_to_game_are_subtracted() -> None:
    # Effects with variance 1 between folds, and noise with variance 6 between games.
    rng = np.random.default_rng(1)
    found, raw = [], []
    for _ in range(400):
        effects = rng.normal(size=(1, 10, 1)) + rng.normal(0, np.sqrt(6), size=(12, 10, 1))
        made = ValidationErrors.of(effects)
        assert made is not None
        found.append(made.variance[0])
        mean = effects.mean(axis=0)[:, 0]
        raw.append(0.9 * ((mean - mean.mean()) ** 2).sum())
    expected = 0.9 * 9
    error = np.std(found) / 20
    assert abs(np.mean(found) - expected) < 4 * error + 0.05  # a part is kept where little is left
    assert np.mean(raw) - expected > 10 * error  # a control: without the subtraction


def test_subtracted_noise_lowers_the_degrees_of_freedom() -> None:
    # The same effects in all games: nothing is subtracted, and 10 folds give 9 degrees of freedom.
    rng = np.random.default_rng(4)
    effects = rng.normal(size=(1, 10, 1))
    same = ValidationErrors.of(np.tile(effects, (12, 1, 1)))
    assert same is not None
    assert same.freedom.tolist() == [9.0]
    made = [
        ValidationErrors.of(
            rng.normal(size=(1, 10, 1)) + rng.normal(0, np.sqrt(3), size=(12, 10, 1))
        )
        for _ in range(2000)
    ]
    # A variance with d degrees of freedom has the relative variance 2 / d.
    variance = np.array([one.variance[0] for one in made if one is not None])
    freedom = np.median([one.freedom[0] for one in made if one is not None])
    assert freedom == pytest.approx(2 * variance.mean() ** 2 / variance.var(), rel=0.15)
    assert freedom < 7
    alone = rng.normal(size=(12, 10, 1))  # all of it is noise
    found = ValidationErrors.of(alone)
    assert found is not None
    assert found.freedom.tolist() == [3.0]
    older = ValidationErrors(np.ones((10, 2)))
    assert older.freedom.tolist() == [9.0, 9.0]
    assert ValidationErrors(np.ones((2, 1)), np.ones(1)).freedom.tolist() == [1.0]


def test_noise_is_subtracted_from_differences_between_providers_too() -> None:
    # Rows move four providers together with variance 1, and each alone with variance 0.05; noise
    # has the variance 3 between games. True variance of a difference: 0.9 * 9 * 2 * 0.05.
    rng = np.random.default_rng(5)
    found, shrunk_alike = [], []
    for _ in range(400):
        rows = rng.normal(size=(1, 10, 1)) + rng.normal(0, np.sqrt(0.05), size=(1, 10, 4))
        folds = rows + rng.normal(0, np.sqrt(3), size=(12, 10, 4))
        made = ValidationErrors.of(folds)
        assert made is not None
        found.append(((made.effects[:, 0] - made.effects[:, 1]) ** 2).sum())
        mean = (folds - folds.mean(axis=1, keepdims=True)).mean(axis=0)
        shrunk = mean * np.sqrt(made.kept)
        shrunk_alike.append(0.9 * ((shrunk[:, 0] - shrunk[:, 1]) ** 2).sum())
    expected = 0.9 * 9 * 2 * 0.05
    # A quarter of the noise may be kept, where little is left.
    assert expected < np.mean(found) < 2.5 * expected
    assert np.mean(shrunk_alike) > 3.5 * expected  # a control: one factor for each provider


def test_unknown_effects_give_no_error() -> None:
    folds = np.zeros((3, 10, 2))
    folds[1, 4, 0] = np.nan
    assert ValidationErrors.of(folds) is None
    assert ValidationErrors.of(np.empty((0, 10, 2))) is None
    constant = ValidationErrors.of(np.zeros((3, 10, 2)))
    assert constant is not None
    assert constant.variance.tolist() == [0, 0]


def _estimate(folds: Any, games: Any) -> Estimate:
    names = tuple("abc"[: games.shape[1]])
    design = Design(names=names, seed=0, draw_sizes=np.full(len(names), 9), estimand="draws")
    estimator = Estimator(design)
    estimator.add(Solution(games, np.zeros_like(games), 0, folds=folds))
    return estimator.estimate()


def test_errors_of_all_causes_add_up_and_keep_their_correlations() -> None:
    rng = np.random.default_rng(2)
    games, folds = rng.normal(size=(40, 3)), rng.normal(size=(12, 10, 3))
    folds[:, :, 1] = folds[:, :, 0]  # the rows move two providers alike
    plain, found = Estimate.of(games), _estimate(folds, games)
    rows = found.moments.validation
    assert rows is not None
    np.testing.assert_allclose(found.errors.total, plain.errors.total + rows.variance)
    covariance, before = found.errors.covariance, plain.errors.covariance
    assert covariance is not None
    assert before is not None
    np.testing.assert_allclose(covariance, before + rows.effects.T @ rows.effects)
    apart = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    assert apart == pytest.approx(before[0, 0] + before[1, 1] - 2 * before[0, 1])  # they cancel
    assert (found.errors.freedom < 39).all()
    assert (found.errors.freedom > rows.freedom.min()).all()


def test_effects_of_the_same_rows_cancel_in_a_comparison() -> None:
    rng = np.random.default_rng(3)
    games, folds = rng.normal(size=(40, 2)), 3 * rng.normal(size=(12, 10, 2))
    other = rng.normal(size=(40, 2))
    all_of_them = (range(2), range(2))
    one, same = _estimate(folds, games), _estimate(folds, other)
    plain = independent_difference(Estimate.of(games), Estimate.of(other), all_of_them)
    found = independent_difference(one, same, all_of_them)
    np.testing.assert_allclose(found.standard_error, plain.standard_error)
    apart = independent_difference(one, _estimate(-folds, other), all_of_them)
    assert (apart.standard_error > 2 * plain.standard_error).all()
    unknown = independent_difference(one, Estimate.of(other), all_of_them)
    assert (unknown.standard_error > plain.standard_error).all()


_ROWS = np.random.default_rng(11).normal(size=(4000, 2))
_TARGETS = _ROWS @ [1.0, 0.5] + 0.5 * _ROWS[:, 0] ** 2 + np.random.default_rng(12).normal(size=4000)


def _covered(repetitions: int, n_games: int) -> tuple[Any, Any]:
    """Whether intervals hold the expectation over draws and validation rows: (repetitions, n)."""
    parts = np.array_split(np.arange(600), 3)
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(_ROWS[at], _TARGETS[at], replace=True))
        for i, at in enumerate(parts)
    ]
    given: dict[str, Any] = {"sampling": sb.Fresh(20)}
    population = sb.LinearUtility(_ROWS[600:], _TARGETS[600:], "r2")
    truth = sb.value(providers, population, n_games=20000, seed=1, **given).expectation
    rng, hits = np.random.default_rng(13), []
    for seed in range(repetitions):
        at = rng.integers(600, 4000, size=80)
        utility = sb.LinearUtility(_ROWS[at], _TARGETS[at], "r2")
        for fixed in (False, True):
            found = sb.value(
                providers, utility, n_games=n_games, seed=seed, fixed_validation=fixed, **given
            )
            low, high = found.interval(0.95).T
            hits.append((low <= truth) & (truth <= high))
    return np.array(hits[::2]), np.array(hits[1::2])


def test_intervals_hold_for_other_validation_rows() -> None:
    covering, fixed = _covered(120, 60)
    assert 0.90 <= covering.mean() <= 0.99  # 95 % with a standard error of 2 % at most
    assert fixed.mean() < 0.6  # a control: errors of these rows alone


@pytest.mark.long
@pytest.mark.parametrize("n_games", [60, 1000])
def test_intervals_hold_for_other_validation_rows_long(n_games: int) -> None:
    covering, fixed = _covered(600, n_games)
    assert 0.93 <= covering.mean() <= 0.97
    assert (covering.mean(axis=0) >= 0.90).all()
    assert fixed.mean() < 0.6


def test_what_depends_on_pools_and_rows_together_is_counted_once() -> None:
    # Rows have the variance 1, rows and pools together 0.5, and single games 5 beside it.
    rng = np.random.default_rng(6)
    found, twice = [], []
    for _ in range(400):
        rows = rng.normal(size=(1, 10, 1)) + rng.normal(0, np.sqrt(0.5), size=(1, 10, 1))
        folds = rows + rng.normal(0, np.sqrt(5), size=(20, 10, 1))
        for kept, between in ((found, 0.1), (twice, 0.0)):
            made = ValidationErrors.of(folds, between)
            assert made is not None
            kept.append(made.variance[0])
    expected, error = 0.9 * 9, np.std(found) / 20
    assert abs(np.mean(found) - expected) < 4 * error + 0.15  # a part is kept where little is left
    assert np.mean(twice) - expected > 6 * error  # a control


def difference_levels(repeats: int) -> tuple[float, float]:
    """Intervals of a difference that hold, and those with the freedom of single errors.

    Folds of rows move both providers alike, and each alone by much less, which the games hide.
    """
    from scipy.special import stdtrit

    rng, held = np.random.default_rng(7), np.zeros(2)
    for _ in range(repeats):
        rows = 3 * rng.normal(size=(10, 1)) + rng.normal(size=(10, 2))
        mean = rows.mean(axis=0)
        without = (mean * 10 - rows) / 9 - mean
        folds = without + rng.normal(0, 0.7, size=(60, 10, 2))
        values = mean + rng.normal(0, 0.3, size=(60, 2))
        estimate = _estimate(folds, values)
        found = difference(estimate, 0, 1)
        of_single = estimate.errors.freedom.min()
        for at, freedom in enumerate((found.freedom, of_single)):
            half = stdtrit(freedom, 0.975) * found.standard_error
            held[at] += abs(found.estimate) <= half
    low, high = held / repeats
    return float(low), float(high)


def test_differences_have_degrees_of_freedom_of_their_own() -> None:
    own, of_single = difference_levels(1500)
    error = np.sqrt(0.05 * 0.95 / 1500)
    assert abs(own - 0.95) < 0.015 + 3 * error
    assert of_single < own - 0.01  # a control


def test_without_validation_rows_differences_have_the_freedom_of_the_games() -> None:
    estimate = Estimate.of(np.random.default_rng(0).normal(size=(40, 3)))
    found = estimate.errors.difference_freedom(np.full((3, 3), 0.1))
    np.testing.assert_allclose(found, 39)
    assert (estimate.errors.difference_freedom(np.zeros((3, 3))) == 39).all()


def test_the_probability_of_being_above_agrees_with_the_difference() -> None:
    """With few rows that matter, both have the degrees of freedom of the difference."""
    rng = np.random.default_rng(3)
    estimate = _estimate(rng.normal(size=(60, 10, 2)), rng.normal(0.1, 0.3, size=(60, 2)))
    found = difference(estimate, 0, 1)
    above = probability_above(estimate)
    assert above is not None
    p_value = 2 * min(above[0, 1], above[1, 0])
    assert p_value == pytest.approx(float(two_sided_p(found, np.ones(1))[0]))
    assert above[0, 1] + above[1, 0] == pytest.approx(1)
    assert found.freedom < estimate.errors.freedom.min()  # a control: not those of single values


def _apart(effects: Any, other: Any, *, paired: bool = False, noise: float = 3.0) -> Any:
    """Mean variance of a difference with these effects of 10 folds, from 400 pairs of 12 games."""
    rng = np.random.default_rng(8)
    none = np.zeros(2)
    made = []
    for _ in range(400):
        first, second = (np.sqrt(noise) * rng.normal(size=(12, 10, 2)) for _ in range(2))
        rows = rng.normal(size=(2, 10, 2))
        pair = rows[0] * effects + first, rows[0] * effects + rows[1] * other + second
        if paired:
            pair = pair[0], pair[1] - second + first
        made.append(errors_apart(*pair, (none, none), paired=paired))
    return np.mean([one.variance for one in made])


def test_noise_of_the_games_is_subtracted_from_what_the_same_rows_leave() -> None:
    # Each valuation has the noise 0.9 * 9 * 3 / 12, whatever the common effects are.
    noise = 2 * 0.9 * 9 * 3 / 12
    assert _apart(1.0, 0.0) < 0.45 * noise
    assert _apart(5.0, 0.0) == pytest.approx(_apart(1.0, 0.0))
    # Effects that do differ stay: their variance is 0.9 * 9.
    assert _apart(1.0, 1.0) == pytest.approx(0.9 * 9, rel=0.1)
    assert _apart(1.0, 1.0, noise=0.0) == pytest.approx(0.9 * 9, rel=0.1)
    # Games with the same draws have the same noise, which cancels and is not subtracted.
    assert _apart(1.0, 0.0, paired=True) == pytest.approx(0.0, abs=1e-12)
    assert _apart(1.0, 0.3, paired=True) == pytest.approx(0.9 * 9 * 0.09, rel=0.1)


def test_what_depends_on_the_pools_is_subtracted_from_differences_too() -> None:
    rng = np.random.default_rng(9)
    folds = rng.normal(size=(2, 12, 10, 2)) + rng.normal(size=(2, 1, 10, 2))
    none, some = np.zeros(2), np.full(2, 0.05)
    plain, pooled = (
        errors_apart(*folds, (none, between), paired=False).variance for between in (none, some)
    )
    assert (pooled <= plain).all()
    assert (pooled < plain).any()


def _pair_of_valuations(seed: int, seeds: tuple[int, int]) -> list[sb.Valuation]:
    rng = np.random.default_rng(seed)
    parts = np.array_split(np.arange(600), 3)
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(_ROWS[at], _TARGETS[at], replace=True))
        for i, at in enumerate(parts)
    ]
    at = rng.integers(600, 4000, size=80)
    utility = sb.LinearUtility(_ROWS[at], _TARGETS[at], "r2")
    return [
        sb.value(providers, utility, sampling=sb.Fresh(20), n_games=600, seed=one) for one in seeds
    ]


def test_comparisons_on_the_same_rows_have_smaller_errors_than_without_the_subtraction() -> None:
    found, older = [], []
    for seed in range(25):
        pair = _pair_of_valuations(seed, (seed, 1000 + seed))
        found.append(sb.compare(*pair).standard_error)
        without = [_as_older(one) for one in pair]
        older.append(sb.compare(*without).standard_error)
    assert np.median(found) < 0.9 * np.median(older)


def _as_older(valuation: sb.Valuation) -> sb.Valuation:
    """The valuation as it is read from a document without the effects in single games."""
    document = json.loads(valuation.to_json())
    del document["moments"]["validation"]["games"]
    return sb.Valuation.from_json(json.dumps(document))


def test_documents_keep_the_effects_in_single_games_and_are_read_without_them() -> None:
    one, other = _pair_of_valuations(0, (0, 1))
    again = [sb.Valuation.from_json(each.to_json()) for each in (one, other)]
    found, read = sb.compare(one, other), sb.compare(*again)
    np.testing.assert_array_equal(read.standard_error, found.standard_error)
    older = sb.compare(_as_older(one), other)
    assert (older.standard_error > 0).all()
    document = json.loads(one.to_json())
    document["moments"]["validation"]["games"] = [[[0.0, 0.0]]]
    with pytest.raises(InvalidInput, match="effects of every fold"):
        sb.Valuation.from_json(json.dumps(document))
