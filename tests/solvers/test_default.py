"""Which solver is taken when the user names none, and which sizes a solver refuses."""

import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import shapband as sb
from shapband.errors import InvalidInput
from shapband.solvers.default import default_solver

X, Y = np.arange(8.0).reshape(4, 2), np.arange(4.0)
LINEAR = sb.LinearUtility(X, Y)
NEAREST = sb.NeighborUtility(X, Y, task="regression")
NEAR = sb.NeighborUtility(X, Y, k=3, task="regression")
MODEL = sb.EstimatorUtility(Ridge(), X, Y)
POOLED = sb.Pooled(20, 5)


@pytest.mark.parametrize(
    ("utility", "most"),
    [(LINEAR, 14), (NEAREST, 15), (NEAR, 11), (MODEL, 6), (sb.AdditiveUtility(), 11)],
    ids=repr,
)
def test_small_games_are_solved_exactly_as_long_as_that_is_cheap(utility, most):
    for n in range(1, most + 1):
        solver, reason = default_solver(n, utility, POOLED)
        assert solver == sb.Exact()
        assert "all coalitions" in reason
    assert isinstance(default_solver(most + 1, utility, POOLED)[0], sb.Strata)


@pytest.mark.parametrize("n", [8, 16, 30, 100, 1000])
def test_models_are_fitted_less_often_if_games_cost_no_records(n):
    for sampling, factor in ((POOLED, 10), (sb.Fresh(5), 20)):
        solver, reason = default_solver(n, MODEL, sampling)
        assert solver == sb.Strata(factor * n)
        assert f"{factor * n:,}" in reason
        solver.check(n)
    assert default_solver(7, MODEL, sb.Fresh(5))[0] == sb.Exact()  # 127 coalitions instead of 140
    assert default_solver(n + 10, LINEAR, POOLED)[0] == sb.Strata(20 * (n + 10))


def test_the_result_says_what_was_chosen_and_why():
    providers = [sb.Provider(name, sb.ArraySource(X, Y)) for name in "abcdefgh"]
    arguments = {"sampling": sb.Pooled(4, 3), "n_games": 2, "seed": 0}
    chosen = sb.value(providers, MODEL, **arguments)
    assert "Strata(n_evaluations=80)" in str(chosen)
    said = (
        "Strata(n_evaluations=80), because sampling 80 coalitions costs less than enumerating all"
    )
    assert said in str(chosen)
    named = sb.value(providers, MODEL, solver=sb.Strata(80), **arguments)
    assert "because" not in str(named)
    assert np.array_equal(named.games, chosen.games)
    again = sb.Valuation.from_json(chosen.to_json())
    assert said in str(again)


@pytest.mark.parametrize(
    ("n", "coalitions"),
    [
        (21, "2,097,151"),
        (64, "18,446,744,073,709,551,615"),
        (65, "2**65 - 1"),
        (20_000, "2**20000 - 1"),
    ],
)
def test_exact_solving_ends_at_20_providers(n, coalitions):
    sb.Exact().check(20)
    said = (
        f"Exact: {n} providers have {coalitions} coalitions per game, too many to evaluate (the "
        "limit is 20 providers): use Strata, BalancedPermutation or Permutation"
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(said)}$"):
        sb.Exact().check(n)


@pytest.mark.parametrize(
    ("n_iter", "use"), [(1, 8), (4, 8), (7, 8), (9, 12), (11, 12), (13, 16), (401, 404)]
)
def test_balanced_permutations_say_which_number_to_use(n_iter, use):
    said = (
        "BalancedPermutation: n_iter must be a multiple of the 4 providers and at least 8; "
        f"received {n_iter}: use {use}"
    )
    with pytest.raises(InvalidInput, match=f"^{re.escape(said)}$"):
        sb.BalancedPermutation(n_iter).check(4)
    sb.BalancedPermutation(use).check(4)


def test_the_room_of_a_game_is_the_table_or_the_walks():
    assert sb.Exact().floats_per_game(10) == 2**10
    for solver in (sb.Permutation(50), sb.BalancedPermutation(50)):
        # Orders and values, at the least, and in proportion to both sizes.
        assert solver.floats_per_game(5) >= 2 * 50 * 5
        assert solver.floats_per_game(10) == 2 * solver.floats_per_game(5)
