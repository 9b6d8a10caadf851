"""Losses of the nearest neighbour, k = 1, of every coalition of providers."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.kernels.walks import walk_of_table
from tests.reference.neighbors import neighbor_losses


def nearest_tables(summaries: FloatArray, y_val: FloatArray, classify: bool) -> FloatArray:
    """Return the loss of every coalition, (g, 2**n), by bitmask; 0 without records."""
    n = summaries.shape[1]
    walk = walk_of_table(n)
    return np.stack([neighbor_losses(game, walk, 1 << n, y_val, classify)[0] for game in summaries])
