"""Gaussian naive Bayes of coalitions of providers, from sums over the records of each class.

A provider is summarised by the number, the sum and the sum of squares of the standardised records
of each class, and by its own class means and its squares about them: (n_classes, 1 + 4 d). The sums
of a coalition add up to means and variances, and the logits of all validation rows are computed
feature by feature, four features at a time.

*Lost digits.* The variance of values far from zero is a small difference of large sums. Where it is
less than `LOST` of the mean square, it is merged from the squares about the providers' own means,
which lose no digits: M = sum_i M_i + sum_i n_i (m_i - m)².
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.class_scores import BRIER, LOG_LOSS, score_of, score_rooms
from shapband.kernels.compiled.lanes import OPTIONS

LARGE = 1e4  # differences of larger logits have rounding errors of more than 1e-12
LOST = 1e-4  # if variance / mean square is lower, sums have lost more than four digits


@njit(**OPTIONS)
def class_moments(X, codes, rows, mean, inv_scale, summaries, provider):
    """Write a provider's summaries of the records rows (g, size) into (g, n, C, 1 + 4 d)."""
    d = X.shape[1]
    Z, shift = np.empty((rows.shape[1], d)), np.empty((summaries.shape[2], d))
    for g in range(rows.shape[0]):
        summary = summaries[g, provider]
        summary[:] = 0.0
        for row in rows[g]:
            sums = summary[codes[row]]
            sums[0] += 1.0
            for f in range(d):
                z = (X[row, f] - mean[f]) * inv_scale[f]
                sums[1 + f] += z
                sums[1 + d + f] += z * z
        standardise(X, rows[g], mean, inv_scale, Z)
        _own_moments(Z, codes, rows[g], shift, summary)


@njit(**OPTIONS)
def standardise(X, rows, mean, inv_scale, Z):
    """Write the standardised records to Z, each rounded to float64.

    Equal numbers then differ by exactly 0, which a product fused with a subtraction would not give.
    """
    for r in range(rows.size):
        for f in range(mean.size):
            Z[r, f] = (X[rows[r], f] - mean[f]) * inv_scale[f]


@njit(**OPTIONS)
def _own_moments(Z, codes, rows, shift, summary):
    """Write the means of each class, and the squares about them."""
    d = Z.shape[1]
    # Means are relative to the last record, so that the mean of equal numbers is that number.
    for r in range(rows.size):
        for f in range(d):
            summary[codes[rows[r]], 1 + 2 * d + f] = Z[r, f]
    shift[:] = 0.0
    for r in range(rows.size):
        c = codes[rows[r]]
        for f in range(d):
            shift[c, f] += Z[r, f] - summary[c, 1 + 2 * d + f]
    for c in range(summary.shape[0]):
        if summary[c, 0] > 0.0:
            for f in range(d):
                summary[c, 1 + 2 * d + f] += shift[c, f] / summary[c, 0]
    for r in range(rows.size):
        sums = summary[codes[rows[r]]]
        for f in range(d):
            sums[1 + 3 * d + f] += (Z[r, f] - sums[1 + 2 * d + f]) ** 2


def bayes_rows(summaries, inside, of_game, columns, codes, score, units, smoothing, folds=None):
    """Scores (n_rows,) of coalitions given as rows of members; 0 without any record.

    A score is NaN if sums overflow; the utility refuses it.

    Parameters
    ----------
    columns : (4 q, n_val) standardised validation rows, one feature per row; rows of zeros fill
        the last group of four
    codes : (n_val,) classes of the validation rows
    score : number of the score, see `class_scores`
    units : (d,) variance in a feature's own units = standardised variance * unit
    smoothing : part of the largest variance, in own units, that is added to all of them
    folds : the fold of each validation row, and an array (n_rows, n_folds) to which the scores
        without each fold are written; None if they are not wanted
    """
    unknown = np.empty((0, summaries.shape[2], 1 + 2 * units.size))
    rooms = score_rooms(codes, folds, of_game.size)
    return _rows(summaries, inside, of_game, unknown, columns, score, units, smoothing, *rooms)


def bayes_sums(sums, columns, codes, score, units, smoothing, folds=None):
    """Scores (n_rows,) of coalitions given as sums (n_rows, C, 1 + 2 d); 0 without any record.

    A score is NaN if sums overflow or have lost digits.
    """
    nobody, of_game = np.zeros((1, 0), np.uint8), np.zeros(len(sums), np.int64)
    nothing = np.empty((1, 0, sums.shape[1], 1 + 4 * units.size))
    rooms = score_rooms(codes, folds, len(sums))
    return _rows(nothing, nobody, of_game, sums, columns, score, units, smoothing, *rooms)


@njit(**OPTIONS)
def _rows(summaries, inside, of_game, sums, columns, score, units, smoothing, room, parts):
    """Scores of coalitions, from their sums, or from their members if there are no sums."""
    classes = summaries.shape[2]
    listed = sums.shape[0] == 0
    total = np.empty((classes, 1 + 2 * units.size))
    centres, weights = np.zeros((classes, columns.shape[0])), np.zeros((classes, columns.shape[0]))
    constants, logits = np.empty(classes), np.empty((classes, columns.shape[1]))
    scores = np.empty(of_game.size)
    for r in range(of_game.size):
        total[:] = 0.0
        row = inside[r if listed else 0]
        for i in range(row.size):
            if row[i]:
                total += summaries[of_game[r], i, :, : total.shape[1]]
        if not listed:
            total += sums[r]
        if total[:, 0].sum() == 0:
            scores[r] = 0.0
            continue
        scores[r] = np.nan
        if not np.isfinite(total).all():
            continue
        members = summaries[of_game[r]], row
        extra = smoothing * _largest_variance(total, units, members)
        if not np.isfinite(extra):
            continue
        for c in range(classes):
            constants[c] = _class_model(total[c], c, units, extra, members, centres[c], weights[c])
        if not listed and np.isnan(constants).any():
            continue
        _leave_out_common(constants, centres, weights)
        # Subtract the constant of the first class, so that the units of features change no logit.
        constants -= constants[np.argmax(constants > -np.inf)]
        for c in range(classes):
            _add_class(columns, centres[c], weights[c], constants[c], logits[c])
        if score in (LOG_LOSS, BRIER):
            _sharpen(columns, constants, centres, weights, logits)
        scores[r] = score_of(logits, classes, score, room, parts[r])
    return scores


@njit(**OPTIONS)
def _largest_variance(total, units, members):
    """Largest variance of a feature over all classes, in the features' own units."""
    d = units.size
    count = total[:, 0].sum()
    largest = 0.0
    first = np.int64(0)  # a literal 0 would compile `_merged` twice
    for f in range(d):
        mean, square = 0.0, 0.0
        for c in range(total.shape[0]):
            mean += total[c, 1 + f] / count
            square += total[c, 1 + d + f] / count
        variance = square - mean * mean
        if not variance > LOST * square:
            variance = _merged(members, first, total.shape[0], f, d)[1]
        largest = max(largest, variance * units[f])
    return largest


@njit(**OPTIONS)
def _merged(members, first, last, f, d):
    """Mean and variance of a feature over the classes first .. last - 1.

    They are merged from the providers' own means and from the squares about these; NaN without
    members.
    """
    summaries, inside = members
    origin, count, shift = np.nan, 0.0, 0.0
    for i in range(inside.shape[0]):
        for c in range(first, last):
            held = summaries[i, c, 0] if inside[i] else 0.0
            if held > 0.0:
                # Relative to the first mean, so that equal means merge without rounding.
                origin = summaries[i, c, 1 + 2 * d + f] if count == 0.0 else origin
                shift += held * (summaries[i, c, 1 + 2 * d + f] - origin)
                count += held
    mean = origin + shift / count
    squares = 0.0
    for i in range(inside.shape[0]):
        for c in range(first, last):
            held = summaries[i, c, 0] if inside[i] else 0.0
            if held > 0.0:
                gap = summaries[i, c, 1 + 2 * d + f] - mean
                squares += summaries[i, c, 1 + 3 * d + f] + held * gap * gap
    return mean, squares / count


@njit(**OPTIONS)
def _class_model(sums, c, units, extra, members, centre, weight):
    """Write the means and half inverse variances of class c; return the constant of its logit.

    If all records of a coalition are equal, `extra` is 0 and the features get the weight 0. The
    constant is NaN if digits were lost and the members are not known.
    """
    d = units.size
    count = sums[0]
    if count == 0.0:
        return -np.inf
    constant = math.log(count)
    for f in range(d):
        mean, square = sums[1 + f] / count, sums[1 + d + f] / count
        variance = square - mean * mean
        if not variance > LOST * square:
            mean, variance = _merged(members, c, c + 1, f, d)
            if np.isnan(variance):
                return np.nan
        variance += extra / units[f]
        centre[f], weight[f] = mean, 0.0
        # An infinite variance is the same in all classes, and makes every distance 0.
        if extra > 0.0 and variance < np.inf:
            weight[f] = 0.5 / variance
            constant -= 0.5 * math.log(variance)
    return constant


@njit(**OPTIONS)
def _leave_out_common(constants, centres, weights):
    """Set the weight of every feature with the same mean and variance in all classes to 0.

    Such a feature changes all logits of a row alike. Where its distances are large, as for a
    feature that is constant in the records but not in the validation rows, the digits of all other
    features would be lost.
    """
    held = np.flatnonzero(constants > -np.inf)
    first = held[0]
    for f in range(centres.shape[1]):
        common = True
        for c in held:
            same = centres[c, f] == centres[first, f] and weights[c, f] == weights[first, f]
            common = common and same
        if common:
            weights[:, f] = 0.0


@njit(**OPTIONS)
def _add_class(columns, centre, weight, constant, logits):
    """Write the logits of one class at all validation rows."""
    logits[:] = constant
    if constant == -np.inf:
        return
    for f in range(0, columns.shape[0], 4):
        _add_features(
            columns[f], columns[f + 1], columns[f + 2], columns[f + 3],
            centre[f : f + 4], weight[f : f + 4], logits,
        )  # fmt: skip


@njit(**OPTIONS)
def _sharpen(columns, constants, centres, weights, logits):
    """Write logits relative to the best one of a row, where all of them are large.

    Logits are large if a feature is alike in the best classes but not in all; the small differences
    between the best classes would be rounded away. Scores that are not smooth in the logits do not
    need this: they count such differences as ties.
    """
    classes, rows = logits.shape
    for r in range(rows):
        best = 0
        for c in range(1, classes):
            if logits[c, r] > logits[best, r]:
                best = c
        if logits[best, r] > -LARGE:
            continue
        for c in range(classes):
            if c == best or constants[c] == -np.inf:
                continue
            logit = constants[c] - constants[best]
            for f in range(columns.shape[0]):
                x, own, other = columns[f, r], centres[c, f], centres[best, f]
                logit -= weights[c, f] * (other - own) * ((x - own) + (x - other))
                logit -= (weights[c, f] - weights[best, f]) * (x - other) ** 2
            logits[c, r] = logit
        logits[best, r] = 0.0


@njit(**OPTIONS)
def _add_features(a, b, c, d, centre, weight, logits):
    """Subtract four squared distances, each times its weight."""
    p, q, r, s = centre[0], centre[1], centre[2], centre[3]
    t, u, v, w = weight[0], weight[1], weight[2], weight[3]
    for i in range(logits.size):
        logits[i] -= (
            (a[i] - p) ** 2 * t + (b[i] - q) ** 2 * u + (c[i] - r) ** 2 * v + (d[i] - s) ** 2 * w
        )
