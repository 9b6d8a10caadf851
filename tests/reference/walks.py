"""Repeated coalitions along permutations, found by a dictionary, and the members along walks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from shapband._typing import IntArray
from shapband.kernels.walks import Walk


def first_occurrences(orders: IntArray, marks: NDArray[np.uint64]) -> IntArray:
    """The first permutation (g, T, n) of the game whose prefix has the same sum of marks."""
    prints = np.cumsum(marks[orders], axis=2, dtype=np.uint64)
    first = np.empty(orders.shape, dtype=np.int64)
    seen: dict[tuple[int, int, int], int] = {}
    for g, t, k in np.ndindex(orders.shape):
        first[g, t, k] = seen.setdefault((g, k, int(prints[g, t, k])), t)
    return first


def coalitions_of(walk: Walk) -> Iterator[tuple[int, list[int]]]:
    """The row and the members, in the order in which they join, of every wanted coalition."""
    members: list[int] = []
    for size, provider, row in zip(*walk, strict=True):
        members[size:] = [int(provider)]
        if row >= 0:
            yield int(row), list(members)
