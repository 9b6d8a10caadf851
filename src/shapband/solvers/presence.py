r"""Both moments of the Shapley values over who is present, from the table of all coalitions.

Every provider is present with its own probability, independently of the others. Those present
play the game without the others, and an absent provider is worth 0. All 2**n sets T of those
present are enumerated. The Shapley values of the game among T are the differences of its potential
(Hart and Mas-Colell 1989, Econometrica 57, 589-614),

    φ_i(T) = P(T) - P(T \ i) with P(∅) = 0 and P(T) = (v(T) - v(∅) + Σ_{j∈T} P(T \ j)) / |T|,

so all sets together take n 2**n steps, about as many as the Shapley values of one game.
"""

from __future__ import annotations

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray


def presence_chances(rates: FloatArray) -> FloatArray:
    """Probability that each set is the set of those present: (n,) to (2**n,), by bitmask.

    Examples
    --------
    >>> presence_chances(np.array([0.75, 0.5])).tolist()
    [0.125, 0.375, 0.125, 0.375]
    """
    chances = np.ones(1)
    for rate in rates.tolist():
        chances = np.concatenate([chances * (1 - rate), chances * rate])
    return chances


def average_over_presence(table: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the values over who is present: (n_games, 2**n) to twice (n_games, n).

    Examples
    --------
    >>> mean, variance = average_over_presence(np.array([[0.0, 1.0, 2.0, 5.0]]), np.array([0.5, 1]))
    >>> mean.tolist(), variance.tolist()
    ([[1.0, 2.5]], [[1.0, 0.25]])
    """
    rows = np.ascontiguousarray(table, dtype=np.float64)
    found: tuple[FloatArray, FloatArray] = kernels.load("presence").average(
        rows, rates, presence_chances(rates)
    )
    return found


def values_of_all_sets(row: FloatArray) -> FloatArray:
    """Shapley values of one game among every set of those present: (2**n,) to (2**n, n).

    Examples
    --------
    >>> values_of_all_sets(np.array([0.0, 1.0, 2.0, 5.0])).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [2.0, 3.0]]
    """
    potential = kernels.load("presence").potentials(np.ascontiguousarray(row[None]))[0]
    sets, n = np.arange(len(row)), len(row).bit_length() - 1
    return np.stack([potential - potential[sets & ~(1 << i)] for i in range(n)], axis=1)
