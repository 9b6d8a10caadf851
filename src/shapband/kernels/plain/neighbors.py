"""k-nearest-neighbour losses of every coalition of providers, plain NumPy.

The same functions as in the compiled module.  A coalition's neighbours are
those of the coalition without its last provider, merged with that provider's:
both lists are stacked, sorted by (squared distance, target), and cut at k.
"""

import numpy as np

_BLOCK = 1 << 22


def neighbor_summaries(X, y, rows, X_val, k):
    """Return the k nearest records of each draw, (g, 2, k, m)."""
    draws, size = rows.shape
    m = X_val.shape[0]
    out = np.empty((draws, 2, k, m))
    out[:, 0] = np.inf
    out[:, 1] = 0.0
    if size == 0:
        return out
    step = max(1, _BLOCK // size)
    for g in range(draws):
        records, targets = X[rows[g]], y[rows[g]]
        for start in range(0, m, step):
            points = X_val[start : start + step]
            distances = np.zeros((size, points.shape[0]))
            for f in range(X.shape[1]):
                distances += (records[:, f, None] - points[None, :, f]) ** 2
            labels = np.where(distances < np.inf, targets[:, None], 0.0)
            out[g, :, :size, start : start + step] = _first(distances, labels, k)
    return out


def _first(distances, labels, k):
    """Return the k first of the leading axis by (distance, label), stacked."""
    order = np.lexsort((labels, distances), axis=0)[:k]
    return np.stack([np.take_along_axis(distances, order, 0), np.take_along_axis(labels, order, 0)])


def neighbor_table(summaries, y_val, classify):
    """Return the loss of every coalition, (g, 2**n), indexed by bitmask."""
    games, n, _, k, _ = summaries.shape
    loss = np.full((games, 1 << n), np.nan)

    def visit(g, mask, nearest, start):
        for i in range(start, n):
            merged = _merge(nearest, summaries[g, i], k)
            loss[g, mask | 1 << i] = _loss(merged, y_val, classify)
            visit(g, mask | 1 << i, merged, i + 1)

    for g in range(games):
        visit(g, 0, None, 0)
    return loss


def _merge(nearest, new, k):
    """Return the k first of two summaries; None stands for an empty one."""
    if nearest is None:
        return new
    both = np.concatenate([nearest, new], axis=1)
    return _first(both[0], both[1], k)


def _loss(nearest, y_val, classify):
    """Return the mean loss of the predictions from merged neighbours."""
    distances, labels = nearest
    available = distances < np.inf
    found = available.sum(axis=0)
    if not found.any():
        return np.nan
    if classify:
        return np.mean(_vote(labels, available) != y_val)
    prediction = np.where(available, labels, 0.0).sum(axis=0) / found
    return np.mean((prediction - y_val) ** 2)


def _vote(labels, available):
    """Return the most frequent available label, the smallest of several."""
    same = (labels[:, None] == labels[None]) & available[None]
    times = np.where(available, same.sum(axis=1), 0)
    best = times == times.max(axis=0)
    return np.where(best, labels, np.inf).min(axis=0)


def neighbor_prefixes(summaries, orders, first, y_val, classify):
    """Return the loss of every prefix of every order, (g, T, n)."""
    k = summaries.shape[3]
    loss = np.empty(orders.shape)
    for g, t in np.ndindex(*orders.shape[:2]):
        nearest = None
        for s, i in enumerate(orders[g, t]):
            nearest = _merge(nearest, summaries[g, i], k)
            if first[g, t, s] == t:
                loss[g, t, s] = _loss(nearest, y_val, classify)
            else:
                loss[g, t, s] = loss[g, first[g, t, s], s]
    return loss
