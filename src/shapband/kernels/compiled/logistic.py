"""Scores of the logistic regressions of every coalition of providers.

A provider's summary has a row of label codes, NaN beyond its records, and a row for each feature.
A coalition's classes are the codes that occur in it; a coalition of one class predicts that class.

*Starts.* Newton's method starts from coefficients of larger coalitions whose fits are known. If i,
j and k are outside S, then
b(S) = b(S+i) + b(S+j) + b(S+k) - b(S+i+j) - b(S+i+k) - b(S+j+k) + b(S+i+j+k)
up to a third difference, which is small. A coalition that lacks a class of its game starts from the
frequencies of its classes.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.class_scores import score_of, score_of_odds, score_rooms
from shapband.kernels.compiled.lanes import LANES, OPTIONS
from shapband.kernels.compiled.logistic_derivatives import make_room
from shapband.kernels.compiled.newton import fit, linear_forms, start_cold
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def _gather(summary, game, inside, place, room):
    """Write the columns and classes of a coalition's records; return their number.

    Parameters
    ----------
    game : codes of the classes, records of each provider in each class, class of each record
    place : the number of each class in this coalition, -1 for those that it lacks
    """
    _, tally, class_of = game
    columns, targets = room[0], room[1]
    n, p, _ = summary.shape
    filled = 0
    for i in range(n):
        if not inside[i]:
            continue
        count = tally[i].sum()
        for f in range(1, p):
            for r in range(count):
                columns[f, filled + r] = summary[i, f, r]
        for r in range(count):
            columns[0, filled + r] = 1.0
        for k in range(targets.shape[0]):
            for r in range(count):
                targets[k, filled + r] = 1.0 if place[class_of[i, r]] == k + 1 else 0.0
        filled += count
    for r in range(filled, (filled + LANES - 1) // LANES * LANES):
        columns[:, r] = 0.0
        targets[:, r] = 0.0
    return filled


@njit(**PART)
def score_fit(classes, place, beta, p, validation, codes, n_labels, score, room, parts):
    """Score of a fit; `place` is negative for classes that the coalition does not have."""
    odds = room[2]
    flat = validation.reshape(-1)
    stride = validation.shape[1]
    first = np.int64(0)  # a literal 0 would compile `linear_forms` once more
    two_labels = n_labels == 2 and classes.shape[0] == 2 and classes[0] == 0.0
    if two_labels and classes[1] == 1.0 and place[0] == 0 and place[1] == 1:
        linear_forms(flat, stride, stride, p, beta, first, odds, first)
        return score_of_odds(score, room, parts)
    rows = codes.shape[0]
    others = 0
    logits = np.full((n_labels + classes.shape[0], rows), -np.inf)
    for k in range(classes.shape[0]):
        if place[k] < 0:
            continue
        if classes[k] >= 0.0:
            at = int(classes[k])
        else:
            at = n_labels + others
            others += 1
        if place[k] == 0:
            logits[at] = 0.0
            continue
        linear_forms(flat, stride, stride, p, beta, (place[k] - 1) * p, odds, first)
        for r in range(rows):
            logits[at, r] = odds[r]
    return score_of(logits[: n_labels + others], n_labels, score, room, parts)


@njit(**PART)
def _value(
    summary, game, inside, warm, beta, ridge, validation, codes, n_labels, score, rooms, parts
):
    """Score of one coalition; beta holds the start if `warm`, and afterwards the fit.

    The score is NaN without members, and if the fit does not converge or is uncertain.
    """
    classes, tally, _ = game
    fit_room, score_place = rooms
    p = summary.shape[1]
    place = np.full(classes.shape[0], -1, np.int64)
    present = np.int64(0)  # a literal 0 would compile `fit` and all that it calls twice
    for k in range(classes.shape[0]):
        for i in range(inside.shape[0]):
            if inside[i] and tally[i, k] > 0:
                place[k] = present
                present += 1
                break
    if present == 0:
        return np.nan
    if present > 1:
        count = _gather(summary, game, inside, place, fit_room)
        if not warm or present < classes.shape[0] or not np.isfinite(beta).all():
            start_cold(count, p, present, fit_room, beta)
        fit(count, p, present, ridge, beta, fit_room)
        if np.isnan(beta[0]):
            return np.nan
    return score_fit(
        classes, place, beta, p, validation, codes, n_labels, score, score_place, parts
    )


@njit(**PART)
def start_from(found, starts, beta):
    """Start of a coalition from the fits of larger ones; see `logistic_scores`."""
    beta[:] = 0.0
    for part in range(starts.shape[0]):
        if starts[part] >= 0:
            sign = 1.0 if part in (0, 1, 3, 6) else -1.0
            for j in range(beta.shape[0]):
                beta[j] += sign * found[starts[part], j]


@njit(**OPTIONS)
def _values(
    summary, game, ridge, validation, codes, n_labels, score, inside, starts, rooms, parts, found
):
    """Scores (n_rows,) of coalitions of one game; their fits are written to the rows of found."""
    values = np.empty(inside.shape[0])
    for row in range(inside.shape[0]):
        beta = found[row]
        start_from(found, starts[row], beta)
        values[row] = _value(
            summary, game, inside[row], starts[row, 0] >= 0, beta, ridge, validation, codes,
            n_labels, score, rooms, parts[row],
        )  # fmt: skip
    return values


def logistic_scores(summary, ridge, validation, codes, n_labels, score, inside, starts, folds=None):
    """Scores (n_rows,) of coalitions of one game, given as rows of members; NaN without members.

    Parameters
    ----------
    starts : (n_rows, 7) earlier rows with larger coalitions: S+i, S+j, S+i+j, S+k, S+i+k, S+j+k,
        S+i+j+k; -1 for none
    folds : the fold of each validation row, and an array (n_rows, n_folds) to which the scores
        without each fold are written; None if they are not wanted
    """
    known = ~np.isnan(summary[:, 0])
    classes = np.unique(summary[:, 0][known])
    class_of = np.searchsorted(classes, summary[:, 0])
    tally = np.stack([((class_of == k) & known).sum(axis=1) for k in range(len(classes))], axis=1)
    p, most = summary.shape[1], max(len(classes), 2)
    room, parts = score_rooms(codes, folds, len(inside))
    rooms = make_room(int(known.sum()), p, most), room
    found = np.zeros((len(inside), (most - 1) * p))
    game = classes, tally, class_of
    return _values(
        summary, game, ridge, validation, codes, n_labels, score, inside, starts, rooms, parts,
        found,
    )  # fmt: skip
