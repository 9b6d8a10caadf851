"""Least squares of every coalition of providers, in NumPy alone.

The functions agree with the compiled kernels up to rounding. Coalitions are the last axis of every
array, and a batch of them is factored column by column as L D L' (Cholesky without square roots).
All steps are elementwise along that axis, so a result does not depend on what else is in its batch.
The sum over nobody is `penalty`, a packed summary with what ridge regression adds to the diagonal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray, MemberArray

PIVOT_TOL = 1e-6  # pivots have errors of 1e-16 of their diagonal entry, so 1e-10 of themselves
CONSTANT_TOL = 1e-10  # variance over mean square of a feature below which it counts as constant
CLEAR_TOL = 1e-6  # the same ratio above which sums of squares keep ten digits
ROUNDING = 1e-13  # deviation over size of a feature below which differences may be rounding
TINY = 1e-300  # smaller squares have lost digits
ROUNDED = 2.0**-52  # of sums of products, relative to the lengths of both columns
WANTED = 1e-10  # accuracy of errors, relative to themselves and to what scores measure them by
SAFETY = 10.0  # one e may be ten times as harmless as the worst
BATCH_BITS = 11  # providers of a table whose coalitions are solved together


def gram_summaries(
    X: FloatArray,
    y: FloatArray,
    rows: IntArray,
    inv_scale: FloatArray,
    y_mean: float,
    summaries: FloatArray,
    provider: int,
) -> None:
    """Write a provider's summaries of the records rows (g, size) into summaries (g, n, S + d).

    Each is a Gram matrix of the records relative to the first of them, then this record.
    """
    p = X.shape[1] + 1
    anchors = X[rows[:, 0]]
    i, j = np.tril_indices(p + 1)  # the packed layout
    Z = np.empty((*rows.shape, p + 1))
    Z[:, :, 0] = 1.0
    Z[:, :, 1:p] = (X[rows] - anchors[:, None]) * inv_scale
    Z[:, :, p] = y[rows] - y_mean
    summaries[:, provider, : len(i)] = (Z.transpose(0, 2, 1) @ Z)[:, i, j]
    summaries[:, provider, len(i) :] = anchors


def recentred(
    summaries: FloatArray, mean: FloatArray, inv_scale: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Gram matrices (g, n, S) of the records relative to `mean`, from those of their anchors.

    The second result (g,) says whether these show which features vary in which coalition. They
    do not if a feature varies little in comparison with its distance from `mean`, within a draw
    or between draws in which it is constant.
    """
    p = len(mean) + 1
    i, j = np.tril_indices(p + 1)
    packed, anchors = summaries[..., : len(i)], summaries[..., len(i) :]
    sums = np.zeros((*packed.shape[:2], p + 1))  # of ones, features and targets
    sums[..., :p] = packed[..., np.arange(p) * (np.arange(p) + 1) // 2]
    sums[..., p] = packed[..., p * (p + 1) // 2]
    shift = np.zeros_like(sums)
    shift[..., 1:p] = (anchors - mean) * inv_scale
    moved = packed + sums[..., i] * shift[..., j]
    moved += shift[..., i] * (sums[..., j] + sums[..., :1] * shift[..., j])
    clear = [_is_clear(*one, inv_scale) for one in zip(packed, sums, shift, anchors, strict=True)]
    return np.ascontiguousarray(moved), np.array(clear)


def _is_clear(
    packed: FloatArray,
    sums: FloatArray,
    shift: FloatArray,
    anchors: FloatArray,
    inv_scale: FloatArray,
) -> bool:
    """Whether sums relative to the mean show which features of one game vary."""
    d = len(inv_scale)
    squares = packed[:, np.arange(2, d + 2) * np.arange(3, d + 3) // 2 - 1]
    count, total, offset = sums[:, :1], sums[:, 1:-1], shift[:, 1:-1]
    constant = squares == 0.0
    variance = (squares - total * total / count) / count
    rounding = (ROUNDING * anchors * inv_scale) ** 2
    least = np.maximum(CLEAR_TOL * (offset + total / count) ** 2, rounding)
    if not (constant | (variance > np.maximum(least, TINY))).all():
        return False
    for f in range(d):
        places = np.sort(offset[constant[:, f], f])
        gaps = np.diff(places)
        farthest = np.abs(places).max(initial=0.0)
        if ((gaps > 0.0) & (gaps <= 4.0 * CLEAR_TOL**0.5 * farthest)).any():
            return False
    return True


def harmless(summaries: FloatArray, A: FloatArray, c: float, p: int, measure: float) -> FloatArray:
    """Traces (g,) up to which rounding does no harm; see the compiled twin."""
    diagonal = np.arange(1, p + 1) * np.arange(2, p + 2) // 2 - 1
    squares = summaries[:, :, diagonal] / summaries[:, :, :1]
    least = np.where(squares > 0, squares, np.inf).min(axis=1)
    targets = (summaries[:, :, -1] / summaries[:, :, 0]).max(axis=1, initial=TINY)
    amplified = (A[diagonal] / least).sum(axis=1) * targets
    by_sums = ((0.25 * WANTED / ROUNDED / p) ** 2 * measure / amplified) ** (1.0 / 3.0)
    with np.errstate(over="ignore"):
        by_form = (WANTED * measure / ROUNDED - c) / (p * amplified)
    return np.asarray(np.minimum(by_sums, by_form))


def linear_table(
    summaries: FloatArray,
    limits: FloatArray,
    A: FloatArray,
    b: FloatArray,
    c: float,
    penalty: FloatArray,
    measure: float,
) -> FloatArray:
    """Errors (g, 2**n) of every coalition, by bitmask; see the compiled twin."""
    games, n, size = summaries.shape
    low = min(n, BATCH_BITS)
    table = np.empty((games, 1 << n))
    sums = np.empty((size, 1 << low))
    for g in range(games):
        sums[:, 0] = penalty
        for i in range(low):
            half = 1 << i
            np.add(sums[:, :half], summaries[g, i, :, None], out=sums[:, half : 2 * half])
        for high in range(1 << (n - low)):
            members = [i for i in range(low, n) if high >> (i - low) & 1]
            rest = summaries[g, members].sum(axis=0)
            table[g, high << low : (high + 1) << low] = _errors(
                sums + rest[:, None], np.full(1 << low, limits[g]), A, b, c, measure
            )
    return table


def linear_prefixes(
    summaries: FloatArray,
    limits: FloatArray,
    orders: IntArray,
    first: IntArray,
    A: FloatArray,
    b: FloatArray,
    c: float,
    penalty: FloatArray,
    measure: float,
) -> FloatArray:
    """Errors (g, T, n) of every prefix of the orders; repeated sets are copied from `first`."""
    result = np.empty(orders.shape)
    new = first == np.arange(orders.shape[1])[:, None]
    for g in range(len(orders)):
        sums = np.cumsum(summaries[g, orders[g]], axis=1)[new[g]] + penalty
        most = np.full(len(sums), limits[g])
        result[g][new[g]] = _errors(np.ascontiguousarray(sums.T), most, A, b, c, measure)
    return np.take_along_axis(result, first, axis=1)


def linear_rows(
    summaries: FloatArray,
    limits: FloatArray,
    inside: MemberArray,
    of_game: IntArray,
    A: FloatArray,
    b: FloatArray,
    c: float,
    penalty: FloatArray,
    measure: float,
) -> FloatArray:
    """Errors (n_rows,) of coalitions given as rows of members; NaN without a unique solution."""
    sums = [
        penalty + summaries[g][row.astype(bool)].sum(axis=0)
        for g, row in zip(of_game, inside, strict=True)
    ]
    return _errors(np.ascontiguousarray(np.transpose(sums)), limits[of_game], A, b, c, measure)


def _errors(
    sums: FloatArray, most: FloatArray, A: FloatArray, b: FloatArray, c: float, measure: float
) -> FloatArray:
    """Errors (m,) of the coalitions whose summaries are the columns of sums (S, m).

    Coalitions without a solution are solved once more without their constant features. Those
    that are still NaN have dependent features, or fewer than two records, or rounding changes them.
    """
    errors = _solve(sums, most, A, b, c, measure)
    errors[sums[0] < 2] = np.nan  # a penalty would give even one record a unique solution
    open_ = np.isnan(errors) & (sums[0] >= 2)
    if open_.any():
        without = _without_constants(sums[:, open_], len(b))
        errors[open_] = _solve(without, most[open_], A, b, c, measure)
    return np.where(np.isinf(errors), np.nan, errors)


def _without_constants(sums: FloatArray, p: int) -> FloatArray:
    """The sums with a coefficient of zero for every feature that does not vary."""
    sums = sums.copy()
    count = sums[0].copy()
    row, column = np.tril_indices(p + 1)
    for i in range(1, p):
        diagonal = i * (i + 1) // 2 + i
        total, square = sums[diagonal - i], sums[diagonal]
        constant = ~(square - total * total / count > CONSTANT_TOL * square)
        with_i = np.flatnonzero((row == i) | (column == i))
        sums[np.ix_(with_i, constant)] = 0.0
        sums[diagonal, constant] = 1.0
    return sums


def _solve(
    sums: FloatArray, most: FloatArray, A: FloatArray, b: FloatArray, c: float, measure: float
) -> FloatArray:
    """Errors (m,) of the columns of sums; NaN where a pivot is not clearly positive.

    Infinite where rounding may change them too much.
    """
    p = len(b)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factor, inverses = _factor(sums, p)
        beta = _back_substitute(factor, inverses)
        errors = _quadratic_form(beta, A, b, c)
        diagonal = sums[np.arange(1, p + 1) * np.arange(2, p + 2) // 2 - 1]
        for at in np.flatnonzero((diagonal * inverses).sum(axis=0) > most):
            if _doubtful(sums[:, at], beta[:, at], errors[at], A, c, measure):
                errors[at] = np.inf
    return errors


def _doubtful(
    sums: FloatArray, beta: FloatArray, error: float, A: FloatArray, c: float, measure: float
) -> bool:
    """Whether rounding of the sums (S,) of one coalition may change its error too much."""
    p = len(beta)
    G, form = _symmetric(sums[: -p - 1], p), _symmetric(A, p)
    lengths = np.sqrt(np.diag(G))
    moved = np.linalg.solve(G, lengths * [_irregular(i) for i in range(p)])
    size = np.sqrt(sums[-1]) + np.linalg.norm(lengths * beta)
    off = SAFETY * ROUNDED * size * np.sqrt(moved @ form @ moved)
    cancelled = ROUNDED * (c + p * (np.diag(form) * beta**2).sum())
    allowed = WANTED * max(measure, error)
    return not off * (2.0 * np.sqrt(max(error, 0.0)) + off) + cancelled <= allowed


def _irregular(i: int) -> float:
    """A number between 1/2 and 3/2, with either sign."""
    share = (0.6180339887498949 * (i + 1)) % 1.0
    return (0.5 + share) * (1.0 - 2.0 * (int(share * 1024.0) % 2))


def _symmetric(packed: FloatArray, p: int) -> FloatArray:
    """The matrix (p, p) of a packed lower triangle."""
    full = np.zeros((p, p))
    full[np.tril_indices(p)] = packed
    return full + np.tril(full, -1).T


def _factor(sums: FloatArray, p: int) -> tuple[FloatArray, FloatArray]:
    """L D (p + 1, p, m), its last row the right-hand side, and 1 / D (p, m)."""
    i, j = (index[:-1] for index in np.tril_indices(p + 1))
    factor = np.zeros((p + 1, p, sums.shape[1]))
    factor[i, j] = sums[:-1]
    inverses = np.empty((p, sums.shape[1]))
    diagonal = factor[range(p), range(p)]
    for k in range(p):
        pivot = factor[k, k]
        inverses[k] = np.where(pivot > PIVOT_TOL * diagonal[k], 1.0 / pivot, np.nan)
        below = factor[k + 1 :, k]
        scaled = below[:-1] * inverses[k]
        for column in range(k + 1, p):
            # Only the lower triangle is ever read.
            factor[column:, column] -= below[column - k - 1 :] * scaled[column - k - 1]
    return factor, inverses


def _back_substitute(factor: FloatArray, inverses: FloatArray) -> FloatArray:
    """Coefficients (p, m) from the factor."""
    p = len(inverses)
    beta: FloatArray = factor[p].copy()
    for i in reversed(range(p)):
        beta[i] *= inverses[i]
        beta[:i] -= factor[i, :i] * beta[i]
    return beta


def _quadratic_form(beta: FloatArray, A: FloatArray, b: FloatArray, c: float) -> FloatArray:
    """Beta'A beta - 2 b'beta + c for each column of beta, A packed."""
    p = len(b)
    error: FloatArray = np.full(beta.shape[1], c)
    for i in range(p):
        row = i * (i + 1) // 2
        term = A[row + i] * beta[i] - 2.0 * b[i]
        for j in range(i):
            term += 2.0 * A[row + j] * beta[j]
        error += term * beta[i]
    return error
