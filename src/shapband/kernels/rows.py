"""Which rows a draw takes, from uniform numbers."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.kernels import load


def with_replacement(uniforms: FloatArray, size: int) -> IntArray:
    """Turn uniforms (n_games, k) into k independent rows below `size` for each game."""
    return (uniforms * size).astype(np.int64)


def without_replacement(uniforms: FloatArray, size: int) -> IntArray:
    """Turn uniforms (n_games, k) into k distinct rows below `size` for each game."""
    chosen: IntArray = load("shuffle").first_of_shuffle(uniforms, size)
    return chosen
