"""Losses of the k nearest neighbours of all coalitions, from those of two halves of the providers.

The neighbours of a coalition are the nearest of two lists: those of its members among the first
providers, and those of its members among the others. Both lists ascend and have k entries. Entry r
of one belongs to the k nearest of both exactly if it is nearer than entry k - 1 - r of the other;
so of every such pair one record is a neighbour, and no list is merged. The lists of each half are
merged once, 2**(n / 2) of them instead of 2**n.

The vectors are validation points. Records are ordered by (squared distance, target).
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    add,
    lane_sum,
    larger,
    load,
    multiply,
    multiply_add,
    pointer,
    smaller,
    splat,
    store,
    subtract,
    where_less,
)
from shapband.kernels.compiled.neighbor_blocks import OPTIONS, records_held


@njit(**OPTIONS)
def _nearer(near, label, other, other_label):
    """Target of the nearer one of two records; of the smaller one at equal distances."""
    tied = where_less(other, near, other_label, smaller(label, other_label))
    return where_less(near, other, label, tied)


@njit(**OPTIONS)
def _farther(near, label, other, other_label):
    """Target of the farther one of two records; of the larger one at equal distances."""
    tied = where_less(other, near, label, larger(label, other_label))
    return where_less(near, other, other_label, tied)


@njit(**OPTIONS)
def _merge(base, added, out, k):
    """Write the k nearest records of two ascending lists, both (2, k, LANES), to `out`."""
    half = k * LANES
    for r in range(0, 2 * half, LANES):
        store(out, r, load(base, r))
    for q in range(0, half, LANES):
        x, target = load(added, q), load(added, half + q)
        # The records of the second list before this one are nearer, so it is not among the first q.
        for r in range(q, half, LANES):
            own, label = load(out, r), load(out, half + r)
            store(out, r, smaller(own, x))
            store(out, half + r, _nearer(own, label, x, target))
            target = _farther(own, label, x, target)
            x = larger(own, x)


@njit(**OPTIONS)
def _lists_of_half(members, first, n, k, lists):
    """Write the lists (2**n, 2, k, LANES) of all coalitions of n providers from the first one."""
    size = 2 * k * LANES
    for mask in range(1, 1 << n):
        low = 0
        while not mask >> low & 1:
            low += 1
        rest = mask & (mask - 1)
        added = pointer(members, (first + low) * size)
        _merge(pointer(lists, rest * size), added, pointer(lists, mask * size), k)


@njit(**OPTIONS)
def _add_squares(own, other, k, found, truth, total):
    """Add the squared errors of one coalition to `total`, lane by lane."""
    half = k * LANES
    s = splat(0.0)
    for r in range(0, half, LANES):
        at = half - LANES - r
        near, label = load(own, r), load(own, half + r)
        s = add(s, _nearer(near, label, load(other, at), load(other, half + at)))
    apart = multiply(subtract(s, multiply(splat(found), load(truth, 0))), splat(1.0 / found))
    store(total, 0, multiply_add(load(total, 0), apart, apart))


@njit(**OPTIONS)
def _add_table(low_lists, high_lists, k, found, truth, sums):
    """Add the squared errors of all coalitions at LANES points to the sums (2**n, LANES)."""
    size = 2 * k * LANES
    low, high = low_lists.size // size, high_lists.size // size
    for b in range(high):
        for a in range(low):
            mask = b * low + a
            if found[mask]:
                _add_squares(
                    pointer(low_lists, a * size), pointer(high_lists, b * size), k,
                    float(found[mask]), pointer(truth, 0), pointer(sums, mask * LANES),
                )  # fmt: skip


@njit(**OPTIONS)
def regression_table(summary, y_val):
    """Return the losses (2**n,) of all coalitions of one game by bitmask, and their neighbours.

    Parameters
    ----------
    summary : (n, 2, k, m) neighbour lists
    """
    n, _, k, m = summary.shape
    first = n // 2
    size = 2 * k * LANES
    members, truth = np.zeros(n * size), np.zeros(LANES)
    low_lists, high_lists = np.zeros(size << first), np.zeros(size << (n - first))
    # Without members, all records are missing.
    low_lists[: k * LANES] = np.inf
    high_lists[: k * LANES] = np.inf
    held, found = records_held(summary), np.zeros(1 << n, np.int64)
    for mask in range(1, 1 << n):
        for i in range(n):
            found[mask] += held[i] if mask >> i & 1 else 0
        found[mask] = min(k, found[mask])
    sums, loss = np.zeros(LANES << n), np.zeros(1 << n)
    for start in range(0, m, LANES):
        here = min(LANES, m - start)
        # Beyond the last point, targets are 0 and add nothing to the sums.
        members[:] = 0.0
        truth[:] = 0.0
        truth[:here] = y_val[start : start + here]
        for i in range(n):
            for part in range(2):
                for r in range(k):
                    at = ((i * 2 + part) * k + r) * LANES
                    for p in range(here):
                        members[at + p] = summary[i, part, r, start + p]
        _lists_of_half(members, 0, first, k, low_lists)
        _lists_of_half(members, first, n - first, k, high_lists)
        _add_table(low_lists, high_lists, k, found, truth, sums)
    _finish(sums, m, loss)
    return loss, found


@njit(**OPTIONS)
def _finish(sums, m, loss):
    """Write the mean squared errors."""
    for mask in range(loss.size):
        loss[mask] = lane_sum(load(pointer(sums, mask * LANES), 0)) / m
