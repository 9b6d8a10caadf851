"""Shapley values from tables of all coalitions, many games at once."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray


def weigh(table: FloatArray, both: FloatArray, outside: FloatArray) -> FloatArray:
    """Σ_{S∋i} both[S] v(S) − Σ_S outside[S] v(S) for every i: (n_games, 2**n) to (n_games, n).

    Sums are computed by elementwise halving, so a game's bits do not depend on the other games.
    """
    n = table.shape[1].bit_length() - 1
    values = np.empty((len(table), n))
    base = total(table * outside)
    folded = table * both
    for i in range(n - 1, -1, -1):
        half = 2**i
        values[:, i] = total(folded[:, half:]) - base
        folded = folded[:, :half] + folded[:, half:]
    return values


def total(rows: FloatArray) -> FloatArray:
    """Sum rows of a power-of-two length by halving."""
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = rows[:, :half] + rows[:, half:]
    return rows[:, 0]
