"""Logistic regression of a coalition in terms of its records, for `logistic_wide`.

The coefficients of a fit are R⁻¹ X'a, with one number a per record and the penalties R. Then the
logits are K a plus the intercept, with the products K = X R⁻¹ X', and a Newton step is solved by
Woodbury's formula: with B = I + W½ K W½, which has one row per record, and the residuals y - p,
M = (I + W K)⁻¹ = I - W½ B⁻¹ W½ K,
a moves by M (y - p - a) - d W½ B⁻¹ W½ 1.
The intercept moves by d, which makes the sum of a zero, because the intercept has no penalty. Steps
and factors cost squares and cubes of the number of records, whatever the number of features is.

*Starts.* Coefficients b that a fit starts from are not of this form. They are kept apart, as
coefficients c b + R⁻¹ X'a with c = 1 and a = 0 at first. A step takes c b away, by which the
logits lose c X b, and M W c X b is added to a.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    add,
    broadcast,
    load,
    multiply,
    multiply_add,
    pointer,
    splat,
    store,
)
from shapband.kernels.compiled.logistic_derivatives import binary_chunk
from shapband.kernels.compiled.logistic_strips import sums_over_records
from shapband.kernels.compiled.newton import (
    CERTAIN,
    ENOUGH,
    MOST_STEPS,
    PIVOT_TOL,
    SAFE,
    TOLERANCE,
    is_finite,
    largest_change,
    loss_after,
)
from shapband.kernels.compiled.strips import (
    ROWS,
    entry_at,
    factor_strips,
    solve_factor,
    solve_transposed,
    strip_start,
    strips_of,
)

# If logits have moved by more since it was made, a factor is made anew; a factor takes as long as
# two or three steps.
REUSE = 0.1


def make_record_room(most):
    """Working arrays for fits of up to `most` records, a multiple of LANES."""
    return (
        np.zeros((most, most)),  # products
        np.zeros(strip_start(strips_of(most))),  # matrix B, then its factor
        np.zeros((8, most)),  # numbers of each record
    )


@njit(**OPTIONS)
def record_products(summary, counts, ridge):
    """X R⁻¹ X' of all records of a game, without the intercept, as rows.

    The rows are longer than the number of records, which is rounded up to a multiple of LANES.
    """
    n, p, _ = summary.shape
    total = counts.sum()
    stride = strips_of(total) * LANES
    columns, scaled = np.zeros(p * stride), np.zeros(p * stride)
    filled = 0
    for i in range(n):
        for f in range(1, p):
            for r in range(counts[i]):
                columns[f * stride + filled + r] = summary[i, f, r]
                scaled[f * stride + filled + r] = summary[i, f, r] / ridge[f - 1]
        filled += counts[i]
    products = np.zeros((stride, stride))
    _write_products(columns, scaled, products)
    for a in range(stride):
        for b in range(a):
            products[a, b] = products[b, a]
    return products


@njit(**OPTIONS)
def _write_products(columns, scaled, products):
    """Write the upper half of the products of columns, one column of features per record."""
    stride = products.shape[1]
    right, left, out = pointer(columns, 0), pointer(scaled, 0), pointer(products.reshape(-1), 0)
    for b in range(0, stride, LANES):
        for a in range(0, b + LANES, ROWS):
            s, t, u, v = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
            for f in range(stride, columns.size, stride):
                x = load(right, f + b)
                s = multiply_add(s, broadcast(left, f + a), x)
                t = multiply_add(t, broadcast(left, f + a + 1), x)
                u = multiply_add(u, broadcast(left, f + a + 2), x)
                v = multiply_add(v, broadcast(left, f + a + 3), x)
            at = a * stride + b
            store(out, at, s)
            store(out, at + stride, t)
            store(out, at + 2 * stride, u)
            store(out, at + 3 * stride, v)


@njit(**OPTIONS)
def gather_products(products, first, counts, inside, kernel):
    """Write the products of a coalition's records to the first rows of `kernel`.

    Zeros complete the rows to a multiple of LANES.
    """
    stride, whole = kernel.shape[1], products.shape[1]
    data, out = products.reshape(-1), kernel.reshape(-1)
    row = 0
    for i in range(inside.size):
        for a in range(counts[i] if inside[i] else 0):
            to = row * stride
            for j in range(inside.size):
                if inside[j]:
                    _copy(data, (first[i] + a) * whole + first[j], counts[j], out, to)
                    to += counts[j]
            rest = to - row * stride
            out[to : row * stride + strips_of(rest) * LANES] = 0.0
            row += 1


@njit(**OPTIONS)
def _copy(numbers, start, count, out, to):
    data, target = pointer(numbers, start), pointer(out, to)
    for k in range(0, count - count % LANES, LANES):
        store(target, k, load(data, k))
    for k in range(count - count % LANES, count):
        out[to + k] = numbers[start + k]


@njit(**OPTIONS)
def _multiply(kernel, count, numbers, out):
    """Write K numbers to `out`."""
    stride = kernel.shape[1]
    data, weights, target = pointer(kernel.reshape(-1), 0), pointer(numbers, 0), pointer(out, 0)
    for b in range(0, count, LANES):
        s, t, u, v = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for a in range(0, count - count % 4, 4):
            at = a * stride + b
            s = multiply_add(s, broadcast(weights, a), load(data, at))
            t = multiply_add(t, broadcast(weights, a + 1), load(data, at + stride))
            u = multiply_add(u, broadcast(weights, a + 2), load(data, at + 2 * stride))
            v = multiply_add(v, broadcast(weights, a + 3), load(data, at + 3 * stride))
        for a in range(count - count % 4, count):
            s = multiply_add(s, broadcast(weights, a), load(data, a * stride + b))
        store(target, b, add(add(s, t), add(u, v)))


@njit(**OPTIONS)
def _write_matrix(kernel, count, roots, matrix):
    """Write B = I + W½ K W½ as strips; the roots are 0 beyond the records."""
    stride = kernel.shape[1]
    data, weights, out = pointer(kernel.reshape(-1), 0), pointer(roots, 0), pointer(matrix, 0)
    for b in range(0, count, LANES):
        own, start = load(weights, b), strip_start(b // LANES)
        for a in range(min(b + LANES, count)):
            scaled = multiply(own, broadcast(weights, a))
            store(out, start + a * LANES, multiply(scaled, load(data, a * stride + b)))
    for a in range(count):
        matrix[entry_at(a, a)] += 1.0


@njit(**OPTIONS)
def _share_of_step(count, room, rest, base, far, shift, numbers, change):
    """1, or the largest of 1/2, 1/4, .. that lowers the objective enough; see `newton`.

    The penalty is quadratic in the share. `rest` is c, `far` the sum of R b², `shift` is d.
    """
    if change <= SAFE:
        return 1.0
    eta, moves = room[2][0], room[3][0]
    dual, start, residuals, move = numbers[0], numbers[1], numbers[2], numbers[3]
    slope, tilt, bend = 0.0, -rest * rest * far, rest * rest * far
    for r in range(count):
        slope += residuals[r] * moves[r]
        fixed = rest * start[r]
        tilt += fixed * (move[r] - dual[r]) + (eta[r] - base - fixed) * move[r]
        bend += (moves[r] - shift - fixed) * move[r]
    before = loss_after(count, 2, room, 0.0)
    share = 1.0
    while share * change > SAFE:
        after = loss_after(count, 2, room, share) + share * tilt + 0.5 * share * share * bend
        if after <= before + ENOUGH * share * (slope + tilt):
            break
        share *= 0.5
    return share


@njit(**OPTIONS)
def penalties_are_certain(sizes, p, ridge):
    """Whether rounding errors of gradients are small compared with the penalties; see `newton`."""
    for f in range(1, p):  # noqa: SIM110  numba has no `all` of a generator
        if not ridge[f - 1] >= CERTAIN * sizes[f]:
            return False
    return True


@njit(**OPTIONS)
def fit_by_records(strips, most, sizes, count, p, ridge, beta, room, record_room):
    """Minimise the objective from the start beta, whose logits are in `room`.

    Afterwards beta is the solution, or NaN if it was not found, or is uncertain.

    Parameters
    ----------
    strips, most : features of the records; strips lie `most` records apart
    sizes : (p,) sums of the absolute features
    """
    targets, logits, changes = room[1], room[2], room[3]
    kernel, matrix, numbers = record_room
    eta, moves, true = logits.reshape(-1), changes.reshape(-1), targets.reshape(-1)
    filled = (count + LANES - 1) // LANES * LANES
    dual, start, residuals, move = numbers[0], numbers[1], numbers[2], numbers[3]
    weights, roots, solved, inverses = numbers[4], numbers[5], numbers[6], numbers[7]
    through = moves  # K times a direction, before it holds the changes of the logits
    base, rest, far = beta[0], 1.0, 0.0
    for f in range(1, p):
        far += ridge[f - 1] * beta[f] * beta[f]
    for r in range(count):
        dual[r], start[r] = 0.0, eta[r] - base
    moved, before, mass, pivot = np.inf, np.inf, 0.0, 0.0
    for _ in range(MOST_STEPS):
        binary_chunk(eta, true, 0, filled, weights, residuals)
        if moved > REUSE:
            moved, mass, pivot = 0.0, 0.0, 0.0
            roots[:filled] = 0.0
            for r in range(count):
                roots[r] = np.sqrt(weights[r])
                mass += weights[r]
            _write_matrix(kernel, count, roots, matrix)
            if not factor_strips(matrix, count, count, PIVOT_TOL, inverses):
                break
            # B⁻¹ W½ 1, the direction of the intercept.
            solved[:] = 0.0
            solved[:count] = roots[:count]
            solve_transposed(matrix, count, inverses, solved[:filled])
            solve_factor(matrix, count, inverses, solved[:filled])
            for r in range(count):
                pivot += roots[r] * solved[r]
        for r in range(count):
            move[r] = rest * roots[r] * roots[r] * start[r] - residuals[r] - dual[r]
        if not is_finite(move, count):
            break
        _multiply(kernel, count, move, through)
        for r in range(count):
            through[r] *= roots[r]
        solve_transposed(matrix, count, inverses, through[:filled])
        solve_factor(matrix, count, inverses, through[:filled])
        shift = 0.0
        for r in range(count):
            move[r] -= roots[r] * through[r]
            shift += dual[r] + move[r]
        shift /= pivot
        for r in range(count):
            move[r] -= shift * roots[r] * solved[r]
        _multiply(kernel, count, move, moves)
        for r in range(count):
            moves[r] += shift - rest * start[r]
        change = largest_change(moves, moves.size, filled, 1)
        share = _share_of_step(count, room, rest, base, far, shift, numbers, change)
        for r in range(count):
            dual[r] += share * move[r]
            eta[r] += share * moves[r]
        base += share * shift
        rest *= 1.0 - share
        done = share == 1.0 and (moved + change) * change <= TOLERANCE
        stalled = share == 1.0 and change < 1e-4 and change > 0.5 * before
        if done or stalled:
            if not (mass >= CERTAIN * sizes[0] and penalties_are_certain(sizes, p, ridge)):
                break
            # The last step was whole, so nothing is left of the start.
            sums_over_records(strips, most, count, p, dual, beta)
            for f in range(1, p):
                beta[f] /= ridge[f - 1]
            beta[0] = base
            return
        before = change
        moved += share * change
    beta[:] = np.nan
