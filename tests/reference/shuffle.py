"""Rows from random words: with repeats, or as the first positions of a Fisher-Yates shuffle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import IntArray
from shapband.kernels.rows import uniforms


def first_of_shuffle(words: NDArray[np.uint64], size: int) -> IntArray:
    """Shuffle `size` rows by random words (n_games, k); return the first k: (n_games, k).

    Step j swaps positions j and ``j + int(u * (size - j))``, where u is word j as a uniform.
    """
    chosen = np.empty(words.shape, dtype=np.int64)
    for game, drawn in enumerate(uniforms(words).tolist()):
        places = list(range(size))
        for step, uniform in enumerate(drawn):
            other = step + int(uniform * (size - step))
            places[step], places[other] = places[other], places[step]
        chosen[game] = places[: len(drawn)]
    return chosen


def below(words: NDArray[np.uint64], size: int) -> IntArray:
    """Convert every word of (n_games, k) to a row below `size`."""
    return (uniforms(words) * size).astype(np.int64)
