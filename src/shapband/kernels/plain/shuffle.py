"""The first positions of a Fisher-Yates shuffle, many games at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray
from shapband.kernels.rows import uniforms

_SCRATCH_ROWS = 4_000_000  # rows in memory while many games are shuffled at once


def first_of_shuffle(words: NDArray[np.uint64], size: int) -> IntArray:
    """Shuffle `size` rows by random words (n_games, k); return the first k: (n_games, k).

    Step j swaps positions j and ``j + int(u * (size - j))``, where u is word j as a uniform.
    """
    n_games, k = words.shape
    at_once = max(1, _SCRATCH_ROWS // size)
    chosen = np.empty((n_games, k), dtype=np.int64)
    for start in range(0, n_games, at_once):
        part = uniforms(words[start : start + at_once])
        chosen[start : start + at_once] = _shuffle(part, size)
    return chosen


def _shuffle(drawn: FloatArray, size: int) -> IntArray:
    n_games, k = drawn.shape
    places = np.tile(np.arange(size, dtype=np.int64), (n_games, 1))
    games = np.arange(n_games)
    for step in range(k):
        other = step + (drawn[:, step] * (size - step)).astype(np.int64)
        taken = places[games, other]
        places[games, other] = places[:, step]
        places[:, step] = taken
    return places[:, :k]
