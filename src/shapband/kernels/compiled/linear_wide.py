"""Least squares of coalitions of providers with many features, one coalition after the other.

The sums of products of many features do not fit into the cache LANES at a time, as `linear_blocks`
needs them. Here a coalition's sums are stored as strips, with the right-hand side as the last
column, and factored alone (see `strips`). The checks are the same as in `linear`: an error is NaN
if a pivot is too small, with fewer than two records, or if rounding may change it (see
`linear_doubts`). The caller solves such coalitions with `linear_rows`.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import LANES, OPTIONS, PIVOT_TOL, pointer
from shapband.kernels.compiled.linear_blocks import form_weights, quadratic_form
from shapband.kernels.compiled.linear_doubts import irregular, is_harmed
from shapband.kernels.compiled.parts import PART
from shapband.kernels.compiled.strips import (
    entry_at,
    factor_strips,
    solve_factor,
    solve_transposed,
    strip_start,
    strips_of,
)


@njit(**PART)
def _write_strips(packed, columns, strips):
    """Write a lower triangle, packed by rows, as strips of the upper half."""
    strips[:] = 0.0
    for i in range(columns):
        for j in range(i + 1):
            strips[entry_at(j, i)] = packed[i * (i + 1) // 2 + j]


@njit(**PART)
def _add(one, other, total):
    for s in range(total.size):
        total[s] = one[s] + other[s]


@njit(**PART)
def _coefficients(strips, p, inverses, beta):
    """Solve the factored equations; the last column of the factor is the forward solution."""
    beta[:] = 0.0
    for i in range(p):
        beta[i] = strips[entry_at(i, p)]
    solve_factor(strips, p, inverses, beta)


@njit(**PART)
def _moved_by_rounding(strips, p, inverses, diagonal, x):
    """The coefficients G⁻¹ e of an irregular e, see `linear_doubts`."""
    x[:] = 0.0
    for i in range(p):
        x[i] = irregular(i) * np.sqrt(diagonal[i])
    solve_transposed(strips, p, inverses, x)
    solve_factor(strips, p, inverses, x)


@njit(**OPTIONS)
def wide_errors(summaries, limit, sizes, joins, rows, n_rows, A, b, c, penalty, measure):
    """Errors (n_rows,) of coalitions of one game; NaN if they are not certain to ten digits.

    Parameters
    ----------
    summaries : (n, S) relative to the means of the validation rows
    limit : largest trace of d G⁻¹ d at which rounding does no harm, see `harmless`
    sizes, joins, rows : the coalitions, see `shapband.kernels.walks.Walk`
    A, b, c : moments of the validation rows, A packed
    penalty : (S,) the summary of the empty coalition
    measure : the error that counts as 1 in the score: 1, or the variance for R²
    """
    n, p = summaries.shape[0], b.shape[0]
    forms = form_weights(A, b)
    length = strip_start(strips_of(p + 1))
    members, latest = np.empty((n, length)), np.empty((n + 1, length))
    for i in range(n):
        _write_strips(summaries[i], p + 1, members[i])
    _write_strips(penalty, p + 1, latest[0])
    factor, inverses = np.empty(length), np.empty(LANES * strips_of(p + 1))
    solution, diagonal = np.empty(inverses.size), np.empty(p + 1)
    # Coalitions wait here until LANES of them can be scored at once.
    betas, moved = np.zeros(p * LANES), np.zeros(p * LANES)
    doubtful, targets = np.zeros(LANES, np.bool_), np.empty(LANES, np.int64)
    square, lengths, terms = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    errors, harms = np.empty(LANES), np.zeros(LANES)
    found = np.full(n_rows, np.nan)
    queued = 0
    for step in range(sizes.size):
        merged = latest[sizes[step] + 1]
        _add(latest[sizes[step]], members[joins[step]], merged)
        if rows[step] >= 0 and merged[0] >= 2:
            for i in range(p + 1):
                diagonal[i] = merged[entry_at(i, i)]
            factor[:] = merged
            if factor_strips(factor, p + 1, p, PIVOT_TOL, inverses):
                _coefficients(factor, p, inverses, solution)
                trace = lengths[queued] = terms[queued] = 0.0
                for i in range(p):
                    trace += diagonal[i] * inverses[i] * inverses[i]
                    lengths[queued] += diagonal[i] * solution[i] * solution[i]
                    terms[queued] += A[(i + 1) * (i + 2) // 2 - 1] * solution[i] * solution[i]
                    betas[i * LANES + queued] = solution[i]
                doubtful[queued] = not trace <= limit
                if doubtful[queued]:
                    _moved_by_rounding(factor, p, inverses, diagonal, solution)
                    for i in range(p):
                        moved[i * LANES + queued] = solution[i]
                square[queued], targets[queued] = diagonal[p], rows[step]
                queued += 1
        if queued == LANES or step == sizes.size - 1:
            quadratic_form(pointer(betas, 0), p, pointer(forms[0], 0), c, pointer(errors, 0))
            if doubtful.any():
                quadratic_form(pointer(moved, 0), p, pointer(forms[1], 0), 0.0, pointer(harms, 0))
            for lane in range(queued):
                harmed = doubtful[lane] and is_harmed(
                    errors[lane], harms[lane], square[lane], lengths[lane], terms[lane],
                    p, c, measure,
                )  # fmt: skip
                if not harmed and abs(errors[lane]) < np.inf:
                    found[targets[lane]] = errors[lane]
            queued = 0
    return found
