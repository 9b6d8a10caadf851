"""Values of games among all sets of those present, from tables of all coalitions, many at once."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from tests.reference.shapley import total


def potentials(table: FloatArray) -> FloatArray:
    r"""Potential of the game among every set T: (n_games, 2**n) to (n_games, 2**n).

    The potential is P(∅) = 0 and P(T) = (v(T) − v(∅) + Σ_{j∈T} P(T \ j)) / |T|.
    """
    n = table.shape[1].bit_length() - 1
    sets = np.arange(2**n)
    sizes = np.bitwise_count(sets)
    found = table - table[:, :1]
    for size in range(1, n + 1):
        for j in range(n):
            here = sets[(sizes == size) & (sets >> j & 1 == 1)]
            found[:, here] += found[:, here ^ (1 << j)]
        found[:, sizes == size] /= size
    return found


def average(
    table: FloatArray, rates: FloatArray, chances: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the values over who is present, (n_games, n) each.

    Parameters
    ----------
    table : values of all coalitions
    rates : (n,) probability of each provider to be present
    chances : (2**n,) probability of every set to be the set of those present
    """
    n = len(rates)
    potential = potentials(table)
    mean, variance = np.empty((2, len(table), n))
    for i in range(n):
        inside = np.flatnonzero(np.arange(2**n) >> i & 1)
        values = potential[:, inside] - potential[:, inside ^ (1 << i)]
        centre = rates[i] * values[:, -1]
        apart, absent = values - centre[:, None], 1 - rates[i]
        first = total(apart * chances[inside]) - absent * centre
        second = total(apart**2 * chances[inside]) + absent * centre**2
        mean[:, i] = centre + first
        variance[:, i] = np.maximum(second - first**2, 0.0)
    return mean, variance
