"""Repeated coalitions along permutations, found by hashing.

For each game and prefix length, the prefixes are entered into an open-addressing table in the
order of the permutations, so a repeated prefix finds its first occurrence.
"""

import numpy as np
from numba import njit

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: maps close numbers to distant ones


@njit(cache=True, nogil=True)
def first_occurrences(orders, marks):
    """For each prefix, the first permutation with the same set as its prefix: (g, T, n).

    Sets are compared by the sums of their members' marks.
    """
    games, permutations, n = orders.shape
    bits = 1
    while 1 << bits < 2 * permutations:
        bits += 1
    shift, last = np.uint64(64 - bits), (1 << bits) - 1
    slots = np.empty(1 << bits, np.int64)
    prints = np.empty(permutations, np.uint64)
    first = np.empty((games, permutations, n), np.int64)
    for g in range(games):
        prints[:] = 0
        for k in range(n):
            slots[:] = -1
            for t in range(permutations):
                prints[t] += marks[orders[g, t, k]]
                slot = np.int64((prints[t] * _SPREAD) >> shift)
                while slots[slot] >= 0 and prints[slots[slot]] != prints[t]:
                    slot = (slot + 1) & last
                if slots[slot] < 0:
                    slots[slot] = t
                first[g, t, k] = slots[slot]
    return first
