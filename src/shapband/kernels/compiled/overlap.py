"""Kernel ridge regression over coalitions, with their Jaccard similarity as the kernel.

A coalition of up to 64 providers is a mask of 64 bits. The factorisation is written out, because
that of a library gives other bits with other numbers of threads.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS

_SUMS = {**OPTIONS, "fastmath": {"reassoc", "contract"}}


@njit(**OPTIONS)
def _count(mask):
    """Return the number of members of a mask."""
    mask -= (mask >> np.uint64(1)) & np.uint64(0x5555555555555555)
    low = np.uint64(0x3333333333333333)
    mask = (mask & low) + ((mask >> np.uint64(2)) & low)
    mask = (mask + (mask >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((mask * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(**_SUMS)
def _factorise(G):
    """Replace the lower triangle of G by its Cholesky factor, four columns at a time."""
    m = G.shape[0]
    for first in range(0, m, 4):
        last = min(first + 4, m)
        for r in range(first, m):
            if last - first == 4:
                a = b = c = d = 0.0
                for k in range(first):
                    a += G[r, k] * G[first, k]
                    b += G[r, k] * G[first + 1, k]
                    c += G[r, k] * G[first + 2, k]
                    d += G[r, k] * G[first + 3, k]
                G[r, first] -= a
                G[r, first + 1] -= b
                G[r, first + 2] -= c
                G[r, first + 3] -= d
                done = first
            else:
                done = 0
            for column in range(first, min(r + 1, last)):
                total = G[r, column]
                for k in range(done, column):
                    total -= G[r, k] * G[column, k]
                G[r, column] = np.sqrt(total) if r == column else total / G[column, column]


@njit(**OPTIONS)
def _similarity(mask, size, other, other_size):
    """Number of common members over the number of all members."""
    common = _count(mask & other)
    return common / (size + other_size - common)


@njit(**_SUMS)
def fit(masks, sizes, values, noise):
    """Coefficients of kernel ridge regression, one for each coalition.

    Parameters
    ----------
    masks, sizes : (m,) the coalitions, and their numbers of members
    values : (m,) what is fitted
    noise : what is added to the diagonal of the kernel
    """
    m = masks.size
    G = np.empty((m, m))
    for r in range(m):
        for k in range(r + 1):
            G[r, k] = _similarity(masks[r], sizes[r], masks[k], sizes[k])
        G[r, r] += noise
    _factorise(G)
    found = values.copy()
    for r in range(m):
        for k in range(r):
            found[r] -= G[r, k] * found[k]
        found[r] /= G[r, r]
    for r in range(m - 1, -1, -1):
        found[r] /= G[r, r]
        for k in range(r):
            found[k] -= G[r, k] * found[r]
    return found


@njit(**_SUMS)
def predict(masks, sizes, fitted_masks, fitted_sizes, coefficients):
    """Sum over the fitted coalitions of coefficient × similarity, for each coalition."""
    out = np.zeros(masks.size)
    for r in range(masks.size):
        for k in range(fitted_masks.size):
            out[r] += coefficients[k] * _similarity(
                masks[r], sizes[r], fitted_masks[k], fitted_sizes[k]
            )
    return out
