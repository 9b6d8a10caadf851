"""Linear discriminant analysis of coalitions of providers, from sums over their records.

The sums of a coalition (see `discriminant_sums`) add up to class means and to the scatter within
classes, which is scaled to unit diagonal. A Cholesky factor solves for the directions.

*Lost digits.* The scatter of values far from zero is a small difference of large sums, and for
nearly dependent features, sums of products keep only half the digits. `_from_sums` bounds the error
of the logits. If the bound is above `SHARP`, the coalition's factor is made by reflections from
the providers' own factors and the differences of their means, which loses no digits. Small singular
values of the factor are dropped, as by scikit-learn's solver "svd".
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.class_scores import BRIER, LOG_LOSS, score_of, score_rooms
from shapband.kernels.compiled.discriminant_sums import class_scatter, merged_means, stacked
from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.parts import PART
from shapband.kernels.compiled.triangles import cholesky, reduce_to_triangle, solve

__all__ = ["class_scatter", "discriminant_rows", "discriminant_sums"]

SHARP = 1e-10  # sums are used if they leave errors of the logits below this
OPERATIONS = 16.0  # assumed rounding error of an entry of the scatter, in units of EPS
EPS = float(np.finfo(np.float64).eps)
CLEAR_PIVOT = 1e-6  # if all squared pivots are above this, no singular value is small
SMALLEST = 1e-4  # smaller singular values of standardised rows are dropped, as by scikit-learn


def discriminant_rows(summaries, inside, of_game, columns, codes, score, folds=None):
    """Scores (n_rows,) of coalitions given as rows of members; 0 without any record.

    A score is NaN if sums overflow; the utility refuses it.

    Parameters
    ----------
    columns : (4 q, n_val) standardised validation rows, one feature per row; rows of zeros fill
        the last group of four
    codes : (n_val,) classes of the validation rows
    score : number of the score, see `class_scores`
    folds : the fold of each validation row, and an array (n_rows, n_folds) to which the scores
        without each fold are written; None if they are not wanted
    """
    unknown = np.empty((0, 0, 0))
    rooms = score_rooms(codes, folds, of_game.size)
    return _rows(summaries, inside, of_game, unknown, columns, score, *rooms)


def discriminant_sums(sums, columns, codes, score, folds=None):
    """Scores (n_rows,) of coalitions given as sums (n_rows, C + d, 1 + d); 0 without any record.

    A score is NaN if sums overflow or have lost digits.
    """
    d = sums.shape[2] - 1
    nobody, of_game = np.zeros((1, 0), np.uint8), np.zeros(len(sums), np.int64)
    nothing = np.empty((1, 0, 3 * sums.shape[1] - d, 1 + d))
    rooms = score_rooms(codes, folds, len(sums))
    return _rows(nothing, nobody, of_game, sums, columns, score, *rooms)


@njit(**OPTIONS)
def _rows(summaries, inside, of_game, sums, columns, score, room, parts):
    """Scores of coalitions, from their sums, or from their members if there are no sums."""
    d = summaries.shape[3] - 1
    listed = sums.shape[0] == 0
    classes = (summaries.shape[2] - 2 * d) // 3
    total = np.empty((classes + d, 1 + d))
    means, slopes = np.empty((classes, d)), np.zeros((classes, columns.shape[0]))
    logits = np.empty((classes, columns.shape[1]))
    farthest = np.empty(d)
    for f in range(d):
        farthest[f] = 0.0
        for value in columns[f]:
            farthest[f] = max(farthest[f], abs(value))
    scores = np.empty(of_game.size)
    for r in range(of_game.size):
        total[:] = 0.0
        row = inside[r if listed else 0]
        for i in range(row.size):
            if row[i]:
                _add(summaries[of_game[r], i], total)
        if not listed:
            _add(sums[r], total)
        counts = total[:classes, 0]
        if counts.sum() == 0:
            scores[r] = 0.0
            continue
        scores[r] = np.nan
        if not _is_finite(total):
            continue
        if _from_sums(total, means, farthest, slopes):
            _write_logits(counts, means, columns, slopes, _first(counts), logits)
        elif not listed:
            continue
        else:
            members = summaries[of_game[r]], row
            smooth = score in (LOG_LOSS, BRIER)
            _from_factors(members, counts, means, columns, farthest, smooth, slopes, logits)
        scores[r] = score_of(logits, classes, score, room, parts[r])
    return scores


@njit(**PART)
def _add(more, total):
    """Add the first rows of an array to the total."""
    for k in range(total.shape[0]):
        for f in range(total.shape[1]):
            total[k, f] += more[k, f]


@njit(**PART)
def _is_finite(total):
    for row in total:
        for value in row:
            if not abs(value) < np.inf:
                return False
    return True


@njit(**PART)
def _from_sums(total, means, farthest, slopes):
    """Write class means and slopes of the logits; return whether they are accurate."""
    classes, d = means.shape
    scatter = total[classes:, 1:]
    count = total[:classes, 0].sum()
    spread, squares = np.empty(d), np.empty(d)
    for f in range(d):
        squares[f] = scatter[f, f]
    for c in range(classes):
        held = total[c, 0]
        for f in range(d):
            means[c, f] = total[c, 1 + f] / held if held > 0.0 else 0.0
    left = 1.0  # smallest ratio of a feature's scatter to its sum of squares
    for f in range(d):
        for c in range(classes):
            sum_f = total[c, 1 + f]
            for e in range(f + 1):
                scatter[f, e] -= sum_f * means[c, e]
        if not scatter[f, f] > EPS * squares[f]:
            return False
        left = min(left, scatter[f, f] / squares[f])
        spread[f] = math.sqrt(scatter[f, f] / count)
    for f in range(d):
        for e in range(f):
            scatter[f, e] /= spread[f] * spread[e] * count
        scatter[f, f] = 1.0
    pivot = cholesky(scatter)
    if not pivot > CLEAR_PIVOT:
        return False
    _directions(total[:classes, 0], means, spread, scatter, slopes)
    return OPERATIONS * EPS / (left * pivot) * _reach(means, farthest, slopes) < SHARP


@njit(**PART)
def _reach(means, farthest, slopes):
    """Largest possible sum of the absolute terms of a logit."""
    classes, d = means.shape
    largest = 0.0
    for c in range(classes):
        terms = 0.0
        for f in range(d):
            far = farthest[f]
            for other in range(classes):
                far = max(far, abs(means[other, f]))
            terms += 2.0 * abs(slopes[c, f]) * far
        largest = max(largest, terms)
    return largest


@njit(**PART)
def _from_factors(members, counts, means, columns, farthest, smooth, slopes, logits):
    """Write the logits, from the providers' own means and factors.

    A feature that is constant in all classes is ignored. Scores that are smooth in the logits need
    small differences between large logits; other scores count such differences as ties. Logits are
    large if they are relative to a class far away, so smooth scores use logits relative to the best
    class of each row.
    """
    origins, offsets = merged_means(members, counts, means.shape[1])
    for c in range(counts.size):
        for f in range(means.shape[1]):
            means[c, f] = origins[c, f] + offsets[c, f]
    parts = stacked(members, origins, offsets)
    vary = _rows_that_are_not_zero(parts)
    reduced = parts[vary]
    reduce_to_triangle(reduced)
    factor, spread = np.zeros((vary.size, vary.size)), np.empty(vary.size)
    for f in range(vary.size):
        held = min(f + 1, reduced.shape[1])
        largest = np.abs(reduced[f, :held]).max()
        row = reduced[f, :held] / largest
        length = math.sqrt((row * row).sum())
        for k in range(held):
            factor[f, k] = row[k] / length
        spread[f] = largest * length / math.sqrt(counts.sum())
    whitener = _whitener(factor)
    first = _first(counts)
    _white_slopes(counts, origins, offsets, vary, spread, whitener, first, slopes)
    _write_logits(counts, means, columns, slopes, first, logits)
    if smooth and (counts > 0.0).sum() > 2 and EPS * _reach(means, farthest, slopes) > SHARP:
        best = _best(logits)
        relative = np.empty(logits.shape)
        for c in range(counts.size):
            if np.any(best == c):
                _white_slopes(counts, origins, offsets, vary, spread, whitener, c, slopes)
                _write_logits(counts, means, columns, slopes, c, relative)
                _copy_rows(best == c, relative, logits)


@njit(**PART)
def _best(logits):
    """The class with the highest logit in every row."""
    best = np.zeros(logits.shape[1], np.int64)
    for r in range(best.size):
        for c in range(1, logits.shape[0]):
            if logits[c, r] > logits[best[r], r]:
                best[r] = c
    return best


@njit(**PART)
def _copy_rows(chosen, new, logits):
    for r in range(chosen.size):
        if chosen[r]:
            for c in range(logits.shape[0]):
                logits[c, r] = new[c, r]


@njit(**PART)
def _rows_that_are_not_zero(matrix):
    found = np.zeros(matrix.shape[0], np.bool_)
    for f in range(matrix.shape[0]):
        found[f] = np.any(matrix[f] != 0.0)
    return np.flatnonzero(found)


@njit(**PART)
def _directions(counts, means, spread, factor, slopes):
    """Write the slopes of all classes that have records, minus the slopes of the first one.

    They solve L L' x = s with the factor L of the correlations, for the standardised difference s
    of the class means.
    """
    first = _first(counts)
    slopes[:] = 0.0
    direction = np.empty(spread.size)
    for c in range(first + 1, counts.size):
        if counts[c] > 0.0:
            for f in range(spread.size):
                direction[f] = (means[c, f] - means[first, f]) / spread[f]
            solve(factor, direction)
            for f in range(spread.size):
                slopes[c, f] = direction[f] / spread[f]


@njit(**OPTIONS)
def _whitener(factor):
    """Rows W such that W' W is the inverse of L L', without directions of small singular values."""
    d = factor.shape[0]
    if d == 0 or np.diag(factor).min() ** 2 > CLEAR_PIVOT:
        inverse = np.eye(d)
        for i in range(d):
            own = inverse[i]
            for k in range(i):
                own -= factor[i, k] * inverse[k]
            own /= factor[i, i]
        return inverse
    vectors, singular, _ = np.linalg.svd(factor)
    kept = np.flatnonzero(singular > SMALLEST)
    rows = np.empty((kept.size, d))
    for k in range(kept.size):
        for f in range(d):
            rows[k, f] = vectors[f, kept[k]] / singular[kept[k]]
    return rows


@njit(**PART)
def _white_slopes(counts, origins, offsets, vary, spread, whitener, base, slopes):
    """Write the slopes of all classes that have records, minus the slopes of class `base`."""
    slopes[:] = 0.0
    for c in range(counts.size):
        if counts[c] > 0.0 and c != base:
            gap = (origins[c] - origins[base]) + (offsets[c] - offsets[base])
            shift = gap[vary] / spread
            for row in whitener:
                part = (row * shift).sum()
                for k in range(vary.size):
                    slopes[c, vary[k]] += part * row[k] / spread[k]


@njit(**PART)
def _first(counts):
    """The first class that has records."""
    c = 0
    while counts[c] == 0.0:
        c += 1
    return c


@njit(**PART)
def _write_logits(counts, means, columns, slopes, base, logits):
    """Write the logits of all classes minus the logits of class `base`, which has records."""
    classes, d = means.shape
    for c in range(classes):
        if counts[c] == 0.0:
            logits[c] = -np.inf
            continue
        constant = math.log(counts[c] / counts[base])
        for f in range(d):
            constant -= 0.5 * (means[c, f] + means[base, f]) * slopes[c, f]
        logits[c] = constant
        if c != base:
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
