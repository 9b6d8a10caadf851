"""Scores of the logistic regressions of coalitions of providers, in NumPy alone.

A provider's summary has a row of label codes, NaN beyond its records, and a row for each feature.
A coalition's classes are the codes that occur in it; a coalition of one class predicts that class.
Every fit minimises the sum of the log losses plus half the penalised squares of the coefficients
by Newton's method, from the frequencies of the classes. Class 0 has the logit 0.

These fits are slower than the compiled ones, but they stay accurate where classes are separable and
the penalty is weak, so that all probabilities are close to 0 or 1. There 1 - p is computed as the
sum of the other probabilities, and Newton steps are solved with a QR factor R instead of the
Hessian R'R, whose condition number is the square of R's.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.kernels.careful.class_scores import class_scores, scores_without_folds

# A fit ends when the square of a step's change, relative to 1 + |logit|, is at most this. The error
# left by a Newton step is about the square of its change.
TOLERANCE = 1e-14
MOST_STEPS = 2000  # enough: logits grow by about 1 per step, up to 700 at the smallest penalty
LONGEST = 1e8  # a step changes logits by at most this, so that it is halved less than 30 times
NOISE = 1e-9  # a fit is NaN if rounding moves its logits by more than this, relative to 1 + |logit|
FAR = 1e4  # features further away, in deviations of the validation rows, lose too many digits
EPS = float(np.finfo(np.float64).eps)


def logistic_scores(
    summary: FloatArray,
    ridge: FloatArray,
    validation: FloatArray,
    codes: IntArray,
    n_labels: int,
    score: int,
    inside: MemberArray,
    folds: tuple[IntArray, FloatArray] | None = None,
) -> FloatArray:
    """Scores (n_rows,) of coalitions of one game, given as rows of members; NaN without members.

    Parameters
    ----------
    folds : the fold of each validation row, and an array (n_rows, n_folds) to which the scores
        without each fold are written; None if they are not wanted
    """
    scores = np.full(len(inside), np.nan)
    for r, row in enumerate(inside):
        logits = _logits_of_coalition(summary, row, ridge, validation[:, : len(codes)], n_labels)
        if logits is not None:
            scores[r] = class_scores(logits[None], codes, n_labels, score)[0]
            if folds is not None:
                folds[1][r] = scores_without_folds(logits, codes, n_labels, score, folds[0])
    return scores


def _logits_of_coalition(
    summary: FloatArray,
    inside: MemberArray,
    ridge: FloatArray,
    rows: FloatArray,
    n_labels: int,
) -> FloatArray | None:
    """Logits (n_classes, n_rows) of validation rows; None without members or if uncertain."""
    members = summary[inside.astype(bool)]
    records = members.transpose(0, 2, 1).reshape(-1, summary.shape[1])
    records = records[~np.isnan(records[:, 0])]
    if len(records) == 0:
        return None
    classes, class_of = np.unique(records[:, 0], return_inverse=True)
    found = np.zeros((len(classes), rows.shape[1]))
    if len(classes) > 1:
        with np.errstate(over="ignore", invalid="ignore"):  # the fit is NaN after an overflow
            found[1:] = _logits_of_rows(records[:, 1:], class_of, len(classes), ridge, rows[1:])
        if np.isnan(found).any():
            return None
    others = np.cumsum(classes < 0) - 1
    place = np.where(classes < 0, n_labels + others, classes).astype(np.int64)
    logits = np.full((n_labels + int((classes < 0).sum()), rows.shape[1]), -np.inf)
    logits[place] = found
    return logits


def _logits_of_rows(
    X: FloatArray, class_of: IntArray, classes: int, ridge: FloatArray, columns: FloatArray
) -> FloatArray:
    """Logits (classes - 1, n_rows) of rows, given as columns (d, n_rows); NaN if uncertain.

    The intercept has no penalty, so features may be measured from any point. Measured from a record
    of the coalition, differences of records far from zero keep their digits, and constant features
    are exactly 0.
    """
    far = bool((np.abs(X).max(axis=0) > FAR).any())
    for origin in (X[0], np.zeros(X.shape[1]))[:: 1 if far else -1]:
        Z = np.column_stack([np.ones(len(X)), X - origin])
        rows = np.column_stack([np.ones(columns.shape[1]), columns.T - origin])
        found: FloatArray = fit(Z, class_of, classes, ridge, rows) @ rows.T
        if not np.isnan(found).any():
            break
    return found


def fit(
    Z: FloatArray, class_of: IntArray, classes: int, ridge: FloatArray, rows: FloatArray
) -> FloatArray:
    """Coefficients (classes - 1, p) fitted to the records Z (n, p).

    The first column of Z and of the validation rows is 1. The coefficients are NaN if rounding
    errors leave the logits of the validation rows uncertain by more than `NOISE`. With three
    classes or more, all classes are penalised alike. In terms of the differences b_k of the
    coefficients from class 0, the penalty is then sum_k b_k² - (sum_k b_k)² / n_classes.
    """
    free, p = classes - 1, Z.shape[1]
    true = class_of[:, None] == np.arange(classes)
    penalty = _penalty_rows(classes, ridge)
    counts = np.bincount(class_of, minlength=classes)
    beta: FloatArray = np.zeros((free, p))
    beta[:, 0] = np.log(counts[1:] / counts[0])

    def objective(b: FloatArray) -> float:
        logits = _logits(Z, b)
        top = logits.max(axis=1)
        losses = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top - logits[true]
        return float(losses.sum() + ((penalty @ b.ravel()) ** 2).sum() / 2)

    found = np.full_like(beta, np.nan)
    for _ in range(MOST_STEPS):
        logits = _logits(Z, beta)
        parts = np.exp(logits - logits.max(axis=1)[:, None])
        chances = parts / parts.sum(axis=1)[:, None]
        misses = _chances_of_others(chances)
        errors = np.where(true, -misses, chances)[:, 1:]
        gradient = (errors.T @ Z).ravel() + penalty.T @ (penalty @ beta.ravel())
        factor, unit = _newton_factor(Z, chances, misses, penalty)
        if factor is None:
            return found
        inverse = np.linalg.inv(factor) * unit[:, None]
        step = -(inverse @ (inverse.T @ gradient)).reshape(free, p)
        change = float(np.abs(Z @ step.T).max())
        if not np.isfinite(change):
            return found
        share, before = min(1.0, LONGEST / change) if change > 0 else 1.0, objective(beta)
        # Steps that change logits by more than 1/2 are halved until they lower the objective.
        while share * change > 0.5 and objective(beta + share * step) > before:
            share /= 2
        beta += share * step
        both = np.concatenate([Z, rows])
        size = 1.0 + np.abs(both @ beta.T)
        if float((np.abs(both @ step.T) / size).max()) ** 2 <= TOLERANCE:
            terms = np.abs(penalty.T) @ np.abs(penalty @ beta.ravel())
            rounding = EPS * ((np.abs(errors).T @ np.abs(Z)).ravel() + terms)
            spread = inverse @ (inverse.T * rounding)  # square root of the coefficients' covariance
            # Judge the logits and not the coefficients: in logits, the errors of dependent features
            # cancel.
            of_rows = rows @ spread.reshape(free, p, -1)
            deviation = np.sqrt((of_rows**2).sum(axis=2)).T
            noise = (deviation / size[len(Z) :]).max()
            return beta if noise <= NOISE else found
    return found


def _logits(Z: FloatArray, beta: FloatArray) -> FloatArray:
    return np.column_stack([np.zeros(len(Z)), Z @ beta.T])


def _penalty_rows(classes: int, ridge: FloatArray) -> FloatArray:
    """Rows P such that the squares of P b add up to the penalty of the coefficients b."""
    roots = np.diag(np.sqrt(np.concatenate([[0.0], ridge])))
    if classes == 2:
        return roots
    centred = np.eye(classes)[:, 1:] - 1.0 / classes  # deviations from the mean of all classes
    rows: FloatArray = np.kron(centred, roots).astype(np.float64, copy=False)
    return rows


def _chances_of_others(chances: FloatArray) -> FloatArray:
    """1 - p of every class, without the rounding errors of a difference."""
    classes = chances.shape[1]
    return np.stack([np.delete(chances, k, axis=1).sum(axis=1) for k in range(classes)], axis=1)


def _newton_factor(
    Z: FloatArray, chances: FloatArray, misses: FloatArray, penalty: FloatArray
) -> tuple[FloatArray | None, FloatArray]:
    """Triangular R and units u such that the Hessian is R'R in units of 1 / u; None if singular.

    A record's part of the Hessian, as a quadratic form, is the sum over classes k of
    p_k (x_k - sum_j p_j x_j)², where x_k is the change of logit k. The square roots of these terms
    are rows of a least-squares problem, and R is the triangular factor of all rows.
    """
    n, classes = chances.shape
    centred = -np.repeat(chances[:, None, :], classes, axis=1)
    centred[:, np.arange(classes), np.arange(classes)] = misses
    centred *= np.sqrt(chances)[:, :, None]
    rows = np.einsum("rkj,ri->rkji", centred[:, :, 1:], Z).reshape(n * classes, -1)
    stacked = np.concatenate([rows, penalty])
    length = np.sqrt((stacked**2).sum(axis=0))
    if not (np.isfinite(length).all() and (length > 0).all()):
        return None, length
    factor: FloatArray = np.asarray(np.linalg.qr(stacked / length, mode="r"))
    if not (np.abs(np.diag(factor)) > len(factor) * EPS).all():
        return None, length
    return factor, 1.0 / length
