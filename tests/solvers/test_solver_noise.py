"""The variance that sampling solvers claim for their own error, written out for small games."""

from itertools import pairwise

import numpy as np
import pytest
from tests.conftest import one_record_providers

import shapband as sb
from shapband.games import Games
from shapband.seeds import Seeds
from shapband.solvers.balanced import williams_square
from shapband.solvers.permutation import random_orders, variance_of_mean

N = 4
TABLE = np.random.default_rng(6).normal(size=2**N)


def games(n_games=5):
    """Games of one table, all of them alike."""
    names = tuple(f"p{i}" for i in range(N))
    summaries = np.zeros((n_games, N))
    return Games(sb.TableUtility(TABLE), summaries, names, range(n_games), Seeds(0))


def walked(order):
    """What each provider adds along one order, from the table."""
    marginals = np.empty(N)
    masks = np.cumsum([0, *(1 << int(i) for i in order)])
    for i, (before, after) in zip(order, pairwise(masks), strict=True):
        marginals[i] = TABLE[after] - TABLE[before]
    return marginals


@pytest.mark.parametrize("n_iter", [2, 3, 7])
def test_permutations_claim_the_variance_of_their_mean(n_iter):
    solution = sb.Permutation(n_iter).solve(games())
    for values, noise, orders in zip(
        solution.values, solution.noise, random_orders(games(), n_iter), strict=True
    ):
        samples = np.array([walked(order) for order in orders])
        np.testing.assert_allclose(values, samples.mean(axis=0))
        np.testing.assert_allclose(noise, samples.var(axis=0, ddof=1) / n_iter)


@pytest.mark.parametrize("n_blocks", [2, 3])
def test_balanced_permutations_claim_the_variance_of_the_mean_of_their_blocks(n_blocks):
    solution = sb.BalancedPermutation(n_blocks * N).solve(games())
    square = williams_square(N)
    for values, noise, renamings in zip(
        solution.values, solution.noise, random_orders(games(), n_blocks), strict=True
    ):
        blocks = np.array(
            [np.mean([walked(names[row]) for row in square], axis=0) for names in renamings]
        )
        np.testing.assert_allclose(values, blocks.mean(axis=0))
        np.testing.assert_allclose(noise, blocks.var(axis=0, ddof=1) / n_blocks)


@pytest.mark.parametrize("n", [5, 6])
def test_blocks_are_independent_and_the_permutations_in_them_are_not(n):
    """The game never varies, so the variance across games is the noise, to 4 standard errors."""
    table = np.arange(2**n) ** 0.5 + np.random.default_rng(n).normal(size=2**n)
    names = tuple(f"p{i}" for i in range(n))
    many = Games(sb.TableUtility(table), np.zeros((3000, n)), names, range(3000), Seeds(1))

    def off(noise):
        spread = many_values.var(axis=0, ddof=1)
        deviations = (many_values - many_values.mean(axis=0)) ** 2
        error = np.hypot(deviations.std(axis=0), noise.std(axis=0)) / np.sqrt(3000)
        return np.abs(noise.mean(axis=0) - spread) / error

    solution = sb.BalancedPermutation(3 * n).solve(many)
    many_values = solution.values
    assert (off(solution.noise) < 4).all()
    orders = random_orders(many, 3)[:, :, williams_square(n)].reshape(3000, 3 * n, n)
    values, _ = many.prefixes(orders)
    marginals = sb.extend.marginal_contributions(orders, values, table[0])
    np.testing.assert_allclose(marginals.mean(axis=1), many_values)
    assert (off(variance_of_mean(marginals)) > 4).any()


def test_the_noise_of_one_permutation_is_not_known():
    noise = variance_of_mean(np.zeros((3, 1, 5)))
    assert noise.shape == (3, 5)
    assert np.isnan(noise).all()
    assert np.isfinite(variance_of_mean(np.zeros((3, 2, 5)))).all()
    assert np.isnan(sb.Permutation(1).solve(games()).noise).all()


def test_the_orders_of_a_seed_are_kept():
    """Later versions repeat valuations and resume runs. Recorded with version 0.1.0."""
    assert random_orders(games(2), 3).tolist() == [
        [[1, 0, 3, 2], [0, 1, 3, 2], [3, 0, 2, 1]],
        [[0, 2, 1, 3], [1, 2, 3, 0], [2, 3, 1, 0]],
    ]


@pytest.mark.parametrize(("solver", "evaluated"), [(sb.Exact(), 15), (sb.Permutation(60), 15)])
def test_evaluations_are_counted_without_the_empty_coalition(solver, evaluated):
    valuation = sb.value(
        one_record_providers(N),
        sb.TableUtility(TABLE),
        sampling=sb.Fresh(1),
        solver=solver,
        n_games=3,
        seed=0,
    )
    assert valuation.evaluations == 3 * evaluated
    assert isinstance(valuation.evaluations, int)


def test_exact_values_have_no_noise():
    solution = sb.Exact().solve(games())
    assert solution.noise.tolist() == np.zeros((5, N)).tolist()


def test_an_empty_coalition_of_any_worth_is_where_marginals_start():
    found = sb.extend.marginal_contributions([[1, 0]], [[2.0, 5.0]], empty=0.5)
    assert found.tolist() == [[3.0, 1.5]]


def test_orders_and_values_may_be_numbers_of_any_kind():
    found = sb.extend.marginal_contributions(
        np.array([[1.0, 0.0]]), np.array([["2", "5"]], dtype=object)
    )
    assert found.dtype == np.float64
    assert found.tolist() == [[3.0, 2.0]]
