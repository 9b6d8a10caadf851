"""Sums of products of the records of a draw, for least squares in 16 digits.

The summary of a draw is the packed lower triangle of [Z y]'[Z y]: the triangle of Z'Z, followed by
the p entries of Z'y, the right-hand side, and by y'y. Z has a constant feature and the standardised
features, relative to the first record of the draw, so that records far from zero lose no digits.
This first record is stored behind the triangle. `recentred` makes the summaries of all draws
relative to the same point, so that they can be added.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import LANES, OPTIONS
from shapband.kernels.compiled.parts import PART
from shapband.kernels.compiled.products import add_products
from shapband.kernels.compiled.sorting import sort

RECORD_CHUNK = 128  # records standardised at a time; a multiple of LANES
CLEAR_TOL = 1e-6  # sums keep ten digits if a feature's variance / mean square is above this
ROUNDING = 1e-13  # if a feature's deviation / size is below this, it may be only rounding errors
TINY = 1e-300  # smaller squares are close to the smallest floats and have lost digits


@njit(**PART)
def _standardise(X, y, rows, mean, inv_scale, y_mean, columns):
    """Write the columns of [Z y] of some records, RECORD_CHUNK apart; return the padded length."""
    d = X.shape[1]
    count = rows.shape[0]
    # Zeros that fill the last vector add nothing to any product.
    filled = (count + LANES - 1) // LANES * LANES
    for r in range(count, filled):
        for column in range(d + 2):
            columns[column * RECORD_CHUNK + r] = 0.0
    for r in range(count):
        row = rows[r]
        columns[r] = 1.0
        for f in range(d):
            columns[(f + 1) * RECORD_CHUNK + r] = (X[row, f] - mean[f]) * inv_scale[f]
        columns[(d + 1) * RECORD_CHUNK + r] = y[row] - y_mean
    return filled


@njit(**OPTIONS)
def gram_summaries(X, y, rows, inv_scale, y_mean, summaries, provider):
    """Write a provider's summaries of the records rows (g, size) into summaries (g, n, S + d).

    Each is the Gram matrix of the records relative to the first record, followed by that record.
    """
    games, size = rows.shape
    p = X.shape[1] + 1
    columns = np.empty((p + 1) * RECORD_CHUNK)
    for g in range(games):
        anchor = X[rows[g, 0]]
        behind = summaries.shape[2] - anchor.size
        summaries[g, provider, :behind] = 0.0
        for f in range(anchor.size):
            summaries[g, provider, behind + f] = anchor[f]
        for start in range(0, size, RECORD_CHUNK):
            chunk = rows[g, start : min(start + RECORD_CHUNK, size)]
            filled = _standardise(X, y, chunk, anchor, inv_scale, y_mean, columns)
            add_products(
                columns,
                RECORD_CHUNK,
                p + 1,
                columns,
                0,
                RECORD_CHUNK,
                p + 1,
                filled,
                summaries[g, provider],
            )


@njit(**OPTIONS)
def recentred(summaries, mean, inv_scale):
    """Gram matrices (g, n, S) relative to `mean`, from Gram matrices relative to first records.

    The second result (g,) says whether the new matrices show which features vary in which
    coalitions. They do not if a feature varies little in comparison with its distance from `mean`,
    within a draw or between draws in which it is constant.
    """
    games, n, _ = summaries.shape
    d = mean.size
    p = d + 1
    moved = np.empty((games, n, (p + 1) * (p + 2) // 2))
    shift, sums = np.zeros(p + 1), np.empty(p + 1)
    for g in range(games):
        for i in range(n):
            old, new = summaries[g, i], moved[g, i]
            for f in range(d):
                shift[1 + f] = (old[new.size + f] - mean[f]) * inv_scale[f]
            for row in range(p + 1):
                sums[row] = old[row * (row + 1) // 2]
            for row in range(p + 1):
                start = row * (row + 1) // 2
                for column in range(min(row + 1, p)):
                    both = sums[column] + sums[0] * shift[column]
                    across = old[start + column] + sums[row] * shift[column]
                    new[start + column] = across + shift[row] * both
            new[new.size - 1] = old[new.size - 1]
    clear = np.empty(games, np.bool_)
    for g in range(games):
        clear[g] = True
        for f in range(d):
            clear[g] = clear[g] and _is_clear(summaries[g], f, mean[f], inv_scale[f], d)
    return moved, clear


@njit(**PART)
def _is_clear(summaries, f, mean, inv_scale, d):
    """Whether sums relative to the mean show if one feature of a game varies."""
    n, size = summaries.shape
    diagonal = (f + 1) * (f + 4) // 2
    places = np.empty(n)
    constants = 0
    for i in range(n):
        anchor = summaries[i, size - d + f]
        offset = (anchor - mean) * inv_scale
        square = summaries[i, diagonal]
        if square == 0.0:
            places[constants] = offset
            constants += 1
            continue
        count, total = summaries[i, 0], summaries[i, diagonal - f - 1]
        variance = (square - total * total / count) / count
        least = max(CLEAR_TOL * (offset + total / count) ** 2, (ROUNDING * anchor * inv_scale) ** 2)
        if not variance > max(least, TINY):
            return False
    if constants < 2:
        return True
    ordered = places[:constants]
    sort(ordered)
    farthest = max(abs(ordered[0]), abs(ordered[-1]))
    for i in range(constants - 1):
        if 0.0 < ordered[i + 1] - ordered[i] <= 4.0 * CLEAR_TOL**0.5 * farthest:
            return False
    return True
