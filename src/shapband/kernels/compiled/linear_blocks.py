"""Least squares of LANES coalitions at once, from the sums of their summaries (see `lanes`).

`solve_block` factors LANES systems as L D L' (Cholesky without square roots), two rows by two
columns at a time so that each loaded vector is used twice. The forward substitution comes out as
the last row of the factor, the back substitution turns that row into the coefficients, and the
error is a quadratic form in it. A pivot that is not clearly positive becomes NaN and spreads
through its own lane only.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    broadcast,
    load,
    multiply,
    multiply_add,
    multiply_subtract,
    pivot_inverse,
    pointer,
    splat,
    store,
)
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def form_weights(A, b):
    """Packed coefficients of beta'A beta - 2 b'beta, each product counted once; without b too."""
    p = b.shape[0]
    weights, bare = np.empty(A.shape[0] + p), np.zeros(A.shape[0] + p)
    for i in range(p):
        row = i * (i + 1) // 2
        for j in range(i):
            weights[row + j] = 2.0 * A[row + j]
        weights[row + i] = A[row + i]
        weights[A.shape[0] + i] = -2.0 * b[i]
    for s in range(A.shape[0]):
        bare[s] = weights[s]
    return weights, bare


@njit(**PART)
def _pivot_pair(block, p, j, factor, scratch):
    """Pivots of columns j and j + 1, and the rows of L that the columns below need.

    Row p, the right-hand side, has no pivot. The factor holds L D, and the scratch the rows j and
    j + 1 of L, then the inverses of all pivots.
    """
    top = j * (j + 1) // 2 * LANES
    bottom = top + (j + 1) * LANES
    at, second, inverses = j * LANES, p * LANES, 2 * p * LANES
    diagonal, below = load(block, top + at), load(block, bottom + at)
    # Row p has no pivot; any value can be used here, because it is not stored.
    corner = diagonal
    if j + 1 < p:
        corner = load(block, bottom + at + LANES)
    pivot, next_pivot = diagonal, corner
    for k in range(0, at, LANES):
        t, b, inverse = load(factor, top + k), load(factor, bottom + k), load(scratch, inverses + k)
        u, v = multiply(t, inverse), multiply(b, inverse)
        store(scratch, k, u)
        store(scratch, second + k, v)
        pivot = multiply_subtract(pivot, t, u)
        below = multiply_subtract(below, b, u)
        next_pivot = multiply_subtract(next_pivot, b, v)
    inverse = pivot_inverse(pivot, diagonal)
    coupling = multiply(below, inverse)
    store(scratch, inverses + at, inverse)
    store(scratch, second + at, coupling)
    store(factor, bottom + at, below)
    if j + 1 < p:
        next_pivot = multiply_subtract(next_pivot, below, coupling)
        store(scratch, inverses + at + LANES, pivot_inverse(next_pivot, corner))


@njit(**PART)
def _column_pair(block, p, j, factor, scratch):
    """Columns j and j + 1 of L D below their pivots, down to the right-hand side."""
    at, second = j * LANES, p * LANES
    coupling = load(scratch, second + at)
    for i in range(j + 2, p, 2):
        top = i * (i + 1) // 2 * LANES
        bottom = top + (i + 1) * LANES
        s00, s01 = load(block, top + at), load(block, top + at + LANES)
        s10, s11 = load(block, bottom + at), load(block, bottom + at + LANES)
        for k in range(0, at, LANES):
            t, b = load(factor, top + k), load(factor, bottom + k)
            u, v = load(scratch, k), load(scratch, second + k)
            s00 = multiply_subtract(s00, t, u)
            s01 = multiply_subtract(s01, t, v)
            s10 = multiply_subtract(s10, b, u)
            s11 = multiply_subtract(s11, b, v)
        store(factor, top + at, s00)
        store(factor, top + at + LANES, multiply_subtract(s01, s00, coupling))
        store(factor, bottom + at, s10)
        store(factor, bottom + at + LANES, multiply_subtract(s11, s10, coupling))


@njit(**PART)
def back_substitute(factor, p, scratch):
    """Turn row p of the factor, the forward solution times D, into the coefficients."""
    beta, inverses = p * (p + 1) // 2 * LANES, 2 * p * LANES
    for i in range(p - 2, -1, -2):
        top = i * (i + 1) // 2 * LANES
        bottom = top + (i + 1) * LANES
        at = i * LANES
        y = multiply(load(factor, beta + at + LANES), load(scratch, inverses + at + LANES))
        x = multiply_subtract(load(factor, beta + at), load(factor, bottom + at), y)
        x = multiply(x, load(scratch, inverses + at))
        store(factor, beta + at, x)
        store(factor, beta + at + LANES, y)
        for k in range(0, at, LANES):
            rest = multiply_subtract(load(factor, beta + k), load(factor, bottom + k), y)
            store(factor, beta + k, multiply_subtract(rest, load(factor, top + k), x))
    if p % 2:
        store(factor, beta, multiply(load(factor, beta), load(scratch, inverses)))


@njit(**PART)
def quadratic_form(beta, p, weights, constant, errors):
    """Errors = constant + the packed form `weights` at coefficients beta, lanes innermost."""
    triangle = p * (p + 1) // 2
    error = splat(constant)
    for i in range(0, p - 1, 2):
        top, bottom = i * (i + 1) // 2, (i + 1) * (i + 2) // 2
        s, t = broadcast(weights, triangle + i), broadcast(weights, triangle + i + 1)
        for j in range(i):
            x = load(beta, j * LANES)
            s = multiply_add(s, broadcast(weights, top + j), x)
            t = multiply_add(t, broadcast(weights, bottom + j), x)
        x, y = load(beta, i * LANES), load(beta, (i + 1) * LANES)
        s = multiply_add(s, broadcast(weights, top + i), x)
        t = multiply_add(t, broadcast(weights, bottom + i), x)
        t = multiply_add(t, broadcast(weights, bottom + i + 1), y)
        error = multiply_add(multiply_add(error, s, x), t, y)
    if p % 2:
        last = (p - 1) * p // 2
        s = broadcast(weights, triangle + p - 1)
        for j in range(p):
            s = multiply_add(s, broadcast(weights, last + j), load(beta, j * LANES))
        error = multiply_add(error, s, load(beta, (p - 1) * LANES))
    store(errors, 0, error)


@njit(**PART)
def solve_block(sums, start, p, form, constant, room, errors):
    """Errors of the LANES coalitions whose summaries are sums[start:], lanes innermost."""
    block, weights = pointer(sums, start), pointer(form, 0)
    factor, scratch = pointer(room, 0), pointer(room, (p * (p + 1) // 2 + p) * LANES)
    if p % 2 == 0:
        # Odd number of rows: the first column, which needs no work, is not paired.
        diagonal = load(block, 0)
        store(scratch, 2 * p * LANES, pivot_inverse(diagonal, diagonal))
        for i in range(1, p + 1):
            at = i * (i + 1) // 2 * LANES
            store(factor, at, load(block, at))
    for j in range((p + 1) % 2, p, 2):
        _pivot_pair(block, p, j, factor, scratch)
        _column_pair(block, p, j, factor, scratch)
    back_substitute(factor, p, scratch)
    beta = pointer(room, p * (p + 1) // 2 * LANES)
    quadratic_form(beta, p, weights, constant, pointer(errors, 0))
