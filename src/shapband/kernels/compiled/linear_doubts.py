"""Whether rounding errors change the result of least squares too much.

Sums of products are rounded, so the equations G b = r are solved with slightly wrong G and r. The
coefficients b are then wrong by G⁻¹ e, where |e_i| is at most `ROUNDED` d_i t: d² is the diagonal
of G, and t the size of the targets and of their fit. The trace of d G⁻¹ d, which follows from
pivots that are already known, bounds the effect on predictions. If the bound is too large for a
coalition, G⁻¹ e is computed for one e of irregular numbers. If this e changes the error by more
than `WANTED`, or if the quadratic form loses as much by cancellation, the error is doubtful.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import (
    LANES,
    OPTIONS,
    broadcast,
    load,
    multiply,
    multiply_add,
    multiply_subtract,
    pointer,
    splat,
    store,
)
from shapband.kernels.compiled.linear_blocks import back_substitute, quadratic_form
from shapband.kernels.compiled.linear_sums import TINY
from shapband.kernels.compiled.parts import PART

ROUNDED = 2.0**-52  # rounding error of sums of products, relative to the lengths of both columns
WANTED = 1e-10  # accuracy wanted of an error, relative to the larger of itself and `measure`
SAFETY = 10.0  # the worst e may do ten times the harm of the one that is tried


@njit(**OPTIONS)
def harmless(summaries, A, c, p, measure):
    """Traces (g,) of d G⁻¹ d up to which rounding changes no error by more than `WANTED`.

    With V for the trace, an error of e in the right-hand side moves predictions by at most
    (p V sum A / d²)½ |e / d| V½. Here |e / d| is at most p½ `ROUNDED` times the size of the targets
    and their fit, and the fit is at most V½ times the targets. In every feature, a coalition's mean
    square is at least the smallest one of its members; for the targets it is at most the largest.
    In the same way, the terms of the quadratic form, which are rounded too, are c and at most
    p V sum A / d² times the targets.
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


@njit(**PART)
def _inflations(block, p, scratch, traces):
    """Trace of d G⁻¹ d in every lane, as estimated from the pivots."""
    total = splat(0.0)
    for j in range(p):
        diagonal = load(block, (j + 1) * (j + 2) // 2 * LANES - LANES)
        total = multiply_add(total, diagonal, load(scratch, (2 * p + j) * LANES))
    store(traces, 0, total)


@njit(**PART)
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


@njit(**PART)
def irregular(i):
    """A number between 1/2 and 3/2, with either sign."""
    share = (0.6180339887498949 * (i + 1)) % 1.0
    return (0.5 + share) * (1.0 - 2.0 * (int(share * 1024.0) % 2))


@njit(**PART)
def _probe(sums, start, p, bare, room, moved):
    """Mean squares of the predictions of G⁻¹ e on the validation rows, for an irregular e."""
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
    back_substitute(factor, p, scratch)
    quadratic_form(pointer(room, beta), p, pointer(bare, 0), 0.0, pointer(moved, 0))


@njit(**PART)
def is_harmed(error, moved, targets, lengths, terms, p, constant, measure):
    """Whether rounding may change an error by more than `WANTED`.

    Parameters
    ----------
    moved : mean square of the predictions of G⁻¹ e
    targets : sum of the squared targets
    lengths, terms : sums over features of d² beta² and of A beta²
    """
    allowed = WANTED * max(measure, error)
    size = np.sqrt(targets) + np.sqrt(lengths)
    off = SAFETY * ROUNDED * size * np.sqrt(max(moved, 0.0))
    cancelled = ROUNDED * (constant + p * terms)
    return not off * (2.0 * np.sqrt(max(error, 0.0)) + off) + cancelled <= allowed


@njit(**PART)
def doubt(sums, start, p, forms, constant, room, errors, limits, measure):
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
        if not found[lane] > limits[lane]:
            continue
        targets = sums[start + (triangle + p) * LANES + lane]
        lengths, terms = found[LANES + lane], found[2 * LANES + lane]
        if is_harmed(errors[lane], moved[lane], targets, lengths, terms, p, constant, measure):
            errors[lane] = np.inf
