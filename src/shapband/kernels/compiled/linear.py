"""Least squares of every coalition of providers.

A provider is summarised by the packed lower triangle of [Z y]'[Z y]: that of Z'Z, followed by the p
entries of Z'y, the right-hand side, and by y'y. Summaries of a coalition add up, and all below
works on such sums, LANES of them at once (see `lanes`). The sum over nobody is `penalty`, a packed
summary whose only entries are what ridge regression adds to the diagonal.

*Solve.* `solve_block` factors LANES systems as L D L' (Cholesky without square roots), two rows
by two columns at a time so that each loaded vector is used twice. The forward substitution comes
out as the last row of the factor, the back substitution turns that row into the coefficients,
and the error is a quadratic form in it. A pivot that is not clearly positive becomes NaN and
spreads through its own lane only.

*Constants.* A feature that is constant within a coalition, which is common in small coalitions,
has no pivot; its coefficient is zero. Lanes whose result is NaN are solved once more without such
features. Lanes that are still NaN have dependent features, or fewer than two records, and are left
to the caller.

*Doubts.* Sums of products are rounded, so G b = r is solved for other G and r, and b is wrong by
G⁻¹ e, where e_i is up to `ROUNDED` d_i t: d² is the diagonal of G, and t the size of targets and
of their fit. The trace of d G⁻¹ d, which the pivots give for next to nothing, bounds what this
does to predictions. If that is too much for a coalition, G⁻¹ e is computed for an e of irregular
numbers. If it changes the error by more than `WANTED`, or if the quadratic form cancels so far, the
result is NaN.

*Table.* The lanes are the coalitions of the first three providers of one game; the other
providers are merged into all lanes at once. Counting the masks of those others upwards walks the
subset tree depth first, and the mask without its lowest bit is still in the slot of its own
lowest bit, so there is one merge per step and one path of partial sums in memory. Every game is
computed separately, so its bits do not depend on the other games.

*Prefixes.* Each permutation is walked once, adding summaries; coalitions seen for the first time
queue up in a block that is solved whenever it is full.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANE_BITS,
    LANES,
    OPTIONS,
    add,
    broadcast,
    load,
    multiply,
    multiply_add,
    multiply_subtract,
    pivot_inverse,
    pointer,
    splat,
    store,
)
from shapband.kernels.compiled.products import add_products

RECORD_CHUNK = 128  # records standardised at a time; a multiple of LANES
CONSTANT_TOL = 1e-10  # variance over mean square of a feature below which it counts as constant
CLEAR_TOL = 1e-6  # the same ratio above which sums of squares keep ten digits
ROUNDING = 1e-13  # deviation over size of a feature below which differences may be rounding
TINY = 1e-300  # smaller squares have lost digits
ROUNDED = 2.0**-52  # of sums of products, relative to the lengths of both columns
WANTED = 1e-10  # accuracy of errors, relative to themselves and to what scores measure them by
SAFETY = 10.0  # one e may be ten times as harmless as the worst


@njit(**OPTIONS)
def _standardise(X, y, rows, mean, inv_scale, y_mean, columns):
    """Write the columns of [Z y] of some records, RECORD_CHUNK apart; their padded length."""
    d = X.shape[1]
    count = rows.shape[0]
    # Zeros that fill the last vector add nothing to any product.
    filled = (count + LANES - 1) // LANES * LANES
    for r in range(count, filled):
        for column in range(d + 2):
            columns[column * RECORD_CHUNK + r] = 0.0
    for r in range(count):
        row = rows[r]
        columns[r] = 1.0
        for f in range(d):
            columns[(f + 1) * RECORD_CHUNK + r] = (X[row, f] - mean[f]) * inv_scale[f]
        columns[(d + 1) * RECORD_CHUNK + r] = y[row] - y_mean
    return filled


@njit(**OPTIONS)
def gram_summaries(X, y, rows, inv_scale, y_mean, summaries, provider):
    """Write a provider's summaries of the records rows (g, size) into summaries (g, n, S + d).

    Each is a Gram matrix of the records relative to the first of them, then this record.
    """
    games, size = rows.shape
    p = X.shape[1] + 1
    columns = np.empty((p + 1) * RECORD_CHUNK)
    for g in range(games):
        anchor = X[rows[g, 0]]
        summaries[g, provider, : -anchor.size] = 0.0
        summaries[g, provider, -anchor.size :] = anchor
        for start in range(0, size, RECORD_CHUNK):
            chunk = rows[g, start : min(start + RECORD_CHUNK, size)]
            filled = _standardise(X, y, chunk, anchor, inv_scale, y_mean, columns)
            add_products(
                columns,
                RECORD_CHUNK,
                p + 1,
                columns,
                0,
                RECORD_CHUNK,
                p + 1,
                filled,
                summaries[g, provider],
            )


@njit(**OPTIONS)
def recentred(summaries, mean, inv_scale):
    """Gram matrices (g, n, S) of the records relative to `mean`, from those of their anchors.

    The second result (g,) says whether these show which features vary in which coalition. They
    do not if a feature varies little in comparison with its distance from `mean`, within a draw
    or between draws in which it is constant.
    """
    games, n, _ = summaries.shape
    d = mean.size
    p = d + 1
    moved = np.empty((games, n, (p + 1) * (p + 2) // 2))
    shift, sums = np.zeros(p + 1), np.empty(p + 1)
    for g in range(games):
        for i in range(n):
            old, new = summaries[g, i], moved[g, i]
            for f in range(d):
                shift[1 + f] = (old[new.size + f] - mean[f]) * inv_scale[f]
            for row in range(p + 1):
                sums[row] = old[row * (row + 1) // 2]
            for row in range(p + 1):
                start = row * (row + 1) // 2
                for column in range(min(row + 1, p)):
                    both = sums[column] + sums[0] * shift[column]
                    across = old[start + column] + sums[row] * shift[column]
                    new[start + column] = across + shift[row] * both
            new[new.size - 1] = old[new.size - 1]
    clear = np.empty(games, np.bool_)
    for g in range(games):
        clear[g] = True
        for f in range(d):
            clear[g] = clear[g] and _is_clear(summaries[g], f, mean[f], inv_scale[f], d)
    return moved, clear


@njit(**OPTIONS)
def _is_clear(summaries, f, mean, inv_scale, d):
    """Whether sums relative to the mean show if one feature of a game varies."""
    n, size = summaries.shape
    diagonal = (f + 1) * (f + 4) // 2
    places = np.empty(n)
    constants = 0
    for i in range(n):
        anchor = summaries[i, size - d + f]
        offset = (anchor - mean) * inv_scale
        square = summaries[i, diagonal]
        if square == 0.0:
            places[constants] = offset
            constants += 1
            continue
        count, total = summaries[i, 0], summaries[i, diagonal - f - 1]
        variance = (square - total * total / count) / count
        least = max(CLEAR_TOL * (offset + total / count) ** 2, (ROUNDING * anchor * inv_scale) ** 2)
        if not variance > max(least, TINY):
            return False
    if constants < 2:
        return True
    ordered = np.sort(places[:constants])
    farthest = max(abs(ordered[0]), abs(ordered[-1]))
    for i in range(constants - 1):
        if 0.0 < ordered[i + 1] - ordered[i] <= 4.0 * CLEAR_TOL**0.5 * farthest:
            return False
    return True


@njit(**OPTIONS)
def harmless(summaries, A, c, p, measure):
    """Traces (g,) of d G⁻¹ d up to which rounding changes no error by more than `WANTED`.

    With V for the trace, an error of e in the right-hand side moves predictions by at most
    (p V sum A / d²)½ |e / d| V½, and |e / d| is up to p½ `ROUNDED` times the targets and their fit,
    which is at most V½ times the targets. A coalition has at least the smallest mean square of
    its members in every feature, and at most the largest of targets. For the same reasons the terms
    of the quadratic form, whose rounding counts as well, are c and at most p V sum A / d² times the
    targets.
    """
    games, n, size = summaries.shape
    limits = np.empty(games)
    for g in range(games):
        largest = TINY
        for i in range(n):
            largest = max(largest, summaries[g, i, size - 1] / summaries[g, i, 0])
        amplified = 0.0
        for j in range(p):
            at = (j + 1) * (j + 2) // 2 - 1
            least = np.inf
            for i in range(n):
                if summaries[g, i, at] > 0.0:
                    least = min(least, summaries[g, i, at] / summaries[g, i, 0])
            amplified += A[at] / least
        moved = ROUNDED**2 * p * p * amplified * largest
        limits[g] = ((0.25 * WANTED) ** 2 * measure / moved) ** (1.0 / 3.0)
        limits[g] = min(limits[g], (WANTED * measure / ROUNDED - c) / (p * amplified * largest))
    return limits


@njit(**OPTIONS)
def _form_weights(A, b):
    """Packed coefficients of beta'A beta - 2 b'beta, each product counted once; without b too."""
    p = b.shape[0]
    weights, bare = np.empty(A.shape[0] + p), np.zeros(A.shape[0] + p)
    for i in range(p):
        row = i * (i + 1) // 2
        for j in range(i):
            weights[row + j] = 2.0 * A[row + j]
        weights[row + i] = A[row + i]
        weights[A.shape[0] + i] = -2.0 * b[i]
    bare[: A.shape[0]] = weights[: A.shape[0]]
    return weights, bare


@njit(**OPTIONS)
def _pivot_pair(block, p, j, factor, scratch):
    """Pivots of columns j and j + 1, and the rows of L that the columns below need.

    Row p, the right-hand side, has no pivot. The factor holds L D, and the scratch the rows j and
    j + 1 of L, then the inverses of all pivots.
    """
    top = j * (j + 1) // 2 * LANES
    bottom = top + (j + 1) * LANES
    at, second, inverses = j * LANES, p * LANES, 2 * p * LANES
    diagonal, below = load(block, top + at), load(block, bottom + at)
    # Row p has no pivot; any value can be used here, because it is not stored.
    corner = diagonal
    if j + 1 < p:
        corner = load(block, bottom + at + LANES)
    pivot, next_pivot = diagonal, corner
    for k in range(0, at, LANES):
        t, b, inverse = load(factor, top + k), load(factor, bottom + k), load(scratch, inverses + k)
        u, v = multiply(t, inverse), multiply(b, inverse)
        store(scratch, k, u)
        store(scratch, second + k, v)
        pivot = multiply_subtract(pivot, t, u)
        below = multiply_subtract(below, b, u)
        next_pivot = multiply_subtract(next_pivot, b, v)
    inverse = pivot_inverse(pivot, diagonal)
    coupling = multiply(below, inverse)
    store(scratch, inverses + at, inverse)
    store(scratch, second + at, coupling)
    store(factor, bottom + at, below)
    if j + 1 < p:
        next_pivot = multiply_subtract(next_pivot, below, coupling)
        store(scratch, inverses + at + LANES, pivot_inverse(next_pivot, corner))


@njit(**OPTIONS)
def _column_pair(block, p, j, factor, scratch):
    """Columns j and j + 1 of L D below their pivots, down to the right-hand side."""
    at, second = j * LANES, p * LANES
    coupling = load(scratch, second + at)
    for i in range(j + 2, p, 2):
        top = i * (i + 1) // 2 * LANES
        bottom = top + (i + 1) * LANES
        s00, s01 = load(block, top + at), load(block, top + at + LANES)
        s10, s11 = load(block, bottom + at), load(block, bottom + at + LANES)
        for k in range(0, at, LANES):
            t, b = load(factor, top + k), load(factor, bottom + k)
            u, v = load(scratch, k), load(scratch, second + k)
            s00 = multiply_subtract(s00, t, u)
            s01 = multiply_subtract(s01, t, v)
            s10 = multiply_subtract(s10, b, u)
            s11 = multiply_subtract(s11, b, v)
        store(factor, top + at, s00)
        store(factor, top + at + LANES, multiply_subtract(s01, s00, coupling))
        store(factor, bottom + at, s10)
        store(factor, bottom + at + LANES, multiply_subtract(s11, s10, coupling))


@njit(**OPTIONS)
def _back_substitute(factor, p, scratch):
    """Turn row p of the factor, the forward solution times D, into the coefficients."""
    beta, inverses = p * (p + 1) // 2 * LANES, 2 * p * LANES
    for i in range(p - 2, -1, -2):
        top = i * (i + 1) // 2 * LANES
        bottom = top + (i + 1) * LANES
        at = i * LANES
        y = multiply(load(factor, beta + at + LANES), load(scratch, inverses + at + LANES))
        x = multiply_subtract(load(factor, beta + at), load(factor, bottom + at), y)
        x = multiply(x, load(scratch, inverses + at))
        store(factor, beta + at, x)
        store(factor, beta + at + LANES, y)
        for k in range(0, at, LANES):
            rest = multiply_subtract(load(factor, beta + k), load(factor, bottom + k), y)
            store(factor, beta + k, multiply_subtract(rest, load(factor, top + k), x))
    if p % 2:
        store(factor, beta, multiply(load(factor, beta), load(scratch, inverses)))


@njit(**OPTIONS)
def _quadratic_form(factor, p, weights, constant, errors):
    """Errors = constant + the packed form `weights` at the coefficients in row p."""
    triangle = p * (p + 1) // 2
    beta = triangle * LANES
    error = splat(constant)
    for i in range(0, p - 1, 2):
        top, bottom = i * (i + 1) // 2, (i + 1) * (i + 2) // 2
        s, t = broadcast(weights, triangle + i), broadcast(weights, triangle + i + 1)
        for j in range(i):
            x = load(factor, beta + j * LANES)
            s = multiply_add(s, broadcast(weights, top + j), x)
            t = multiply_add(t, broadcast(weights, bottom + j), x)
        x, y = load(factor, beta + i * LANES), load(factor, beta + (i + 1) * LANES)
        s = multiply_add(s, broadcast(weights, top + i), x)
        t = multiply_add(t, broadcast(weights, bottom + i), x)
        t = multiply_add(t, broadcast(weights, bottom + i + 1), y)
        error = multiply_add(multiply_add(error, s, x), t, y)
    if p % 2:
        last = (p - 1) * p // 2
        s = broadcast(weights, triangle + p - 1)
        for j in range(p):
            s = multiply_add(s, broadcast(weights, last + j), load(factor, beta + j * LANES))
        error = multiply_add(error, s, load(factor, beta + (p - 1) * LANES))
    store(errors, 0, error)


@njit(**OPTIONS)
def solve_block(sums, start, p, form, constant, room, errors):
    """Errors of the LANES coalitions whose summaries are sums[start:], lanes innermost."""
    block, weights = pointer(sums, start), pointer(form, 0)
    factor, scratch = pointer(room, 0), pointer(room, (p * (p + 1) // 2 + p) * LANES)
    if p % 2 == 0:
        # Odd number of rows: the first column, which needs no work, is not paired.
        diagonal = load(block, 0)
        store(scratch, 2 * p * LANES, pivot_inverse(diagonal, diagonal))
        for i in range(1, p + 1):
            at = i * (i + 1) // 2 * LANES
            store(factor, at, load(block, at))
    for j in range((p + 1) % 2, p, 2):
        _pivot_pair(block, p, j, factor, scratch)
        _column_pair(block, p, j, factor, scratch)
    _back_substitute(factor, p, scratch)
    _quadratic_form(factor, p, weights, constant, pointer(errors, 0))


@njit(**OPTIONS)
def _inflations(block, p, scratch, traces):
    """Trace of d G⁻¹ d in every lane, as far as the pivots tell."""
    total = splat(0.0)
    for j in range(p):
        diagonal = load(block, (j + 1) * (j + 2) // 2 * LANES - LANES)
        total = multiply_add(total, diagonal, load(scratch, (2 * p + j) * LANES))
    store(traces, 0, total)


@njit(**OPTIONS)
def _sizes(block, factor, p, weights, found):
    """Sums over features of d² beta² and of A beta², in every lane: (2 LANES,)."""
    beta = p * (p + 1) // 2
    lengths, terms = splat(0.0), splat(0.0)
    for j in range(p):
        at = (j + 1) * (j + 2) // 2 - 1
        x = load(factor, (beta + j) * LANES)
        square = multiply(x, x)
        lengths = multiply_add(lengths, load(block, at * LANES), square)
        terms = multiply_add(terms, broadcast(weights, at), square)
    store(found, 0, lengths)
    store(found, LANES, terms)


@njit(**OPTIONS)
def irregular(i):
    """A number between 1/2 and 3/2, with either sign."""
    share = (0.6180339887498949 * (i + 1)) % 1.0
    return (0.5 + share) * (1.0 - 2.0 * (int(share * 1024.0) % 2))


@njit(**OPTIONS)
def _probe(sums, start, p, bare, room, moved):
    """Mean squares of the predictions of G⁻¹ e on the validation rows, with e = d times numbers."""
    beta, inverses = p * (p + 1) // 2 * LANES, 2 * p * LANES
    for i in range(p):
        number, diagonal = irregular(i), start + ((i + 1) * (i + 2) // 2 - 1) * LANES
        for lane in range(LANES):
            room[beta + i * LANES + lane] = number * np.sqrt(sums[diagonal + lane])
    factor, scratch = pointer(room, 0), pointer(room, beta + p * LANES)
    for i in range(p):
        row, at = i * (i + 1) // 2 * LANES, i * LANES
        total = load(factor, beta + at)
        for k in range(0, at, LANES):
            total = multiply_subtract(total, load(factor, row + k), load(scratch, k))
        store(factor, beta + at, total)
        store(scratch, at, multiply(total, load(scratch, inverses + at)))
    _back_substitute(factor, p, scratch)
    _quadratic_form(factor, p, pointer(bare, 0), 0.0, pointer(moved, 0))


@njit(**OPTIONS)
def _doubt(sums, start, p, forms, constant, room, errors, limits, measure):
    """Make errors infinite in the lanes in which rounding may change them too much."""
    found = np.empty(3 * LANES)
    triangle = p * (p + 1) // 2
    _inflations(pointer(sums, start), p, pointer(room, (triangle + p) * LANES), pointer(found, 0))
    doubtful = False
    for lane in range(LANES):
        doubtful = doubtful or found[lane] > limits[lane]
    if not doubtful:
        return
    factor = pointer(room, 0)
    _sizes(pointer(sums, start), factor, p, pointer(forms[0], 0), pointer(found, LANES))
    moved = np.empty(LANES)
    _probe(sums, start, p, forms[1], room, moved)
    for lane in range(LANES):
        error = errors[lane]
        if not found[lane] > limits[lane]:
            continue
        allowed = WANTED * max(measure, error)
        targets = sums[start + (triangle + p) * LANES + lane]
        size = np.sqrt(targets) + np.sqrt(found[LANES + lane])
        off = SAFETY * ROUNDED * size * np.sqrt(max(moved[lane], 0.0))
        cancelled = ROUNDED * (constant + p * found[2 * LANES + lane])
        if not off * (2.0 * np.sqrt(max(error, 0.0)) + off) + cancelled <= allowed:
            errors[lane] = np.inf


@njit(**OPTIONS)
def _drop_constants(sums, p, lane):
    """Set the coefficients of a lane's constant features to zero; return their number."""
    count = sums[lane]
    dropped = 0
    for i in range(1, p):
        row = i * (i + 1) // 2
        total = sums[row * LANES + lane]
        square = sums[(row + i) * LANES + lane]
        if square - total * total / count > CONSTANT_TOL * square:
            continue
        for j in range(i):
            sums[(row + j) * LANES + lane] = 0.0
        for below in range(i + 1, p + 1):
            sums[(below * (below + 1) // 2 + i) * LANES + lane] = 0.0
        sums[(row + i) * LANES + lane] = 1.0
        dropped += 1
    return dropped


@njit(**OPTIONS)
def _without_constants(sums, start, p, errors, copy):
    """Copy a block, in lanes that are NaN without the features that are constant in them.

    Returns the number of such features.
    """
    for s in range(copy.size):
        copy[s] = sums[start + s]
    dropped = 0
    for lane in range(LANES):
        if np.isnan(errors[lane]) and copy[lane] >= 2:
            dropped += _drop_constants(copy, p, lane)
    return dropped


@njit(**OPTIONS)
def _solve(sums, start, p, forms, constant, room, errors, limits, measure):
    """Errors of LANES coalitions; those that are NaN are solved without constant features.

    Those that rounding may change are infinite.
    """
    block, at, found = sums, start, errors
    # One call in a loop, where two calls would take twice as long to compile.
    for again in range(2):
        solve_block(block, at, p, forms[0], constant, room, found)
        _doubt(block, at, p, forms, constant, room, found, limits, measure)
        failed = 0
        for lane in range(LANES):
            if sums[start + lane] < 2:
                errors[lane] = np.nan  # a penalty would give even one record a unique solution
            elif np.isnan(errors[lane]):
                errors[lane] = found[lane]
                failed += 1
        if again or not failed:
            return
        block, at, found = np.empty((p + 1) * (p + 2) // 2 * LANES), 0, np.empty(LANES)
        if not _without_constants(sums, start, p, errors, block):
            return


@njit(**OPTIONS)
def _merge(path, source, target, summaries, provider, size):
    """Slot target of the path = slot source + the provider's summary in every lane."""
    parent, child = pointer(path, source * size * LANES), pointer(path, target * size * LANES)
    summary = pointer(summaries, provider * size)
    for s in range(size):
        at = s * LANES
        store(child, at, add(load(parent, at), broadcast(summary, s)))


@njit(**OPTIONS)
def _fill_lanes(summaries, penalty, block, start):
    """Lane l of the block = penalty + the sum of the first providers that are bits of l."""
    n, size = summaries.shape
    for s in range(size):
        for lane in range(LANES):
            total = penalty[s]
            for i in range(min(n, LANE_BITS)):
                if lane >> i & 1:
                    total += summaries[i, s]
            block[start + s * LANES + lane] = total


@njit(**OPTIONS)
def _finite(error):
    """NaN for an infinite error, which is doubtful, or an overflow."""
    return error if abs(error) < np.inf else np.nan


@njit(**OPTIONS)
def _lowest_bit(mask, otherwise):
    """Position of the lowest bit of the mask; `otherwise` for the empty mask."""
    if mask == 0:
        return otherwise
    position = 0
    while not mask >> position & 1:
        position += 1
    return position


@njit(**OPTIONS)
def linear_table(summaries, limits, A, b, c, penalty, measure):
    """Errors (g, 2**n) of every coalition, by bitmask.

    NaN if it has no unique solution, or none that is sure to ten digits.

    Parameters
    ----------
    summaries : (g, n, S) relative to the means of the validation rows
    limits : (g,) traces of d G⁻¹ d that do no harm, see `harmless`
    A, b, c : moments of the validation rows, A packed
    penalty : (S,) the sum over nobody
    measure : the error that scores measure errors by: 1, or the variance for R²
    """
    games, n, size = summaries.shape
    flat = summaries.reshape(games * n * size)
    p = b.shape[0]
    forms = _form_weights(A, b)
    walked = max(n - LANE_BITS, 0)
    path = np.empty((walked + 1) * size * LANES)
    room = np.empty((size + 3 * p) * LANES)
    errors = np.empty(LANES)
    table = np.empty((games, 1 << n))
    width = min(LANES, 1 << n)
    most = np.empty(LANES)
    for g in range(games):
        most[:] = limits[g]
        _fill_lanes(summaries[g], penalty, path, walked * size * LANES)
        for mask in range(1 << walked):
            slot = _lowest_bit(mask, walked)
            if mask:
                parent = _lowest_bit(mask & (mask - 1), walked)
                _merge(path, parent, slot, flat, g * n + LANE_BITS + slot, size)
            _solve(path, slot * size * LANES, p, forms, c, room, errors, most, measure)
            for lane in range(width):
                table[g, mask * LANES + lane] = _finite(errors[lane])
    return table


@njit(**OPTIONS)
def _solve_queued(block, targets, queued, p, forms, constant, room, errors, flat, most, measure):
    """Solve the block and write the errors of its first `queued` lanes to their targets."""
    _solve(block, 0, p, forms, constant, room, errors, most, measure)
    for lane in range(queued):
        flat[targets[lane]] = _finite(errors[lane])


@njit(**OPTIONS)
def _copy_repeats(result, first):
    """Give every repeated prefix the error of its first occurrence."""
    games, permutations, n = result.shape
    for g in range(games):
        for t in range(permutations):
            for k in range(n):
                if first[g, t, k] != t:
                    result[g, t, k] = result[g, first[g, t, k], k]


@njit(**OPTIONS)
def linear_prefixes(summaries, limits, orders, first, A, b, c, penalty, measure):
    """Errors (g, T, n) of every prefix of the orders; repeated sets are copied from `first`."""
    games, permutations, n = orders.shape
    size = summaries.shape[2]
    p = b.shape[0]
    forms = _form_weights(A, b)
    # Zeros make the result of unused lanes NaN instead of undefined.
    block = np.zeros(size * LANES)
    room = np.empty((size + 3 * p) * LANES)
    errors = np.empty(LANES)
    total = np.empty(size)
    targets, most = np.empty(LANES, np.int64), np.full(LANES, np.inf)
    result = np.empty((games, permutations, n))
    flat = result.reshape(games * permutations * n)
    queued = 0
    for g in range(games):
        for t in range(permutations):
            total[:] = penalty
            for k in range(n):
                provider = orders[g, t, k]
                for s in range(size):
                    total[s] += summaries[g, provider, s]
                if first[g, t, k] != t:
                    continue
                for s in range(size):
                    block[s * LANES + queued] = total[s]
                targets[queued], most[queued] = (g * permutations + t) * n + k, limits[g]
                queued += 1
                if queued == LANES:
                    _solve_queued(
                        block, targets, queued, p, forms, c, room, errors, flat, most, measure
                    )
                    queued = 0
    _solve_queued(block, targets, queued, p, forms, c, room, errors, flat, most, measure)
    _copy_repeats(result, first)
    return result


_PART_BITS = 4
_PART = 1 << _PART_BITS  # coalitions of the four providers of a part


@njit(**OPTIONS)
def _part_sums(summaries, sums):
    """Sums of the summaries of every coalition of each four providers: (parts, 16, size)."""
    n, size = summaries.shape
    for part in range(sums.shape[0]):
        for s in range(size):
            sums[part, 0, s] = 0.0
        for mask in range(1, _PART):
            low = _lowest_bit(mask, 0)
            rest, provider = mask & (mask - 1), part * _PART_BITS + low
            for s in range(size):
                sums[part, mask, s] = sums[part, rest, s]
                if provider < n:
                    sums[part, mask, s] += summaries[provider, s]


@njit(**OPTIONS)
def _merge_row(inside, sums, penalty, total):
    """Total = penalty + the sum of the summaries of a coalition's members, part by part."""
    n = inside.size
    total[:] = penalty
    for part in range(sums.shape[0]):
        mask = 0
        for bit in range(min(_PART_BITS, n - part * _PART_BITS)):
            mask |= (inside[part * _PART_BITS + bit] != 0) << bit
        if mask:
            for s in range(total.size):
                total[s] += sums[part, mask, s]


@njit(**OPTIONS)
def linear_rows(summaries, limits, inside, of_game, A, b, c, penalty, measure):
    """Errors (n_rows,) of coalitions given as rows of members; NaN without a unique solution."""
    rows, n = inside.shape
    size = summaries.shape[2]
    p = b.shape[0]
    forms = _form_weights(A, b)
    # Zeros make the result of unused lanes NaN instead of undefined.
    block = np.zeros(size * LANES)
    room = np.empty((size + 3 * p) * LANES)
    errors = np.empty(LANES)
    total = np.empty(size)
    sums = np.empty((-(-n // _PART_BITS), _PART, size))
    targets, most = np.empty(LANES, np.int64), np.full(LANES, np.inf)
    result = np.empty(rows)
    queued = 0
    for r in range(rows):
        if r == 0 or of_game[r] != of_game[r - 1]:
            _part_sums(summaries[of_game[r]], sums)
        _merge_row(inside[r], sums, penalty, total)
        for s in range(size):
            block[s * LANES + queued] = total[s]
        targets[queued], most[queued] = r, limits[of_game[r]]
        queued += 1
        if queued == LANES:
            _solve_queued(block, targets, queued, p, forms, c, room, errors, result, most, measure)
            queued = 0
    _solve_queued(block, targets, queued, p, forms, c, room, errors, result, most, measure)
    return result
