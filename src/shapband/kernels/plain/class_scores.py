"""Scores of classifiers from their logits.

A logit is the logarithm of a probability, up to a constant of its row; minus infinity stands for a
class that a model does not know. Every class has a row of logits. The classes 0, 1, .. are the
labels of the validation rows; further ones never occur there.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray

ACCURACY, LOG_LOSS, AUC, BRIER = range(4)
TIE = 1e-10  # logits as close as this are equal, and the smaller class is predicted
EPS = float(np.finfo(np.float64).eps)  # probabilities are clipped to [EPS, 1 - EPS] for the log


def class_scores(logits: FloatArray, codes: IntArray, n_labels: int, score: int) -> FloatArray:
    """Scores (m,) of models from their logits (m, n_classes, n_rows); larger is better.

    Parameters
    ----------
    logits : each row has a finite one for at least one class
    codes : (n_rows,) the true class of each row
    n_labels : how many labels the validation rows have
    score : `ACCURACY`; `LOG_LOSS`, negative; `AUC` of class 1; `BRIER`, negative, and halved if
        there are at most two labels, as in scikit-learn
    """
    return np.array([_score(model, codes, n_labels, score) for model in logits])


def _score(logits: FloatArray, codes: IntArray, n_labels: int, score: int) -> float:
    if score == ACCURACY:
        best = (logits >= logits.max(axis=0) - TIE).argmax(axis=0)
        return float(np.mean(best == codes))
    if score == AUC:
        return _auc(_log_odds(logits, 1), codes)
    probabilities = np.exp(logits - logits.max(axis=0))
    probabilities /= probabilities.sum(axis=0)
    true = codes == np.arange(len(logits))[:, None]
    if score == LOG_LOSS:
        return float(
            np.log(
                np.clip(probabilities[true.argmax(axis=0), np.arange(len(codes))], EPS, 1 - EPS)
            ).mean()
        )
    losses = ((true - probabilities) ** 2).sum(axis=0)
    return float(-losses.mean() * (0.5 if n_labels <= 2 else 1.0))


def _log_odds(logits: FloatArray, of: int) -> FloatArray:
    """Log odds of a class, which order rows as its probability does, but without its rounding."""
    others = np.delete(logits, of, axis=0)
    top = others.max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.where(np.isneginf(top), top, top + np.log(np.exp(others - top).sum(axis=0)))
        odds: FloatArray = np.asarray(logits[of] - rest)
    return odds


def _auc(scores: FloatArray, codes: IntArray) -> float:
    """Share of pairs of a positive and a negative row in which the positive has the higher score.

    Equal scores count half.
    """
    negatives = np.sort(scores[codes == 0])
    positives = scores[codes == 1]
    below = np.searchsorted(negatives, positives, "left")
    up_to = np.searchsorted(negatives, positives, "right")
    return float((below + up_to).sum() / (2.0 * len(positives) * len(negatives)))
