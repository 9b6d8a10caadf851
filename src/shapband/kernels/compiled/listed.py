"""Coalitions as lists of providers, for fits of several surrogates at once, one per lane.

The rows are sorted by size. Row r is the list members[starts[r] : starts[r + 1]]: its members if
these are at most half of the providers, else its non-members. So a list has a quarter of the
providers on average. Numbers of providers and of rows are flat arrays in which LANES neighbours
belong to the same provider or row. Every lane is summed in the order of the lists.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import LANES, add, load, pointer, splat, store
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def side(size, n):
    """1 if a coalition of this size is listed by its members, -1 if by its non-members."""
    return 1.0 if 2 * size <= n else -1.0


@njit(**PART)
def sum_lists(first, last, starts, members, slopes, out):
    """Write for the rows from first to last - 1 the sums over their lists to `out`."""
    source, target = pointer(slopes, 0), pointer(out, 0)
    for r in range(first, last):
        start, stop = starts[r], starts[r + 1]
        # Four sums at a time, because an addition must wait for the one before it.
        a, b, c, d = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        whole = stop - (stop - start) % 4
        for at in range(start, whole, 4):
            a = add(a, load(source, np.int64(members[at]) * LANES))
            b = add(b, load(source, np.int64(members[at + 1]) * LANES))
            c = add(c, load(source, np.int64(members[at + 2]) * LANES))
            d = add(d, load(source, np.int64(members[at + 3]) * LANES))
        for at in range(whole, stop):
            a = add(a, load(source, np.int64(members[at]) * LANES))
        store(target, r * LANES, add(add(a, b), add(c, d)))


@njit(**PART)
def add_to_lists(first, last, starts, members, numbers, out):
    """Add the numbers of the rows from first to last - 1 to the providers on their lists."""
    source, target = pointer(numbers, 0), pointer(out, 0)
    for r in range(first, last):
        number = load(source, r * LANES)
        for at in range(starts[r], starts[r + 1]):
            place = np.int64(members[at]) * LANES
            store(target, place, add(load(target, place), number))
