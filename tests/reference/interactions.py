"""Sums over the coalitions that contain one provider, or two, by matrix products."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray


def table_sums(
    table: FloatArray, of_one: FloatArray, of_two: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Weighted sums over the coalitions that contain a provider, or a pair of providers."""
    n = table.shape[1].bit_length() - 1
    inside = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
    first, second = np.triu_indices(n, 1)
    return (table * of_one) @ inside, (table * of_two) @ (inside[:, first] * inside[:, second])


def additive_values(
    rows: MemberArray, sizes: IntArray, fixed: FloatArray, fading: FloatArray
) -> FloatArray:
    """Σ (fixed_k + fading_k / size) over the members k of each coalition: (n_rows,)."""
    return np.asarray(rows @ fixed + rows @ fading / sizes)


def sampled(
    rows: MemberArray,
    terms: FloatArray,
    spreads: FloatArray,
    starts: IntArray,
    inside: FloatArray,
    alone: FloatArray,
    outside: FloatArray,
    known: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Interactions and their noise from sampled coalitions, one stratum after the other."""
    first, second = np.triu_indices(rows.shape[1], 1)
    members = rows[:, first].astype(np.int64) + rows[:, second]  # how many of a pair are inside
    values, noise = np.zeros((2, len(first)))
    for stratum, weights in enumerate(zip(outside, alone, inside, strict=True)):
        part = slice(starts[stratum], starts[stratum + 1])
        weight = np.array(weights)[members[part]]
        values += terms[part] @ weight
        found, squares = spreads[part] @ weight, spreads[part] ** 2 @ weight**2
        noise += (squares - known[stratum] * found**2) / (1 - known[stratum])
    return values, np.maximum(noise, 0.0)
