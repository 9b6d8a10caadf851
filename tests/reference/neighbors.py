"""Losses of the k nearest neighbours of coalitions of providers, from their neighbour lists.

The lists of all members are stacked, sorted by (squared distance, target), and cut at k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray
from shapband.kernels.walks import Walk
from tests.reference.neighbor_lists import first_records
from tests.reference.walks import coalitions_of


def neighbor_losses(
    summary: FloatArray, walk: Walk, n_rows: int, y_val: FloatArray, classify: bool
) -> tuple[FloatArray, IntArray]:
    """Return the losses of coalitions of one game, and how many neighbours they have: (n_rows,)."""
    k = summary.shape[2]
    loss, found = np.zeros(n_rows), np.zeros(n_rows, dtype=np.int64)
    for row, members in coalitions_of(walk):
        lists = np.concatenate(list(summary[members]), axis=1)
        nearest = first_records(lists[0], lists[1], k)
        loss[row] = _loss(nearest, y_val, classify)
        found[row] = (nearest[0, :, 0] < np.inf).sum()
    return loss, found


def _loss(nearest: FloatArray, y_val: FloatArray, classify: bool) -> float:
    """Return the mean loss of the predictions from merged neighbours; 0 if there are none."""
    distances, labels = nearest
    available = distances < np.inf
    found = available.sum(axis=0)
    if not found.any():
        return 0.0
    if classify:
        return float(np.mean(_vote(labels, available) != y_val))
    prediction = np.where(available, labels, 0.0).sum(axis=0) / found
    return float(np.mean((prediction - y_val) ** 2))


def _vote(labels: FloatArray, available: NDArray[np.bool_]) -> FloatArray:
    """Return the most frequent available label, the smallest of several."""
    same = (labels[:, None] == labels[None]) & available[None]
    times = np.where(available, same.sum(axis=1), 0)
    best = times == times.max(axis=0)
    return np.asarray(np.where(best, labels, np.inf).min(axis=0))
