"""Sums over games for every record of a pool, in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray


def add_games(
    rows: IntArray,
    values: FloatArray,
    first: int,
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
        totals += [value, square, u * value, u * value * value, u, square * value, square * square]
