"""Cholesky factors of large symmetric matrices, near the speed of the processor.

*Strips.* The upper half of a matrix is stored as strips of LANES columns. Strip j holds the rows 0,
.., LANES (j + 1) - 1 of its columns, one row of LANES numbers after the other, so that all loops
read consecutive memory. The numbers below the diagonal are never used. The size of a matrix is
rounded up to a multiple of LANES.

*Factor.* U with U' U = A takes the place of A. Four rows of one strip stay in the registers while
the products with all rows above them are subtracted. The order of every sum is written out, so the
bits depend on the matrix alone.
"""

import math

from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    broadcast,
    lane_sum,
    load,
    multiply,
    multiply_subtract,
    pointer,
    splat,
    store,
)

ROWS = 4  # rows that are computed at once; LANES is a multiple of it


@njit(**OPTIONS)
def strip_start(strip):
    """Where a strip begins; for the number of strips, the number of floats of a matrix."""
    return LANES * LANES * (strip * (strip + 1) // 2)


@njit(**OPTIONS)
def strips_of(size):
    """Number of strips of a matrix."""
    return (size + LANES - 1) // LANES


@njit(**OPTIONS)
def entry_at(row, column):
    """Where the entry (row, column) of the upper half is stored."""
    return strip_start(column // LANES) + row * LANES + column % LANES


@njit(**OPTIONS)
def _subtract_above(strips, left, right, row):
    """Subtract from four rows of strip `right` the products of all rows above them.

    `left` is where the strip begins that has the columns row, .., row + 3, at place row % LANES.
    """
    factor, own = pointer(strips, left + row % LANES), pointer(strips, right)
    at = row * LANES
    a, b = load(own, at), load(own, at + LANES)
    c, d = load(own, at + 2 * LANES), load(own, at + 3 * LANES)
    for k in range(0, at, LANES):
        x = load(own, k)
        a = multiply_subtract(a, broadcast(factor, k), x)
        b = multiply_subtract(b, broadcast(factor, k + 1), x)
        c = multiply_subtract(c, broadcast(factor, k + 2), x)
        d = multiply_subtract(d, broadcast(factor, k + 3), x)
    return a, b, c, d


@njit(**OPTIONS)
def _factor_diagonal(strips, left, row, pivots, tolerance, inverses):
    """Factor four rows of the strip that holds their diagonal; False if a pivot is too small."""
    own, at = pointer(strips, left), row * LANES
    # The diagonal of the matrix, before products are subtracted from it.
    for r in range(ROWS):
        inverses[row + r] = strips[left + at + r * LANES + row % LANES + r]
    a, b, c, d = _subtract_above(strips, left, left, row)
    store(own, at, a)
    store(own, at + LANES, b)
    store(own, at + 2 * LANES, c)
    store(own, at + 3 * LANES, d)
    for r in range(ROWS):
        here = at + r * LANES
        pivot = strips[left + here + row % LANES + r]
        if row + r >= pivots:
            inverses[row + r] = 1.0
            continue
        if not pivot > tolerance * inverses[row + r]:
            return False
        inverses[row + r] = 1.0 / math.sqrt(pivot)
        scaled = multiply(load(own, here), splat(inverses[row + r]))
        store(own, here, scaled)
        for q in range(r + 1, ROWS):
            below = at + q * LANES
            share = broadcast(own, here + row % LANES + q)
            store(own, below, multiply_subtract(load(own, below), share, scaled))
    return True


@njit(**OPTIONS)
def _finish_rows(strips, left, right, row, inverses):
    """Compute four rows of a strip to the right of their diagonal."""
    a, b, c, d = _subtract_above(strips, left, right, row)
    own, at = pointer(strips, right), row * LANES
    corner, scale = pointer(strips, left + at + row % LANES), pointer(inverses, row)
    a = multiply(a, broadcast(scale, 0))
    b = multiply_subtract(b, broadcast(corner, 1), a)
    c = multiply_subtract(c, broadcast(corner, 2), a)
    d = multiply_subtract(d, broadcast(corner, 3), a)
    b = multiply(b, broadcast(scale, 1))
    c = multiply_subtract(c, broadcast(corner, LANES + 2), b)
    d = multiply_subtract(d, broadcast(corner, LANES + 3), b)
    c = multiply(c, broadcast(scale, 2))
    d = multiply_subtract(d, broadcast(corner, 2 * LANES + 3), c)
    d = multiply(d, broadcast(scale, 3))
    store(own, at, a)
    store(own, at + LANES, b)
    store(own, at + 2 * LANES, c)
    store(own, at + 3 * LANES, d)


@njit(**OPTIONS)
def factor_strips(strips, size, pivots, tolerance, inverses):
    """Replace a matrix by its factor; False if a pivot is not above tolerance x diagonal entry.

    Parameters
    ----------
    size : number of columns
    pivots : number of rows that have a pivot; columns from here on, such as a right-hand side, are
        only multiplied by the inverse of the factor
    inverses : (LANES * number of strips,) receives the inverses of the factor's diagonal
    """
    count = strips_of(size)
    for row in range(0, pivots, ROWS):
        left = strip_start(row // LANES)
        if not _factor_diagonal(strips, left, row, pivots, tolerance, inverses):
            return False
        for strip in range(row // LANES + 1, count):
            _finish_rows(strips, left, strip_start(strip), row, inverses)
    return True


@njit(**OPTIONS)
def solve_transposed(strips, size, inverses, x):
    """Solve U' y = x in place; x (LANES * number of strips,) is zero from `size` on."""
    numbers, own = pointer(x, 0), pointer(strips, 0)
    for strip in range(strips_of(size)):
        start, first = strip_start(strip), strip * LANES
        total = load(numbers, first)
        for k in range(first):
            total = multiply_subtract(total, broadcast(numbers, k), load(own, start + k * LANES))
        store(numbers, first, total)
        for c in range(min(LANES, size - first)):
            for q in range(c):
                x[first + c] -= strips[start + (first + q) * LANES + c] * x[first + q]
            x[first + c] *= inverses[first + c]
    x[size:] = 0.0


@njit(**OPTIONS)
def solve_factor(strips, size, inverses, x):
    """Solve U y = x in place; x (LANES * number of strips,) is zero from `size` on."""
    numbers, own = pointer(x, 0), pointer(strips, 0)
    for strip in range(strips_of(size) - 1, -1, -1):
        start, first = strip_start(strip), strip * LANES
        for c in range(min(LANES, size - first) - 1, -1, -1):
            for q in range(c + 1, min(LANES, size - first)):
                x[first + c] -= strips[start + (first + c) * LANES + q] * x[first + q]
            x[first + c] *= inverses[first + c]
        known = load(numbers, first)
        for k in range(first):
            x[k] -= lane_sum(multiply(known, load(own, start + k * LANES)))
