"""Losses of the k nearest neighbours of all coalitions, from those of two halves of the providers.

The neighbours of a coalition are the nearest of two lists: those of its members among the first
providers, and those of its members among the others. Both lists ascend and have k entries. Entry r
of one belongs to the k nearest of both exactly if it is nearer than entry k - 1 - r of the other;
so of every such pair one record is a neighbour, and no list is merged. The lists of each half are
merged once (see `neighbors`), 2**(n / 2) of them instead of 2**n.

Records are ranks, as in `neighbors`, but stored as floats beside their targets. The vectors are
validation points.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    add,
    lane_sum,
    load,
    multiply,
    multiply_add,
    pointer,
    splat,
    store,
    subtract,
    where_less,
)
from shapband.kernels.compiled.neighbor_blocks import OPTIONS, rank_records, records_held
from shapband.kernels.compiled.neighbors import join

_BLOCK = 32  # validation points at once, so that the lists of both halves stay in the cache


@njit(**OPTIONS)
def _lists_of_half(members, held, targets, block, room, keys, labels, records):
    """Write the ranks and targets (2**n, k, block) of all coalitions of some providers.

    Also their numbers of records (2**n,), at most k.
    """
    n, k, width = members.shape
    flat = targets.ravel()
    room[0] = targets.shape[1] - 1  # the rank of missing records, whose target is 0
    records[0] = 0
    for mask in range(1 << n):
        if mask:
            low = 0
            while not mask >> low & 1:
                low += 1
            rest = mask & (mask - 1)
            join(room[rest], members[low], room[mask])
            records[mask] = min(k, records[rest] + held[low])
        for r in range(k):
            for p in range(block):
                rank = room[mask, r, p]
                keys[mask, r, p] = rank
                labels[mask, r, p] = flat[np.uint64(p * targets.shape[1] + rank)]
            for p in range(block, width):
                keys[mask, r, p] = labels[mask, r, p] = 0.0


@njit(**OPTIONS)
def _add_squares(near, label, other_near, other_label, k, found, truth, width, total):
    """Add the squared errors of one coalition at the points of a block to `total`, lane by lane.

    The address `total` holds LANES sums.
    """
    by, share = splat(found), splat(1.0 / found)
    squares = load(total, 0)
    for p in range(0, width, LANES):
        s = splat(0.0)
        for r in range(k):
            at, opposite = r * width + p, (k - 1 - r) * width + p
            s = add(s, where_less(
                load(near, at), load(other_near, opposite),
                load(label, at), load(other_label, opposite),
            ))  # fmt: skip
        apart = multiply(subtract(s, multiply(by, load(truth, p))), share)
        squares = multiply_add(squares, apart, apart)
    store(total, 0, squares)


@njit(**OPTIONS)
def regression_table(summary, y_val):
    """Return the losses (2**n,) of all coalitions of one game by bitmask, and their neighbours.

    Parameters
    ----------
    summary : (n, 2, k, m) neighbour lists
    """
    n, _, k, m = summary.shape
    held = records_held(summary)
    width, first = _BLOCK, n // 2
    missing = np.int32(n * k)
    ranks = np.full((n * k, width), missing)
    members = ranks.reshape(n, k, width)
    targets, truth = np.zeros((width, n * k + 1)), np.zeros(width)
    low, high = 1 << first, 1 << (n - first)
    room = np.full((high, k, width), missing)
    low_keys, low_labels = np.zeros((low, k, width)), np.zeros((low, k, width))
    high_keys, high_labels = np.zeros((high, k, width)), np.zeros((high, k, width))
    low_records, high_records = np.zeros(low, np.int64), np.zeros(high, np.int64)
    sums, loss = np.zeros((1 << n) * LANES), np.zeros(1 << n)
    found = np.zeros(1 << n, np.int64)
    flat = low_keys.ravel(), low_labels.ravel(), high_keys.ravel(), high_labels.ravel()
    size = k * width
    for start in range(0, m, width):
        block = min(width, m - start)
        truth[:] = 0.0
        truth[:block] = y_val[start : start + block]
        rank_records(summary, start, block, ranks, targets)
        _lists_of_half(
            members[:first], held[:first], targets, block, room, low_keys, low_labels, low_records
        )
        _lists_of_half(
            members[first:], held[first:], targets, block, room, high_keys, high_labels,
            high_records,
        )  # fmt: skip
        for b in range(high):
            for a in range(low):
                mask = b * low + a
                found[mask] = min(k, low_records[a] + high_records[b])
                if found[mask]:
                    _add_squares(
                        pointer(flat[0], a * size), pointer(flat[1], a * size),
                        pointer(flat[2], b * size), pointer(flat[3], b * size),
                        k, float(found[mask]), pointer(truth, 0), width,
                        pointer(sums, mask * LANES),
                    )  # fmt: skip
    for mask in range(1 << n):
        loss[mask] = lane_sum(load(pointer(sums, mask * LANES), 0)) / m
    return loss, found
