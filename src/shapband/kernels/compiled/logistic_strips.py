"""Products of records and coefficients for `logistic_wide`, with features in strips.

A strip has LANES features, with one row per record, so that the Hessian is made by the same loops
as the factor of `strips`. The first feature is 1.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    add,
    broadcast,
    lane_sum,
    load,
    multiply,
    multiply_add,
    pointer,
    splat,
    store,
)
from shapband.kernels.compiled.strips import (
    ROWS,
    entry_at,
    strip_start,
    strips_of,
)

CHUNK = 256  # records whose products are added at once, so that their features stay in the cache


@njit(**OPTIONS)
def features_in_strips(summary, counts):
    """Features (n, strips, records, LANES) of each provider, 1 in place of the label codes."""
    n, p, most = summary.shape
    found = np.zeros((n, strips_of(p), most, LANES))
    for i in range(n):
        for f in range(p):
            for r in range(counts[i]):
                found[i, f // LANES, r, f % LANES] = summary[i, f, r] if f else 1.0
    return found


@njit(**OPTIONS)
def linear_forms(strips, most, count, p, beta, out):
    """Write X beta for each record to `out`; strips lie `most` records apart."""
    data, weights = pointer(strips, 0), pointer(beta, 0)
    apart, blocks = most * LANES, strips_of(p)
    for r in range(0, count - count % 4, 4):
        s, t, u, v = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for j in range(blocks):
            at, weight = j * apart + r * LANES, load(weights, j * LANES)
            s = multiply_add(s, weight, load(data, at))
            t = multiply_add(t, weight, load(data, at + LANES))
            u = multiply_add(u, weight, load(data, at + 2 * LANES))
            v = multiply_add(v, weight, load(data, at + 3 * LANES))
        out[r], out[r + 1], out[r + 2], out[r + 3] = (
            lane_sum(s), lane_sum(t), lane_sum(u), lane_sum(v)
        )  # fmt: skip
    for r in range(count - count % 4, count):
        s = splat(0.0)
        for j in range(blocks):
            s = multiply_add(s, load(weights, j * LANES), load(data, j * apart + r * LANES))
        out[r] = lane_sum(s)


@njit(**OPTIONS)
def sums_over_records(strips, most, count, p, numbers, out):
    """Write X' numbers to `out`."""
    data, weights, target = pointer(strips, 0), pointer(numbers, 0), pointer(out, 0)
    for j in range(strips_of(p)):
        at = j * most * LANES
        s, t, u, v = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for r in range(0, count - count % 4, 4):
            here = at + r * LANES
            s = multiply_add(s, broadcast(weights, r), load(data, here))
            t = multiply_add(t, broadcast(weights, r + 1), load(data, here + LANES))
            u = multiply_add(u, broadcast(weights, r + 2), load(data, here + 2 * LANES))
            v = multiply_add(v, broadcast(weights, r + 3), load(data, here + 3 * LANES))
        for r in range(count - count % 4, count):
            s = multiply_add(s, broadcast(weights, r), load(data, at + r * LANES))
        store(target, j * LANES, add(add(s, t), add(u, v)))


@njit(**OPTIONS)
def choose_records(strips, most, p, weights, chosen, count, picked, weighted):
    """Write the features of the first `count` chosen records, and these times their weights."""
    data, own = pointer(strips, 0), pointer(weights, 0)
    copy, target = pointer(picked, 0), pointer(weighted, 0)
    for j in range(strips_of(p)):
        for k in range(count):
            at, x = (j * most + k) * LANES, load(data, (j * most + chosen[k]) * LANES)
            store(copy, at, x)
            store(target, at, multiply(broadcast(own, k), x))


@njit(**OPTIONS)
def write_penalties(p, ridge, hessian):
    """Write R as strips."""
    hessian[:] = 0.0
    for f in range(1, p):
        hessian[entry_at(f, f)] = ridge[f - 1]


@njit(**OPTIONS)
def add_to_hessian(strips, weighted, most, count, p, hessian):
    """Add X'WX to a matrix of strips; `weighted` is WX."""
    out = pointer(hessian, 0)
    blocks = strips_of(p)
    for first in range(0, count, CHUNK):
        here = min(CHUNK, count - first) * LANES
        for j in range(blocks):
            data = pointer(strips, (j * most + first) * LANES)
            for i in range(0, (j + 1) * LANES, ROWS):
                left = pointer(weighted, (i // LANES * most + first) * LANES + i % LANES)
                at = strip_start(j) + i * LANES
                a, b = load(out, at), load(out, at + LANES)
                c, d = load(out, at + 2 * LANES), load(out, at + 3 * LANES)
                for k in range(0, here, LANES):
                    x = load(data, k)
                    a = multiply_add(a, broadcast(left, k), x)
                    b = multiply_add(b, broadcast(left, k + 1), x)
                    c = multiply_add(c, broadcast(left, k + 2), x)
                    d = multiply_add(d, broadcast(left, k + 3), x)
                store(out, at, a)
                store(out, at + LANES, b)
                store(out, at + 2 * LANES, c)
                store(out, at + 3 * LANES, d)
