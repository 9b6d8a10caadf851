"""Interactions of pairs from the values of all coalitions."""

from __future__ import annotations

from math import comb

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray
from shapband.solvers.pairs import pair_count, pair_places
from shapband.solvers.presence import presence_chances


def table_interactions(table: FloatArray) -> FloatArray:
    """Interactions of games given as tables: (n_games, 2**n) to (n_games, n_pairs).

    With p_s = s! (n - s - 2)! / (n - 1)!, a coalition of size s counts c = p_{s-2} for pairs that
    are both in it, b = -p_{s-1} for pairs with one in it, and a = p_s for pairs outside. So

        I_ij = Σ_S a v(S) + Σ_{S∋i} (b - a) v(S) + Σ_{S∋j} (b - a) v(S)
               + Σ_{S∋i,j} (a - 2b + c) v(S).

    Adding an additive game changes no interaction. The table is taken relative to the additive game
    of the single providers, so that the sums are small if interactions are.

    Examples
    --------
    >>> table_interactions(np.array([[0.0, 1.0, 2.0, 5.0]])).tolist()
    [[2.0]]
    """
    n = table.shape[1].bit_length() - 1
    if n < 2:
        return np.empty((len(table), 0))
    weights = np.array([1.0 / ((n - 1) * comb(n - 2, s)) for s in range(n - 1)])
    outside = np.concatenate([weights, [0.0, 0.0]])
    alone = -np.concatenate([[0.0], weights, [0.0]])
    inside = np.concatenate([[0.0, 0.0], weights])
    sizes = np.bitwise_count(np.arange(2**n)).astype(np.int64)
    rows = _without_single_values(table)
    single, pairs = _sums(rows, (alone - outside)[sizes], (outside - 2 * alone + inside)[sizes])
    total = (rows * outside[sizes]).sum(axis=1)
    first, second = pair_places(n)
    return np.asarray(total[:, None] + single[:, first] + single[:, second] + pairs)


def average_interactions(table: FloatArray, rates: FloatArray) -> FloatArray:
    """Mean interactions over who is present: (n_games, 2**n) to (n_games, n_pairs).

    The interaction among those present is 0 for a pair of which one is absent. With f the
    multilinear extension of the game, its mean over who is present is

        r_i r_j ∫ ∂²f / ∂x_i ∂x_j (t r_1, .., t r_n) dt for t from 0 to 1,

    because the integral of t^(k - 2) turns the dividend of k providers into its part 1 / (k - 1) of
    an interaction. The integrand is a polynomial of degree n - 2, so Gauss' rule is exact.

    Examples
    --------
    >>> average_interactions(np.array([[0.0, 1.0, 2.0, 5.0]]), np.array([0.5, 1.0])).tolist()
    [[1.0]]
    """
    n = len(rates)
    first, second = pair_places(n)
    found = np.zeros((len(table), pair_count(n)))
    rows = _without_single_values(table)
    nodes, weights = np.polynomial.legendre.leggauss(n // 2 + 1)
    for t, weight in zip((1 + nodes) / 2, weights / 2, strict=True):
        p = t * rates
        chances = presence_chances(p)
        single, both = _sums(rows, chances, chances)
        one, two = single[:, first], single[:, second]
        neither = (rows * chances).sum(axis=1)[:, None] - one - two + both
        # A provider that is never present has no interactions, whatever they are divided by.
        p_i, p_j = (np.where(rates > 0, p, 0.5)[places] for places in (first, second))
        found += weight * (
            both / (p_i * p_j)
            - (one - both) / (p_i * (1 - p_j))
            - (two - both) / (p_j * (1 - p_i))
            + neither / ((1 - p_i) * (1 - p_j))
        )
    return np.asarray(found * (rates[first] * rates[second]))


def _sums(
    rows: FloatArray, of_one: FloatArray, of_two: FloatArray
) -> tuple[FloatArray, FloatArray]:
    found: tuple[FloatArray, FloatArray] = kernels.load("interactions").table_sums(
        rows, of_one, of_two
    )
    return found


def _without_single_values(table: FloatArray) -> FloatArray:
    """Subtract v(∅) and what each member is worth alone from the value of every coalition."""
    n = table.shape[1].bit_length() - 1
    alone = table[:, 1 << np.arange(n)] - table[:, :1]
    added = table[:, :1].copy()
    for i in range(n):
        added = np.concatenate([added, added + alone[:, i : i + 1]], axis=1)
    return np.ascontiguousarray(table - added, dtype=np.float64)
