"""Coalitions as lists of members or of non-members, and back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray

LANES = 8


def dense(starts: IntArray, members: NDArray[np.int32], sizes: IntArray, n: int) -> FloatArray:
    """Rows (n_rows, n) of coalitions that are given as lists."""
    inside = np.zeros((len(sizes), n))
    for row, size, start, stop in zip(inside, sizes, starts, starts[1:], strict=False):
        row[members[start:stop]] = 1.0
        if 2 * size > n:
            row[:] = 1.0 - row
    return inside
