"""The first places of a Fisher-Yates shuffle, one game after the other."""

from __future__ import annotations

import numpy as np
from numba import njit

from shapband._typing import FloatArray, IntArray


@njit(cache=True, nogil=True)
def first_of_shuffle(uniforms: FloatArray, size: int) -> IntArray:
    """Shuffle `size` rows by uniforms (n_games, k) and give the first k: (n_games, k)."""
    n_games, k = uniforms.shape
    chosen = np.empty((n_games, k), dtype=np.int64)
    places = np.arange(size)
    swapped = np.empty(k, dtype=np.int64)
    for game in range(n_games):
        for step in range(k):
            other = step + int(uniforms[game, step] * (size - step))
            swapped[step] = other
            places[step], places[other] = places[other], places[step]
            chosen[game, step] = places[step]
        # Undoing the swaps costs k steps; a new list of places would cost `size`.
        for step in range(k - 1, -1, -1):
            other = swapped[step]
            places[step], places[other] = places[other], places[step]
    return chosen
