"""Kernel ridge regression over coalitions, with their Jaccard similarity as the kernel.

A coalition of up to 64 providers is a mask of 64 bits. The factorisation is written out, because
the bits of a library's result depend on its number of threads. Sums are made lane by lane, because
an order chosen by the compiler may differ between two compilations.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    lane_sum,
    load,
    multiply_add,
    pointer,
    splat,
)
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def _count(mask):
    """Return the number of members of a mask."""
    mask -= (mask >> np.uint64(1)) & np.uint64(0x5555555555555555)
    low = np.uint64(0x3333333333333333)
    mask = (mask & low) + ((mask >> np.uint64(2)) & low)
    mask = (mask + (mask >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((mask * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(**PART)
def _dot(one, other, count):
    """Sum of the products of `count` numbers at two addresses."""
    total = splat(0.0)
    whole = count - count % LANES
    for k in range(0, whole, LANES):
        total = multiply_add(total, load(one, k), load(other, k))
    rest = lane_sum(total)
    for k in range(whole, count):
        rest += one[k] * other[k]
    return rest


@njit(**PART)
def _factorise(G):
    """Replace the lower triangle of G by its Cholesky factor, four columns at a time."""
    m = G.shape[0]
    flat = G.reshape(-1)
    for first in range(0, m, 4):
        last = min(first + 4, m)
        # Four columns share the reading of a row.
        columns = (
            pointer(flat, first * m),
            pointer(flat, min(first + 1, m - 1) * m),
            pointer(flat, min(first + 2, m - 1) * m),
            pointer(flat, min(first + 3, m - 1) * m),
        )
        for r in range(first, m):
            row = pointer(flat, r * m)
            products = _four_dots(row, columns, first)
            for column in range(first, last):
                G[r, column] -= products[column - first]
            for column in range(first, min(r + 1, last)):
                total = G[r, column]
                for k in range(first, column):
                    total -= G[r, k] * G[column, k]
                G[r, column] = np.sqrt(total) if r == column else total / G[column, column]


@njit(**PART)
def _four_dots(row, columns, count):
    """Sums of the products of a row with four others, over their first `count` numbers."""
    a, b, c, d = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
    whole = count - count % LANES
    for k in range(0, whole, LANES):
        own = load(row, k)
        a = multiply_add(a, own, load(columns[0], k))
        b = multiply_add(b, own, load(columns[1], k))
        c = multiply_add(c, own, load(columns[2], k))
        d = multiply_add(d, own, load(columns[3], k))
    e, f, g, h = lane_sum(a), lane_sum(b), lane_sum(c), lane_sum(d)
    for k in range(whole, count):
        e += row[k] * columns[0][k]
        f += row[k] * columns[1][k]
        g += row[k] * columns[2][k]
        h += row[k] * columns[3][k]
    return e, f, g, h


@njit(**PART)
def _similarity(mask, size, other, other_size):
    """Number of common members over the number of all members."""
    common = _count(mask & other)
    return common / (size + other_size - common)


@njit(**OPTIONS)
def fit(masks, sizes, values, noise):
    """Coefficients of kernel ridge regression, one for each coalition.

    Parameters
    ----------
    masks, sizes : (m,) the coalitions, and their numbers of members
    values : (m,) the numbers to be fitted
    noise : number that is added to the diagonal of the kernel matrix
    """
    m = masks.size
    G = np.empty((m, m))
    for r in range(m):
        for k in range(r + 1):
            G[r, k] = _similarity(masks[r], sizes[r], masks[k], sizes[k])
        G[r, r] += noise
    _factorise(G)
    found = values.copy()
    flat, start = G.reshape(-1), pointer(found, 0)
    for r in range(m):
        found[r] = (found[r] - _dot(pointer(flat, r * m), start, r)) / G[r, r]
    for r in range(m - 1, -1, -1):
        found[r] /= G[r, r]
        for k in range(r):
            found[k] -= G[r, k] * found[r]
    return found


@njit(**OPTIONS)
def predict(masks, sizes, fitted_masks, fitted_sizes, coefficients):
    """Sum over the fitted coalitions of coefficient × similarity, for each coalition."""
    m = fitted_masks.size
    alike, out = np.empty(m), np.empty(masks.size)
    for r in range(masks.size):
        for k in range(m):
            alike[k] = _similarity(masks[r], sizes[r], fitted_masks[k], fitted_sizes[k])
        out[r] = _dot(pointer(alike, 0), pointer(coefficients, 0), m)
    return out
