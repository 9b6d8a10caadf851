"""Scores of the logistic regressions of every coalition of providers, in NumPy alone.

A provider's summary has a row of label codes, NaN beyond its records, and a row for each feature.
A coalition's classes are the codes that occur in it; a coalition of one class predicts that class.
Every fit minimises the sum of the log losses plus half the penalised squares of the coefficients
by Newton's method, from the frequencies of the classes. Class 0 has the logit 0.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, softmax

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.kernels.plain.class_scores import class_scores

TOLERANCE = 1e-12
MOST_STEPS = 500


def logistic_table(
    summaries: FloatArray,
    ridge: FloatArray,
    validation: FloatArray,
    codes: IntArray,
    n_labels: int,
    score: int,
) -> FloatArray:
    """Scores (g, 2**n) of every coalition, by bitmask; NaN for the empty one."""
    games, n = summaries.shape[:2]
    inside = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
    fixed = (ridge, validation, codes, n_labels, score)
    return np.array([[_value(summaries[g], row, *fixed) for row in inside] for g in range(games)])


def logistic_prefixes(
    summaries: FloatArray,
    ridge: FloatArray,
    validation: FloatArray,
    codes: IntArray,
    n_labels: int,
    score: int,
    orders: IntArray,
    first: IntArray,
) -> FloatArray:
    """Scores (g, T, n) of every prefix of the orders; repeated sets are copied from `first`."""
    result = np.empty(orders.shape)
    for g, t, k in np.ndindex(*orders.shape):
        if first[g, t, k] == t:
            inside = np.isin(np.arange(orders.shape[2]), orders[g, t, : k + 1]).astype(np.uint8)
            result[g, t, k] = _value(
                summaries[g], inside, ridge, validation, codes, n_labels, score
            )
    return np.take_along_axis(result, first, axis=1)


def logistic_rows(
    summaries: FloatArray,
    ridge: FloatArray,
    validation: FloatArray,
    codes: IntArray,
    n_labels: int,
    score: int,
    inside: MemberArray,
    of_game: IntArray,
) -> FloatArray:
    """Scores (n_rows,) of coalitions given as rows of members; NaN without members."""
    fixed = (ridge, validation, codes, n_labels, score)
    pairs = zip(of_game, inside, strict=True)
    return np.array([_value(summaries[g], row, *fixed) for g, row in pairs])


def _value(
    summary: FloatArray,
    inside: MemberArray,
    ridge: FloatArray,
    validation: FloatArray,
    codes: IntArray,
    n_labels: int,
    score: int,
) -> float:
    """Score of the coalition of the providers with a 1; NaN without members."""
    members = summary[inside.astype(bool)]
    records = members.transpose(0, 2, 1).reshape(-1, summary.shape[1])
    records = records[~np.isnan(records[:, 0])]
    if len(records) == 0:
        return float("nan")
    classes, class_of = np.unique(records[:, 0], return_inverse=True)
    rows = validation[:, : len(codes)]
    found = np.zeros((len(classes), len(codes)))
    if len(classes) > 1:
        Z = np.column_stack([np.ones(len(records)), records[:, 1:]])
        found[1:] = fit(Z, class_of, len(classes), ridge) @ rows
        if np.isnan(found).any():
            return float("nan")
    others = np.cumsum(classes < 0) - 1
    place = np.where(classes < 0, n_labels + others, classes).astype(np.int64)
    logits = np.full((n_labels + int((classes < 0).sum()), len(codes)), -np.inf)
    logits[place] = found
    return float(class_scores(logits[None], codes, n_labels, score)[0])


def fit(Z: FloatArray, class_of: IntArray, classes: int, ridge: FloatArray) -> FloatArray:
    """Coefficients (classes - 1, p) of records Z (n, p), whose first column is 1.

    If there are three classes or more, all are penalised alike, so the penalty of differences to
    class 0 is the sum of their squares less the square of their sum over the number of classes.
    """
    free, p = classes - 1, Z.shape[1]
    true = (class_of[:, None] == np.arange(1, classes)).astype(np.float64)
    shrink = np.eye(free) - (0.0 if classes == 2 else 1.0 / classes)
    penalty = np.kron(shrink, np.diag([0.0, *ridge]))
    counts = np.bincount(class_of, minlength=classes)
    beta: FloatArray = np.zeros((free, p))
    beta[:, 0] = np.log(counts[1:] / counts[0])

    def objective(b: FloatArray) -> float:
        logits = np.column_stack([np.zeros(len(Z)), Z @ b.T])
        losses = logsumexp(logits, axis=1) - logits[np.arange(len(Z)), class_of]
        return float(losses.sum() + b.ravel() @ penalty @ b.ravel() / 2)

    for _ in range(MOST_STEPS):
        chances = softmax(np.column_stack([np.zeros(len(Z)), Z @ beta.T]), axis=1)[:, 1:]
        gradient = ((chances - true).T @ Z).ravel() + penalty @ beta.ravel()
        weights = chances[:, :, None] * (np.eye(free) - chances[:, None, :])
        hessian = np.einsum("rkm,ri,rj->kimj", weights, Z, Z).reshape(free * p, -1) + penalty
        step = -np.linalg.lstsq(hessian, gradient)[0].reshape(free, p)
        change = float(np.abs(Z @ step.T).max())
        share = 1.0
        # Steps that change logits by more than 1/2 are halved until they lower the objective.
        while share * change > 0.5 and objective(beta + share * step) > objective(beta):
            share /= 2
        beta += share * step
        if change**2 <= TOLERANCE:
            return np.asarray(beta)
    return np.full_like(beta, np.nan)
