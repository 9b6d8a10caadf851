"""k-nearest-neighbour losses of every coalition of providers, from their neighbour lists.

A coalition's neighbours are those of the coalition without its last provider, merged with that
provider's: both lists are stacked, sorted by (squared distance, target), and cut at k.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray, MemberArray
from tests.reference.neighbor_lists import first_records


def neighbor_table(summaries: FloatArray, y_val: FloatArray, classify: bool) -> FloatArray:
    """Return the loss of every coalition, (g, 2**n), by bitmask; 0 without records."""
    games, n, _, k, _ = summaries.shape
    loss = np.zeros((games, 1 << n))

    def visit(g: int, mask: int, nearest: FloatArray | None, start: int) -> None:
        for i in range(start, n):
            merged = _merge(nearest, summaries[g, i], k)
            loss[g, mask | 1 << i] = _loss(merged, y_val, classify)
            visit(g, mask | 1 << i, merged, i + 1)

    for g in range(games):
        visit(g, 0, None, 0)
    return loss


def _merge(nearest: FloatArray | None, new: FloatArray, k: int) -> FloatArray:
    """Return the k first of two summaries; None stands for an empty one."""
    if nearest is None:
        return new
    both = np.concatenate([nearest, new], axis=1)
    return first_records(both[0], both[1], k)


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


def neighbor_prefixes(
    summaries: FloatArray, orders: IntArray, first: IntArray, y_val: FloatArray, classify: bool
) -> FloatArray:
    """Return the loss of every prefix of every order, (g, T, n); 0 without records."""
    k = summaries.shape[3]
    loss = np.empty(orders.shape)
    for g, t in np.ndindex(*orders.shape[:2]):
        nearest: FloatArray | None = None
        for s, i in enumerate(orders[g, t]):
            nearest = _merge(nearest, summaries[g, i], k)
            if first[g, t, s] == t:
                loss[g, t, s] = _loss(nearest, y_val, classify)
            else:
                loss[g, t, s] = loss[g, first[g, t, s], s]
    return loss


def neighbor_rows(
    summaries: FloatArray,
    inside: MemberArray,
    of_game: IntArray,
    y_val: FloatArray,
    classify: bool,
) -> FloatArray:
    """Return the loss of coalitions given as rows of members, (n_rows,); 0 without records."""
    loss = np.zeros(len(inside))
    for r, (row, g) in enumerate(zip(inside, of_game, strict=True)):
        nearest: FloatArray | None = None
        for i in np.flatnonzero(row):
            nearest = _merge(nearest, summaries[g, i], summaries.shape[3])
        if nearest is not None:
            loss[r] = _loss(nearest, y_val, classify)
    return loss
