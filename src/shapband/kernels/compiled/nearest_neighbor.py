"""Losses of the nearest neighbour, k = 1, of every coalition of providers.

At one validation point provider i decides the loss of exactly those coalitions that contain i and
none of the providers nearer than i. So its loss is added to the entry of the set of nearer
providers, and one subset-sum transform per provider gives the losses of all coalitions:
O(m n² + n² 2ⁿ) instead of O(m 2ⁿ). Only non-negative numbers are added.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.neighbor_blocks import OPTIONS


@njit(**OPTIONS)
def nearest_tables(summaries, y_val, classify):
    """Return the loss of every coalition, (g, 2**n), by bitmask; 0 without records."""
    loss = np.zeros((summaries.shape[0], 1 << summaries.shape[1]))
    for g in range(summaries.shape[0]):
        _table_nearest(summaries[g], y_val, classify, loss[g])
    loss /= summaries.shape[4]
    return loss


@njit(**OPTIONS)
def _table_nearest(summary, y_val, classify, loss):
    """Add up the losses of all coalitions of one game with k = 1."""
    n, m = summary.shape[0], summary.shape[3]
    nearer = np.zeros((n, m), np.int64)
    for i in range(n):
        for j in range(i):
            _compare(
                summary[i, 0, 0],
                summary[i, 1, 0],
                1 << i,
                nearer[i],
                summary[j, 0, 0],
                summary[j, 1, 0],
                1 << j,
                nearer[j],
            )
    half = 1 << n >> 1
    filed = np.empty(half)
    for i in range(n):
        if not summary[i, 0, 0, 0] < np.inf:
            continue
        filed[:] = 0.0
        low = (1 << i) - 1
        for p in range(m):
            target, mask = summary[i, 1, 0, p], nearer[i, p]
            cost = _cost(target, y_val[p], classify)
            # Bit i is never set: without it the array is half as long.
            filed[(mask & low) | ((mask >> 1) & ~low)] += cost
        _subset_sums(filed)
        for absent in range(half):
            others = half - 1 - absent
            loss[(others & low) | ((others & ~low) << 1) | (1 << i)] += filed[absent]


@njit(**OPTIONS)
def _compare(near_a, label_a, bit_a, nearer_a, near_b, label_b, bit_b, nearer_b):
    """Record at each validation point which of two providers is nearer."""
    for p in range(near_a.size):
        first = (near_a[p] < near_b[p]) | ((near_a[p] == near_b[p]) & (label_a[p] < label_b[p]))
        nearer_a[p] |= 0 if first else bit_b
        nearer_b[p] |= bit_a if first else 0


@njit(**OPTIONS)
def _subset_sums(values):
    """Replace each entry by the sum over the subsets of its index."""
    step = 1
    while step < values.size:
        for start in range(0, values.size, 2 * step):
            for j in range(start, start + step):
                values[j + step] += values[j]
        step *= 2


@njit(inline="always")
def _cost(prediction, truth, classify):
    """Return the loss of one prediction."""
    if classify:
        return 1.0 if prediction != truth else 0.0
    return (prediction - truth) ** 2
