"""Errors of pools that are unlike each other, small, noisy, or cut in half.

Each test repeats a valuation with known truth; 3 standard errors of a coverage are allowed.
"""

import math
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from tests.conftest import gaussian_providers

import shapband as sb

REPEATS = 80
ALLOWED = 3 * np.sqrt(0.05 * 0.95 / REPEATS)


def covered(value, truth, interval=sb.Valuation.interval, repeats=REPEATS):
    """How often the intervals of each provider hold the truth."""
    held = []
    for seed in range(repeats):
        low, high = interval(value(seed)).T
        held.append((low <= truth) & (truth <= high))
    return np.mean(held, axis=0)


@pytest.mark.long
def test_a_whole_stock_does_not_hide_the_pools_of_others():
    rng = np.random.default_rng(5)
    stocks = [1 + 0.2 * rng.normal(size=30), rng.normal(size=3000)]
    providers = [
        sb.Provider(name, sb.ArraySource(np.zeros((len(y), 1)), y))
        for name, y in zip("ab", stocks, strict=True)
    ]
    pooled_mean = sb.FunctionUtility(lambda X, y: float(np.mean(y)))
    alone, other = (y.mean() for y in stocks)
    both = (alone + other) / 2
    truth = np.array([(alone + both - other) / 2, (other + both - alone) / 2])

    @cache
    def value(seed):
        return sb.value(
            providers, pooled_mean, sampling=sb.Pooled(150, 15, replace=False), n_games=100,
            seed=seed,
        )  # fmt: skip

    # Over 400 repetitions they hold in 92 and 94 %: the small stock has few draws per shuffle.
    found = covered(value, truth, repeats=200)
    assert (found > 0.88).all(), found
    control = covered(value, truth, lambda v: v.games.mean(axis=0)[:, None] + games_only(v))
    assert (control < 0.8).all(), control


def games_only(valuation):
    half = 1.98 * valuation.error["games"].to_numpy()
    return np.stack([-half, half], axis=1)


UNEQUAL = {"g0": 4, "g1": 12, "g2": 30}
OWN_SIZES = [sb.Pooled(60, UNEQUAL), sb.Pooled(60, UNEQUAL, replace=False)]


def pooled_mean_truth(means, sizes):
    """Shapley values of the mean of a coalition's records, coalition by coalition."""
    n, values = len(means), np.zeros(len(means))
    worth = {(): 0.0}
    for order in permutations(range(n)):
        for at, i in enumerate(order):
            inside = order[: at + 1]
            weights = [sizes[j] for j in inside]
            worth[inside] = np.average([means[j] for j in inside], weights=weights)
            values[i] += worth[inside] - worth[order[:at]]
    return values / math.factorial(n)


@pytest.mark.parametrize("sampling", OWN_SIZES, ids=repr)
@pytest.mark.parametrize("game", ["additive", pytest.param("pooled mean", marks=pytest.mark.long)])
def test_intervals_hold_where_every_provider_draws_its_own_number_of_records(game, sampling):
    means = [0.0, 1.0, 3.0]
    providers = gaussian_providers(means, [1.0, 1.5, 1.0])
    utility, truth = sb.AdditiveUtility(), np.array(means)
    if game == "pooled mean":
        utility = sb.FunctionUtility(lambda X, y: float(np.mean(y)))
        truth = pooled_mean_truth(means, list(UNEQUAL.values()))

    @cache
    def value(seed):
        return sb.value(providers, utility, sampling=sampling, n_games=100, seed=seed)

    found = covered(value, truth)
    assert (found > 0.95 - ALLOWED).all(), found
    control = covered(value, truth, lambda v: v.expectation[:, None] + games_only(v))
    assert (control < 0.8).all(), control
    if game == "pooled mean":
        other = covered(value, pooled_mean_truth(means, [1, 1, 1]))
        assert (other[[0, 2]] < 0.5).all(), other


@pytest.mark.parametrize("sampling", OWN_SIZES, ids=repr)
def test_the_part_of_each_pool_is_found_whatever_the_size_of_its_draws(sampling):
    """It is sd² / n_pool. Standard errors are up to 0.04, and a fifth is the bias of the method.

    Draws without repeats of 4 and of 30 of 60 records have shares up to 1.07 and 2; with one limit
    for all, 1.44, the ratios are 1.39 and 0.70 (`Pooled`), and 1.32 and 0.73 (`Blocks`).
    """
    providers = gaussian_providers([0.0, 1.0, 3.0], [1.0, 1.5, 1.0])
    found = [
        sb.value(providers, sb.AdditiveUtility(), sampling=sampling, n_games=400, seed=seed)
        for seed in range(40)
    ]
    squares = np.mean([one.error["pools"].to_numpy() ** 2 for one in found], axis=0)
    ratio = squares / (np.array([1.0, 1.5, 1.0]) ** 2 / 60)
    assert (ratio > 0.85).all(), ratio
    assert (ratio < 1.28).all(), ratio
    if not sampling.replace:
        variances = np.array([one.variance for one in found])
        truth = np.array([1.0, 1.5, 1.0]) ** 2 / list(UNEQUAL.values())
        error = variances.std(axis=0) / np.sqrt(len(found))
        assert (np.abs(variances.mean(axis=0) - truth) < 4 * error).all()
        assert (np.abs(variances.mean(axis=0) - truth[::-1]) > 4 * error)[[0, 2]].all()


@pytest.mark.parametrize(
    "sampling",
    [sb.Pooled(10, 5, replace=False), sb.Pooled(40, 20, replace=False)],
    ids=repr,
)
def test_draws_of_half_a_pool_know_their_variance(sampling):
    providers = gaussian_providers([0.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    size = sampling.n_boot

    @cache
    def value(seed):
        return sb.value(providers, sb.AdditiveUtility(), sampling=sampling, n_games=200, seed=seed)

    assert (covered(value, np.arange(3.0)) > 0.95 - ALLOWED).all()
    spread = covered(value, np.full(3, 1 / size), sb.Valuation.variance_interval)
    assert (spread > 0.95 - ALLOWED).all(), spread


def test_few_permutations_do_not_add_to_the_variance_of_pools():
    providers = gaussian_providers([0.0, 1.0, 2.0], [1.0, 1.0, 1.0])

    def step(X, y):
        return 2.0 + float(np.mean(y))

    found = [
        sb.value(
            providers, sb.FunctionUtility(step), sampling=sb.Pooled(100, 10, replace=False),
            solver=sb.Permutation(2), n_games=40, seed=seed,
        )
        for seed in range(REPEATS)
    ]  # fmt: skip
    # Values are linear in the means of the three draws, whose variances are 1 / 10.
    slopes = np.array([pooled_mean_truth(mean, [10, 10, 10]) for mean in np.eye(3)])
    truth = (slopes**2).sum(axis=0) / 10

    def off(variances):
        error = np.std(variances, axis=0) / np.sqrt(REPEATS)
        return (np.mean(variances, axis=0) - truth) / error

    assert (np.abs(off([one.variance for one in found])) < 4).all()
    assert (off([one.raw_variance for one in found]) > 4).all()


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 5])
def test_shuffles_may_be_cut_into_chunks_anywhere(chunk_size):
    providers = gaussian_providers([0.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    arguments = {"sampling": sb.Pooled(40, 10, replace=False), "n_games": 50, "seed": 1}
    whole = sb.value(providers, sb.AdditiveUtility(), **arguments)
    parts = sb.value(providers, sb.AdditiveUtility(), chunk_size=chunk_size, **arguments)
    np.testing.assert_array_equal(whole.standard_error, parts.standard_error)


def test_a_pool_of_one_record_is_refused_and_two_games_are_bounded():
    with pytest.raises(sb.errors.InvalidInput, match="n_pool must be a whole number of at least 2"):
        sb.Pooled(1, 1)
    providers = gaussian_providers([0.0, 1.0], [1.0, 1.0])
    two = sb.value(providers, sb.AdditiveUtility(), sampling=sb.Pooled(20, 20), n_games=2, seed=0)
    assert (two.error["pools"] > 0).all()
