"""Which solver is taken when the user names none, and which sizes a solver refuses."""

import re

import pytest

import shapband as sb
from shapband.errors import InvalidInput
from shapband.solvers.default import default_solver


@pytest.mark.parametrize("n", [1, 2, 5, 10, 11])
def test_small_games_are_solved_exactly(n):
    assert default_solver(n) == sb.Exact()


@pytest.mark.parametrize(
    ("n", "n_iter"),
    [(12, 204), (15, 210), (20, 200), (30, 210), (67, 201), (100, 200), (150, 300), (250, 500)],
)
def test_larger_games_get_the_fewest_whole_blocks_of_about_200_permutations(n, n_iter):
    solver = default_solver(n)
    assert solver == sb.BalancedPermutation(n_iter)
    solver.check(n)


def test_the_default_costs_no_more_than_the_other_choice_would():
    for n in range(1, 30):
        blocks = max(2, -(-200 // n))
        exact, walks = 2**n - 1, blocks * n * n
        assert (default_solver(n) == sb.Exact()) is (exact <= walks)


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
        f"Exact: {n} providers have {coalitions} coalitions a game, too many to evaluate (the "
        "limit is 20 providers): use BalancedPermutation or Permutation"
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
