"""Sums of products of the records of a draw, and of a coalition, in 32 digits.

The sums of a draw are a vector of these parts, in order:

- the number of records;
- for each feature its unit, a power of two about as large as its range, which keeps squares from
  underflowing at any scale, and its smallest and largest number;
- as pairs (high, low): the means of the features, in their units and relative to the first record
  of the draw; the mean of the targets; the sums of products of features and targets, both as
  deviations from their means;
- the lower triangle of the sums of products of the features' deviations, first all high parts and
  then all low parts, so that loops over them can use vectors.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.double_double import (
    EXACTLY,
    at,
    minus,
    over,
    plus,
    put,
    scaled,
    times,
    two_sum,
)

_LEAST_UNIT = 2.0**-960  # smallest unit of a feature, chosen so that its inverse is finite


@njit(**EXACTLY)
def size_of(d):
    """Length of the sums of a draw with d features."""
    return 3 + 7 * d + d * (d + 1)


@njit(**EXACTLY)
def unit_of(x):
    """The power of two above |x|; 1 for 0."""
    if x == 0.0:
        return 1.0
    return max(2.0 ** np.ceil(np.log2(abs(x))), _LEAST_UNIT)


@njit(**EXACTLY)
def draw_sums(X, y, rows, sums):
    """Write the sums of some records into a vector of length `size_of(d)`."""
    d, count = X.shape[1], rows.size
    means = sums[1 + 3 * d : 1 + 5 * d].reshape(d, 2)
    target = sums[1 + 5 * d : 3 + 5 * d].reshape(1, 2)
    products = sums[3 + 5 * d : 3 + 7 * d].reshape(d, 2)
    scatter = sums[3 + 7 * d :].reshape(2, d * (d + 1) // 2)
    sums[:] = 0.0
    sums[0] = count
    apart, own = np.empty((2, count, d)), np.empty((count, 2))
    number = (float(count), 0.0)
    for f in range(d):
        first = X[rows[0], f]
        low, high = first, first
        for r in range(count):
            low, high = min(low, X[rows[r], f]), max(high, X[rows[r], f])
        unit = unit_of(high - low)
        sums[1 + f], sums[1 + d + f], sums[1 + 2 * d + f] = unit, low, high
        total = (0.0, 0.0)
        for r in range(count):
            moved = scaled(two_sum(X[rows[r], f], -first), 1.0 / unit)
            apart[0, r, f], apart[1, r, f] = moved
            total = plus(total, moved)
        mean = over(total, number)
        put(means, f, mean)
        for r in range(count):
            moved = minus((apart[0, r, f], apart[1, r, f]), mean)
            apart[0, r, f], apart[1, r, f] = moved
    total = (0.0, 0.0)
    for r in range(count):
        total = plus(total, (y[rows[r]], 0.0))
    put(target, 0, over(total, number))
    for r in range(count):
        put(own, r, minus((y[rows[r]], 0.0), at(target, 0)))
        high, low = apart[0, r], apart[1, r]
        for f in range(d):
            factor, start = (high[f], low[f]), f * (f + 1) // 2
            stop = start + f + 1
            add_multiple(scatter[0, start:stop], scatter[1, start:stop], factor, high, low, 0)
            put(products, f, plus(at(products, f), times(factor, at(own, r))))


@njit(**EXACTLY)
def add_multiple(high, low, factor, other_high, other_low, start):
    """Add `factor` times the other row of numbers to a row, from entry `start` on."""
    for j in range(start, high.size):
        moved = times(factor, (other_high[j], other_low[j]))
        high[j], low[j] = plus((high[j], low[j]), moved)


@njit(**EXACTLY)
def all_draw_sums(X, y, rows):
    """The sums of the records rows (g, size): (g, size_of(d))."""
    sums = np.empty((rows.shape[0], size_of(X.shape[1])))
    for g in range(rows.shape[0]):
        draw_sums(X, y, rows[g], sums[g])
    return sums


@njit(**EXACTLY)
def _add_row(high, low, own_high, own_low, factor, factors, far, apart_high, apart_low):
    """Add a draw's own sums, converted to the coalition's units, and far times apart to a row."""
    for g in range(own_high.size):
        within = scaled((own_high[g] * factor, own_low[g] * factor), factors[g])
        both = plus(within, times(far, (apart_high[g], apart_low[g])))
        high[g], low[g] = plus((high[g], low[g]), both)


@njit(**EXACTLY)
def merge(draws, anchors, inside, unit, low, high, means, scatter, products):
    """Merge draws into one coalition; return its number of records and the mean of its targets.

    Parameters
    ----------
    draws : (n, size_of(d)) sums of the draws
    anchors : (n, d) their first records
    inside : (n,) 1 for members, of which there is at least one
    unit, low, high : (d,) written: the unit, the smallest and the largest number of each feature
    means : (d, 2) written: in these units, relative to the anchor of the first member
    scatter : (2, d, d) written: high and low parts of the sums of products of deviations from the
        means, the lower triangle
    products : (d, 2) written: the same with the targets
    """
    n, d = anchors.shape
    first = 0
    while not inside[first]:
        first += 1
    count, target = 0.0, (0.0, 0.0)
    for f in range(d):
        unit[f], low[f], high[f] = 0.0, np.inf, -np.inf
    for i in range(first, n):
        if inside[i]:
            count += draws[i, 0]
            for f in range(d):
                apart = abs(anchors[i, f] - anchors[first, f])
                if draws[i, 1 + 2 * d + f] > draws[i, 1 + d + f]:
                    unit[f] = max(unit[f], draws[i, 1 + f])
                if apart > 0.0:
                    unit[f] = max(unit[f], unit_of(apart))
                low[f] = min(low[f], draws[i, 1 + d + f])
                high[f] = max(high[f], draws[i, 1 + 2 * d + f])
    for f in range(d):
        if unit[f] == 0.0:
            unit[f] = 1.0
    number = (count, 0.0)
    centres, targets = np.zeros((n, d, 2)), np.zeros((n, 2))
    means[:] = 0.0
    for i in range(first, n):
        if inside[i]:
            share = over((draws[i, 0], 0.0), number)
            put(targets, i, (draws[i, 1 + 5 * d], draws[i, 2 + 5 * d]))
            target = plus(target, times(share, at(targets, i)))
            for f in range(d):
                own = (draws[i, 1 + 3 * d + 2 * f], draws[i, 2 + 3 * d + 2 * f])
                moved = scaled(two_sum(anchors[i, f], -anchors[first, f]), 1.0 / unit[f])
                put(centres[i], f, plus(moved, scaled(own, draws[i, 1 + f] / unit[f])))
                put(means, f, plus(at(means, f), times(share, at(centres[i], f))))
    scatter[:] = 0.0
    products[:] = 0.0
    beside, across = 3 + 5 * d, 3 + 7 * d
    triangle = d * (d + 1) // 2
    factors, apart = np.empty(d), np.empty((2, d))
    for i in range(first, n):
        if inside[i]:
            weight = (draws[i, 0], 0.0)
            differ = times(weight, minus(at(targets, i), target))
            for f in range(d):
                factors[f] = draws[i, 1 + f] / unit[f]
                apart[0, f], apart[1, f] = minus(at(centres[i], f), at(means, f))
                own = (draws[i, beside + 2 * f], draws[i, beside + 2 * f + 1])
                between = times((apart[0, f], apart[1, f]), differ)
                own = plus(scaled(own, factors[f]), between)
                put(products, f, plus(at(products, f), own))
            for f in range(d):
                start = across + f * (f + 1) // 2
                _add_row(
                    scatter[0, f],
                    scatter[1, f],
                    draws[i, start : start + f + 1],
                    draws[i, start + triangle : start + triangle + f + 1],
                    factors[f],
                    factors,
                    times(weight, (apart[0, f], apart[1, f])),
                    apart[0],
                    apart[1],
                )
    return count, target
