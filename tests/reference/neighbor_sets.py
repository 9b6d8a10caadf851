"""Losses of many, or of weighted, nearest neighbours of coalitions, from their neighbour lists."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.kernels.careful.class_scores import TIE
from shapband.kernels.walks import Walk
from tests.reference.neighbor_lists import first_records
from tests.reference.walks import coalitions_of


def neighbor_losses(
    summary: FloatArray,
    walk: Walk,
    n_rows: int,
    y_val: FloatArray,
    classify: bool,
    k: int,
    weighted: bool,
) -> tuple[FloatArray, IntArray]:
    """Return the losses of coalitions of one game, and how many neighbours they have: (n_rows,)."""
    loss, found = np.zeros(n_rows), np.zeros(n_rows, dtype=np.int64)
    for row, members in coalitions_of(walk):
        lists = np.concatenate(list(summary[members]), axis=1)
        squares, targets = first_records(lists[0], lists[1], k)
        found[row] = (squares[:, 0] < np.inf).sum()
        if found[row]:
            weights = _weights(squares, weighted)
            predict = _vote if classify else _mean
            error = predict(targets, weights) - y_val
            loss[row] = np.mean(error != 0) if classify else np.mean(error**2)
    return loss, found


def _weights(squares: FloatArray, weighted: bool) -> FloatArray:
    """Weights (k, m) of neighbours at squared distances; records at distance 0 take all."""
    there = (squares < np.inf).astype(np.float64)
    if not weighted:
        return there
    same = (squares == 0).astype(np.float64)
    inverse = there / np.sqrt(np.where(squares == 0, 1.0, squares))
    return np.asarray(np.where(same.any(axis=0), same, inverse))


def _mean(targets: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray((weights * targets).sum(axis=0) / weights.sum(axis=0))


def _vote(targets: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the label with the most votes, the smallest of several that differ by rounding."""
    labels = np.unique(targets)
    votes = np.stack([np.where(targets == label, weights, 0.0).sum(axis=0) for label in labels])
    return np.asarray(labels[np.argmax(votes >= (1.0 - TIE) * votes.max(axis=0), axis=0)])
