"""Shapley values averaged over which providers are present, from Hart and Mas-Colell's potential.

The value of provider i among the set S of those present is P(S) - P(S without i), with P the
potential. So one table of potentials gives the values for all sets.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def _fill(row, n, found):
    """Write the potentials of one game to `found`."""
    found[0] = 0.0
    for here in range(1, len(row)):
        total, size = row[here] - row[0], 0
        for j in range(n):
            if here >> j & 1:
                total += found[here ^ (1 << j)]
                size += 1
        found[here] = total / size


@njit(**PART)
def _providers(count):
    n = 0
    while 1 << n < count:
        n += 1
    return n


@njit(**OPTIONS)
def potentials(table):
    """Potential of every set of providers, by bitmask: (n_games, 2**n), from tables of values."""
    found = np.empty(table.shape)
    for g in range(len(table)):
        _fill(table[g], _providers(table.shape[1]), found[g])
    return found


@njit(**OPTIONS)
def average(table, rates, chances):
    """Mean and variance of the values over the sets of those present: (n_games, n) each.

    Parameters
    ----------
    table : (n_games, 2**n) values of all coalitions, by bitmask
    rates : (n,) probability of each provider to be present
    chances : (2**n,) probability of each set to be the set of those present
    """
    games, count = table.shape
    n = len(rates)
    potential, centre, first, second = np.empty(count), np.empty(n), np.empty(n), np.empty(n)
    mean, variance = np.empty((games, n)), np.empty((games, n))
    for g in range(games):
        _fill(table[g], n, potential)
        for i in range(n):
            centre[i] = rates[i] * (potential[count - 1] - potential[count - 1 ^ (1 << i)])
            first[i] = -(1 - rates[i]) * centre[i]
            second[i] = (1 - rates[i]) * centre[i] ** 2
        for here in range(1, count):
            chance = chances[here]
            if chance == 0.0:
                continue
            for i in range(n):
                if here >> i & 1:
                    apart = potential[here] - potential[here ^ (1 << i)] - centre[i]
                    first[i] += chance * apart
                    second[i] += chance * apart * apart
        for i in range(n):
            mean[g, i] = centre[i] + first[i]
            variance[g, i] = max(second[i] - first[i] ** 2, 0.0)
    return mean, variance
