"""Sums over games for every record of a pool, in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray


def add_games(
    rows: IntArray,
    values: FloatArray,
    first: int,
    shuffles: IntArray,
    seen: NDArray[np.int32],
    counts: NDArray[np.int32],
    sums: NDArray[np.float32],
    totals: FloatArray,
    current: IntArray,
) -> None:
    """Add games to the sums of one pool, in place; the compiled module says what they are."""
    for game, (used, value) in enumerate(zip(rows, values, strict=True)):
        records = np.unique(used)
        seen[records] = first + game + 1
        counts[records] += 1
        sums[records] += value
        u = np.full_like(value, len(records))
        square = value * value
        totals[:5] += [value, square, u * value, u * square, u]
        own, two = value[:2], square[:2]  # higher powers of the first two columns
        totals[[5, 6, 12], :2] += [two * own, two * two, two * two * own]
        if shuffles[game] != current[0]:
            s, c = totals[7].copy(), float(current[1])
            totals[8:12] += [s * s, s * np.roll(s, -1), c * s, np.full_like(s, c * c)]
            totals[7], current[:] = 0.0, (shuffles[game], 0)
        current[1] += 1
        totals[7] += value
