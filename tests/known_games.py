"""Cooperative games whose Shapley values are known on paper, as tables indexed by bitmask."""

import numpy as np


def _table(n, worth):
    return np.array([worth([i for i in range(n) if mask >> i & 1]) for mask in range(2**n)])


def airport():
    """A runway as long as the longest user needs; each length is shared by those who need it."""
    costs = [1.0, 1.0, 3.0, 4.0, 7.0]
    table = _table(5, lambda members: max((costs[i] for i in members), default=0.0))
    values, share, below = [], 0.0, 0.0
    for position, cost in enumerate(costs):
        share += (cost - below) / (len(costs) - position)
        below = cost
        values.append(share)
    return table, np.array(values)


def glove():
    """One left and two right gloves; a pair is worth 1. Values 4/6, 1/6, 1/6 (Shapley 1953)."""
    table = _table(3, lambda members: float(0 in members and (1 in members or 2 in members)))
    return table, np.array([4, 1, 1]) / 6


def weighted_majority():
    """Votes 4, 2, 1, 1 with a quota of 5; swings counted by hand: 18, 2, 2, 2 of 24 orders.

    The first voter is pivotal unless it comes first; the others only right after it alone,
    completing 5 of 8 votes.
    """
    weights = [4, 2, 1, 1]
    table = _table(4, lambda members: float(sum(weights[i] for i in members) >= 5))
    return table, np.array([18, 2, 2, 2]) / 24


def unanimity():
    """Worth 1 once the carriers 1, 2 and 4 are all in; they share it equally."""
    carriers = {1, 2, 4}
    table = _table(6, lambda members: float(carriers <= set(members)))
    return table, np.array([1.0 / 3 if i in carriers else 0.0 for i in range(6)])


def random_additive():
    """Everyone is worth its own amount."""
    worth = np.random.default_rng(1).normal(size=7)
    return _table(7, lambda members: worth[members].sum()), worth


def random_sum_of_unanimities():
    """Random dividends: each is shared equally by its carriers (Harsanyi)."""
    n, rng = 6, np.random.default_rng(2)
    dividends = rng.normal(size=2**n)
    dividends[0] = 0.0
    masks = np.arange(2**n)
    inside = (masks[:, None] & masks[None, :]) == masks[None, :]
    sizes = np.array([max(1, int(m).bit_count()) for m in masks])
    values = [sum(dividends[m] / sizes[m] for m in masks if m >> i & 1) for i in range(n)]
    return inside @ dividends, np.array(values)


ALL = {
    game.__name__: game
    for game in (
        airport,
        glove,
        weighted_majority,
        unanimity,
        random_additive,
        random_sum_of_unanimities,
    )
}
