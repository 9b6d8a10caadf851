"""Short lists of the nearest records of draws with several features.

The vectors are validation points: the distances of all records to LANES points are computed, and
the SLOTS nearest records are kept in registers while the records pass by. Longer lists need several
passes; each takes the records that come after the last one of the pass before.

Records are taken in the order of their targets, so of records at the same distance those with
smaller targets come first. A record is represented by its place in this order.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    add,
    any_less,
    broadcast,
    larger,
    load,
    multiply,
    pointer,
    smaller,
    splat,
    store,
    subtract,
    where_less,
)

SLOTS = 5  # nearest records that a pass finds
# Of the first records so many are among the nearest at some lane that a branch would be a guess.
ALWAYS = 128
# Products are not fused with sums, so that the bits of a distance are those of NumPy.
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "boundscheck": False}


@njit(**_OPTIONS)
def scan_points(X, y, rows, X_val, out):
    """Fill the lists (g, 2, k, m) of draws; rows (g, size) are sorted by their targets."""
    d, k, m, size = X.shape[1], out.shape[2], X_val.shape[0], rows.shape[1]
    records, distances = np.empty(size * d), np.empty(size * LANES)
    passes = (k + SLOTS - 1) // SLOTS
    points, found = np.zeros(d * LANES), np.empty(passes * 2 * SLOTS * LANES)
    for g in range(rows.shape[0]):
        for j in range(size):
            for f in range(d):
                records[j * d + f] = X[rows[g, j], f]
        for start in range(0, m, LANES):
            here = min(LANES, m - start)
            for lane in range(here):
                for f in range(d):
                    points[f * LANES + lane] = X_val[start + lane, f]
            _measure(records, points, d, distances)
            for turn in range(passes):
                _take(distances, turn, found)
            for r in range(k):
                at = (r // SLOTS * 2 * SLOTS + r % SLOTS) * LANES
                for lane in range(here):
                    out[g, 0, r, start + lane] = found[at + lane]
                    place = int(found[at + SLOTS * LANES + lane])
                    out[g, 1, r, start + lane] = y[rows[g, place]] if place >= 0 else 0.0


@njit(**_OPTIONS)
def _measure(records, points, d, distances):
    """Write the squared distances (size, LANES) of all records to LANES points."""
    data, place, out = pointer(records, 0), pointer(points, 0), pointer(distances, 0)
    size = distances.size // LANES
    for j in range(0, size - size % 4, 4):
        # Four records at once, because loading the points takes longer than the arithmetic.
        s, t, u, v = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for f in range(d):
            x, at = load(place, f * LANES), j * d + f
            a, b = subtract(broadcast(data, at), x), subtract(broadcast(data, at + d), x)
            c = subtract(broadcast(data, at + 2 * d), x)
            e = subtract(broadcast(data, at + 3 * d), x)
            s, t = add(s, multiply(a, a)), add(t, multiply(b, b))
            u, v = add(u, multiply(c, c)), add(v, multiply(e, e))
        store(out, j * LANES, s)
        store(out, (j + 1) * LANES, t)
        store(out, (j + 2) * LANES, u)
        store(out, (j + 3) * LANES, v)
    for j in range(size - size % 4, size):
        s = splat(0.0)
        for f in range(d):
            a = subtract(broadcast(data, j * d + f), load(place, f * LANES))
            s = add(s, multiply(a, a))
        store(out, j * LANES, s)


@njit(**_OPTIONS)
def _take(distances, turn, found):
    """Write the distances and the places of the next SLOTS records; -1 for a missing record."""
    data, size = pointer(distances, 0), 2 * SLOTS * LANES
    out, before = pointer(found, turn * size), pointer(found, max(turn - 1, 0) * size)
    far, none = splat(np.inf), splat(-1.0)
    last, last_place = none, none
    if turn:
        last, last_place = load(before, size // 2 - LANES), load(before, size - LANES)
    a, b, c, d, e = far, far, far, far, far
    i, j, k, m, n = none, none, none, none, none
    for r in range(distances.size // LANES):
        x, place = load(data, r * LANES), splat(float(r))
        # Records before the last one, by (distance, place), are already taken.
        tied = where_less(last_place, place, x, far)
        x = where_less(last, x, x, where_less(x, last, far, tied))
        if r < ALWAYS or any_less(x, e):
            n = where_less(x, d, m, where_less(x, e, place, n))
            m = where_less(x, c, k, where_less(x, d, place, m))
            k = where_less(x, b, j, where_less(x, c, place, k))
            j = where_less(x, a, i, where_less(x, b, place, j))
            i = where_less(x, a, place, i)
            e = larger(d, smaller(e, x))
            d = larger(c, smaller(d, x))
            c = larger(b, smaller(c, x))
            b = larger(a, smaller(b, x))
            a = smaller(a, x)
    half = SLOTS * LANES
    store(out, 0, a)
    store(out, LANES, b)
    store(out, 2 * LANES, c)
    store(out, 3 * LANES, d)
    store(out, 4 * LANES, e)
    store(out, half, i)
    store(out, half + LANES, j)
    store(out, half + 2 * LANES, k)
    store(out, half + 3 * LANES, m)
    store(out, half + 4 * LANES, n)
