"""Tables and permutations for utilities whose kernels take chosen coalitions."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.coalitions import mask_rows
from shapband.utilities.base import Utility


def table_by_rows(utility: Utility, games: FloatArray) -> FloatArray:
    """Return the values of all coalitions: (n_games, 2**n), indexed by bitmask."""
    n_games, n = games.shape[:2]
    inside = mask_rows(range(1 << n), n)
    table = np.empty((n_games, 1 << n))
    for g in range(n_games):
        table[g] = utility.evaluate_rows(games, inside, np.full(1 << n, g))
    return table


def prefixes_by_rows(
    utility: Utility, games: FloatArray, orders: IntArray, first: IntArray
) -> FloatArray:
    """Return the values of the coalitions along permutations: (n_games, n_iter, n)."""
    values = np.empty(orders.shape)
    new = first == np.arange(orders.shape[1])[:, None]
    for g, order in enumerate(orders):
        joined = order[:, :, None] == np.arange(orders.shape[2])
        inside = np.cumsum(joined, axis=1, dtype=np.uint8)[new[g]]
        values[g][new[g]] = utility.evaluate_rows(games, inside, np.full(len(inside), g))
    return np.take_along_axis(values, first, axis=1)
