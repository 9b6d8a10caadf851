"""Shapley values from tables of all coalitions, one game after the other.

One call solves a whole chunk of games and releases the interpreter lock. The same in NumPy would
be many small calls, between which threads compete for the lock.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    add,
    lane_sum,
    load,
    multiply,
    multiply_add,
    pointer,
    splat,
    store,
)
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def _begin(table, start, both, outside, folded, count):
    """Write the table times `both` to `folded`; return the sum of the table times `outside`."""
    values, wide = pointer(table, start), count // LANES * LANES
    inside, others, target = pointer(both, 0), pointer(outside, 0), pointer(folded, 0)
    total = splat(0.0)
    for at in range(0, wide, LANES):
        v = load(values, at)
        store(target, at, multiply(v, load(inside, at)))
        total = multiply_add(total, v, load(others, at))
    base = lane_sum(total)
    for at in range(wide, count):
        folded[at] = table[start + at] * both[at]
        base += table[start + at] * outside[at]
    return base


@njit(**PART)
def _fold(folded, half):
    """Add the upper half to the lower half; return the sum of the upper half."""
    target, wide = pointer(folded, 0), half // LANES * LANES
    total = splat(0.0)
    for at in range(0, wide, LANES):
        upper = load(target, half + at)
        total = add(total, upper)
        store(target, at, add(load(target, at), upper))
    upper_sum = lane_sum(total)
    for at in range(wide, half):
        upper_sum += folded[half + at]
        folded[at] += folded[half + at]
    return upper_sum


@njit(**OPTIONS)
def weigh(table, both, outside):
    """Σ_{S∋i} both[S] v(S) − Σ_S outside[S] v(S) for every i: (n_games, 2**n) to (n_games, n)."""
    games, count = table.shape
    n = 0
    while 1 << n < count:
        n += 1
    flat = table.reshape(games * count)
    folded = np.empty(count)
    values = np.empty((games, n))
    for g in range(games):
        base = _begin(flat, g * count, both, outside, folded, count)
        for i in range(n - 1, -1, -1):
            values[g, i] = _fold(folded, 1 << i) - base
    return values
