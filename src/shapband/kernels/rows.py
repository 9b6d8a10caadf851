"""The rows of a draw, computed from random 64-bit words.

The words are made contiguous, because numba would compile a kernel again for each other layout.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray
from shapband.kernels import load


def with_replacement(words: NDArray[np.uint64], size: int) -> IntArray:
    """Convert words (n_games, k) to k independent rows below `size` for each game."""
    chosen: IntArray = load("shuffle").below(np.ascontiguousarray(words), size)
    return chosen


def without_replacement(words: NDArray[np.uint64], size: int) -> IntArray:
    """Convert words (n_games, k) to k distinct rows below `size` for each game."""
    chosen: IntArray = load("shuffle").first_of_shuffle(np.ascontiguousarray(words), size)
    return chosen


def uniforms(words: NDArray[np.uint64]) -> FloatArray:
    """Numbers in [0, 1) from the upper 53 bits of the words."""
    return np.asarray((words >> np.uint64(11)) * 2.0**-53, dtype=np.float64)
