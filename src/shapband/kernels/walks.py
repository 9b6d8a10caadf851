"""Repeated coalitions along permutations."""

from __future__ import annotations

from shapband._typing import IntArray
from shapband.coalitions import set_marks
from shapband.kernels import load


def first_occurrences(orders: IntArray) -> IntArray:
    """Find where each growing coalition of each permutation appears first in its game.

    Parameters
    ----------
    orders : (n_games, n_iter, n) permutations

    Returns
    -------
    (n_games, n_iter, n): entry [g, t, k] is the smallest t' whose first k + 1 providers are the
    same set as those of t.

    Examples
    --------
    >>> import numpy as np
    >>> first_occurrences(np.array([[[0, 1, 2], [1, 0, 2]]])).tolist()
    [[[0, 0, 0], [1, 0, 0]]]
    """
    found: IntArray = load("walks").first_occurrences(orders, set_marks(orders.shape[2]))
    return found
