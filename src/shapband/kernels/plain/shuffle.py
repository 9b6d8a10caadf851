"""The first places of a Fisher-Yates shuffle, games side by side."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray

_SCRATCH_ROWS = 4_000_000  # rows held at once while shuffling many games side by side


def first_of_shuffle(uniforms: FloatArray, size: int) -> IntArray:
    """Shuffle `size` rows by uniforms (n_games, k) and give the first k: (n_games, k).

    Step j swaps place j with place ``j + int(u[j] * (size - j))``.
    """
    n_games, k = uniforms.shape
    at_once = max(1, _SCRATCH_ROWS // size)
    chosen = np.empty((n_games, k), dtype=np.int64)
    for start in range(0, n_games, at_once):
        part = uniforms[start : start + at_once]
        chosen[start : start + at_once] = _shuffle(part, size)
    return chosen


def _shuffle(uniforms: FloatArray, size: int) -> IntArray:
    n_games, k = uniforms.shape
    places = np.tile(np.arange(size, dtype=np.int64), (n_games, 1))
    games = np.arange(n_games)
    for step in range(k):
        other = step + (uniforms[:, step] * (size - step)).astype(np.int64)
        taken = places[games, other]
        places[games, other] = places[:, step]
        places[:, step] = taken
    return places[:, :k]
