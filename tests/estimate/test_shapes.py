"""Constant, two-valued and skewed values: intervals that hold, or say that they cannot be had."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import shapband as sb
from shapband.estimate import intervals

SKEWED = stats.lognorm(0.8)


def estimate_of(values, changing=1.0):
    """Estimate from columns of values, beside a provider whose value changes."""
    other = changing * np.linspace(-1, 1, len(values))[:, None]
    return sb.Estimate.of(np.concatenate([values, other], axis=1))


def covered(draw, n_games, truth, interval=intervals.expectation_interval, runs=1500):
    """Fraction of the runs, side by side, whose interval holds the truth; and the widths."""
    estimate = estimate_of(draw((n_games, runs)), changing=0.0)
    low, high = interval(estimate, 0.95)[:-1].T
    return np.mean((low <= truth) & (truth <= high))


def student_s(estimate, level):
    """The interval as it was."""
    half = stats.t.ppf((1 + level) / 2, estimate.n_games - 1)
    half = half * np.sqrt(estimate.raw_variance / estimate.n_games)
    return np.stack([estimate.expectation - half, estimate.expectation + half], axis=1)


def se(level, runs=1500):
    return np.sqrt(level * (1 - level) / runs)


@pytest.mark.parametrize("n_games", [5, 10, 30])
def test_the_interval_of_a_rare_event_holds_or_is_unbounded(n_games):
    rng = np.random.default_rng(0)

    def event(shape):
        return (rng.random(shape) < 0.096).astype(float)

    assert covered(event, n_games, 0.096) >= 0.95 - 2 * se(0.95)
    variance = 0.096 * 0.904
    assert covered(event, n_games, variance, intervals.variance_interval) >= 0.95 - 2 * se(0.95)
    if n_games < 30:  # Student's interval misses whenever the event is not seen
        assert covered(event, n_games, 0.096, student_s) < 0.7


@pytest.mark.parametrize(
    ("n_games", "least", "student"), [(10, 0.90, 0.91), (30, 0.925, 0.93), (200, 0.935, 0.96)]
)
def test_the_interval_is_longer_on_the_side_of_the_long_tail(n_games, least, student):
    rng = np.random.default_rng(1)

    def draw(shape):
        return rng.lognormal(0.0, 0.8, shape)

    assert covered(draw, n_games, SKEWED.mean()) >= least
    assert covered(draw, n_games, SKEWED.mean(), student_s) <= student


@pytest.mark.parametrize("n_games", [5, 10, 30])
def test_normal_values_keep_their_level(n_games):
    rng = np.random.default_rng(2)
    for interval, truth in (
        (intervals.expectation_interval, 0.0),
        (intervals.variance_interval, 1.0),
    ):
        found = covered(rng.standard_normal, n_games, truth, interval, runs=4000)
        assert 0.95 - 4 * se(0.95, 4000) <= found <= (0.99 if n_games == 5 else 0.985)


def test_the_long_tail_is_on_either_side():
    values = np.random.default_rng(3).lognormal(size=(20, 1))
    right = intervals.expectation_interval(sb.Estimate.of(values), 0.95)[0]
    left = intervals.expectation_interval(sb.Estimate.of(-values), 0.95)[0]
    np.testing.assert_allclose(left, -right[::-1], rtol=1e-12)
    low, high = right - values.mean()
    half = stats.t.ppf(0.975, 19) * stats.sem(values[:, 0])
    assert low == pytest.approx(-half)
    longer = stats.skew(values[:, 0], bias=False) * stats.t.ppf(0.975, 19) / np.sqrt(20) / 2
    assert high == pytest.approx(half * (1 + longer))


@pytest.mark.parametrize(("count", "n_games"), [(1, 5), (4, 5), (3, 10), (17, 40)])
def test_two_values_have_clopper_and_pearson_s_interval(count, n_games):
    events = (np.arange(n_games) < count).astype(float)
    estimate = sb.Estimate.of((3 + 2 * events)[:, None])
    two = estimate.shape.two_values
    assert two.found.all()
    np.testing.assert_allclose([two.low[0], two.spread[0], two.count[0]], [3, 2, count])
    p = stats.binomtest(count, n_games).proportion_ci(0.9)
    expected = 3 + 2 * np.array([p.low, p.high])
    np.testing.assert_allclose(intervals.expectation_interval(estimate, 0.9)[0], expected)
    chances = np.linspace(p.low, p.high, 10_001)
    spread = 4 * chances * (1 - chances)
    np.testing.assert_allclose(
        intervals.variance_interval(estimate, 0.9)[0],
        [spread.min(), max(spread.max(), estimate.variance[0])],
        rtol=1e-6,
    )


def test_a_third_value_is_noticed():
    values = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.001])[:, None]
    assert not sb.Estimate.of(values).shape.two_values.found.any()
    assert not sb.Estimate.of(values[2:4]).shape.two_values.found.any()  # two games do not tell
    assert not sb.Estimate.of(values[:3]).shape.two_values.found.any()


def test_a_single_event_in_many_games_is_two_values():
    values = np.zeros((100_000, 1))
    values[77] = 1.0
    two = sb.Estimate.of(values).shape.two_values
    assert two.found.all()
    assert two.count == 1


def test_a_value_that_never_changed_is_constant_after_36_games():
    for n_games, known in ((5, False), (35, False), (36, True), (200, True)):
        estimate = estimate_of(np.full((n_games, 1), 0.3))
        low, high = intervals.expectation_interval(estimate, 0.95)[0]
        assert low <= 0.3 <= high
        assert np.isfinite(high - low) == known
        assert high - low < 1e-13 or not known
        assert np.isfinite(intervals.variance_interval(estimate, 0.95)[0, 1]) == known


def test_values_that_all_stayed_the_same_are_not_constant_at_once():
    """Accuracies of easy data do this in a few games, and then one of them changes."""
    for n_games, known in ((2, False), (35, False), (36, True)):
        estimate = sb.Estimate.of(np.full((n_games, 3), 0.3))
        assert np.isfinite(intervals.expectation_interval(estimate, 0.95)).all() == known
        assert np.isfinite(intervals.variance_interval(estimate, 0.95)).all() == known


@pytest.mark.parametrize("n", [2, 5, 12])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_the_interval_of_constants_holds_in_spite_of_rounding(n, scale):
    rng = np.random.default_rng(n)
    worth = rng.uniform(-scale, scale, n)
    sources = [sb.ArraySource(np.arange(5.0), np.full(5, one)) for one in worth]
    providers = [sb.Provider(f"p{i}", source) for i, source in enumerate(sources)]
    for solver in (sb.Exact(), sb.Permutation(20)):
        valuation = sb.value(
            providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), solver=solver, n_games=50, seed=0
        )
        low, high = valuation.interval(0.95).T
        assert ((low <= worth) & (worth <= high)).all()
        assert (high - low <= 1e-12 * n * scale).all()
        low, high = valuation.variance_interval(0.95).T
        assert ((low <= 0) & (high >= 0)).all()


def test_the_result_says_which_intervals_cannot_be_had():
    source = sb.ArraySource(np.zeros((9, 1)), np.arange(9.0))
    providers = [sb.Provider(name, source) for name in ("a", "b", "c")]
    valuation = sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(5), n_games=2, seed=0)

    def text(n_games):
        at = np.arange(n_games)
        games = np.stack([np.ones(n_games), at % 7, at % 3 + 100.0 * (at == 5)], axis=1)
        return str(replace(valuation, estimate=sb.Estimate.of(games), games=games))

    assert (
        "unbounded: the values of a were the same in all 12 games, which does not exclude a rare "
        "event; play 36 games or more"
    ) in text(12)
    assert (
        "the values of c are very skewed for 12 games: the intervals may hold too rarely; play "
        "more games"
    ) in text(12)
    assert "unbounded" not in text(40)
