"""Repeated coalitions along permutations, found by sorting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import IntArray


def first_occurrences(orders: IntArray, marks: NDArray[np.uint64]) -> IntArray:
    """The first permutation (g, T, n) of the game whose prefix has the same sum of marks."""
    prints = np.cumsum(marks[orders], axis=2, dtype=np.uint64)
    by_print = np.argsort(prints, axis=1, kind="stable")
    ranked = np.take_along_axis(prints, by_print, axis=1)
    starts = np.ones(ranked.shape, dtype=bool)
    starts[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    # Among equal sums of marks the stable sort puts the earliest permutation first.
    place = np.arange(orders.shape[1])[None, :, None]
    leader = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    first = np.empty(orders.shape, dtype=np.int64)
    np.put_along_axis(first, by_print, np.take_along_axis(by_print, leader, axis=1), axis=1)
    return first
