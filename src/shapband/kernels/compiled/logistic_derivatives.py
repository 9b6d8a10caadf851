"""Gradient and Hessian of the objective of logistic regression (see `newton`).

*Columns.* The features are stored column by column, so that LANES records are handled at once (see
`lanes`). Fillers complete the last vector of records. They are 0 in all columns, also in the first
one, which is 1 for records, so they add nothing to any sum.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    add,
    divide,
    exponential,
    lane_sum,
    larger,
    load,
    multiply,
    multiply_add,
    multiply_subtract,
    pointer,
    splat,
    store,
    subtract,
)
from shapband.kernels.compiled.parts import PART
from shapband.kernels.compiled.products import add_products

CHUNK = 128  # records whose weighted columns are computed at once; a multiple of LANES


def make_room(records, p, classes):
    """Working arrays for fits of up to this many records, with p coefficients per class."""
    stride = (records + LANES - 1) // LANES * LANES
    free = classes - 1
    size = free * p
    return (
        np.zeros((p, stride)),  # columns
        np.zeros((free, stride)),  # 1 for the records of class k + 1
        np.zeros((free, stride)),  # logits
        np.zeros((free, stride)),  # their changes in a step
        np.zeros((2 * free + 1) * CHUNK),  # probabilities and residuals of a chunk
        np.zeros((p + 1) * CHUNK),  # weighted columns, then residuals
        np.zeros(p * (p + 3) // 2),  # packed products of a block
        np.zeros((size, size)),  # Hessian, then its factor
        np.zeros(size),  # gradient
        np.zeros(size),  # step
    )


@njit(**PART)
def binary_chunk(logits, targets, first, filled, parts, left):
    """Write the residuals p - t of a chunk to `left`, and the weights p (1 - p) to `parts`."""
    eta, true = pointer(logits, first), pointer(targets, first)
    weights, residuals = pointer(parts, 0), pointer(left, 0)
    one, zero = splat(1.0), splat(0.0)
    for r in range(0, filled, LANES):
        odds = exponential(subtract(zero, load(eta, r)))
        p = divide(one, add(one, odds))
        other = multiply(odds, p)  # 1 - p, without cancellation
        t = load(true, r)
        store(weights, r, multiply(p, other))
        store(residuals, r, multiply_subtract(multiply(p, subtract(one, t)), other, t))


@njit(**PART)
def _softmax_chunk(logits, targets, stride, first, filled, free, parts):
    """Write the probabilities of the classes 1, .. of a chunk, then residuals, CHUNK apart."""
    eta, true, part = pointer(logits, first), pointer(targets, first), pointer(parts, 0)
    one, zero = splat(1.0), splat(0.0)
    for r in range(0, filled, LANES):
        top = zero
        for k in range(free):
            top = larger(top, load(eta, k * stride + r))
        base = exponential(subtract(zero, top))
        mass = base
        for k in range(free):
            e = exponential(subtract(load(eta, k * stride + r), top))
            store(part, k * CHUNK + r, e)
            mass = add(mass, e)
        scale = divide(one, mass)
        for k in range(free):
            # The sum of the other classes is 1 - p without cancellation.
            others = base
            for m in range(free):
                if m != k:
                    others = add(others, load(part, m * CHUNK + r))
            t = load(true, k * stride + r)
            p = multiply(load(part, k * CHUNK + r), scale)
            residual = multiply_subtract(multiply(p, subtract(one, t)), multiply(others, scale), t)
            store(part, (free + k) * CHUNK + r, residual)
        for k in range(free):
            store(part, k * CHUNK + r, multiply(load(part, k * CHUNK + r), scale))


@njit(**PART)
def _pair_weights(parts, filled, free, k, m):
    """Write the weights p_k (1 - p_k) if k = m, or else -p_k p_m, behind the residuals in parts."""
    part = pointer(parts, 0)
    for r in range(0, filled, LANES):
        p = load(part, k * CHUNK + r)
        if k == m:
            store(part, 2 * free * CHUNK + r, multiply(p, subtract(splat(1.0), p)))
        else:
            q = load(part, m * CHUNK + r)
            store(part, 2 * free * CHUNK + r, multiply(subtract(splat(0.0), p), q))


@njit(**PART)
def _weigh_columns(columns, stride, first, filled, p, parts, weights_at, left):
    """Write the columns of a chunk times weights to the rows 0, .., p - 1 of `left`."""
    data, weights, out = pointer(columns, first), pointer(parts, weights_at), pointer(left, 0)
    for i in range(p):
        for r in range(0, filled, LANES):
            store(out, i * CHUNK + r, multiply(load(weights, r), load(data, i * stride + r)))


@njit(**PART)
def _add_gradient(columns, stride, first, filled, p, residuals, at, gradient, to):
    """Add the products of residuals with the columns of a chunk to gradient[to:]."""
    data, residual = pointer(columns, first), pointer(residuals, at)
    for j in range(0, p, 2):
        second = min(j + 1, p - 1)
        s, t = splat(0.0), splat(0.0)
        for r in range(0, filled, LANES):
            e = load(residual, r)
            s = multiply_add(s, e, load(data, j * stride + r))
            t = multiply_add(t, e, load(data, second * stride + r))
        gradient[to + j] += lane_sum(s)
        if j + 1 < p:
            gradient[to + j + 1] += lane_sum(t)


@njit(**PART)
def _add_block(packed, p, hessian, k, m):
    """Add a symmetric p x p block at the classes (k, m), k <= m, and clear it."""
    for i in range(p):
        for j in range(i + 1):
            entry = packed[i * (i + 1) // 2 + j]
            hessian[k * p + j, m * p + i] += entry
            if k != m and i != j:
                hessian[k * p + i, m * p + j] += entry
    packed[:] = 0.0


@njit(**PART)
def derivatives(count, p, classes, ridge, beta, room, with_hessian):
    """Write the gradient, and the upper half of the Hessian if wanted."""
    columns, targets, logits, _, parts, left, packed, hessian, gradient, _ = room
    stride, free = columns.shape[1], classes - 1
    filled = (count + LANES - 1) // LANES * LANES
    flat, true, eta = columns.reshape(-1), targets.reshape(-1), logits.reshape(-1)
    origin = np.int64(0)  # a literal 0 would compile the functions below twice
    shrink = 0.0 if classes == 2 else 1.0 / classes
    for f in range(p):
        # The intercept comes first and has no penalty.
        weight = ridge[f - 1] if f > 0 else 0.0
        total = 0.0
        for k in range(free):
            total += beta[k * p + f]
        for k in range(free):
            gradient[k * p + f] = weight * (beta[k * p + f] - shrink * total)
    if with_hessian:
        for a in range(free * p):
            for b in range(a, free * p):
                hessian[a, b] = 0.0
        for k in range(free):
            for m in range(k, free):
                for f in range(1, p):
                    hessian[k * p + f, m * p + f] = ridge[f - 1] * ((k == m) - shrink)
    for first in range(0, filled, CHUNK):
        here = min(CHUNK, filled - first)
        if classes == 2:
            residuals = left[p * CHUNK :]
            binary_chunk(eta, true, first, here, parts, residuals)
            if with_hessian:
                _weigh_columns(flat, stride, first, here, p, parts, origin, left)
                add_products(left, CHUNK, p + 1, flat, first, stride, p, here, packed)
            else:
                _add_gradient(flat, stride, first, here, p, residuals, origin, gradient, origin)
            continue
        _softmax_chunk(eta, true, stride, first, here, free, parts)
        for k in range(free):
            _add_gradient(flat, stride, first, here, p, parts, (free + k) * CHUNK, gradient, k * p)
            for m in range(k, free):
                if with_hessian:
                    _pair_weights(parts, here, free, k, m)
                    _weigh_columns(flat, stride, first, here, p, parts, 2 * free * CHUNK, left)
                    add_products(left, CHUNK, p, flat, first, stride, p, here, packed)
                    _add_block(packed, p, hessian, k, m)
    if classes == 2 and with_hessian:
        for j in range(p):
            gradient[j] += packed[p * (p + 1) // 2 + j]
        _add_block(packed, p, hessian, origin, origin)
