"""k-nearest-neighbour losses of every coalition of providers, from their neighbour lists.

*Tables, k = 1.* At one validation point provider i decides the loss of exactly those coalitions
that contain i and none of the providers nearer than i. So its loss is added to the entry of the set
of nearer providers, and one subset-sum transform per provider gives the losses of all
coalitions: O(m n² + n² 2ⁿ) instead of O(m 2ⁿ). Only non-negative numbers are added.

*Other tables, and prefixes.* At one validation point the records of all providers are merged
once, so that a record is a rank: a small integer that already obeys the order of neighbours. The
neighbours of a coalition are k ascending ranks, and a provider joins it by minima and maxima of
small integers, many validation points per instruction. Targets are read only for the prediction.
Points are processed in blocks that fit into the first-level cache.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lane_functions import divide, subtract
from shapband.kernels.compiled.lanes import LANES, lane_sum, load, multiply_add, pointer, splat

_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

# Validation points per block: enough to make the cost of a call negligible, and few enough for the
# ranks of one path to stay in the cache.
_BLOCK = 256
_LARGEST_SHORT = 32767


def neighbor_table(summaries, y_val, classify):
    """Return the loss of every coalition, (g, 2**n), by bitmask; 0 without records."""
    # Chosen outside the compiled functions, so that only the variant in use is compiled.
    if summaries.shape[3] == 1:
        return _tables_nearest(summaries, y_val, classify)
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


@njit(**_OPTIONS)
def _tables_nearest(summaries, y_val, classify):
    loss = np.zeros((summaries.shape[0], 1 << summaries.shape[1]))
    for g in range(summaries.shape[0]):
        _table_nearest(summaries[g], y_val, classify, loss[g])
        _finish_table(summaries[g], loss[g])
    return loss


@njit(**_OPTIONS)
def _tables_ranked(summaries, y_val, classify, missing):
    loss = np.zeros((summaries.shape[0], 1 << summaries.shape[1]))
    for g in range(summaries.shape[0]):
        _table_ranked(summaries[g], y_val, classify, missing, loss[g])
        _finish_table(summaries[g], loss[g])
    return loss


@njit(**_OPTIONS)
def _finish_table(summary, loss):
    """Divide sums by m; those of coalitions without any record are 0."""
    for mask in range(loss.size):
        loss[mask] /= summary.shape[3]


@njit(**_OPTIONS)
def _table_nearest(summary, y_val, classify, loss):
    """Add up the losses of all coalitions of one game with k = 1."""
    n, m = summary.shape[0], summary.shape[3]
    nearer = np.zeros((n, m), np.int64)
    for i in range(n):
        for j in range(i):
            _compare(
                summary[i, 0, 0],
                summary[i, 1, 0],
                1 << i,
                nearer[i],
                summary[j, 0, 0],
                summary[j, 1, 0],
                1 << j,
                nearer[j],
            )
    half = 1 << n >> 1
    filed = np.empty(half)
    for i in range(n):
        if not summary[i, 0, 0, 0] < np.inf:
            continue
        filed[:] = 0.0
        low = (1 << i) - 1
        for p in range(m):
            target, mask = summary[i, 1, 0, p], nearer[i, p]
            cost = _cost(target, y_val[p], classify)
            # Bit i is never set: without it the array is half as long.
            filed[(mask & low) | ((mask >> 1) & ~low)] += cost
        _subset_sums(filed)
        for absent in range(half):
            others = half - 1 - absent
            loss[(others & low) | ((others & ~low) << 1) | (1 << i)] += filed[absent]


@njit(**_OPTIONS)
def _compare(near_a, label_a, bit_a, nearer_a, near_b, label_b, bit_b, nearer_b):
    """Record at each validation point which of two providers is nearer."""
    for p in range(near_a.size):
        first = (near_a[p] < near_b[p]) | ((near_a[p] == near_b[p]) & (label_a[p] < label_b[p]))
        nearer_a[p] |= 0 if first else bit_b
        nearer_b[p] |= bit_a if first else 0


@njit(**_OPTIONS)
def _subset_sums(values):
    """Replace each entry by the sum over the subsets of its index."""
    step = 1
    while step < values.size:
        for start in range(0, values.size, 2 * step):
            for j in range(start, start + step):
                values[j + step] += values[j]
        step *= 2


@njit(inline="always")
def _cost(prediction, truth, classify):
    """Return the loss of one prediction."""
    if classify:
        return 1.0 if prediction != truth else 0.0
    return (prediction - truth) ** 2


@njit(**_OPTIONS)
def _table_ranked(summary, y_val, classify, missing, loss):
    """Add up the losses of all coalitions of one game, any k."""
    n, _, k, m = summary.shape
    held = _records_held(summary)
    # A coalition stays in the slot of its lowest provider until all coalitions
    # that add lower providers are done; slot n holds the empty coalition.
    width, ranks, targets, slots, work = _room(n, k, m, n + 1, missing)
    members = ranks.reshape(n, k, width)
    found = np.zeros(n + 1, np.int64)
    for start in range(0, m, width):
        truth = y_val[start : start + width]
        _rank_records(summary, start, truth.size, ranks, targets)
        for mask in range(1, 1 << n):
            i = _lowest(mask, n)
            rest = _lowest(mask & (mask - 1), n)
            _join(slots[rest], members[i], slots[i])
            found[i] = found[rest] + held[i]
            loss[mask] += _block_loss(slots[i], min(found[i], k), targets, truth, classify, work)


@njit(**_OPTIONS)
def _room(n, k, m, n_slots, missing):
    """Width of a block, and room for its ranks, targets, coalitions in slots, and sums."""
    width = _block_width(m)
    ranks = np.full((n * k, width), missing)
    targets = np.zeros((width, n * k + 1))
    slots = np.full((n_slots, k, width), missing)
    return width, ranks, targets, slots, np.zeros((k + 3, width))


@njit(**_OPTIONS)
def _block_width(m):
    """Return the width of blocks of nearly equal size."""
    blocks = max(1, -(-m // _BLOCK))
    return max(1, -(-m // blocks))


@njit(**_OPTIONS)
def _lowest(mask, n):
    """Return the lowest provider of a coalition, n if it is empty."""
    i = 0
    while i < n and not mask >> i & 1:
        i += 1
    return i


@njit(**_OPTIONS)
def _records_held(summary):
    """Return how many records each provider has, at most k."""
    n, _, k, m = summary.shape
    held = np.zeros(n, np.int64)
    for i in range(n):
        for r in range(k):
            held[i] += m > 0 and summary[i, 0, r, 0] < np.inf
    return held


@njit(**_OPTIONS)
def _rank_records(summary, start, block, ranks, targets):
    """Rank the records of all providers at each validation point of a block.

    Missing records come last, with target 0.
    """
    n, _, k, _ = summary.shape
    size = n * k
    # Keys are moved together with the order: reading them through the order
    # would double the chain of loads between two comparisons.
    near, label, order = np.empty(size), np.empty(size), np.empty(size, np.int64)
    near_to, label_to, order_to = near.copy(), label.copy(), order.copy()
    for p in range(block):
        for i in range(n):
            for r in range(k):
                near[i * k + r] = summary[i, 0, r, start + p]
                label[i * k + r] = summary[i, 1, r, start + p]
                order[i * k + r] = i * k + r
        width = k
        while width < size:
            _merge_runs(width, near, label, order, near_to, label_to, order_to)
            near, near_to = near_to, near
            label, label_to = label_to, label
            order, order_to = order_to, order
            width *= 2
        for rank in range(size):
            targets[p, rank] = label[rank]
            ranks[order[rank], p] = rank


@njit(**_OPTIONS)
def _merge_runs(width, near, label, order, near_to, label_to, order_to):
    """Merge neighbouring sorted runs of a width into runs of twice the width."""
    size = order.size
    for start in range(0, size, 2 * width):
        a, b = start, min(start + width, size)
        middle, stop = b, min(start + 2 * width, size)
        for place in range(start, stop):
            if b == stop or a == middle:
                second = a == middle
            else:
                second = (near[b] < near[a]) | ((near[b] == near[a]) & (label[b] < label[a]))
            j = b if second else a
            near_to[place], label_to[place], order_to[place] = near[j], label[j], order[j]
            b += second
            a += not second


@njit(**_OPTIONS)
def _join(old, new, out):
    """Merge two ascending lists of ranks at each point of a block, cut at k.

    Entry r of a merged list is the least of both entries r and of the larger of entries i and
    r - 1 - i.
    """
    for r in range(old.shape[0]):
        _lower(old[r], new[r], out[r])
        for i in range(r):
            _lower_to_larger(old[i], new[r - 1 - i], out[r])


# Written as functions of three rows, the loops below are vectorised; written
# into _join they are not, as the compiler cannot tell the rows apart.


@njit(**_OPTIONS)
def _lower(a, b, out):
    """Set out to the smaller of two."""
    for p in range(out.size):
        out[p] = min(a[p], b[p])


@njit(**_OPTIONS)
def _lower_to_larger(a, b, out):
    """Set out to the minimum of itself and the larger of two."""
    for p in range(out.size):
        out[p] = min(out[p], max(a[p], b[p]))


@njit(**_OPTIONS)
def _block_loss(ranks, found, targets, truth, classify, work):
    """Return the sum of the losses over a block of validation points."""
    if found == 0:
        return 0.0
    if classify and found > 1:
        _vote(ranks, found, targets, truth.size, work)
    else:
        _add_targets(ranks, found, targets, truth.size, work)
    return loss_of(work[0], float(found), truth, classify)


@njit(**_OPTIONS)
def loss_of(prediction, divisor, truth, classify):
    """Sum of the losses of predictions, which are to be divided first.

    Squares are added lane by lane: the order that a compiler chooses may differ between two
    compilations, and with it the last bits.
    """
    count = truth.size
    if classify:
        wrong = 0
        for p in range(count):
            wrong += prediction[p] != truth[p]
        return float(wrong)
    own, true, by, total = pointer(prediction, 0), pointer(truth, 0), splat(divisor), splat(0.0)
    whole = count - count % LANES
    for p in range(0, whole, LANES):
        apart = subtract(divide(load(own, p), by), load(true, p))
        total = multiply_add(total, apart, apart)
    squares = lane_sum(total)
    for p in range(whole, count):
        squares += (prediction[p] / divisor - truth[p]) ** 2
    return squares


@njit(**_OPTIONS)
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


@njit(**_OPTIONS)
def _vote(ranks, found, targets, block, work):
    """Set row 0 of work to the most frequent target, the smallest of several."""
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


@njit(**_OPTIONS)
def _count_equal(a, b, times):
    """Add one where two rows agree."""
    for p in range(times.size):
        times[p] += 1.0 if a[p] == b[p] else 0.0


@njit(**_OPTIONS)
def _elect(label, times, best, most):
    """Replace the best label by a more frequent one, or by a smaller one in a tie."""
    for p in range(label.size):
        wins = (times[p] > most[p]) | ((times[p] == most[p]) & (label[p] < best[p]))
        best[p] = label[p] if wins else best[p]
        most[p] = times[p] if wins else most[p]


@njit(**_OPTIONS)
def _prefixes_of_games(summaries, orders, first, y_val, classify, missing):
    loss = np.empty(orders.shape)
    for g in range(orders.shape[0]):
        _prefixes_ranked(summaries[g], orders[g], first[g], y_val, classify, missing, loss[g])
    return loss


@njit(**_OPTIONS)
def _prefixes_ranked(summary, orders, first, y_val, classify, missing, loss):
    """Fill the losses of the prefixes of one game, any k."""
    n, _, k, m = summary.shape
    held = _records_held(summary)
    # The coalition alternates between two slots; slot 2 is the empty one.
    width, ranks, targets, slots, work = _room(n, k, m, 3, missing)
    members = ranks.reshape(n, k, width)
    loss[:] = 0.0
    for start in range(0, m, width):
        truth = y_val[start : start + width]
        _rank_records(summary, start, truth.size, ranks, targets)
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


@njit(**_OPTIONS)
def _finish_prefixes(first, m, loss):
    """Divide sums by m, and copy the means of repeated coalitions."""
    for t in range(first.shape[0]):
        for s in range(first.shape[1]):
            if first[t, s] == t:
                loss[t, s] /= m
            else:
                loss[t, s] = loss[first[t, s], s]


@njit(**_OPTIONS)
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


@njit(**_OPTIONS)
def _rows_ranked(summary, inside, y_val, classify, missing, loss):
    """Fill the losses of chosen coalitions of one game, any k."""
    n, _, k, m = summary.shape
    held = _records_held(summary)
    # The coalition alternates between two slots; slot 2 is the empty one.
    width, ranks, targets, slots, work = _room(n, k, m, 3, missing)
    members = ranks.reshape(n, k, width)
    for start in range(0, m, width):
        truth = y_val[start : start + width]
        _rank_records(summary, start, truth.size, ranks, targets)
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
