"""Sums of products: of two rows of numbers, and of many columns.

The order of every sum is written out, because the compiler's own choice may differ between two
compilations.
"""

from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    lane_sum,
    load,
    multiply_add,
    pointer,
    splat,
)
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def add_products(left, left_stride, rows, right, right_start, right_stride, p, filled, packed):
    """Add the products of columns to the lower triangle of a matrix, packed by rows.

    Blocks of two by two entries stay in the registers.

    Parameters
    ----------
    left, left_stride, rows : the left columns, how far one is from the next, and how many there
        are; each makes a row of the matrix
    right, right_start, right_stride, p : the right columns, where the first begins, how far one is
        from the next, and how many there are
    filled : length of a column, a multiple of LANES
    packed : the triangle to which the products are added
    """
    above, beside = pointer(left, 0), pointer(right, right_start)
    zero = splat(0.0)
    for i in range(0, rows, 2):
        # An odd last row is paired with itself and written once.
        pair = min(i + 1, rows - 1)
        top, bottom = i * left_stride, pair * left_stride
        top_row, bottom_row = i * (i + 1) // 2, pair * (pair + 1) // 2
        for j in range(0, min(i + 2, p), 2):
            first, second = j * right_stride, min(j + 1, p - 1) * right_stride
            s00, s01, s10, s11 = zero, zero, zero, zero
            for r in range(0, filled, LANES):
                t, b = load(above, top + r), load(above, bottom + r)
                u, v = load(beside, first + r), load(beside, second + r)
                s00 = multiply_add(s00, t, u)
                s01 = multiply_add(s01, t, v)
                s10 = multiply_add(s10, b, u)
                s11 = multiply_add(s11, b, v)
            packed[top_row + j] += lane_sum(s00)
            if j < i and j + 1 < p:
                packed[top_row + j + 1] += lane_sum(s01)
            if pair > i:
                packed[bottom_row + j] += lane_sum(s10)
                if j + 1 < p:
                    packed[bottom_row + j + 1] += lane_sum(s11)
