"""Blocks of validation points: the ranks of records at their points, and losses over them.

At one validation point the records of all providers are sorted once, from the nearest to the
farthest. From then on a record is represented by its rank, a small integer. Points are processed in
blocks that fit into the first-level cache.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    divide,
    lane_sum,
    load,
    multiply_add,
    pointer,
    splat,
    subtract,
)

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}

# Validation points per block: enough to make the cost of a call negligible, and few enough for the
# ranks of one path to stay in the cache.
_BLOCK = 256


@njit(**OPTIONS)
def block_width(m):
    """Return the width of blocks of nearly equal size."""
    blocks = max(1, -(-m // _BLOCK))
    return max(1, -(-m // blocks))


@njit(**OPTIONS)
def records_held(summary):
    """Return how many records each provider has, at most k."""
    n, _, k, m = summary.shape
    held = np.zeros(n, np.int64)
    for i in range(n):
        for r in range(k):
            held[i] += m > 0 and summary[i, 0, r, 0] < np.inf
    return held


@njit(**OPTIONS)
def rank_records(summary, start, block, ranks, targets):
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


@njit(**OPTIONS)
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


@njit(**OPTIONS)
def loss_of(prediction, divisor, truth, classify):
    """Sum of the losses of predictions, which are divided by `divisor` first.

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
