import numpy as np
import pytest
from tests.reference import walks as plain

import shapband as sb
from shapband.coalitions import prefix_masks, set_marks
from shapband.games import Games
from shapband.kernels.compiled import walks as compiled
from shapband.seeds import Seeds
from shapband.solvers.balanced import williams_square
from shapband.solvers.permutation import random_orders


def games(names, indices=range(40), seed=0):
    utility = sb.AdditiveUtility()
    return Games(utility, np.zeros((len(indices), len(names))), tuple(names), indices, Seeds(seed))


def test_permutations_are_uniform():
    orders = random_orders(games("abc", range(2000)), 3).reshape(-1, 3)
    _, counts = np.unique(orders, axis=0, return_counts=True)
    # 6 cells of 1,000 each: chi-square with 5 degrees of freedom exceeds 25.7 once in 10,000.
    assert len(counts) == 6
    assert ((counts - 1000.0) ** 2 / 1000.0).sum() < 25.7


def neighbours(square):
    """How often each ordered pair of different numbers are neighbours in the rows."""
    n = len(square)
    counts = np.zeros((n, n), dtype=int)
    np.add.at(counts, (square[:, :-1], square[:, 1:]), 1)
    return counts[~np.eye(n, dtype=bool)]


@pytest.mark.parametrize("n", range(1, 13))
def test_every_number_takes_every_position_once_in_a_williams_square(n):
    square = williams_square(n)
    for line in (*square, *square.T):
        assert sorted(line) == list(range(n))


@pytest.mark.parametrize("n", range(2, 13))
def test_every_pair_is_a_pair_of_neighbours_equally_often(n):
    square = williams_square(n)
    if n % 2 == 0:
        assert (neighbours(square) == 1).all()
        assert {tuple(row[::-1]) for row in square} == {tuple(row) for row in square}
    else:
        # The reverse is the same square with its numbers renamed to their negatives.
        reverse = square[:, ::-1]
        assert {tuple(row) for row in reverse} == {tuple(-row % n) for row in square}
        assert (neighbours(square) + neighbours(reverse) == 2).all()


@pytest.mark.parametrize("n", [4, 6, 11])
def test_cyclic_shifts_keep_their_neighbours(n):
    """The control: they balance positions and walk the same coalitions, but balance no pairs."""
    shifts = (np.arange(n)[:, None] + np.arange(n)) % n
    assert sorted(set(neighbours(shifts))) == [0, n - 1]
    walks = [
        {mask for row in block for mask in prefix_masks(row)}
        for block in (shifts, williams_square(n))
    ]
    assert walks[0] == walks[1]


@pytest.mark.parametrize("n", [3, 4, 7])
def test_the_walked_permutations_are_squares_of_renamed_providers(n, monkeypatch):
    seen = []
    walked = Games.prefixes
    monkeypatch.setattr(
        Games, "prefixes", lambda self, orders: seen.append(orders) or walked(self, orders)
    )
    sb.BalancedPermutation(2 * n).solve(games("abcdefg"[:n], range(300)))
    blocks = seen[0].reshape(-1, n, n)
    for block in blocks:
        names = np.empty(n, dtype=int)
        names[williams_square(n)[0]] = block[0]
        np.testing.assert_array_equal(block, names[williams_square(n)])
    # In each of 600 random renamings an ordered pair is a pair of neighbours once if n is even, and
    # 0 or 2 times with a mean of 1 if n is odd; 4 standard errors.
    counts = sum(neighbours(block) for block in blocks)
    assert (np.abs(counts - len(blocks)) <= 4 * np.sqrt(len(blocks))).all()


def test_a_further_provider_leaves_the_relative_order_of_the_others():
    few, more = random_orders(games("abcd"), 5), random_orders(games("abcdz"), 5)
    without = more[more != 4].reshape(few.shape)
    np.testing.assert_array_equal(few, without)


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
def test_first_occurrences_match_a_plain_search(kernels):
    rng = np.random.default_rng(0)
    for n in (1, 3, 5, 70):
        orders = np.argsort(rng.random((2, 6, n)), axis=2)
        orders[0, 3] = orders[0, 1]
        orders[1, 5, :] = np.concatenate([orders[1, 0, :2][::-1], orders[1, 0, 2:]])[:n]
        first = kernels.first_occurrences(orders, set_marks(n))
        for g in range(2):
            masks = [prefix_masks(order) for order in orders[g]]
            for t in range(6):
                for k in range(n):
                    assert first[g, t, k] == min(u for u in range(6) if masks[u][k] == masks[t][k])


def test_no_coalition_is_evaluated_twice_in_a_game():
    seen = []

    class Counting(sb.Utility):
        def summarise(self, batch):
            return batch

        def evaluate(self, summaries, coalitions):
            seen.append(list(coalitions))
            return np.array(coalitions, dtype=float)

    providers = [sb.Provider(f"p{i}", sb.ArraySource([[0.0]], [0.0])) for i in range(4)]
    valuation = sb.value(
        providers, Counting(), sampling=sb.Fresh(1), solver=sb.Permutation(50), n_games=3, seed=0
    )
    assert len(seen) == 3
    assert all(len(masks) == len(set(masks)) <= 15 for masks in seen)
    assert valuation.evaluations == sum(len(masks) for masks in seen)
