"""The nearest records of one provider's draws, for every validation point.

The list of a draw is an array (2, k, m) of squared distances and targets, nearest first by
(squared distance, target), padded with (inf, 0.0).
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray


def fill_lists(
    X: FloatArray, y: FloatArray, rows: IntArray, X_val: FloatArray, out: FloatArray
) -> None:
    """Write the k nearest records of each draw to out (g, 2, k, m)."""
    draws, size = rows.shape
    k, m = out.shape[2:]
    out[:, 0] = np.inf
    out[:, 1] = 0.0
    for g in range(draws):
        records, targets = X[rows[g]], y[rows[g]]
        distances = np.zeros((size, m))
        for f in range(X.shape[1]):
            distances += (records[:, f, None] - X_val[None, :, f]) ** 2
        labels = np.where(distances < np.inf, targets[:, None], 0.0)
        out[g, :, :size] = first_records(distances, labels, k)


def first_records(distances: FloatArray, labels: FloatArray, k: int) -> FloatArray:
    """Return the k first of the leading axis by (distance, label), stacked."""
    order = np.lexsort((labels, distances), axis=0)[:k]
    return np.stack([np.take_along_axis(distances, order, 0), np.take_along_axis(labels, order, 0)])
