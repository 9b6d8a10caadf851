"""Least squares of many coalitions at once, in NumPy.

A summary is the packed lower triangle (row-major) of Z'Z, Z = [1, scaled features], followed by
Z'y. Summaries add up over the members of a coalition. The normal equations are solved by a
square-root-free Cholesky factorisation, vectorised over coalitions. A coalition whose pivot is
not clearly positive is left as NaN for the caller to answer.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray

PIVOT_TOL = 1e-11


def gram_summaries(
    X: FloatArray,
    y: FloatArray,
    rows: IntArray,
    mean: FloatArray,
    inv_scale: FloatArray,
    y_mean: float,
) -> FloatArray:
    """Summarise the draws `rows` (n_games, size) of records X, y: (n_games, n_sums)."""
    scaled = (X[rows] - mean) * inv_scale
    Z = np.concatenate([np.ones((*rows.shape, 1)), scaled], axis=2)
    lower = np.tril_indices(Z.shape[2])
    gram = np.matmul(Z.transpose(0, 2, 1), Z)[:, lower[0], lower[1]]
    products = np.matmul(Z.transpose(0, 2, 1), (y[rows] - y_mean)[:, :, None])[:, :, 0]
    return np.concatenate([gram, products], axis=1)


def linear_table(summaries: FloatArray, A: FloatArray, b: FloatArray, c: float) -> FloatArray:
    """Validation errors of all coalitions: (n_games, n, n_sums) to (n_games, 2**n)."""
    n_games, n, n_sums = summaries.shape
    errors = np.empty((n_games, 2**n))
    for game in range(n_games):
        merged = np.zeros((2**n, n_sums))
        for i in range(n):
            np.add(merged[: 2**i], summaries[game, i], out=merged[2**i : 2 ** (i + 1)])
        errors[game] = _solve(merged, A, b, c)
    return errors


def linear_prefixes(
    summaries: FloatArray,
    orders: IntArray,
    first: IntArray,
    A: FloatArray,
    b: FloatArray,
    c: float,
) -> FloatArray:
    """Validation errors along permutations: (n_games, n_iter, n); see `Utility`."""
    errors = np.full(orders.shape, np.nan)
    for game in range(len(orders)):
        new = first[game] == np.arange(orders.shape[1])[:, None]
        merged = np.cumsum(summaries[game][orders[game]], axis=1)
        errors[game][new] = _solve(merged[new], A, b, c)
        errors[game] = np.take_along_axis(errors[game], first[game], axis=0)
    return errors


def _solve(merged: FloatArray, A: FloatArray, b: FloatArray, c: float) -> FloatArray:
    """Validation errors of merged summaries (m, n_sums): (m,), NaN where rank is lacking."""
    p = len(b)
    L, diagonal = _factor(_unpack(merged[:, :-p], p))
    beta = merged[:, -p:].copy()
    for j in range(p):
        beta[:, j] -= (L[:, j, :j] * beta[:, :j]).sum(axis=1)
    beta /= diagonal
    for j in range(p - 1, -1, -1):
        beta[:, j] -= (L[:, j + 1 :, j] * beta[:, j + 1 :]).sum(axis=1)
    spread = (beta[:, :, None] * _unpack(A[None], p) * beta[:, None, :]).sum(axis=(1, 2))
    return np.asarray(spread - 2 * (beta * b).sum(axis=1) + c)


def _factor(G: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Factor G = L D L' with unit lower triangular L; NaN pivots where rank is lacking."""
    p = G.shape[1]
    L = np.zeros_like(G)
    diagonal = np.empty(G.shape[:2])
    for j in range(p):
        scaled = L[:, j, :j] * diagonal[:, :j]
        pivot = G[:, j, j] - (scaled * L[:, j, :j]).sum(axis=1)
        sound = pivot > PIVOT_TOL * G[:, j, j]
        diagonal[:, j] = np.where(sound, pivot, np.nan)
        below = G[:, j + 1 :, j] - (L[:, j + 1 :, :j] * scaled[:, None, :]).sum(axis=2)
        L[:, j + 1 :, j] = below / diagonal[:, j, None]
    return L, diagonal


def _unpack(packed: FloatArray, p: int) -> FloatArray:
    row, column = np.tril_indices(p)
    full = np.empty((len(packed), p, p))
    full[:, row, column] = packed
    full[:, column, row] = packed
    return full
