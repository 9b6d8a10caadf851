"""Ranks, places and shares of many providers: the same as from covariances, and their levels."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel
from tests.conftest import with_pools, with_sums

import shapband as sb
from shapband.errors import InvalidInput
from shapband.estimate import joint, kept, many, simulate
from shapband.estimate.estimate import Estimate

N = 510  # more than the 500 providers for which covariances are kept


def correlated_games(seed, n=12, n_games=25):
    """Games with a common factor, two equal providers, and two that never vary."""
    rng = np.random.default_rng(seed)
    loads = rng.normal(size=n)
    games = rng.normal(size=(n_games, n)) + rng.normal(size=(n_games, 1)) * loads
    games += 3 + np.sort(rng.normal(size=n) * 2)
    games[:, 3] = games[:, 2]
    games[:, [5, 6]] = 0.5, 0.7
    return games


def forgotten(estimate):
    return with_sums(estimate, products=None)


ESTIMATES = {
    "independent games": Estimate.of,
    "shuffles": lambda games: Estimate.of(games, per_shuffle=5),
    "pools": lambda games: with_pools(
        Estimate.of(games), np.linspace(0.0, 0.3, games.shape[1]), np.full(games.shape[1], 9.0)
    ),
}


@pytest.fixture(params=ESTIMATES)
def both(request):
    """An estimate with covariances, and the games from which it was made."""
    games = correlated_games(0)
    estimate = ESTIMATES[request.param](games)
    if request.param == "pools":  # a value that never varies has no error, whatever its pool
        pools = estimate.moments.pools.variance * (estimate.raw_variance > 0)
        estimate = with_pools(estimate, pools, np.full(games.shape[1], 9.0))
    return estimate, games


# All games kept: the numbers that covariances give.


def test_kept_games_have_the_covariances(both):
    estimate, games = both
    covariance = estimate.errors.covariance
    found = kept.kept_errors(estimate, games)
    whole = slice(None)
    expected = simulate.difference_variances(covariance)
    np.testing.assert_allclose(
        found.difference_variances(whole, whole), expected, rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(
        found.neighbour_variances(), np.diagonal(expected, 1), rtol=1e-9, atol=1e-11
    )
    with_total, of_total = found.totals()
    np.testing.assert_allclose(with_total[0], covariance.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(of_total, [covariance.sum()])
    assert found.most_freedom == np.inf


def test_drawn_errors_have_the_covariances(both):
    estimate, games = both
    covariance, draws = estimate.errors.covariance, 40_000
    drawn = kept.kept_errors(estimate, games).normal(draws, np.random.default_rng(0))
    variance = np.diag(covariance)
    error = np.sqrt((np.outer(variance, variance) + covariance**2) / draws)
    assert (np.abs(drawn.T @ drawn / draws - covariance) <= 5 * error).all()
    without = np.abs(drawn.T @ drawn / draws - np.diag(variance))
    assert (without > 5 * error).any()  # the control: errors that are not correlated


def test_a_difference_is_that_of_paired_games():
    games = correlated_games(0)
    found = joint.difference(forgotten(Estimate.of(games)), 9, 1, games)
    expected = ttest_rel(games[:, 9], games[:, 1])
    assert found.estimate / found.standard_error == pytest.approx(expected.statistic)
    assert found.freedom == len(games) - 1


def test_shares_and_neighbours_are_those_from_covariances(both):
    estimate, games = both
    without = forgotten(estimate)
    for name in ("estimate", "standard_error"):
        one, other = (
            getattr(joint.shares(each, 0.95, games)[0], name) for each in (estimate, without)
        )
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    one, other = (joint.shares(each, 0.95, games)[1] for each in (estimate, without))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    # With many providers the skewness of the differences is not known.
    plain = Estimate.of_moments(replace(estimate.moments, products_21=None))
    one, other = (joint.probability_above_next(each, games) for each in (plain, without))
    np.testing.assert_allclose(one, other, atol=1e-9)
    widths = [joint.total_half_width(each, 0.95, games) for each in (estimate, without)]
    assert widths[0] == pytest.approx(widths[1])
    assert joint.total_half_width(without, 0.95) > 1.2 * widths[0]  # the bound without games


@pytest.mark.parametrize("k", [1, 4])
def test_places_are_those_from_covariances(both, k):
    estimate, games = both
    one, other = (
        joint.probability_of_top(each, k, games) for each in (estimate, forgotten(estimate))
    )
    assert other.sum() == pytest.approx(k)
    error = np.sqrt(one * (1 - one) * 2 / 20_000) + 1e-4
    assert (np.abs(one - other) <= 4.5 * error).all()
    swapped = games[np.random.default_rng(1).permuted(np.tile(np.arange(25), (12, 1)), axis=1).T,
                    np.arange(12)]  # fmt: skip
    control = joint.probability_of_top(forgotten(Estimate.of(swapped)), k, swapped)
    assert (np.abs(one - control) > 4.5 * error).any()  # the control: correlations are lost


@pytest.mark.parametrize("k", [1, 3, 40, 60])
def test_providers_that_cannot_be_among_the_largest_are_left_out(monkeypatch, k):
    monkeypatch.setattr(simulate, "_DRAWS", 2000)
    monkeypatch.setattr(simulate, "_BLOCK", 6000)
    games = correlated_games(3, n=60)
    estimate = forgotten(Estimate.of(games))
    errors = kept.kept_errors(estimate, games)
    drawn = np.concatenate([*simulate.student_blocks(errors.normal, 24.0, 60)])
    expected = many.places(estimate.expectation + drawn, k).mean(axis=0)
    np.testing.assert_allclose(many.probability_of_top(estimate, k, games), expected, atol=1e-12)
    monkeypatch.setattr(many, "_LEADING", 0)
    np.testing.assert_allclose(many.probability_of_top(estimate, k, games), expected, atol=1e-12)


# Rank intervals, pair by pair.


def by_pairs(estimate, errors, freedom):
    """Rank intervals from all pairs at once, as they are defined."""
    mean, n = estimate.expectation, len(estimate.expectation)
    multiple = student.isf(0.025 / (n * (n - 1) / 2), freedom)
    size = np.maximum.outer(np.abs(mean), np.abs(mean))
    errors = np.maximum(errors, 16 * np.finfo(float).eps * size)
    above = np.subtract.outer(mean, mean) > multiple * errors
    return np.stack([1 + above.sum(axis=0), n - above.sum(axis=1)], axis=1)


@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("block", [1, 300, 10**6])
def test_blocks_compare_every_pair(monkeypatch, spread, block):
    """However the pairs are cut, and however many of them are decided without a comparison."""
    monkeypatch.setattr(many, "_BLOCK", block)
    rng = np.random.default_rng(0)
    games = correlated_games(1, n=60) + spread * rng.normal(size=60).round(1)
    estimate = Estimate.of(games)
    errors = np.sqrt(simulate.difference_variances(estimate.errors.covariance))
    found = many.rank_intervals(forgotten(estimate), 0.95, games)
    np.testing.assert_array_equal(found, by_pairs(estimate, errors, 24))
    assert (found[:, 1] > found[:, 0]).any()
    assert (found != [1, 60]).any()


def test_without_games_both_errors_are_added():
    games = correlated_games(1, n=60)
    estimate = Estimate.of(games)
    error = estimate.standard_error
    found = many.rank_intervals(forgotten(estimate), 0.95, None)
    np.testing.assert_array_equal(found, by_pairs(estimate, np.add.outer(error, error), 24))
    narrow = many.rank_intervals(forgotten(estimate), 0.95, games)
    assert (found[:, 0] <= narrow[:, 0]).all()
    assert (narrow[:, 1] <= found[:, 1]).all()
    assert (found != narrow).any()


def test_rank_intervals_do_not_depend_on_the_order_of_the_providers():
    games = correlated_games(2, n=40)
    order = np.random.default_rng(0).permutation(40)
    one, other = (many.rank_intervals(Estimate.of(x), 0.95, x) for x in (games, games[:, order]))
    np.testing.assert_array_equal(one[order], other)


def test_constants_have_sure_ranks_and_equal_ones_share_them():
    games = np.tile([2.0, 1.0, 2.0, 2.0 + 1e-15], (3, 1))
    estimate = forgotten(Estimate.of(games))
    assert many.rank_intervals(estimate, 0.95, games).tolist() == [[1, 3], [4, 4], [1, 3], [1, 3]]
    assert many.rank_intervals(estimate, 0.95, None).tolist() == [[1, 3], [4, 4], [1, 3], [1, 3]]


def test_a_difference_that_rounding_hides_decides_nothing():
    """The values of two providers differ by 1e-9 of their spread, which squares cannot resolve."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=(30, 1))
    games = np.concatenate([one, one + 1e-9 * (rng.normal(size=(30, 1)) + 0.2)], axis=1)
    found = many.rank_intervals(forgotten(Estimate.of(games)), 0.95, games)
    assert found.tolist() == [[1, 2], [1, 2]]


# Some games not kept.


def test_a_value_that_changed_in_later_games_only_keeps_its_error():
    games = np.random.default_rng(0).normal(size=(40, 3))
    games[:10, 0] = 1.0
    estimate = forgotten(Estimate.of(games))
    found = kept.kept_errors(estimate, games[:10])
    assert found.own.tolist() == [estimate.errors.total[0], 0, 0]
    apart = found.difference_variances(slice(0, 1), slice(1, 3))[0]
    assert (apart >= estimate.errors.total[0] + estimate.errors.total[1:] - 1e-15).all()
    assert found.most_freedom == 9
    assert joint.difference(estimate, 1, 2, games[:10]).freedom == 9


def test_the_larger_of_two_errors_is_used():
    games = np.random.default_rng(5).normal(size=(60, 4)) @ (np.eye(4) + 1)
    estimate = forgotten(Estimate.of(games))
    first = games[:20]
    found = kept.kept_errors(estimate, first).difference_variances(slice(None), slice(None))
    direct = (first[:, :, None] - first[:, None, :]).var(axis=0, ddof=1) / 60
    error, r = estimate.standard_error, np.corrcoef(first.T)
    scaled = simulate.difference_variances(r * np.outer(error, error))
    away = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(found[away], np.maximum(direct, scaled)[away])
    assert (direct > scaled)[away].any()
    assert (direct < scaled)[away].any()


@pytest.mark.parametrize("games", [None, np.empty((0, 12)), correlated_games(0)[:1]])
def test_too_few_kept_games_give_bounds_or_a_reason(games):
    estimate = forgotten(Estimate.of(correlated_games(0)))
    error = estimate.standard_error
    assert joint.difference(estimate, 1, 2, games).standard_error == error[1] + error[2]
    assert (np.diff(joint.rank_intervals(estimate, 0.95, games)) >= 0).all()
    for question in (joint.probability_of_top, joint.shares):
        with pytest.raises(InvalidInput, match="raise keep_games"):
            question(estimate, 1 if question is joint.probability_of_top else 0.95, games)


# Levels, with more than 500 providers. 200 repetitions: the standard error of 0.95 is 0.0154.

REPEATS, ERROR = 200, 0.0154


def two_camps(rng, n_games):
    """Half of the providers gain what the other half loses, and every tenth never varies."""
    side = np.where(np.arange(N) % 2, 1.0, -1.0)
    games = 3 * rng.normal(size=(n_games, 1)) * side + rng.normal(size=(n_games, N))
    games[:, ::10] = 0.0
    return games


def unrelated(rng, n_games):
    return rng.normal(size=(n_games, N)) * np.linspace(0.2, 2.0, N)


def coverage(made, n_games=15, n_kept=None, means=0.0):
    """How often the intervals of all ranks contain all ranks that equal expectations share."""
    means = np.broadcast_to(means, N)
    above, below = ((means > means[:, None]).sum(axis=1), (means < means[:, None]).sum(axis=1))
    held = 0
    for seed in range(REPEATS):
        games = made(np.random.default_rng(seed), n_games) + means
        low, high = joint.rank_intervals(Estimate.of(games), 0.95, games[:n_kept]).T
        held += bool(((low <= 1 + above) & (high >= N - below)).all())
    return held / REPEATS


@pytest.mark.parametrize("made", [two_camps, pytest.param(unrelated, marks=pytest.mark.long)])
@pytest.mark.parametrize("n_kept", [pytest.param(None, marks=pytest.mark.long), 8])
def test_rank_intervals_of_equal_providers_hold_together(made, n_kept):
    assert coverage(made, n_kept=n_kept) > 0.95 - 3 * ERROR


@pytest.mark.long
def test_rank_intervals_hold_with_ties_among_different_providers():
    assert coverage(two_camps, means=np.arange(N) // 51 * 0.5) > 0.95 - 3 * ERROR


def test_the_critical_value_is_not_far_from_the_one_that_is_needed(monkeypatch):
    """With nine tenths of it, the intervals of equal providers hold in fewer than 95 %."""
    value = many.bonferroni_value
    monkeypatch.setattr(many, "bonferroni_value", lambda *given: 0.9 * value(*given))
    assert coverage(unrelated, n_games=60) < 0.95 - 3 * ERROR


def test_rank_intervals_for_single_providers_instead_of_pairs_do_not_hold(monkeypatch):
    value = many.bonferroni_value
    monkeypatch.setattr(
        many, "bonferroni_value", lambda freedom, level, pairs: value(freedom, level, N)
    )
    assert coverage(unrelated) < 0.95 - 5 * ERROR


def test_differences_of_many_providers_keep_their_level():
    """One difference in each repetition, of providers in different camps."""

    def missed(games_of):
        found = 0
        for seed in range(2 * REPEATS):
            games = two_camps(np.random.default_rng(seed), 15)
            one = joint.difference(Estimate.of(games), 1, 2, games_of(games))
            found += joint.two_sided_p(one, np.array(1.0)) < 0.05
        return found / (2 * REPEATS)

    def apart(games):
        """The same values in other games, so that they are not correlated."""
        return np.stack([np.roll(column, at % 2) for at, column in enumerate(games.T)], axis=1)

    assert abs(missed(lambda games: games) - 0.05) < 3 * ERROR / np.sqrt(2)
    assert missed(apart) > 0.05 + 4 * ERROR / np.sqrt(2)  # the control
    assert missed(lambda games: None) < 0.05  # the bound holds for any correlation


def test_kept_games_must_not_count_as_all_games(monkeypatch):
    def as_if_all(estimate, games, places=slice(None)):
        found = kept.kept_errors(estimate, games, places)
        return kept.KeptErrors(found.unit, found.deviations, found.own, found.effects, np.inf)

    monkeypatch.setattr(many, "kept_errors", as_if_all)
    assert coverage(unrelated, n_games=60, n_kept=6) < 0.95 - 5 * ERROR


def test_shares_of_many_providers_hold():
    means = np.linspace(1.0, 2.0, N)
    held = []
    for seed in range(REPEATS):
        games = unrelated(np.random.default_rng(seed), 15)
        games += means + np.random.default_rng([seed, 1]).normal(size=(15, 1))
        low, high = joint.shares(Estimate.of(games), 0.95, games)[1].T
        true = means / means.sum()
        held.append(np.mean((low <= true) & (true <= high)))
    # The shares of one repetition are correlated: their own spread gives the standard error.
    assert abs(np.mean(held) - 0.95) < 4 * np.std(held) / np.sqrt(REPEATS)


# Memory and work.


def peak(question):
    tracemalloc.start()
    question()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.parametrize(
    "question",
    [
        lambda estimate, games: joint.rank_intervals(estimate, 0.95, games),
        lambda estimate, games: joint.rank_intervals(estimate, 0.95, None),
        lambda estimate, games: joint.probability_of_top(estimate, 5, games),
        lambda estimate, games: joint.probability_above_next(estimate, games),
        lambda estimate, games: joint.shares(estimate, 0.95, games),
        lambda estimate, games: joint.difference(estimate, 0, 1, games),
    ],
)
def test_memory_is_linear_in_the_providers(monkeypatch, question):
    monkeypatch.setattr(many, "_BLOCK", 50_000)
    monkeypatch.setattr(simulate, "_BLOCK", 50_000)
    monkeypatch.setattr(simulate, "_DRAWS", 200)
    used = []
    for n in (1500, 6000):
        games = 5 + np.random.default_rng(0).normal(size=(8, n))
        estimate = Estimate.of(games)
        used.append(peak(lambda: question(estimate, games)))  # noqa: B023
    assert used[1] < 4.4 * used[0] + 100_000
    assert used[1] < 6000**2  # an eighth of a matrix of all pairs


def test_providers_that_are_far_apart_are_not_compared(monkeypatch):
    compared = []
    found = kept.KeptErrors.difference_variances

    def counted(self, rows, columns):
        answer = found(self, rows, columns)
        compared.append(answer.size)
        return answer

    monkeypatch.setattr(kept.KeptErrors, "difference_variances", counted)
    monkeypatch.setattr(many, "_BLOCK", 20_000)
    for n in (1000, 4000):
        games = np.arange(n) + 0.1 * np.random.default_rng(0).normal(size=(20, n))
        compared.clear()
        assert (
            many.rank_intervals(Estimate.of(games), 0.95, games)[:, 0] == n - np.arange(n)
        ).all()
        assert sum(compared) <= 25 * n


# The public face.


@pytest.fixture(scope="module")
def valuation():
    rng = np.random.default_rng(0)
    providers = [
        sb.Provider(f"p{at}", sb.ArraySource(np.zeros((9, 1)), rng.normal(1 + at % 3, 1, 9)))
        for at in range(N)
    ]
    return sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(5), n_games=40, seed=0)


def test_a_valuation_of_many_providers_answers(valuation, tmp_path):
    ranks = valuation.ranks()
    assert ranks.above is None
    assert ((ranks.low <= ranks.rank) & (ranks.rank <= ranks.high)).all()
    assert (ranks.low > 1).any()
    assert np.isnan(ranks.above_next).sum() == 1
    assert valuation.top(10).sum() == pytest.approx(10)
    assert valuation.shares()["share"].sum() == pytest.approx(1.0)
    assert len(valuation.plot.frame("ranks")) == N
    valuation.report(tmp_path / "report.html")
    assert "ranks that cannot be excluded" in (tmp_path / "report.html").read_text()


def test_games_that_depend_on_each_other_have_ranks_from_bounds():
    providers = [
        sb.Provider(f"p{at}", sb.ArraySource(np.zeros((2, 1)), np.full(2, 1.0 + 50 * (at % 3))))
        for at in range(N)
    ]
    found = sb.value(
        providers,
        sb.AdditiveUtility(),
        sampling=sb.Fresh(1),
        participation=sb.MarkovChain(0.9, 0.5),
        n_games=60,
        seed=0,
    )
    np.testing.assert_array_equal(
        joint.rank_intervals(found.estimate, 0.95, found.games),
        joint.rank_intervals(found.estimate, 0.95, None),
    )
    assert (found.ranks().low > 1).any()
    with pytest.raises(InvalidInput, match="use Independent instead of MarkovChain"):
        found.top(3)
