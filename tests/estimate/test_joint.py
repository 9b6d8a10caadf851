"""Several expectations at once: exact small cases, and levels over many repetitions."""

import numpy as np
import pytest
from scipy.stats import studentized_range, ttest_rel
from tests.conftest import with_pools, with_sums

import shapband as sb
from shapband.errors import InvalidInput
from shapband.estimate import joint, simulate
from shapband.estimate.estimate import Estimate
from shapband.estimate.intervals import expectation_interval
from shapband.estimate.skewness import error_skewness

MEANS = np.array([1.0, 1.0, 1.2, 1.5, 1.5])
# One large common factor, and small parts of each provider that share a total.
MIXING = np.eye(5) - 0.15 + 0.4


def games_of(seed, n_games=40, means=MEANS, mixing=MIXING):
    rng = np.random.default_rng(seed)
    return means + 0.3 * rng.normal(size=(n_games, len(means))) @ mixing.T


def fixed(n_games=3, means=(3.0, 1.0, 2.0)):
    """Estimate from values that never change."""
    return Estimate.of(np.tile(means, (n_games, 1)))


def uncorrelated(estimate):
    """The same estimate, with the covariances forgotten."""
    return with_sums(estimate, products=np.diag(np.diag(estimate.moments.products)))


def with_many(estimate):
    return with_sums(estimate, products=None)


# Differences.


def test_a_difference_is_that_of_paired_games():
    games = games_of(0)
    found = joint.difference(Estimate.of(games), 3, 0)
    expected = ttest_rel(games[:, 3], games[:, 0])
    assert found.estimate / found.standard_error == pytest.approx(expected.statistic)
    plain = found._replace(skewness=0.0)
    assert joint.two_sided_p(plain, np.array(1.0)) == pytest.approx(expected.pvalue)
    assert found.freedom == 39


def test_a_difference_without_covariances_is_bounded():
    estimate = Estimate.of(games_of(0))
    error = estimate.standard_error
    assert joint.difference(with_many(estimate), 3, 0).standard_error == error[3] + error[0]


def test_a_provider_does_not_differ_from_itself():
    found = joint.difference(Estimate.of(games_of(0)), 2, 2)
    assert found.estimate == found.standard_error == 0
    assert joint.two_sided_p(found, np.array(1.0)) == 1


def test_the_pools_are_in_the_error_of_a_difference():
    estimate = Estimate.of(games_of(0))
    pooled = with_pools(estimate, 3 * estimate.raw_variance / 40, [9, 8, 7, 6, 5])
    pooled = joint.difference(pooled, 0, 2)
    assert pooled.standard_error == pytest.approx(2 * joint.difference(estimate, 0, 2)[1])
    assert pooled.freedom == 7


def test_constants_that_differ_by_rounding_are_equal():
    estimate = fixed(means=(0.1 + 0.2, 0.3, 0.4))
    equal, other = joint.difference(estimate, 0, 1), joint.difference(estimate, 2, 0)
    assert equal.estimate > 0
    assert joint.two_sided_p(equal, np.array(0.3)) > 0.9
    assert joint.two_sided_p(other, np.array(0.4)) < 1e-9


# Critical values.


def test_the_pairwise_value_is_that_of_tukey():
    # Many degrees of freedom: Tukey's studentized range over sqrt 2; 20,000 draws leave 0.01.
    expected = studentized_range.ppf(0.95, 6, 1e5) / np.sqrt(2)
    assert simulate.pairwise_critical_value(np.eye(6), 1e5, 0.95) == pytest.approx(
        expected, abs=0.04
    )


@pytest.mark.parametrize("freedom", [1.5, 40.0, 1e6])
def test_many_pairs_have_the_maxima_that_estimates_for_all_of_them_give(monkeypatch, freedom):
    """Screening leaves the quantile as it is; four standard errors of both simulations."""
    mixing = np.random.default_rng(3).normal(size=(24, 24)) + 2 * np.eye(24)
    covariance = mixing @ mixing.T
    maxima = []

    def kept(largest, *arguments):
        maxima.append(largest)
        return simulate.sidak_value(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(simulate, "_between_bounds", kept)
        simulate.pairwise_critical_value(covariance, freedom, 0.9)
    monkeypatch.setattr(simulate, "_WORK", 0)
    monkeypatch.setattr(simulate, "_LEAST_DRAWS", 20_000)
    error = np.sqrt(0.9 * 0.1 * 2 / 20_000)
    levels = [
        (maxima[0] <= simulate.pairwise_critical_value(covariance, other, 0.9)).mean()
        for other in (freedom, freedom / 1.4 if freedom < 1e3 else 40.0)
    ]
    assert abs(levels[0] - 0.9) < 4 * error
    assert abs(levels[1] - 0.9) > 4 * error  # the control: too few degrees of freedom


def test_many_pairs_of_equal_errors_need_no_adjustment(monkeypatch):
    monkeypatch.setattr(simulate, "_WORK", 0)
    value = simulate.pairwise_critical_value(np.ones((20, 20)), 1e6, 0.95)
    assert value == simulate.sidak_value(1e6, 0.95, 1)


def test_the_value_of_independent_errors_is_that_of_sidak():
    assert simulate.critical_value(np.eye(8), 12.0, 0.95) == pytest.approx(
        simulate.sidak_value(12.0, 0.95, 8), abs=0.06
    )


def test_one_provider_has_the_plain_interval():
    estimate = Estimate.of(games_of(0)[:, :1])
    np.testing.assert_allclose(
        joint.simultaneous_interval(estimate, 0.9), expectation_interval(estimate, 0.9)
    )


def test_equal_errors_need_no_adjustment():
    covariance = np.ones((4, 4))
    plain = simulate.sidak_value(1e6, 0.95, 1)
    assert simulate.critical_value(covariance, 1e6, 0.95) == pytest.approx(plain, abs=0.06)
    assert simulate.pairwise_critical_value(covariance, 1e6, 0.95) == plain


def test_small_errors_are_not_lost_beside_large_ones():
    """The scales of the providers play no part, however far apart they are."""
    scale = np.array([1.0, 1e-12, 1e9])
    correlation = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 1.0]])
    scaled = correlation * np.outer(scale, scale)
    for value in (simulate.critical_value, simulate.pairwise_critical_value):
        assert value(scaled, 20.0, 0.95) < simulate.sidak_value(20.0, 0.95, 3) + 1e-9
    assert simulate.critical_value(scaled, 20.0, 0.95) == pytest.approx(
        simulate.critical_value(correlation, 20.0, 0.95)
    )


def test_without_covariances_the_value_is_that_of_sidak():
    """The side of the shorter tail has the symmetric half width; the other side is longer."""
    estimate = Estimate.of(games_of(0))
    low, high = joint.simultaneous_interval(with_many(estimate), 0.95).T
    down, up = estimate.expectation - low, high - estimate.expectation
    value = simulate.sidak_value(39.0, 0.95, 5)
    np.testing.assert_allclose(np.minimum(down, up), value * estimate.standard_error)
    skewness = error_skewness(estimate)
    np.testing.assert_array_equal(up > down, skewness > 0)
    np.testing.assert_allclose(
        np.maximum(down, up) / np.minimum(down, up), 1 + np.abs(skewness) * value / 2
    )


def test_the_answer_is_repeated_exactly():
    estimate = Estimate.of(games_of(0))
    np.testing.assert_array_equal(
        joint.simultaneous_interval(estimate, 0.95), joint.simultaneous_interval(estimate, 0.95)
    )
    np.testing.assert_array_equal(
        joint.probability_of_top(estimate, 2), joint.probability_of_top(estimate, 2)
    )


# Ranks, places and shares.


def test_constant_values_have_sure_ranks():
    estimate = fixed()
    assert joint.ranks(estimate.expectation).tolist() == [1, 3, 2]
    assert joint.rank_intervals(estimate, 0.95).tolist() == [[1, 1], [3, 3], [2, 2]]
    np.testing.assert_allclose(
        joint.probability_above(estimate), [[0.5, 1, 1], [0, 0.5, 0], [0, 1, 0.5]], atol=1e-9
    )
    assert joint.probability_of_top(estimate, 2).tolist() == [1, 0, 1]


def test_equal_constants_share_ranks_and_places():
    estimate = fixed(means=(2.0, 1.0, 2.0, 2.0))
    assert joint.ranks(estimate.expectation).tolist() == [1, 4, 1, 1]
    assert joint.rank_intervals(estimate, 0.95).tolist() == [[1, 3], [4, 4], [1, 3], [1, 3]]
    np.testing.assert_allclose(joint.probability_of_top(estimate, 2), [2 / 3, 0, 2 / 3, 2 / 3])


def test_the_probabilities_agree_with_the_differences():
    estimate = Estimate.of(games_of(1))
    above = joint.probability_above(estimate)
    np.testing.assert_allclose(above + above.T, 1.0)
    p_value = joint.two_sided_p(joint.difference(estimate, 1, 3), np.array(1.0))
    assert min(above[1, 3], above[3, 1]) == pytest.approx(p_value / 2)


def test_two_providers_compete_for_one_place():
    estimate = Estimate.of(games_of(1)[:, [1, 2]])
    above = joint.probability_above(estimate)
    # 20,000 draws: a standard error of at most 0.0036; 4 of those.
    np.testing.assert_allclose(
        joint.probability_of_top(estimate, 1), [above[0, 1], above[1, 0]], atol=0.0145
    )


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_places_add_up(k):
    assert joint.probability_of_top(Estimate.of(games_of(2)), k).sum() == pytest.approx(k)


def test_shares_by_the_delta_method():
    estimate = Estimate.of(games_of(0))
    found, interval = joint.shares(estimate, 0.95)
    covariance = estimate.errors.covariance
    total = estimate.expectation.sum()
    gradient = np.eye(5) / total - np.outer(estimate.expectation, np.ones(5)) / total**2
    np.testing.assert_allclose(found.estimate, estimate.expectation / total)
    np.testing.assert_allclose(
        found.standard_error, np.sqrt(np.diag(gradient @ covariance @ gradient.T))
    )
    # Fieller's ends solve the quadratic equation.
    quantile = joint.student_quantile(np.array(39.0), 0.95)
    for end in interval.T:
        apart = estimate.expectation - end * total
        square = np.diag(covariance) - 2 * end * covariance.sum(axis=1) + end**2 * covariance.sum()
        np.testing.assert_allclose(np.abs(apart), quantile * np.sqrt(square))


def test_shares_of_a_total_that_may_be_zero_are_refused():
    with pytest.raises(InvalidInput, match="may be zero"):
        joint.shares(Estimate.of(games_of(0, means=MEANS - MEANS.mean())), 0.95)
    with pytest.raises(InvalidInput, match="may be zero"):
        joint.shares(fixed(means=(0.1, 0.2, -0.3)), 0.95)
    assert joint.shares(fixed(), 0.95)[0].estimate.tolist() == [3 / 6, 1 / 6, 2 / 6]


@pytest.mark.parametrize(
    "question",
    [
        lambda estimate: joint.probability_of_top(estimate, 2),
        lambda estimate: joint.shares(estimate, 0.95),
    ],
)
def test_without_covariances_and_games_places_and_shares_are_refused(question):
    with pytest.raises(InvalidInput, match="raise keep_games to 2 or more"):
        question(with_many(Estimate.of(games_of(0))))


@pytest.mark.parametrize("n_games", [2, 3])
def test_few_games_say_little(n_games):
    estimate = Estimate.of(games_of(0, n_games))
    assert np.isfinite(joint.simultaneous_interval(estimate, 0.95)).all()
    np.testing.assert_array_equal(joint.rank_intervals(estimate, 0.95), [[1, 5]] * 5)


def test_one_game_says_nothing():
    estimate = Estimate.of(games_of(0, 1))
    assert np.isnan(joint.simultaneous_interval(estimate, 0.95)).all()
    assert np.isnan(joint.difference(estimate, 0, 1).standard_error)
    with pytest.raises(InvalidInput, match="two or more games"):
        joint.rank_intervals(estimate, 0.95)


# Levels. 400 repetitions: the standard error of a coverage of 0.95 is 0.011.


def coverage(holds, change=lambda estimate: estimate, repeats=400, **options):
    return np.mean(
        [holds(change(Estimate.of(games_of(seed, **options)))) for seed in range(repeats)]
    )


def all_inside(intervals, truth):
    low, high = intervals.T
    return bool(((low <= truth) & (truth <= high)).all())


@pytest.mark.parametrize("n_games", [10, 40])
def test_simultaneous_intervals_hold_together(n_games, monkeypatch):
    monkeypatch.setattr(simulate, "_DRAWS", 2000)

    def holds(estimate):
        return all_inside(joint.simultaneous_interval(estimate, 0.95), MEANS)

    found = coverage(holds, n_games=n_games)
    assert abs(found - 0.95) < 3 * 0.011


def test_plain_intervals_do_not_hold_together():
    found = coverage(lambda estimate: all_inside(expectation_interval(estimate, 0.95), MEANS))
    assert found < 0.95 - 5 * 0.011


def true_ranks(means):
    """The ranks that equal means share: one more than those above, up to n less those below."""
    above, below = (means > means[:, None]).sum(axis=1), (means < means[:, None]).sum(axis=1)
    return np.stack([1 + above, len(means) - below], axis=1)


def ranks_hold(means):
    truth = true_ranks(means)

    def holds(estimate):
        found = joint.rank_intervals(estimate, 0.95)
        return bool(((found[:, 0] <= truth[:, 0]) & (truth[:, 1] <= found[:, 1])).all())

    return holds


@pytest.mark.parametrize("n_games", [10, 40])
def test_rank_intervals_of_equal_providers_hold_together(n_games, monkeypatch):
    """With equal providers every pair can be mistaken, which is the worst case."""
    monkeypatch.setattr(simulate, "_DRAWS", 2000)
    equal = np.ones(5)
    found = coverage(ranks_hold(equal), n_games=n_games, means=equal)
    assert abs(found - 0.95) < 3 * 0.011


def test_rank_intervals_of_others_hold_too(monkeypatch):
    monkeypatch.setattr(simulate, "_DRAWS", 2000)
    assert coverage(ranks_hold(MEANS), repeats=200) > 0.95 - 2 * 0.0155


def test_rank_intervals_from_single_tests_do_not_hold(monkeypatch):
    def single(covariance, freedom, level):
        return simulate.sidak_value(freedom, level, 1)

    monkeypatch.setattr(joint, "pairwise_critical_value", single)
    equal = np.ones(5)
    assert coverage(ranks_hold(equal), means=equal) < 0.95 - 5 * 0.011


def difference_holds(estimate):
    found = joint.difference(estimate, 2, 0)
    half = joint.student_quantile(found.freedom, 0.95) * found.standard_error
    return abs(found.estimate - (MEANS[2] - MEANS[0])) <= half


def shares_hold(estimate):
    found = joint.shares(estimate, 0.95)[1]
    return np.mean([all_inside(found[[at]], MEANS[at] / MEANS.sum()) for at in range(5)])


def test_differences_and_shares_hold():
    # The five shares of a repetition are correlated: the error of one bounds that of their mean.
    assert abs(coverage(difference_holds) - 0.95) < 3 * 0.011
    assert abs(coverage(shares_hold) - 0.95) < 3 * 0.011


def test_differences_and_shares_without_covariances_do_not():
    """The errors of these games are correlated, so without covariances both are far too wide."""
    assert coverage(difference_holds, uncorrelated) > 0.95 + 4 * 0.011
    assert coverage(shares_hold, uncorrelated) > 0.95 + 3 * 0.011


def negative(seed, n_games=40):
    """Two values with correlation -0.9."""
    mixing = np.linalg.cholesky([[1.0, -0.9], [-0.9, 1.0]])
    return Estimate.of(games_of(seed, n_games, np.ones(2), mixing))


def test_a_negative_correlation_must_not_be_forgotten():
    def found(change):
        missed = 0
        for seed in range(400):
            one = joint.difference(change(negative(seed)), 0, 1)
            missed += joint.two_sided_p(one, np.array(1.0)) < 0.05
        return missed / 400

    assert abs(found(lambda estimate: estimate) - 0.05) < 3 * 0.011
    assert found(uncorrelated) > 0.05 + 5 * 0.011


# The public face.


@pytest.fixture(scope="module")
def valuation():
    task = sb.datasets.wine()
    return sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=60, seed=0)


def test_a_valuation_answers_by_name(valuation):
    a, b = valuation.names[2], valuation.names[7]
    found = valuation.difference(a, b, level=0.9)
    assert found.estimate == valuation.expectation[2] - valuation.expectation[7]
    assert found.low < found.estimate < found.high
    with pytest.raises(InvalidInput, match=f"received 'nobody', and there are {a[:7]}"):
        valuation.difference(a, "nobody")


def test_ranks_are_printed_in_their_order(valuation):
    found = valuation.ranks()
    lines = str(found).splitlines()
    assert "95 %" in lines[0]
    assert lines[3].startswith(valuation.names[int(np.argmax(valuation.expectation))])
    assert list(found.to_frame().columns) == ["rank", "low", "high"]
    assert found.above.shape == (10, 10)


def test_places_are_a_series(valuation):
    found = valuation.top(3)
    assert found.name == "top 3"
    assert list(found.index) == list(valuation.names)
    for wrong in (0, 11, 2.5):
        with pytest.raises(InvalidInput, match="k must be"):
            valuation.top(wrong)


def test_shares_are_a_frame_and_add_up(valuation):
    found = valuation.shares()
    assert found["share"].sum() == pytest.approx(1.0)
    assert ((found["low"] < found["share"]) & (found["share"] < found["high"])).all()


def test_simultaneous_intervals_are_wider(valuation):
    plain, together = valuation.interval(), valuation.interval(simultaneous=True)
    assert (together[:, 0] < plain[:, 0]).all()
    assert (together[:, 1] > plain[:, 1]).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_levels_are_checked(valuation, level):
    a, b = valuation.names[:2]
    for ask in (
        lambda: valuation.difference(a, b, level),
        lambda: valuation.ranks(level),
        lambda: valuation.shares(level),
        lambda: valuation.interval(level, simultaneous=True),
        lambda: valuation.distribution(level),
        lambda: valuation.correlation(level),
    ):
        with pytest.raises(InvalidInput, match="level must lie"):
            ask()
