"""Random rows from random words: with repeats, or as the start of a Fisher-Yates shuffle."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shapband._typing import IntArray


@njit(cache=True, nogil=True)
def first_of_shuffle(words: NDArray[np.uint64], size: int) -> IntArray:
    """Shuffle `size` rows by random words (n_games, k); return the first k: (n_games, k)."""
    n_games, k = words.shape
    chosen = np.empty((n_games, k), dtype=np.int64)
    places = np.empty(size, dtype=np.int64)
    for place in range(size):
        places[place] = place
    swapped = np.empty(k, dtype=np.int64)
    for game in range(n_games):
        for step in range(k):
            uniform = (words[game, step] >> np.uint64(11)) * 2.0**-53
            other = step + int(uniform * (size - step))
            swapped[step] = other
            places[step], places[other] = places[other], places[step]
            chosen[game, step] = places[step]
        # Undoing the swaps takes k steps; a new list of rows would take `size` steps.
        for step in range(k - 1, -1, -1):
            other = swapped[step]
            places[step], places[other] = places[other], places[step]
    return chosen


@njit(cache=True, nogil=True)
def below(words: NDArray[np.uint64], size: int) -> IntArray:
    """Convert every word of (n_games, k) to a row below `size`."""
    n_games, k = words.shape
    chosen = np.empty((n_games, k), dtype=np.int64)
    for game in range(n_games):
        for step in range(k):
            chosen[game, step] = int((words[game, step] >> np.uint64(11)) * 2.0**-53 * size)
    return chosen
