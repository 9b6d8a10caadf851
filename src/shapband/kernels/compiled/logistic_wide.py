"""Scores of the logistic regressions of coalitions, for two classes and many features.

The method is that of `newton`, with the same steps, the same end, and the same rule for uncertain
fits. The arithmetic differs, because with many features nearly all time goes into the Hessian.

*Layout.* Features are stored as strips of LANES features, each with one row per record, so that
the Hessian is made by the same loops as the factor of `strips`. The first feature is 1.

*Few records.* The Hessian is R + X'WX, where R holds the penalties. With fewer records than
features the equations are solved by Woodbury's formula: with B = I + W½ X R⁻¹ X' W½, which has one
row per record,
(R + X'WX)⁻¹ = R⁻¹ - R⁻¹ X' W½ B⁻¹ W½ X R⁻¹.
The products X R⁻¹ X' of all records of a game are computed once. The intercept has no penalty and
is eliminated first; its pivot is 1' W½ B⁻¹ W½ 1.

*Starts.* As in `logistic`, but if coefficients vary so much between coalitions that the sum of
seven fits is worse than the fit of one larger coalition, that fit is the start.

A fit that is uncertain or fails has the score NaN; the caller uses `logistic` for it.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.class_scores import score_room
from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
)
from shapband.kernels.compiled.logistic import score_fit, start_from
from shapband.kernels.compiled.logistic_derivatives import binary_chunk
from shapband.kernels.compiled.logistic_strips import (
    features_in_strips,
    hessian_in_strips,
    linear_forms,
    record_products,
    sums_over_records,
    weigh,
)
from shapband.kernels.compiled.newton import (
    CERTAIN,
    MOST_STEPS,
    PIVOT_TOL,
    REUSE,
    TOLERANCE,
    is_finite,
    largest_change,
    loss_after,
    penalty_after,
    share_of_step,
    start_cold,
)
from shapband.kernels.compiled.strips import (
    entry_at,
    factor_strips,
    solve_factor,
    solve_transposed,
    strip_start,
    strips_of,
)

MOST_PRODUCTS = 2048  # games with more records have no table of products, which would be large
# A Hessian of many records and features takes as long as ten steps, so it is used for longer.
REUSE_WIDE = 0.2


@njit(**OPTIONS)
def _record_matrix(products, ids, count, roots, matrix):
    """Write B = I + W½ X R⁻¹ X' W½ as strips; `ids` are the records' places in the products."""
    for b in range(count):
        start, row = entry_at(0, b), products[ids[b]]
        for a in range(b + 1):
            matrix[start + a * LANES] = roots[a] * roots[b] * row[ids[a]]
        matrix[start + b * LANES] += 1.0
    # Zeros in the columns that complete the last strip, so that they add nothing to any sum.
    for b in range(count, strips_of(count) * LANES):
        start = entry_at(0, b)
        for a in range(count):
            matrix[start + a * LANES] = 0.0


@njit(**OPTIONS)
def _solve_primal(matrix, p, inverses, gradient, step):
    """Write -H⁻¹ gradient to `step`."""
    for f in range(p):
        step[f] = -gradient[f]
    step[p:] = 0.0
    solve_transposed(matrix, p, inverses, step)
    solve_factor(matrix, p, inverses, step)


@njit(**OPTIONS)
def _solve_by_records(strips, most, count, p, ridge, matrix, inverses, roots, gradient, step, room):
    """Write -H⁻¹ gradient to `step` by Woodbury's formula."""
    by_record, intercept, scaled = room
    # H₁⁻¹ of the gradient, where H₁ is the Hessian without the intercept.
    scaled[:] = 0.0
    for f in range(1, p):
        scaled[f] = gradient[f] / ridge[f - 1]
    by_record[:] = 0.0
    linear_forms(strips, most, count, p, scaled, by_record)
    for r in range(count):
        by_record[r] *= roots[r]
    solve_transposed(matrix, count, inverses, by_record)
    solve_factor(matrix, count, inverses, by_record)
    for r in range(count):
        by_record[r] *= roots[r]
    sums_over_records(strips, most, count, p, by_record, step)
    step[0] = 0.0
    for f in range(1, p):
        step[f] = scaled[f] - step[f] / ridge[f - 1]
    # The intercept, and what it adds to the other coefficients.
    linear_forms(strips, most, count, p, step, by_record)
    slope, pivot = gradient[0], 0.0
    for r in range(count):
        slope -= roots[r] * roots[r] * by_record[r]
        pivot += roots[r] * intercept[r]
        by_record[r] = roots[r] * intercept[r]
    sums_over_records(strips, most, count, p, by_record, scaled)
    moved = -slope / pivot
    for f in range(1, p):
        step[f] = -step[f] - moved * scaled[f] / ridge[f - 1]
    step[0] = moved


@njit(**OPTIONS)
def _is_certain(sizes, p, ridge, mass, inverses, by_records):
    """The rule of `newton`; with few records, penalties are lower bounds of the pivots."""
    for f in range(p):
        least = 1.0 / (inverses[f] * inverses[f])
        if by_records:
            least = ridge[f - 1] if f else mass
        if not least >= CERTAIN * sizes[f]:
            return False
    return True


@njit(**OPTIONS)
def _fit(strips, most, ids, sizes, count, p, ridge, products, beta, room, wide_room):
    """Minimise the objective from the start beta; NaN if it was not found, or is uncertain.

    Parameters
    ----------
    strips : features of the records, strips lie `most` records apart
    ids : the records' places in the products; the products are empty if there are too many records
    sizes : (p,) sums of the absolute features
    """
    _, targets, logits, changes, _, _, _, _, gradient, step = room
    weighted, matrix, inverses, weights, residuals, by_record, intercept, scaled = wide_room
    eta, moves, true = logits.reshape(-1), changes.reshape(-1), targets.reshape(-1)
    filled = (count + LANES - 1) // LANES * LANES
    by_records = count < p and products.size > 0
    reuse = REUSE if by_records else REUSE_WIDE
    linear_forms(strips, most, count, p, beta, eta)
    moved, before, mass = np.inf, np.inf, 0.0
    for _ in range(MOST_STEPS):
        fresh = moved > reuse
        binary_chunk(eta, true, 0, filled, by_record, residuals)
        sums_over_records(strips, most, count, p, residuals, gradient)
        for f in range(1, p):
            gradient[f] += ridge[f - 1] * beta[f]
        if not is_finite(gradient, p):
            break
        if fresh:
            moved, mass = 0.0, by_record[:count].sum()
            if by_records:
                for r in range(count):
                    weights[r] = np.sqrt(by_record[r])
                _record_matrix(products, ids, count, weights, matrix)
                if not factor_strips(matrix, count, count, PIVOT_TOL, inverses):
                    break
                intercept[:] = 0.0
                intercept[:count] = weights[:count]
                solve_transposed(matrix, count, inverses, intercept)
                solve_factor(matrix, count, inverses, intercept)
            else:
                weigh(strips, most, count, p, by_record, weighted)
                hessian_in_strips(strips, weighted, most, count, p, ridge, matrix)
                if not factor_strips(matrix, p, p, PIVOT_TOL, inverses):
                    break
        if by_records:
            own_room = by_record, intercept, scaled
            _solve_by_records(
                strips, most, count, p, ridge, matrix, inverses, weights, gradient, step, own_room
            )
        else:
            _solve_primal(matrix, p, inverses, gradient, step)
        linear_forms(strips, most, count, p, step, moves)
        change = largest_change(moves, moves.size, filled, 1)
        share = share_of_step(count, p, 2, ridge, beta, room, change)
        for f in range(p):
            beta[f] += share * step[f]
        for r in range(count):
            eta[r] += share * moves[r]
        done = share == 1.0 and (moved + change) * change <= TOLERANCE
        stalled = share == 1.0 and change < 1e-4 and change > 0.5 * before
        if done or stalled:
            if not _is_certain(sizes, p, ridge, mass, inverses, by_records):
                break
            return
        before = change
        moved += share * change
    beta[:] = np.nan


@njit(**OPTIONS)
def _gather(features, tally, labels, sizes_of, starts_of, inside, gathered):
    """Write the features, labels and places of a coalition's records; return their number."""
    strips, ids, targets, sizes = gathered
    blocks, most = features.shape[1], strips.size // features.shape[1]
    count = 0
    sizes[:] = 0.0
    for i in range(inside.shape[0]):
        if not inside[i]:
            continue
        own = tally[i].sum()
        for j in range(blocks):
            part = features[i, j].reshape(-1)
            at = j * most + count * LANES
            for s in range(own * LANES):
                strips[at + s] = part[s]
        for r in range(own):
            ids[count + r] = starts_of[i] + r
            targets[0, count + r] = float(labels[i, r])
        for f in range(sizes.shape[0]):
            sizes[f] += sizes_of[i, f]
        count += own
    return count


@njit(**OPTIONS)
def _objective(strips, most, count, p, ridge, beta, room):
    """The objective at coefficients beta."""
    logits, changes, step = room[2], room[3], room[9]
    changes[:] = 0.0
    step[:] = 0.0
    linear_forms(strips, most, count, p, beta, logits[0])
    return loss_after(count, 2, room, 0.0) + penalty_after(p, 2, ridge, beta, step, 0.0)


@njit(**OPTIONS)
def _choose_start(strips, most, count, p, ridge, found, starts, beta, other, room):
    """Write the better one of two starts to beta: from several larger coalitions, and from one."""
    if starts[0] < 0:
        start_cold(count, p, 2, room, beta)
        return
    start_from(found, starts, beta)
    other[:] = found[starts[0]]
    if not np.isfinite(other).all():
        start_cold(count, p, 2, room, beta)
        return
    worth = _objective(strips, most, count, p, ridge, beta, room)
    if not worth <= _objective(strips, most, count, p, ridge, other, room):
        beta[:] = other


@njit(**OPTIONS)
def _values(
    game, features, sizes_of, products, ridge, validation, codes, n_labels, score, inside, starts,
    found, rooms,
):  # fmt: skip
    classes, tally, labels = game
    gathered, room, wide_room, scoring = rooms
    p, most = validation.shape[0], gathered[1].size
    starts_of = np.cumsum(tally.sum(axis=1)) - tally.sum(axis=1)
    values, place = np.empty(inside.shape[0]), np.empty(2, np.int64)
    other = np.empty(found.shape[1])
    for row in range(inside.shape[0]):
        beta = found[row]
        count = _gather(features, tally, labels, sizes_of, starts_of, inside[row], gathered)
        if count == 0:
            values[row] = np.nan
            continue
        second = int(gathered[2][0, :count].sum())
        place[0] = 0 if second < count else -1
        place[1] = place[0] + 1 if second > 0 else -1
        if second == 0 or second == count:
            beta[:] = np.nan  # one class, no coefficients from which others could start
        else:
            for rest in range(count, (count + LANES - 1) // LANES * LANES):
                room[1][0, rest] = room[2][0, rest] = 0.0
            _choose_start(gathered[0], most, count, p, ridge, found, starts[row], beta, other, room)
            _fit(
                gathered[0], most, gathered[1], gathered[3], count, p, ridge, products, beta, room,
                wide_room,
            )  # fmt: skip
            if np.isnan(beta[0]):
                values[row] = np.nan
                continue
        values[row] = score_fit(
            classes, place, beta, p, validation, codes, n_labels, score, scoring
        )
    return values


def logistic_scores(summary, ridge, validation, codes, n_labels, score, inside, starts):
    """Scores (n_rows,) of coalitions of one game with two classes; NaN where a fit is uncertain.

    The parameters are those of `logistic.logistic_scores`.
    """
    known = ~np.isnan(summary[:, 0])
    classes = np.unique(summary[:, 0][known])
    labels = np.searchsorted(classes, summary[:, 0])
    tally = np.stack([((labels == k) & known).sum(axis=1) for k in range(2)], axis=1)
    counts = tally.sum(axis=1)
    p, total = summary.shape[1], int(counts.sum())
    features = features_in_strips(summary, counts)
    sizes_of = np.abs(features).sum(axis=2).reshape(len(summary), -1)[:, :p].copy()
    use_products = counts.min() < p and total <= MOST_PRODUCTS
    products = record_products(summary, counts, ridge) if use_products else np.empty((0, 0))
    stride, wide = -(-total // LANES) * LANES, strips_of(p) * LANES
    targets = np.zeros((1, stride))
    gathered = np.zeros(wide * stride), np.zeros(stride, np.int64), targets, np.empty(p)
    nothing = np.empty(0)
    room = (
        np.empty((0, 0)), targets, np.zeros((1, stride)), np.zeros((1, stride)), nothing, nothing,
        nothing, np.empty((0, 0)), np.zeros(wide), np.zeros(wide),
    )  # fmt: skip
    wide_room = (
        np.empty(wide * stride), np.zeros(strip_start(strips_of(p))), np.empty(wide),
        np.empty(stride), np.empty(stride), np.empty(stride), np.empty(stride), np.empty(wide),
    )  # fmt: skip
    found = np.zeros((len(inside), wide))
    return _values(
        (classes, tally, labels), features, sizes_of, products, ridge, validation, codes, n_labels,
        score, inside, starts, found, (gathered, room, wide_room, score_room(codes)),
    )  # fmt: skip
