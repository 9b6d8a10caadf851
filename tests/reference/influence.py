"""Sums over games for every record of a pool, in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray


def add_games(
    rows: IntArray,
    values: FloatArray,
    first: int,
    group: int,
    seen: NDArray[np.int32],
    counts: NDArray[np.int32],
    sums: NDArray[np.float32],
    totals: FloatArray,
) -> None:
    """Add games to the sums of one pool, in place; the compiled module says what they are."""
    for game, (used, value) in enumerate(zip(rows, values, strict=True)):
        records = np.unique(used)
        seen[records] = first + game + 1
        counts[records] += 1
        sums[records] += value
        u = np.full_like(value, len(records))
        square = value * value
        totals[:7] += [value, square, u * value, u * square, u, square * value, square * square]
        totals[7] += value
        totals[10] += square * square * value
        if (first + game + 1) % group == 0:
            totals[8] += totals[7] * totals[7]
            totals[9] += totals[7] * np.roll(totals[7], -1)
            totals[7] = 0.0
