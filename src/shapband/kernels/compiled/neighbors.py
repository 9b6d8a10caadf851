"""Losses of the k nearest neighbours of coalitions of providers, from their neighbour lists.

A record is its rank at a validation point (see `neighbor_blocks`). The neighbours of a coalition
are k ascending ranks, and a provider joins it by minima and maxima of small integers, many
validation points per instruction. Targets are read only for the prediction.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.neighbor_blocks import (
    OPTIONS,
    block_width,
    loss_of,
    rank_records,
    records_held,
)

_LARGEST_SHORT = 32767


def neighbor_losses(summary, walk, n_rows, y_val, classify):
    """Return the losses of coalitions of one game, and how many neighbours they have: (n_rows,).

    Parameters
    ----------
    summary : (n, 2, k, m) neighbour lists
    walk : the coalitions, see `shapband.kernels.walks.Walk`; the loss of all others is 0
    """
    ranks = summary.shape[0] * summary.shape[2]
    # The rank after all others, in the smallest integer type that holds it.
    missing = np.int16(ranks) if ranks <= _LARGEST_SHORT else np.int32(ranks)
    return _losses(summary, *walk, n_rows, y_val, classify, missing)


@njit(**OPTIONS)
def _losses(summary, sizes, joins, rows, n_rows, y_val, classify, missing):
    n, _, k, m = summary.shape
    held = records_held(summary)
    width = block_width(m)
    ranks = np.full((n * k, width), missing)
    members = ranks.reshape(n, k, width)
    targets, work = np.zeros((width, n * k + 1)), np.zeros((k + 3, width))
    # The latest coalition of each size, and its number of records.
    latest, records = np.full((n + 1, k, width), missing), np.zeros(n + 1, np.int64)
    loss, found = np.zeros(n_rows), np.zeros(n_rows, np.int64)
    for start in range(0, m, width):
        truth = y_val[start : start + width]
        rank_records(summary, start, truth.size, ranks, targets)
        for step in range(sizes.size):
            size, i, row = sizes[step], joins[step], rows[step]
            join(latest[size], members[i], latest[size + 1])
            records[size + 1] = records[size] + held[i]
            if row >= 0:
                found[row] = min(records[size + 1], k)
                loss[row] += _block_loss(
                    latest[size + 1], found[row], targets, truth, classify, work
                )
    loss /= m
    return loss, found


@njit(**OPTIONS)
def join(old, new, out):
    """Merge two ascending lists of ranks at each point of a block, cut at k.

    Entry r of the merged list is the smallest of these: entry r of either list, and for each i < r
    the larger of entry i of one list and entry r - 1 - i of the other.
    """
    for r in range(old.shape[0]):
        _lower(old[r], new[r], out[r])
        for i in range(r):
            _lower_to_larger(old[i], new[r - 1 - i], out[r])


# Written as functions of three rows, the loops below are vectorised; written
# into join they are not, as the compiler cannot tell the rows apart.


@njit(**OPTIONS)
def _lower(a, b, out):
    """Set out to the smaller of two."""
    for p in range(out.size):
        out[p] = min(a[p], b[p])


@njit(**OPTIONS)
def _lower_to_larger(a, b, out):
    """Set out to the minimum of itself and the larger of two."""
    for p in range(out.size):
        out[p] = min(out[p], max(a[p], b[p]))


@njit(**OPTIONS)
def _block_loss(ranks, found, targets, truth, classify, work):
    """Return the sum of the losses over a block of validation points."""
    if found == 0:
        return 0.0
    if classify and found > 1:
        _vote(ranks, found, targets, truth.size, work)
    else:
        _add_targets(ranks, found, targets, truth.size, work)
    return loss_of(work[0], float(found), truth, classify)


@njit(**OPTIONS)
def _add_targets(ranks, found, targets, block, work):
    """Set row 0 of work to the sums of the neighbours' targets."""
    flat, width = targets.ravel(), targets.shape[1]
    sums = work[0]
    sums[:] = 0.0
    # Two look-ups per pass over the sums; unsigned indices need no test for negative values.
    for r in range(0, found - 1, 2):
        for p in range(block):
            first = flat[np.uint64(p * width + ranks[r, p])]
            sums[p] += first + flat[np.uint64(p * width + ranks[r + 1, p])]
    if found % 2:
        for p in range(block):
            sums[p] += flat[np.uint64(p * width + ranks[found - 1, p])]


@njit(**OPTIONS)
def _vote(ranks, found, targets, block, work):
    """Set row 0 of work to the most frequent target; the smallest target in a tie."""
    flat, width = targets.ravel(), targets.shape[1]
    best, most, times, labels = work[0], work[1], work[2], work[3:]
    for r in range(found):
        for p in range(block):
            labels[r, p] = flat[np.uint64(p * width + ranks[r, p])]
    most[:] = 0.0
    # Only the first of equal labels gets the full count, so only it can win.
    for a in range(found):
        times[:] = 1.0
        for b in range(a + 1, found):
            _count_equal(labels[a], labels[b], times)
        _elect(labels[a], times, best, most)


@njit(**OPTIONS)
def _count_equal(a, b, times):
    """Add one where two rows agree."""
    for p in range(times.size):
        times[p] += 1.0 if a[p] == b[p] else 0.0


@njit(**OPTIONS)
def _elect(label, times, best, most):
    """Replace the best label by a more frequent one, or by a smaller one in a tie."""
    for p in range(label.size):
        wins = (times[p] > most[p]) | ((times[p] == most[p]) & (label[p] < best[p]))
        best[p] = label[p] if wins else best[p]
        most[p] = times[p] if wins else most[p]
