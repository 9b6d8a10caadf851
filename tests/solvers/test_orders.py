import numpy as np
import pytest

import shapband as sb
from shapband.coalitions import prefix_masks, set_marks
from shapband.games import Games
from shapband.kernels.compiled import walks as compiled
from shapband.kernels.plain import walks as plain
from shapband.seeds import Seeds
from shapband.solvers.balanced import _shifts
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


def test_every_provider_takes_every_position_once_in_a_block():
    orders = _shifts(random_orders(games("abcdef"), 2))
    blocks = orders.reshape(-1, 6, 6)
    for block in blocks:
        for position in range(6):
            assert sorted(block[:, position]) == list(range(6))


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

    class Counting(sb.TableUtility):
        mergeable = False

        def evaluate(self, summaries, coalitions):
            seen.append(list(coalitions))
            return super().evaluate(summaries, coalitions)

    providers = [sb.Provider(f"p{i}", sb.ArraySource([[0.0]], [0.0])) for i in range(4)]
    utility = Counting(np.arange(16.0))
    valuation = sb.value(
        providers, utility, sampling=sb.Fresh(1), solver=sb.Permutation(50), n_games=3, seed=0
    )
    assert len(seen) == 3
    assert all(len(masks) == len(set(masks)) <= 15 for masks in seen)
    assert valuation.evaluations == sum(len(masks) for masks in seen)
