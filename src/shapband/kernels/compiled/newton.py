"""Logistic regression of one set of records by Newton's method.

The objective is the sum of the records' log losses plus half the penalised squares of the
coefficients, as in scikit-learn's `LogisticRegression` divided by C. Class 0 has the logit 0, and
every other class k has coefficients beta[k - 1], the intercept first. If there are three classes or
more, scikit-learn penalises all classes alike; in terms of differences to class 0 the penalty is
sum_k b_k² - (sum_k b_k)² / n_classes for each feature.

*Columns.* The features are stored column by column, so that LANES records are handled at once (see
`lanes`). The first column is 1 for records and 0 for those that fill the last vector; its zeros,
and those of the features, keep the fillers out of all sums.

*Steps.* Let `change` be the largest change of a difference of two logits of a record in a Newton
step. The Hessian changes by at most a factor exp(change) along the step, so a step with change at
most 1/2 lowers the objective for certain. Longer steps are halved until they lower it enough.

*Old Hessians.* The Hessian costs most of the time. If the logits have moved by less than `REUSE`
since it was computed, it is used again: the next step's relative error is about what they moved.

*End.* A step leaves an error of about (moved + change) x change, and the iteration ends after the
step for which this is below `TOLERANCE`; so the result does not depend on the starting point.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.lane_functions import (
    divide,
    exponential,
    larger,
    smaller,
    subtract,
)
from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    add,
    broadcast,
    lane_sum,
    load,
    multiply,
    multiply_add,
    multiply_subtract,
    pointer,
    splat,
    store,
)

CHUNK = 128  # records whose weighted columns are in memory at once; a multiple of LANES
TOLERANCE = 1e-11
REUSE = 0.02
SAFE = 0.5  # a step that changes logits by no more lowers the objective
ENOUGH = 1e-4  # share of the linear decrease that a longer step must reach
MOST_STEPS = 500
LEAST_EIGENVALUE = 1e-3
PIVOT_TOL = 1e-13  # smaller pivots, relative to their diagonal entry, are mostly rounding errors


def make_room(records, p, classes):
    """Arrays for fits of up to this many records, with p coefficients a class."""
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


@njit(**OPTIONS)
def linear_forms(columns, stride, filled, p, beta, start, out, to):
    """Out = sum_i beta[start + i] column_i for records 0, .., filled - 1."""
    data, weights, target = pointer(columns, 0), pointer(beta, start), pointer(out, to)
    for r in range(0, filled, LANES):
        total = multiply(broadcast(weights, 0), load(data, r))
        for i in range(1, p):
            total = multiply_add(total, broadcast(weights, i), load(data, i * stride + r))
        store(target, r, total)


@njit(**OPTIONS)
def _binary_chunk(logits, targets, first, filled, parts, left):
    """Residuals p - t of a chunk, written to left, and weights p (1 - p), to parts."""
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


@njit(**OPTIONS)
def _softmax_chunk(logits, targets, stride, first, filled, free, parts):
    """Probabilities of the classes 1, .. of a chunk, then their residuals, CHUNK apart."""
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


@njit(**OPTIONS)
def _pair_weights(parts, filled, free, k, m):
    """Weights p_k (1 - p_k) if k = m, otherwise -p_k p_m, behind the residuals in parts."""
    part = pointer(parts, 0)
    for r in range(0, filled, LANES):
        p = load(part, k * CHUNK + r)
        if k == m:
            store(part, 2 * free * CHUNK + r, multiply(p, subtract(splat(1.0), p)))
        else:
            q = load(part, m * CHUNK + r)
            store(part, 2 * free * CHUNK + r, multiply(subtract(splat(0.0), p), q))


@njit(**OPTIONS)
def _weigh_columns(columns, stride, first, filled, p, parts, weights_at, left):
    """Left rows 0, .., p - 1 = the columns of a chunk times weights."""
    data, weights, out = pointer(columns, first), pointer(parts, weights_at), pointer(left, 0)
    for i in range(p):
        for r in range(0, filled, LANES):
            store(out, i * CHUNK + r, multiply(load(weights, r), load(data, i * stride + r)))


@njit(**OPTIONS)
def _add_products(columns, stride, first, filled, p, rows, left, packed):
    """Add the packed products of `rows` rows of left with the columns of a chunk."""
    right, above = pointer(columns, first), pointer(left, 0)
    zero = splat(0.0)
    for i in range(0, rows, 2):
        # An odd last row is paired with itself and written once.
        pair = min(i + 1, rows - 1)
        top_row, bottom_row = i * (i + 1) // 2, pair * (pair + 1) // 2
        for j in range(0, min(i + 2, p), 2):
            second = min(j + 1, p - 1)
            s00, s01, s10, s11 = zero, zero, zero, zero
            for r in range(0, filled, LANES):
                t, b = load(above, i * CHUNK + r), load(above, pair * CHUNK + r)
                u, v = load(right, j * stride + r), load(right, second * stride + r)
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


@njit(**OPTIONS)
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


@njit(**OPTIONS)
def _add_block(packed, p, hessian, k, m):
    """Add a symmetric p x p block at the classes (k, m), k <= m, and clear it."""
    for i in range(p):
        for j in range(i + 1):
            entry = packed[i * (i + 1) // 2 + j]
            hessian[k * p + j, m * p + i] += entry
            if k != m and i != j:
                hessian[k * p + i, m * p + j] += entry
    packed[:] = 0.0


@njit(**OPTIONS)
def _derivatives(count, p, classes, ridge, beta, room, with_hessian):
    """Write the gradient, and the upper half of the Hessian if wanted."""
    columns, targets, logits, _, parts, left, packed, hessian, gradient, _ = room
    stride, free = columns.shape[1], classes - 1
    filled = (count + LANES - 1) // LANES * LANES
    flat, true, eta = columns.reshape(-1), targets.reshape(-1), logits.reshape(-1)
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
            _binary_chunk(eta, true, first, here, parts, residuals)
            if with_hessian:
                _weigh_columns(flat, stride, first, here, p, parts, 0, left)
                _add_products(flat, stride, first, here, p, p + 1, left, packed)
            else:
                _add_gradient(flat, stride, first, here, p, residuals, 0, gradient, 0)
            continue
        _softmax_chunk(eta, true, stride, first, here, free, parts)
        for k in range(free):
            _add_gradient(flat, stride, first, here, p, parts, (free + k) * CHUNK, gradient, k * p)
            for m in range(k, free):
                if with_hessian:
                    _pair_weights(parts, here, free, k, m)
                    _weigh_columns(flat, stride, first, here, p, parts, 2 * free * CHUNK, left)
                    _add_products(flat, stride, first, here, p, p, left, packed)
                    _add_block(packed, p, hessian, k, m)
    if classes == 2 and with_hessian:
        for j in range(p):
            gradient[j] += packed[p * (p + 1) // 2 + j]
        _add_block(packed, p, hessian, 0, 0)


@njit(**OPTIONS)
def _factor(a, size, diagonal):
    """Factor the upper half of a as U' D U in place, D on the diagonal; False if a pivot is bad."""
    for k in range(size):
        diagonal[k] = a[k, k]
    for k in range(size):
        if not a[k, k] > PIVOT_TOL * diagonal[k]:
            return False
        inverse = 1.0 / a[k, k]
        for i in range(k + 1, size):
            scaled = a[k, i] * inverse
            for j in range(i, size):
                a[i, j] -= scaled * a[k, j]
        for j in range(k + 1, size):
            a[k, j] *= inverse
    return True


@njit(**OPTIONS)
def _solve(a, size, gradient, step):
    """Step = -(U' D U)^-1 gradient."""
    for i in range(size):
        step[i] = -gradient[i]
    for k in range(size):
        s = step[k]
        for j in range(k + 1, size):
            step[j] -= a[k, j] * s
    for k in range(size - 1, -1, -1):
        s = step[k] / a[k, k]
        for j in range(k + 1, size):
            s -= a[k, j] * step[j]
        step[k] = s


@njit(**OPTIONS)
def _careful_step(a, size, p, ridge, gradient, step):
    """Step = -a^-1 gradient by eigenvalues, if dependent features leave the pivots to rounding.

    In units in which the penalty of every coefficient is 1, all eigenvalues are at least about
    1 / n_classes, so smaller ones are rounding errors.
    """
    unit = np.empty(size)
    for i in range(size):
        unit[i] = 1.0 / math.sqrt(ridge[i % p - 1] if i % p else a[i, i])
    scaled = np.empty((size, size))
    for i in range(size):
        for j in range(i, size):
            scaled[i, j] = scaled[j, i] = a[i, j] * unit[i] * unit[j]
    eigenvalues, vectors = np.linalg.eigh(scaled)
    step[:] = 0.0
    for e in range(size):
        along = 0.0
        for i in range(size):
            along += vectors[i, e] * unit[i] * gradient[i]
        along /= max(eigenvalues[e], LEAST_EIGENVALUE)
        for i in range(size):
            step[i] -= along * vectors[i, e] * unit[i]


@njit(**OPTIONS)
def _largest_change(changes, stride, filled, free):
    """Largest change of a difference of two logits of one record."""
    data = pointer(changes, 0)
    zero = splat(0.0)
    widest = zero
    for r in range(0, filled, LANES):
        top, bottom = zero, zero
        for k in range(free):
            change = load(data, k * stride + r)
            top, bottom = larger(top, change), smaller(bottom, change)
        widest = larger(widest, subtract(top, bottom))
    lanes = np.empty(LANES)
    store(pointer(lanes, 0), 0, widest)
    found = 0.0
    for lane in range(LANES):
        # A NaN must be found, too.
        found = lanes[lane] if not lanes[lane] <= found else found
    return found


@njit(**OPTIONS)
def _loss(count, classes, room, share):
    """Sum of the log losses after `share` of the step.

    The sum of logarithms is the logarithm of a product, which needs few logarithms.
    """
    _, targets, logits, changes, _, _, _, _, _, _ = room
    stride, free = logits.shape[1], classes - 1
    filled = (count + LANES - 1) // LANES * LANES
    eta, moves = pointer(logits.reshape(-1), 0), pointer(changes.reshape(-1), 0)
    true = pointer(targets.reshape(-1), 0)
    lanes = np.empty(LANES)
    zero, part = splat(0.0), splat(share)
    linear, loss = zero, 0.0
    for first in range(0, filled, CHUNK):
        product = splat(1.0)
        for r in range(first, min(first + CHUNK, filled), LANES):
            top, own = zero, zero
            for k in range(free):
                at = k * stride + r
                moved = multiply_add(load(eta, at), part, load(moves, at))
                top = larger(top, moved)
                own = multiply_add(own, load(true, at), moved)
            mass = exponential(subtract(zero, top))
            for k in range(free):
                at = k * stride + r
                moved = multiply_add(load(eta, at), part, load(moves, at))
                mass = add(mass, exponential(subtract(moved, top)))
            product = multiply(product, mass)
            linear = add(linear, subtract(top, own))
        store(pointer(lanes, 0), 0, product)
        for lane in range(LANES):
            loss += math.log(lanes[lane])
    # A record that only fills a vector has the logits 0 and adds the logarithm of n_classes.
    return loss + lane_sum(linear) - (filled - count) * math.log(classes)


@njit(**OPTIONS)
def _penalty(p, classes, ridge, beta, step, share):
    """Half the penalised squares of the coefficients after `share` of the step."""
    shrink = 0.0 if classes == 2 else 1.0 / classes
    penalty = 0.0
    for f in range(1, p):
        total, squares = 0.0, 0.0
        for k in range(classes - 1):
            b = beta[k * p + f] + share * step[k * p + f]
            total += b
            squares += b * b
        penalty += 0.5 * ridge[f - 1] * (squares - shrink * total * total)
    return penalty


@njit(**OPTIONS)
def _share_of_step(count, p, classes, ridge, beta, room, change):
    """1, or the largest of 1/2, 1/4, .. that lowers the objective enough if the step is long."""
    gradient, step = room[8], room[9]
    if change <= SAFE:
        return 1.0
    slope = 0.0
    for i in range((classes - 1) * p):
        slope += gradient[i] * step[i]
    before = _loss(count, classes, room, 0.0) + _penalty(p, classes, ridge, beta, step, 0.0)
    share = 1.0
    while share * change > SAFE:
        after = _loss(count, classes, room, share) + _penalty(p, classes, ridge, beta, step, share)
        if after <= before + ENOUGH * share * slope:
            break
        share *= 0.5
    return share


@njit(**OPTIONS)
def start_cold(count, p, classes, room, beta):
    """Start at the logits of the class frequencies."""
    targets = room[1]
    beta[: (classes - 1) * p] = 0.0
    base = float(count)
    for k in range(classes - 1):
        for r in range(count):
            beta[k * p] += targets[k, r]
        base -= beta[k * p]
    for k in range(classes - 1):
        beta[k * p] = math.log(beta[k * p] / base)


@njit(**OPTIONS)
def _is_finite(numbers, size):
    total = 0.0
    for i in range(size):
        total += abs(numbers[i])
    return total < np.inf


@njit(**OPTIONS)
def fit(count, p, classes, ridge, beta, room):
    """Minimise the objective for the first `count` records in the room, from beta; return steps.

    Parameters
    ----------
    beta : (at least (classes - 1) * p,) the start, and afterwards the solution; NaN if it was not
        found
    """
    columns, _, logits, changes, _, _, _, hessian, gradient, step = room
    stride, free = columns.shape[1], classes - 1
    filled = (count + LANES - 1) // LANES * LANES
    size = free * p
    flat, eta, moves = columns.reshape(-1), logits.reshape(-1), changes.reshape(-1)
    for k in range(free):
        linear_forms(flat, stride, filled, p, beta, k * p, eta, k * stride)
    moved, before = np.inf, np.inf
    for steps in range(MOST_STEPS):
        fresh = moved > REUSE
        _derivatives(count, p, classes, ridge, beta, room, fresh)
        moved = 0.0 if fresh else moved
        if not _is_finite(gradient, size):
            beta[:size] = np.nan
            return steps
        if fresh and not _factor(hessian, size, step):
            # The step still holds the diagonal of the Hessian.
            if not _is_finite(step, size):
                beta[:size] = np.nan
                return steps
            _derivatives(count, p, classes, ridge, beta, room, fresh)
            _careful_step(hessian, size, p, ridge, gradient, step)
            moved = np.inf
        else:
            _solve(hessian, size, gradient, step)
        for k in range(free):
            linear_forms(flat, stride, filled, p, step, k * p, moves, k * stride)
        change = _largest_change(moves, stride, filled, free)
        share = _share_of_step(count, p, classes, ridge, beta, room, change)
        for i in range(size):
            beta[i] += share * step[i]
        for i in range(free * stride):
            eta[i] += share * moves[i]
        error = (moved if moved < np.inf else 0.0) + change
        if share == 1.0 and error * change <= TOLERANCE:
            return steps + 1
        # Rounding errors keep the steps of badly conditioned records from getting smaller.
        if share == 1.0 and change < 1e-4 and change > 0.5 * before:
            return steps + 1
        before = change
        moved += share * change
    beta[:size] = np.nan
    return MOST_STEPS
