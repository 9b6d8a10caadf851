"""Least squares of every coalition of providers.

A provider is summarised by sums of products of its records (see `linear_sums`). The summary of a
coalition is the sum of its members' summaries, and LANES coalitions are solved at once (see
`linear_blocks`). The summary of the empty coalition is `penalty`, a packed matrix that is zero
except for what ridge regression adds to the diagonal.

*Constants.* A feature that is constant within a coalition, which is common in small coalitions,
has no pivot; its coefficient is zero. Lanes whose result is NaN are solved once more without such
features. Lanes that are still NaN have dependent features or fewer than two records. The caller
must fit these in another way, and also the coalitions whose error is doubtful (`linear_doubts`).

*Table.* The lanes are the coalitions of the first three providers of one game; the other
providers are merged into all lanes at once. Coalitions of these others are visited in ascending
order of their bitmasks, which walks the tree of subsets depth first. The sum of a mask without its
lowest bit is then still in memory, in the slot of that mask's own lowest bit. So each step takes
one merge, and only one path of partial sums is kept. Every game is computed separately, so its bits
do not depend on the other games.

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
    pointer,
    store,
)
from shapband.kernels.compiled.linear_blocks import form_weights, solve_block
from shapband.kernels.compiled.linear_doubts import doubt, harmless
from shapband.kernels.compiled.linear_sums import gram_summaries, recentred
from shapband.kernels.compiled.parts import PART

__all__ = [
    "gram_summaries",
    "harmless",
    "linear_prefixes",
    "linear_rows",
    "linear_table",
    "recentred",
]

CONSTANT_TOL = 1e-10  # a feature counts as constant if its variance / mean square is below this


@njit(**PART)
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


@njit(**PART)
def _without_constants(sums, start, p, errors, copy):
    """Copy a block; in lanes whose error is NaN, leave out the features that are constant there.

    Returns the number of features left out.
    """
    for s in range(copy.size):
        copy[s] = sums[start + s]
    dropped = 0
    for lane in range(LANES):
        if np.isnan(errors[lane]) and copy[lane] >= 2:
            dropped += _drop_constants(copy, p, lane)
    return dropped


@njit(**PART)
def _solve(sums, start, p, forms, constant, room, errors, limits, measure):
    """Errors of LANES coalitions, solved again without constant features where they are NaN.

    An error that rounding may change is set to infinity.
    """
    block, at, found = sums, start, errors
    # One call in a loop, where two calls would take twice as long to compile.
    for again in range(2):
        solve_block(block, at, p, forms[0], constant, room, found)
        doubt(block, at, p, forms, constant, room, found, limits, measure)
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


@njit(**PART)
def _merge(path, source, target, summaries, provider, size):
    """Slot target of the path = slot source + the provider's summary in every lane."""
    parent, child = pointer(path, source * size * LANES), pointer(path, target * size * LANES)
    summary = pointer(summaries, provider * size)
    for s in range(size):
        at = s * LANES
        store(child, at, add(load(parent, at), broadcast(summary, s)))


@njit(**PART)
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


@njit(**PART)
def _finite(error):
    """Replace an infinite error, which marks a doubtful result or an overflow, by NaN."""
    return error if abs(error) < np.inf else np.nan


@njit(**PART)
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

    An error is NaN if the solution is not unique, or not certain to ten digits.

    Parameters
    ----------
    summaries : (g, n, S) relative to the means of the validation rows
    limits : (g,) largest traces of d G⁻¹ d at which rounding does no harm, see `harmless`
    A, b, c : moments of the validation rows, A packed
    penalty : (S,) the summary of the empty coalition
    measure : the error that counts as 1 in the score: 1, or the variance for R²
    """
    games, n, size = summaries.shape
    flat = summaries.reshape(games * n * size)
    p = b.shape[0]
    forms = form_weights(A, b)
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


@njit(**PART)
def queue(size, p):
    """Room for coalitions that wait until a block is full, and to solve it."""
    block = np.zeros(size * LANES)  # zeros make unused lanes NaN instead of undefined
    room, errors, total = np.empty((size + 3 * p) * LANES), np.empty(LANES), np.empty(size)
    return block, room, errors, total, np.empty(LANES, np.int64), np.full(LANES, np.inf)


@njit(**PART)
def solve_queued(block, targets, queued, p, forms, constant, room, errors, flat, most, measure):
    """Solve the block and write the errors of its first `queued` lanes to their targets."""
    _solve(block, 0, p, forms, constant, room, errors, most, measure)
    for lane in range(queued):
        flat[targets[lane]] = _finite(errors[lane])


@njit(**PART)
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
    forms = form_weights(A, b)
    block, room, errors, total, targets, most = queue(size, p)
    result = np.empty((games, permutations, n))
    flat = result.reshape(games * permutations * n)
    queued = np.int64(0)  # a literal 0 would compile `solve_queued` twice
    for g in range(games):
        for t in range(permutations):
            for s in range(size):
                total[s] = penalty[s]
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
                    solve_queued(
                        block, targets, queued, p, forms, c, room, errors, flat, most, measure
                    )
                    queued = 0
    solve_queued(block, targets, queued, p, forms, c, room, errors, flat, most, measure)
    _copy_repeats(result, first)
    return result


_PART_BITS = 4
_PART = 1 << _PART_BITS  # number of coalitions of the four providers of a part


@njit(**PART)
def _part_sums(summaries, sums):
    """Sums of the summaries, for all 16 coalitions of each part of four providers.

    Their shape is (parts, 16, size).
    """
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


@njit(**PART)
def _merge_row(inside, sums, penalty, total):
    """Total = penalty + the sum of the summaries of a coalition's members, part by part."""
    n = inside.size
    for s in range(total.size):
        total[s] = penalty[s]
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
    forms = form_weights(A, b)
    block, room, errors, total, targets, most = queue(size, p)
    sums = np.empty((-(-n // _PART_BITS), _PART, size))
    result = np.empty(rows)
    queued = np.int64(0)  # a literal 0 would compile `solve_queued` twice
    for r in range(rows):
        if r == 0 or of_game[r] != of_game[r - 1]:
            _part_sums(summaries[of_game[r]], sums)
        _merge_row(inside[r], sums, penalty, total)
        for s in range(size):
            block[s * LANES + queued] = total[s]
        targets[queued], most[queued] = r, limits[of_game[r]]
        queued += 1
        if queued == LANES:
            solve_queued(block, targets, queued, p, forms, c, room, errors, result, most, measure)
            queued = 0
    solve_queued(block, targets, queued, p, forms, c, room, errors, result, most, measure)
    return result
