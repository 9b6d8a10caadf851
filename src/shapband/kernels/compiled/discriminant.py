"""Linear discriminant analysis of coalitions of providers, from sums over their records.

A provider is summarised by an array (2 (C + d), 1 + d): first the number and the sum of the
standardised records of each of C classes, then the lower triangle of the products of all records,
after a column of zeros; then the provider's own class means, and the lower triangle of its scatter
about them, both after such a column. The sums of a coalition add up to class means and to the
scatter within classes, which is scaled to unit diagonal. A Cholesky factor solves for the
directions. Nearly dependent features are left to eigenvalues, of which the small ones are dropped,
as by scikit-learn's solver "svd".

*Lost digits.* The scatter of values far from zero is a small difference of large sums. If that of a
feature is less than `LOST` of its squares, its row is merged from the scatter about the providers'
own means, which loses no digits: W = sum_i W_i + sum_ci n_ci (m_ci - m_c) (m_ci - m_c)'.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.bayes import standardise
from shapband.kernels.compiled.class_scores import score_of, score_room
from shapband.kernels.compiled.lanes import OPTIONS

LOST = 1e-4  # scatter over squares below which sums have lost more than four digits
ROUNDING = 1e-30  # scatter over squares of numbers that differ in their last digit only
CLEAR_PIVOT = 1e-6  # with pivots above it, no eigenvalue is small
SMALLEST = 1e-4  # singular values of standardised rows that are dropped, as by scikit-learn


@njit(**OPTIONS)
def class_scatter(X, codes, rows, mean, inv_scale, summaries, provider):
    """Write a provider's summaries of the records rows (g, size) into (g, n, 2 (C + d), 1 + d)."""
    d = X.shape[1]
    classes = summaries.shape[2] // 2 - d
    z = np.empty(d)
    Z, shift = np.empty((rows.shape[1], d)), np.empty((classes, d))
    for g in range(rows.shape[0]):
        summary = summaries[g, provider]
        summary[:] = 0.0
        for row in rows[g]:
            sums = summary[codes[row]]
            sums[0] += 1.0
            for f in range(d):
                z[f] = (X[row, f] - mean[f]) * inv_scale[f]
                sums[1 + f] += z[f]
                products = summary[classes + f]
                for e in range(f + 1):
                    products[1 + e] += z[f] * z[e]
        standardise(X, rows[g], mean, inv_scale, Z)
        _own_scatter(Z, codes, rows[g], shift, summary[:classes, 0], summary[classes + d :])


@njit(**OPTIONS)
def _own_scatter(Z, codes, rows, shift, counts, summary):
    """Write the means of each class, and the scatter of all classes about them."""
    classes, d = shift.shape
    # Means are relative to the last record, so that the mean of equal numbers is that number.
    for r in range(rows.size):
        summary[codes[rows[r]], 1:] = Z[r]
    shift[:] = 0.0
    for r in range(rows.size):
        shift[codes[rows[r]]] += Z[r] - summary[codes[rows[r]], 1:]
    for c in range(classes):
        if counts[c] > 0.0:
            summary[c, 1:] += shift[c] / counts[c]
    for r in range(rows.size):
        mean = summary[codes[rows[r]], 1:]
        for f in range(d):
            for e in range(f + 1):
                summary[classes + f, 1 + e] += (Z[r, f] - mean[f]) * (Z[r, e] - mean[e])


def discriminant_rows(summaries, inside, of_game, columns, codes, score):
    """Scores (n_rows,) of coalitions given as rows of members; 0 without any record.

    A score is NaN if sums overflow; the utility refuses it.

    Parameters
    ----------
    columns : (4 q, n_val) standardised validation rows, feature by feature; zeros fill the last
    codes : (n_val,) classes of the validation rows
    score : number of the score, see `class_scores`
    """
    return _rows(summaries, inside, of_game, columns, codes, score, score_room(codes))


@njit(**OPTIONS)
def _rows(summaries, inside, of_game, columns, codes, score, room):
    d = summaries.shape[3] - 1
    classes = summaries.shape[2] // 2 - d
    total = np.empty((classes + d, 1 + d))
    means, slopes = np.empty((classes, d)), np.zeros((classes, columns.shape[0]))
    logits = np.empty((classes, columns.shape[1]))
    scores = np.empty(inside.shape[0])
    for r in range(inside.shape[0]):
        total[:] = 0.0
        for i in range(inside.shape[1]):
            if inside[r, i]:
                total += summaries[of_game[r], i, : classes + d]
        counts = total[:classes, 0]
        if counts.sum() == 0:
            scores[r] = 0.0
            continue
        scores[r] = np.nan
        if not np.isfinite(total).all():
            continue
        spread = _within(total, means, summaries[of_game[r]], inside[r])
        _directions(counts, means, total[classes:, 1:], spread, slopes)
        _write_logits(counts, means, columns, slopes, logits)
        scores[r] = score_of(logits, codes, classes, score, room)
    return scores


@njit(**OPTIONS)
def _within(total, means, summaries, inside):
    """Write class means, and correlations within classes over the products; deviations (d,).

    A feature that is constant in all classes has the deviation 0.
    """
    classes, d = means.shape
    scatter = total[classes:, 1:]
    count = total[:classes, 0].sum()
    spread, squares = np.empty(d), np.diag(scatter).copy()
    for c in range(classes):
        held = total[c, 0]
        for f in range(d):
            means[c, f] = total[c, 1 + f] / held if held > 0.0 else 0.0
    lost = np.zeros(d, np.bool_)
    for f in range(d):
        for c in range(classes):
            sum_f = total[c, 1 + f]
            for e in range(f + 1):
                scatter[f, e] -= sum_f * means[c, e]
        lost[f] = not scatter[f, f] > LOST * squares[f]
    if lost.any():
        _merge(summaries, inside, total[:classes, 0], lost, means, scatter)
    for f in range(d):
        constant = not scatter[f, f] > ROUNDING * squares[f]
        spread[f] = 0.0 if constant else math.sqrt(scatter[f, f] / count)
    for f in range(d):
        for e in range(f):
            both = spread[f] * spread[e] * count
            scatter[f, e] = scatter[f, e] / both if both > 0.0 else 0.0
        scatter[f, f] = 1.0  # for a constant feature too: its right-hand side is zero
    return spread


@njit(**OPTIONS)
def _merge(summaries, inside, counts, lost, means, scatter):
    """Write means and scatter of the lost features from the providers' own means and scatter."""
    classes, d = means.shape
    seen, gap = np.zeros(classes), np.empty(d)
    origin, merged, about = np.zeros((classes, d)), np.zeros((classes, d)), np.zeros((d, d))
    for i in range(inside.shape[0]):
        for c in range(classes):
            held = summaries[i, c, 0] if inside[i] else 0.0
            if held > 0.0:
                own = summaries[i, classes + d + c, 1:]
                # Relative to the first mean, so that equal means merge without rounding.
                if seen[c] == 0.0:
                    origin[c] = own
                merged[c] += held / counts[c] * (own - origin[c])
                seen[c] += held
    merged += origin
    for i in range(inside.shape[0]):
        if not inside[i]:
            continue
        about += summaries[i, 2 * classes + d :, 1:]
        for c in range(classes):
            held = summaries[i, c, 0]
            if held > 0.0:
                gap[:] = summaries[i, classes + d + c, 1:] - merged[c]
                for f in range(d):
                    for e in range(f + 1):
                        about[f, e] += held * gap[f] * gap[e]
    for f in range(d):
        if lost[f]:
            means[:, f] = merged[:, f]
        for e in range(f + 1):
            if lost[f] or lost[e]:
                scatter[f, e] = about[f, e]


@njit(**OPTIONS)
def _directions(counts, means, scatter, spread, slopes):
    """Slopes of the logits of the classes that have records, minus those of the first one."""
    classes, d = means.shape
    first = _first(counts)
    slopes[:] = 0.0
    factor = scatter.copy()
    clear = _cholesky(factor)
    inverse = factor if clear else _pseudo_inverse(scatter)
    shift = np.empty(d)
    for c in range(first + 1, classes):
        if counts[c] == 0.0:
            continue
        for f in range(d):
            gap = means[c, f] - means[first, f]
            shift[f] = gap / spread[f] if spread[f] > 0.0 else 0.0
        direction = shift
        if clear:
            _solve(factor, direction)
        else:
            direction = _times(inverse, shift)
        for f in range(d):
            if spread[f] > 0.0:
                slopes[c, f] = direction[f] / spread[f]


@njit(**OPTIONS)
def _first(counts):
    """The first class that has records."""
    c = 0
    while counts[c] == 0.0:
        c += 1
    return c


@njit(**OPTIONS)
def _cholesky(matrix):
    """Factor the lower triangle in place; return whether all pivots are clearly positive."""
    d = matrix.shape[0]
    for j in range(d):
        for i in range(j, d):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                if not total > CLEAR_PIVOT:
                    return False
                matrix[j, j] = math.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
    return True


@njit(**OPTIONS)
def _solve(factor, x):
    """Solve with a Cholesky factor, in place."""
    d = x.size
    for i in range(d):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    for i in range(d - 1, -1, -1):
        x[i] /= factor[i, i]
        for k in range(i):
            x[k] -= factor[i, k] * x[i]


@njit(**OPTIONS)
def _pseudo_inverse(scatter):
    """Inverse of the lower triangle without small eigenvalues.

    Eigenvalues are squared singular values of standardised rows.
    """
    d = scatter.shape[0]
    full = np.empty((d, d))
    for i in range(d):
        for j in range(i + 1):
            full[i, j] = full[j, i] = scatter[i, j]
    eigenvalues, vectors = np.linalg.eigh(full)
    inverse = np.zeros((d, d))
    for k in range(d):
        if eigenvalues[k] > SMALLEST**2:
            for i in range(d):
                part = vectors[i, k] / eigenvalues[k]
                for j in range(d):
                    inverse[i, j] += part * vectors[j, k]
    return inverse


@njit(**OPTIONS)
def _times(matrix, x):
    d = x.size
    product = np.zeros(d)
    for i in range(d):
        for j in range(d):
            product[i] += matrix[i, j] * x[j]
    return product


@njit(**OPTIONS)
def _write_logits(counts, means, columns, slopes, logits):
    """Logits of all classes, minus those of the first class that has records."""
    classes, d = means.shape
    first = _first(counts)
    for c in range(classes):
        if counts[c] == 0.0:
            logits[c] = -np.inf
            continue
        constant = math.log(counts[c] / counts[first])
        for f in range(d):
            constant -= 0.5 * (means[c, f] + means[first, f]) * slopes[c, f]
        logits[c] = constant
        if c != first:
            for f in range(0, columns.shape[0], 4):
                _add_features(
                    columns[f], columns[f + 1], columns[f + 2], columns[f + 3],
                    slopes[c, f : f + 4], logits[c],
                )  # fmt: skip


@njit(**OPTIONS)
def _add_features(a, b, c, d, slope, logits):
    """Add four features, each times its slope."""
    p, q, r, s = slope[0], slope[1], slope[2], slope[3]
    for i in range(logits.size):
        logits[i] += a[i] * p + b[i] * q + c[i] * r + d[i] * s
