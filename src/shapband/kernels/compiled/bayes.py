"""Gaussian naive Bayes of coalitions of providers, from sums over the records of each class.

A provider is summarised by the number, the sum and the sum of squares of the standardised records
of each class: (n_classes, 1 + 2 d). Those of a coalition add up to means and variances, and the
logits of all validation rows are computed feature by feature, four features at a time.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.class_scores import score_of, score_room
from shapband.kernels.compiled.lanes import OPTIONS

ROUNDING = 1e-13  # variance over mean square below which the values of a class count as equal


@njit(**OPTIONS)
def class_moments(X, codes, rows, mean, inv_scale, summaries, provider):
    """Write a provider's summaries of the records rows (g, size) into (g, n, C, 1 + 2 d)."""
    d = X.shape[1]
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


def bayes_rows(summaries, inside, of_game, columns, codes, score, units, smoothing):
    """Scores (n_rows,) of coalitions given as rows of members; 0 without any record.

    Parameters
    ----------
    columns : (4 q, n_val) standardised validation rows, feature by feature; zeros fill the last
    codes : (n_val,) classes of the validation rows
    score : number of the score, see `class_scores`
    units : (d,) variance in a feature's own units = standardised variance * unit
    smoothing : part of the largest variance, in own units, that is added to all of them
    """
    room = score_room(codes)
    return _rows(summaries, inside, of_game, columns, codes, score, units, smoothing, room)


@njit(**OPTIONS)
def _rows(summaries, inside, of_game, columns, codes, score, units, smoothing, room):
    classes = summaries.shape[2]
    total = np.empty(summaries.shape[2:])
    centres, weights = np.zeros((classes, columns.shape[0])), np.zeros((classes, columns.shape[0]))
    logits = np.empty((classes, columns.shape[1]))
    scores = np.empty(inside.shape[0])
    for r in range(inside.shape[0]):
        total[:] = 0.0
        for i in range(inside.shape[1]):
            if inside[r, i]:
                total += summaries[of_game[r], i]
        if total[:, 0].sum() == 0:
            scores[r] = 0.0
            continue
        extra = smoothing * _largest_variance(total, units)
        for c in range(classes):
            constant = _class_model(total[c], units, extra, centres[c], weights[c])
            _add_class(columns, centres[c], weights[c], constant, logits[c])
        scores[r] = score_of(logits, codes, classes, score, room)
    return scores


@njit(**OPTIONS)
def _largest_variance(total, units):
    """Largest variance of a feature over all classes, in the features' own units."""
    d = units.size
    count = total[:, 0].sum()
    largest = 0.0
    for f in range(d):
        mean, square = 0.0, 0.0
        for c in range(total.shape[0]):
            mean += total[c, 1 + f] / count
            square += total[c, 1 + d + f] / count
        variance = square - mean * mean
        if variance > ROUNDING * square:
            largest = max(largest, variance * units[f])
    return largest


@njit(**OPTIONS)
def _class_model(sums, units, extra, centre, weight):
    """Means and half inverse variances of one class; return the constant of its logit.

    If all records of a coalition are equal, `extra` is 0 and the features count for nothing.
    """
    d = units.size
    count = sums[0]
    if count == 0.0:
        return -np.inf
    constant = math.log(count)
    for f in range(d):
        mean, square = sums[1 + f] / count, sums[1 + d + f] / count
        variance = square - mean * mean
        variance = variance if variance > ROUNDING * square else 0.0
        variance += extra / units[f]
        centre[f], weight[f] = mean, 0.0
        if extra > 0.0:
            weight[f] = 0.5 / variance
            constant -= 0.5 * math.log(variance)
    return constant


@njit(**OPTIONS)
def _add_class(columns, centre, weight, constant, logits):
    """Logits of one class at all validation rows."""
    logits[:] = constant
    if constant == -np.inf:
        return
    for f in range(0, columns.shape[0], 4):
        _add_features(
            columns[f], columns[f + 1], columns[f + 2], columns[f + 3],
            centre[f : f + 4], weight[f : f + 4], logits,
        )  # fmt: skip


@njit(**OPTIONS)
def _add_features(a, b, c, d, centre, weight, logits):
    """Subtract four squared distances, each times its weight."""
    p, q, r, s = centre[0], centre[1], centre[2], centre[3]
    t, u, v, w = weight[0], weight[1], weight[2], weight[3]
    for i in range(logits.size):
        logits[i] -= (
            (a[i] - p) ** 2 * t + (b[i] - q) ** 2 * u + (c[i] - r) ** 2 * v + (d[i] - s) ** 2 * w
        )
