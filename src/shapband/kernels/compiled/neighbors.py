"""k-nearest-neighbour losses of every coalition of providers, from their neighbour lists.

Tables for k = 1 are made by `nearest_neighbor`. In other tables, and for prefixes and rows, a
record is represented by its rank at a validation point (see `neighbor_blocks`). The neighbours of a
coalition are k ascending ranks. A provider is added by minima and maxima of these small integers,
for many validation points per instruction. Targets are read only for the prediction.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.nearest_neighbor import tables_nearest
from shapband.kernels.compiled.neighbor_blocks import (
    OPTIONS,
    block_width,
    loss_of,
    rank_records,
    records_held,
)

_LARGEST_SHORT = 32767


def neighbor_table(summaries, y_val, classify):
    """Return the loss of every coalition, (g, 2**n), by bitmask; 0 without records."""
    # Chosen outside the compiled functions, so that only the variant in use is compiled.
    if summaries.shape[3] == 1:
        return tables_nearest(summaries, y_val, classify)
    return _tables_ranked(summaries, y_val, classify, _missing_rank(summaries))


def neighbor_prefixes(summaries, orders, first, y_val, classify):
    """Return the loss of every prefix of every order, (g, T, n); 0 without records."""
    missing = _missing_rank(summaries)
    return _prefixes_of_games(summaries, orders, first, y_val, classify, missing)


def neighbor_rows(summaries, inside, of_game, y_val, classify):
    """Return the loss of coalitions given as rows of members, (n_rows,); 0 without records."""
    missing = _missing_rank(summaries)
    return _rows_of_games(summaries, inside, of_game, y_val, classify, missing)


def _missing_rank(summaries):
    """Return the rank after all others, in the smallest integer type that holds it."""
    size = summaries.shape[1] * summaries.shape[3]
    return np.int16(size) if size <= _LARGEST_SHORT else np.int32(size)


@njit(**OPTIONS)
def _tables_ranked(summaries, y_val, classify, missing):
    loss = np.zeros((summaries.shape[0], 1 << summaries.shape[1]))
    for g in range(summaries.shape[0]):
        _table_ranked(summaries[g], y_val, classify, missing, loss[g])
    loss /= summaries.shape[4]
    return loss


@njit(**OPTIONS)
def _table_ranked(summary, y_val, classify, missing, loss):
    """Add up the losses of all coalitions of one game, any k."""
    n, _, k, m = summary.shape
    held = records_held(summary)
    # A coalition stays in the slot of its lowest provider until all coalitions
    # that add lower providers are done; slot n holds the empty coalition.
    width, ranks, targets, slots, work = _room(n, k, m, n + 1, missing)
    members = ranks.reshape(n, k, width)
    found = np.zeros(n + 1, np.int64)
    for start in range(0, m, width):
        truth = y_val[start : start + width]
        rank_records(summary, start, truth.size, ranks, targets)
        for mask in range(1, 1 << n):
            i = _lowest(mask, n)
            rest = _lowest(mask & (mask - 1), n)
            _join(slots[rest], members[i], slots[i])
            found[i] = found[rest] + held[i]
            loss[mask] += _block_loss(slots[i], min(found[i], k), targets, truth, classify, work)


@njit(**OPTIONS)
def _room(n, k, m, n_slots, missing):
    """Width of a block, and room for its ranks, targets, coalitions in slots, and sums."""
    width = block_width(m)
    ranks = np.full((n * k, width), missing)
    targets = np.zeros((width, n * k + 1))
    slots = np.full((n_slots, k, width), missing)
    return width, ranks, targets, slots, np.zeros((k + 3, width))


@njit(**OPTIONS)
def _lowest(mask, n):
    """Return the lowest provider of a coalition, n if it is empty."""
    i = 0
    while i < n and not mask >> i & 1:
        i += 1
    return i


@njit(**OPTIONS)
def _join(old, new, out):
    """Merge two ascending lists of ranks at each point of a block, cut at k.

    Entry r of the merged list is the smallest of these: entry r of either list, and for each i < r
    the larger of entry i of one list and entry r - 1 - i of the other.
    """
    for r in range(old.shape[0]):
        _lower(old[r], new[r], out[r])
        for i in range(r):
            _lower_to_larger(old[i], new[r - 1 - i], out[r])


# Written as functions of three rows, the loops below are vectorised; written
# into _join they are not, as the compiler cannot tell the rows apart.


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


@njit(**OPTIONS)
def _prefixes_of_games(summaries, orders, first, y_val, classify, missing):
    loss = np.empty(orders.shape)
    for g in range(orders.shape[0]):
        _prefixes_ranked(summaries[g], orders[g], first[g], y_val, classify, missing, loss[g])
    return loss


@njit(**OPTIONS)
def _prefixes_ranked(summary, orders, first, y_val, classify, missing, loss):
    """Fill the losses of the prefixes of one game, any k."""
    n, _, k, m = summary.shape
    held = records_held(summary)
    # The coalition alternates between two slots; slot 2 is the empty one.
    width, ranks, targets, slots, work = _room(n, k, m, 3, missing)
    members = ranks.reshape(n, k, width)
    loss[:] = 0.0
    for start in range(0, m, width):
        truth = y_val[start : start + width]
        rank_records(summary, start, truth.size, ranks, targets)
        for t in range(orders.shape[0]):
            found = 0
            for s in range(orders.shape[1]):
                i = orders[t, s]
                now = slots[s % 2]
                _join(slots[1 - s % 2 if s else 2], members[i], now)
                found += held[i]
                if first[t, s] == t:
                    loss[t, s] += _block_loss(now, min(found, k), targets, truth, classify, work)
    _finish_prefixes(first, m, loss)


@njit(**OPTIONS)
def _finish_prefixes(first, m, loss):
    """Divide sums by m, and copy the means of repeated coalitions."""
    for t in range(first.shape[0]):
        for s in range(first.shape[1]):
            if first[t, s] == t:
                loss[t, s] /= m
            else:
                loss[t, s] = loss[first[t, s], s]


@njit(**OPTIONS)
def _rows_of_games(summaries, inside, of_game, y_val, classify, missing):
    loss = np.zeros(of_game.size)
    start = 0
    while start < of_game.size:
        g, stop = of_game[start], start
        while stop < of_game.size and of_game[stop] == g:
            stop += 1
        rows = slice(start, stop)
        _rows_ranked(summaries[g], inside[rows], y_val, classify, missing, loss[rows])
        start = stop
    return loss


@njit(**OPTIONS)
def _rows_ranked(summary, inside, y_val, classify, missing, loss):
    """Fill the losses of chosen coalitions of one game, any k."""
    n, _, k, m = summary.shape
    held = records_held(summary)
    # The coalition alternates between two slots; slot 2 is the empty one.
    width, ranks, targets, slots, work = _room(n, k, m, 3, missing)
    members = ranks.reshape(n, k, width)
    for start in range(0, m, width):
        truth = y_val[start : start + width]
        rank_records(summary, start, truth.size, ranks, targets)
        for r in range(inside.shape[0]):
            now, found = 2, 0
            for i in range(n):
                if inside[r, i]:
                    following = 1 if now == 0 else 0
                    _join(slots[now], members[i], slots[following])
                    now = following
                    found += held[i]
            loss[r] += _block_loss(slots[now], min(found, k), targets, truth, classify, work)
    for r in range(inside.shape[0]):
        loss[r] /= m
