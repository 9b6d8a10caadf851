"""Exact Shapley values of one wine game as a good engineer would program them in an afternoon."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from benchmarks.games import Records


def from_grams(records: Sequence[Records], X_val: np.ndarray, y_val: np.ndarray) -> np.ndarray:
    """NumPy on Gram matrices: coalitions are bitmasks, and each adds one provider to another.

    The score is 1 / (1 + MSE) of least squares, and nobody is worth 0.
    """
    n = len(records)
    designs = [_design(X) for X, _ in records]
    p = designs[0].shape[1]
    grams, products = np.zeros((1 << n, p, p)), np.zeros((1 << n, p))
    for i, (Z, (_, y)) in enumerate(zip(designs, records, strict=True)):
        without, with_i = slice(0, 1 << i), slice(1 << i, 2 << i)
        grams[with_i] = grams[without] + Z.T @ Z
        products[with_i] = products[without] + Z.T @ y
    beta = np.linalg.solve(grams[1:], products[1:, :, None])[:, :, 0]
    Z_val = _design(X_val)
    A, b, c = Z_val.T @ Z_val / len(y_val), Z_val.T @ y_val / len(y_val), np.mean(y_val**2)
    mse = ((beta @ A) * beta).sum(axis=1) - 2 * beta @ b + c
    table = np.zeros(1 << n)
    table[1:] = 1 / (1 + mse)
    return shapley(table)


def from_orders(
    records: Sequence[Records], X_val: np.ndarray, y_val: np.ndarray, orders: np.ndarray
) -> np.ndarray:
    """Mean marginal contributions along permutations, on cumulative sums of Gram matrices."""
    designs = [_design(X) for X, _ in records]
    grams = np.stack([Z.T @ Z for Z in designs])
    products = np.stack([Z.T @ y for Z, (_, y) in zip(designs, records, strict=True)])
    Z_val = _design(X_val)
    A, b, c = Z_val.T @ Z_val / len(y_val), Z_val.T @ y_val / len(y_val), np.mean(y_val**2)
    total = np.zeros(len(records))
    for order in orders:
        gram, product = grams[order].cumsum(axis=0), products[order].cumsum(axis=0)
        beta = np.linalg.solve(gram, product[:, :, None])[:, :, 0]
        mse = ((beta @ A) * beta).sum(axis=1) - 2 * beta @ b + c
        total[order] += np.diff(1 / (1 + mse), prepend=0.0)
    return total / len(orders)


def from_lstsq(records: Sequence[Records], X_val: np.ndarray, y_val: np.ndarray) -> np.ndarray:
    """A loop over all coalitions that joins their records and calls `np.linalg.lstsq`."""
    n = len(records)
    designs, Z_val = [_design(X) for X, _ in records], _design(X_val)
    table = np.zeros(1 << n)
    for coalition in range(1, 1 << n):
        inside = [i for i in range(n) if coalition >> i & 1]
        Z = np.concatenate([designs[i] for i in inside])
        y = np.concatenate([records[i][1] for i in inside])
        beta = np.linalg.lstsq(Z, y)[0]
        table[coalition] = 1 / (1 + np.mean((Z_val @ beta - y_val) ** 2))
    return shapley(table)


def shapley(table: np.ndarray) -> np.ndarray:
    """Shapley values from the values of all coalitions, by bitmask: (2**n,) to (n,)."""
    n = len(table).bit_length() - 1
    coalitions = np.arange(1 << n)
    weights = np.array([1 / (n * comb(n - 1, size)) for size in range(n)])
    values = np.empty(n)
    for i in range(n):
        without = coalitions[coalitions >> i & 1 == 0]
        gains = table[without | 1 << i] - table[without]
        values[i] = weights[np.bitwise_count(without)] @ gains
    return values


def _design(X: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(X)), X])
