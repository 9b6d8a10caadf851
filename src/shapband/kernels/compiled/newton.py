"""Logistic regression of one set of records by Newton's method.

The objective is the sum of the records' log losses plus half the penalised squares of the
coefficients: the objective of scikit-learn's `LogisticRegression`, divided by C. Class 0 has the
logit 0, and
every other class k has coefficients beta[k - 1], the intercept first. If there are three classes or
more, scikit-learn penalises all classes alike; in terms of differences to class 0 the penalty is
sum_k b_k² - (sum_k b_k)² / n_classes for each feature.

*Steps.* Let `change` be the largest change of a difference of two logits of a record in a Newton
step. The Hessian changes by at most a factor exp(change) along the step, so a step with change at
most 1/2 lowers the objective for certain. Longer steps are halved until they lower it enough.

*Old Hessians.* The Hessian costs most of the time. If the logits have moved by less than `REUSE`
since it was computed, it is used again; the relative error of the next step is about the distance
that they moved.

*End.* A step leaves an error of about (moved + change) x change. The iteration ends after the first
step for which this is below `TOLERANCE`, so the starting point does not affect the result.

*Uncertain fits.* If classes are separable and the penalty is weak, all probabilities are close to 0
or 1. Then the Hessian is small compared with the features, and rounding errors of the gradient, a
sum of differences p - 1, change the logits. Such a fit becomes NaN, and the slower
`shapband.kernels.careful.logistic` takes its place.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    add,
    broadcast,
    exponential,
    lane_sum,
    larger,
    load,
    multiply,
    multiply_add,
    pointer,
    smaller,
    splat,
    store,
    subtract,
)
from shapband.kernels.compiled.logistic_derivatives import CHUNK, derivatives
from shapband.kernels.compiled.parts import PART

TOLERANCE = 1e-11  # see *End* above
REUSE = 0.02  # see *Old Hessians* above
SAFE = 0.5  # a step that changes logits by no more lowers the objective
ENOUGH = 1e-4  # share of the linear decrease that a longer step must reach
MOST_STEPS = 500
LEAST_EIGENVALUE = 1e-3  # see `_careful_step`
CERTAIN = 1e-6  # pivots above this part of a feature's sum of |z| leave logit errors below 1e-9
PIVOT_TOL = 1e-13  # smaller pivots, relative to their diagonal entry, are mostly rounding errors


@njit(**PART)
def linear_forms(columns, stride, filled, p, beta, start, out, to):
    """Write sum_i beta[start + i] column_i for records 0, .., filled - 1 to `out`."""
    data, weights, target = pointer(columns, 0), pointer(beta, start), pointer(out, to)
    whole = filled - filled % (4 * LANES)
    for r in range(0, whole, 4 * LANES):
        # Four sums at once, because each addition waits for the one before it in the same sum.
        weight = broadcast(weights, 0)
        s, t = multiply(weight, load(data, r)), multiply(weight, load(data, r + LANES))
        u = multiply(weight, load(data, r + 2 * LANES))
        v = multiply(weight, load(data, r + 3 * LANES))
        for i in range(1, p):
            weight, at = broadcast(weights, i), i * stride + r
            s = multiply_add(s, weight, load(data, at))
            t = multiply_add(t, weight, load(data, at + LANES))
            u = multiply_add(u, weight, load(data, at + 2 * LANES))
            v = multiply_add(v, weight, load(data, at + 3 * LANES))
        store(target, r, s)
        store(target, r + LANES, t)
        store(target, r + 2 * LANES, u)
        store(target, r + 3 * LANES, v)
    for r in range(whole, filled, LANES):
        total = multiply(broadcast(weights, 0), load(data, r))
        for i in range(1, p):
            total = multiply_add(total, broadcast(weights, i), load(data, i * stride + r))
        store(target, r, total)


@njit(**PART)
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


@njit(**PART)
def _solve(a, size, gradient, step):
    """Write -(U' D U)^-1 gradient to `step`."""
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


@njit(**PART)
def _careful_step(a, size, p, ridge, gradient, step):
    """Write -a^-1 gradient to `step` by eigenvalues, where rounding errors make pivots useless.

    This happens if features are dependent.

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


@njit(**PART)
def largest_change(changes, stride, filled, free):
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
        # Written with `not <=`, so that NaN is returned, too.
        found = lanes[lane] if not lanes[lane] <= found else found
    return found


@njit(**PART)
def loss_after(count, classes, room, share):
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


@njit(**PART)
def penalty_after(p, classes, ridge, beta, step, share):
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


@njit(**PART)
def share_of_step(count, p, classes, ridge, beta, room, change):
    """1, or the largest of 1/2, 1/4, .. that lowers the objective enough if the step is long."""
    gradient, step = room[8], room[9]
    if change <= SAFE:
        return 1.0
    slope = 0.0
    for i in range((classes - 1) * p):
        slope += gradient[i] * step[i]
    before = loss_after(count, classes, room, 0.0) + penalty_after(
        p, classes, ridge, beta, step, 0.0
    )
    share = 1.0
    while share * change > SAFE:
        after = loss_after(count, classes, room, share) + penalty_after(
            p, classes, ridge, beta, step, share
        )
        if after <= before + ENOUGH * share * slope:
            break
        share *= 0.5
    return share


@njit(**PART)
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


@njit(**PART)
def is_finite(numbers, size):
    """Whether the first numbers are finite, and their sum too."""
    total = 0.0
    for i in range(size):
        total += abs(numbers[i])
    return total < np.inf


@njit(**PART)
def _is_certain(columns, count, p, size, ridge, hessian, careful):
    """Whether the pivots, or else the penalty, are large compared with the sums of the features.

    The rounding error of a gradient's entry is about 1e-16 of the sum of |z|. Divided by the pivot,
    it is the error of a coefficient. Validation rows are standardised, so the error of their logits
    is about the same.
    """
    for f in range(p):
        total = 0.0
        for r in range(count):
            total += abs(columns[f, r])
        for i in range(f, size, p):
            least = (ridge[f - 1] if f else hessian[i, i]) if careful else hessian[i, i]
            if not least >= CERTAIN * total:
                return False
    return True


@njit(**PART)
def fit(count, p, classes, ridge, beta, room):
    """Minimise the objective for the first `count` records in `room`; return the steps taken.

    Parameters
    ----------
    beta : (at least (classes - 1) * p,) the start, and afterwards the solution; NaN if it was not
        found, or is uncertain
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
        derivatives(count, p, classes, ridge, beta, room, fresh)
        moved = 0.0 if fresh else moved
        if not is_finite(gradient, size):
            beta[:size] = np.nan
            return steps
        if fresh and not _factor(hessian, size, step):
            # The step still holds the diagonal of the Hessian.
            if not is_finite(step, size):
                beta[:size] = np.nan
                return steps
            derivatives(count, p, classes, ridge, beta, room, fresh)
            _careful_step(hessian, size, p, ridge, gradient, step)
            moved = np.inf
        else:
            _solve(hessian, size, gradient, step)
        for k in range(free):
            linear_forms(flat, stride, filled, p, step, k * p, moves, k * stride)
        change = largest_change(moves, stride, filled, free)
        share = share_of_step(count, p, classes, ridge, beta, room, change)
        for i in range(size):
            beta[i] += share * step[i]
        for i in range(free * stride):
            eta[i] += share * moves[i]
        error = (moved if moved < np.inf else 0.0) + change
        done = share == 1.0 and error * change <= TOLERANCE
        # With badly conditioned records, rounding errors keep the steps from getting smaller.
        stalled = share == 1.0 and change < 1e-4 and change > 0.5 * before
        if done or stalled:
            if not _is_certain(columns, count, p, size, ridge, hessian, moved == np.inf):
                beta[:size] = np.nan
            return steps + 1
        before = change
        moved += share * change
    beta[:size] = np.nan
    return MOST_STEPS
