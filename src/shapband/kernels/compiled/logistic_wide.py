"""Scores of the logistic regressions of coalitions, for two classes and many features.

The method is that of `newton`, with the same steps, the same end, and the same rule for uncertain
fits. The arithmetic differs, because with many features nearly all time goes into the Hessian.

*Layout.* Features are stored as strips of LANES features, each with one row per record, so that
the Hessian is made by the same loops as the factor of `strips`. The first feature is 1.

*Few records.* Fits of few records are made by `logistic_records`.

*Old weights.* A Hessian takes most of the time, so only records whose weights have changed much are
added to it anew; the others keep their old weights. The step is then wrong by a known part, and the
last steps get smaller by this part each.

*Starts.* If i, j, .. are outside S, then b(S) = 2 b(S+i) - b(S+i+j) up to a second difference, and
b(S) = 3 b(S+i) - 3 b(S+i+j) + b(S+i+j+k) up to a third one. With many features these differences
vary much, so b(S+i), b(S+i+j) and b(S+i+j+k) are replaced by their means over several absent
providers. The start is the best of some points between the two predictions.

A fit that is uncertain or fails has the score NaN; the caller uses `logistic` for it.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.class_scores import score_rooms
from shapband.kernels.compiled.lanes import LANES, OPTIONS
from shapband.kernels.compiled.logistic import score_fit
from shapband.kernels.compiled.logistic_derivatives import binary_chunk
from shapband.kernels.compiled.logistic_records import (
    fit_by_records,
    gather_products,
    make_record_room,
    penalties_are_certain,
    record_products,
)
from shapband.kernels.compiled.logistic_strips import (
    add_to_hessian,
    choose_records,
    features_in_strips,
    linear_forms,
    sums_over_records,
    write_penalties,
)
from shapband.kernels.compiled.newton import (
    CERTAIN,
    MOST_STEPS,
    PIVOT_TOL,
    TOLERANCE,
    is_finite,
    largest_change,
    loss_after,
    penalty_after,
    share_of_step,
    start_cold,
)
from shapband.kernels.compiled.strips import (
    factor_strips,
    solve_factor,
    solve_transposed,
    strip_start,
    strips_of,
)

MOST_PRODUCTS = 2048  # games with more records have no table of products, which would be large
# With up to this many times as many records as features, a fit by records is faster.
FEW = 1.3
# A Hessian of many records and features takes as long as ten steps, so it is used for longer.
REUSE_WIDE = 0.2
# A record is added to the Hessian anew if its weight has changed by more than this part. Then the
# error of a step is at most about this part of the step.
LOOSE = 0.2
NEGLIGIBLE = 0.1  # records that together change less than this part of the penalties are not added
SEVERAL = 6  # absent providers whose coalitions predict a fit; more would take time to add up
SHARES = 4  # parts of the line between two predictions at whose ends the objective is computed


@njit(**OPTIONS)
def _solve(matrix, p, inverses, gradient, step):
    """Write -H⁻¹ gradient to `step`."""
    for f in range(p):
        step[f] = -gradient[f]
    step[p:] = 0.0
    solve_transposed(matrix, p, inverses, step)
    solve_factor(matrix, p, inverses, step)


@njit(**OPTIONS)
def _is_certain(sizes, p, inverses):
    """The rule of `newton`."""
    for f in range(p):  # noqa: SIM110  numba has no `all` of a generator
        if not 1.0 / (inverses[f] * inverses[f]) >= CERTAIN * sizes[f]:
            return False
    return True


@njit(**OPTIONS)
def _update_hessian(strips, most, count, p, reach, weights, wide_room):
    """Add the records whose weights have changed to the Hessian; return their number."""
    picked, weighted, hessian, _, _, held, chosen, gained, _, _ = wide_room
    changed = 0
    for r in range(count):
        gain = weights[r] - held[r]
        matters = abs(gain) * reach[r] * count > NEGLIGIBLE
        if matters and abs(gain) > LOOSE * max(weights[r], held[r]):
            chosen[changed], gained[changed] = r, gain
            held[r] = weights[r]
            changed += 1
    choose_records(strips, most, p, gained, chosen, changed, picked, weighted)
    add_to_hessian(picked, weighted, most, changed, p, hessian)
    return changed


@njit(**OPTIONS)
def _fit(strips, most, sizes, reach, count, p, ridge, beta, room, wide_room):
    """Minimise the objective from the start beta, whose logits are in `room`.

    Afterwards beta is the solution, or NaN if it was not found, or is uncertain.

    Parameters
    ----------
    strips : features of the records, strips lie `most` records apart
    sizes : (p,) sums of the absolute features
    reach : (count,) x' R⁻¹ x of each record
    """
    _, targets, logits, changes, _, _, _, _, gradient, step = room
    _, _, hessian, matrix, inverses, held, _, _, weights, residuals = wide_room
    eta, moves, true = logits.reshape(-1), changes.reshape(-1), targets.reshape(-1)
    filled = (count + LANES - 1) // LANES * LANES
    write_penalties(p, ridge, hessian)
    held[:count] = 0.0
    moved, before = np.inf, np.inf
    for _ in range(MOST_STEPS):
        binary_chunk(eta, true, 0, filled, weights, residuals)
        sums_over_records(strips, most, count, p, residuals, gradient)
        for f in range(1, p):
            gradient[f] += ridge[f - 1] * beta[f]
        if not is_finite(gradient, p):
            break
        if moved > REUSE_WIDE:
            changed = _update_hessian(strips, most, count, p, reach, weights, wide_room)
            if changed > 0 or moved == np.inf:
                matrix[:] = hessian
                if not factor_strips(matrix, p, p, PIVOT_TOL, inverses):
                    break
            moved = 0.0
        _solve(matrix, p, inverses, gradient, step)
        linear_forms(strips, most, count, p, step, moves)
        change = largest_change(moves, moves.size, filled, 1)
        share = share_of_step(count, p, 2, ridge, beta, room, change)
        for f in range(p):
            beta[f] += share * step[f]
        for r in range(count):
            eta[r] += share * moves[r]
        done = share == 1.0 and (LOOSE + NEGLIGIBLE + moved + change) * change <= TOLERANCE
        stalled = share == 1.0 and change < 1e-4 and change > 0.5 * before
        if done or stalled:
            if not _is_certain(sizes, p, inverses):
                break
            return
        before = change
        moved += share * change
    beta[:] = np.nan


@njit(**OPTIONS)
def _gather(features, counts, labels, sizes_of, reaches, inside, gathered):
    """Write the features, labels and reaches of a coalition's records; return their number."""
    strips, targets, sizes, reach = gathered
    blocks, most = features.shape[1], strips.size // features.shape[1]
    count = 0
    sizes[:] = 0.0
    for i in range(inside.shape[0]):
        if not inside[i]:
            continue
        for j in range(blocks):
            part = features[i, j].reshape(-1)
            at = j * most + count * LANES
            for s in range(counts[i] * LANES):
                strips[at + s] = part[s]
        for r in range(counts[i]):
            targets[0, count + r] = float(labels[i, r])
            reach[count + r] = reaches[i, r]
        for f in range(sizes.shape[0]):
            sizes[f] += sizes_of[i, f]
        count += counts[i]
    return count


@njit(**OPTIONS)
def _add_means(found, mask, absent, several, sums):
    """Write the mean fits of coalitions with one, two and three of the absent providers more.

    `found` holds all coalitions by descending masks.
    """
    last = found.shape[0]
    sums[:] = 0.0
    for i in range(several):
        one = mask | absent[i]
        sums[0] += found[last - one]
        for j in range(i):
            two = one | absent[j]
            sums[1] += found[last - two]
            for k in range(j):
                sums[2] += found[last - (two | absent[k])]
    sums[0] /= several
    sums[1] /= max(several * (several - 1) / 2, 1)
    sums[2] /= max(several * (several - 1) * (several - 2) / 6, 1)


@njit(**OPTIONS)
def _predict(found, inside, starts, in_table, room, beta, step):
    """Write a prediction of the coefficients to beta; beta + step is another one."""
    sums, absent = room
    step[:] = 0.0
    if not in_table:
        beta[:] = found[starts[0]]
        return
    mask, several = 0, 0
    for i in range(inside.size):
        if inside[i]:
            mask |= 1 << i
        elif several < absent.size:
            absent[several] = 1 << i
            several += 1
    _add_means(found, mask, absent, several, sums)
    if several == 1:
        beta[:] = sums[0]
    elif several == 2:
        beta[:] = sums[0]
        step[:] = sums[0] - sums[1]
    else:
        beta[:] = 2.0 * sums[0] - sums[1]
        step[:] = sums[0] - 2.0 * sums[1] + sums[2]


@njit(**OPTIONS)
def _start(strips, most, count, p, ridge, known, beta, room):
    """Write the start to beta, and its logits to `room`.

    `known` says whether beta and the step in `room` hold predictions.
    """
    logits, changes, step = room[2][0], room[3][0], room[9]
    if not (known and is_finite(beta, p) and is_finite(step, p)):
        start_cold(count, p, 2, room, beta)
        step[:] = 0.0
    linear_forms(strips, most, count, p, beta, logits)
    linear_forms(strips, most, count, p, step, changes)
    share, least = 0.0, np.inf
    for k in range(SHARES + 1):
        here = k / SHARES
        worth = loss_after(count, 2, room, here) + penalty_after(p, 2, ridge, beta, step, here)
        if worth < least:
            share, least = here, worth
    for f in range(p):
        beta[f] += share * step[f]
    for r in range(count):
        logits[r] += share * changes[r]


@njit(**OPTIONS)
def _values(
    game, features, sizes_of, reaches, products, ridge, validation, codes, n_labels, score, inside,
    starts, in_table, found, rooms, parts,
):  # fmt: skip
    classes, counts, labels = game
    gathered, room, wide_room, record_room, means_room, scoring = rooms
    strips, targets, sizes, reach = gathered
    p, most = validation.shape[0], targets.shape[1]
    first = np.cumsum(counts) - counts
    values, place = np.empty(inside.shape[0]), np.empty(2, np.int64)
    for row in range(inside.shape[0]):
        beta = found[row]
        count = _gather(features, counts, labels, sizes_of, reaches, inside[row], gathered)
        if count == 0:
            values[row] = np.nan
            continue
        second = int(targets[0, :count].sum())
        place[0] = 0 if second < count else -1
        place[1] = place[0] + 1 if second > 0 else -1
        if second == 0 or second == count:
            beta[:] = np.nan  # one class, no coefficients from which others could start
        else:
            for rest in range(count, (count + LANES - 1) // LANES * LANES):
                targets[0, rest] = room[2][0, rest] = room[3][0, rest] = 0.0
            known = starts[row, 0] >= 0
            if known:
                _predict(found, inside[row], starts[row], in_table, means_room, beta, room[9])
            _start(strips, most, count, p, ridge, known, beta, room)
            few = count < p or (count <= FEW * p and penalties_are_certain(sizes, p, ridge))
            if few and count <= record_room[0].shape[0]:
                gather_products(products, first, counts, inside[row], record_room[0])
                fit_by_records(strips, most, sizes, count, p, ridge, beta, room, record_room)
            else:
                _fit(strips, most, sizes, reach, count, p, ridge, beta, room, wide_room)
            if np.isnan(beta[0]):
                values[row] = np.nan
                continue
        values[row] = score_fit(
            classes, place, beta, p, validation, codes, n_labels, score, scoring, parts[row]
        )
    return values


def logistic_scores(
    summary, ridge, validation, codes, n_labels, score, inside, starts, in_table, folds=None
):
    """Scores (n_rows,) of coalitions of one game with two classes; NaN where a fit is uncertain.

    The parameters are those of `logistic.logistic_scores`, and whether the rows are all coalitions
    but the empty one, by descending masks.
    """
    known = ~np.isnan(summary[:, 0])
    classes = np.unique(summary[:, 0][known])
    labels = np.searchsorted(classes, summary[:, 0])
    counts = known.sum(axis=1)
    p, total = summary.shape[1], int(counts.sum())
    features = features_in_strips(summary, counts)
    sizes_of = np.abs(features).sum(axis=2).reshape(len(summary), -1)[:, :p].copy()
    reaches = (summary[:, 1:] ** 2 / ridge[:, None]).sum(axis=1) + 1.0
    stride, wide = -(-total // LANES) * LANES, strips_of(p) * LANES
    use_products = counts.min() <= FEW * p and total <= MOST_PRODUCTS
    products = record_products(summary, counts, ridge) if use_products else np.empty((0, 0))
    few = min(stride, -(-int(FEW * p) // LANES) * LANES) if use_products else 0
    targets = np.zeros((1, stride))
    gathered = np.zeros(wide * stride), targets, np.empty(p), np.empty(stride)
    nothing = np.empty(0)
    room = (
        np.empty((0, 0)), targets, np.zeros((1, stride)), np.zeros((1, stride)), nothing, nothing,
        nothing, np.empty((0, 0)), np.zeros(wide), np.zeros(wide),
    )  # fmt: skip
    size = strip_start(strips_of(p))
    wide_room = (
        np.empty(wide * stride), np.empty(wide * stride), np.empty(size), np.empty(size),
        np.empty(wide), np.empty(stride), np.empty(stride, np.int64), np.empty(stride),
        np.empty(stride), np.empty(stride),
    )  # fmt: skip
    means_room = np.empty((3, wide)), np.empty(min(SEVERAL, len(summary)), np.int64)
    scoring, parts = score_rooms(codes, folds, len(inside))
    rooms = gathered, room, wide_room, make_record_room(few), means_room, scoring
    found = np.zeros((len(inside), wide))
    return _values(
        (classes, counts, labels), features, sizes_of, reaches, products, ridge, validation, codes,
        n_labels, score, inside, starts, in_table, found, rooms, parts,
    )  # fmt: skip
