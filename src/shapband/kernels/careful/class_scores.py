"""Scores of classifiers from their logits.

A logit is the logarithm of a class's probability, plus a constant that all classes of a validation
row share; minus infinity stands for a class that the model does not know. The classes
0, 1, .., n_labels - 1 are the labels of the validation rows; later ones never occur there.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray

ACCURACY, LOG_LOSS, AUC, BRIER = range(4)
# One rule for all scores: logits a and b are tied if |a - b| <= TIE * max(1, |a|, |b|). Logits of a
# coalition whose providers are added in another order differ by rounding, which is relative to the
# size of the logits, and iterated fits end within 1e-11 of the solution. Of tied classes the
# smaller one is predicted, and tied rows count half in the AUC.
TIE = 1e-10
EPS = float(np.finfo(np.float64).eps)  # probabilities are clipped to [EPS, 1 - EPS] for the log


def class_scores(logits: FloatArray, codes: IntArray, n_labels: int, score: int) -> FloatArray:
    """Scores (m,) of models from their logits (m, n_classes, n_rows); larger is better.

    Parameters
    ----------
    logits : at least one class of each row has a finite logit
    codes : (n_rows,) the true class of each row
    n_labels : how many labels the validation rows have
    score : `ACCURACY`; `LOG_LOSS`, negative; `AUC` of class 1; `BRIER`, negative, and halved if
        there are at most two labels, as in scikit-learn
    """
    return np.array([_score(model, codes, n_labels, score) for model in logits])


def scores_without_folds(
    logits: FloatArray, codes: IntArray, n_labels: int, score: int, fold_of: IntArray
) -> FloatArray:
    """Scores (n_folds,) of one model on the rows without each fold, given by the fold of each row.

    Examples
    --------
    >>> logits, codes = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]), np.array([0, 0, 1])
    >>> scores_without_folds(logits, codes, 2, ACCURACY, np.array([0, 1, 1])).tolist()
    [0.5, 1.0]
    """
    kept = [fold_of != fold for fold in range(int(fold_of.max()) + 1)]
    return np.array([_score(logits[:, rows], codes[rows], n_labels, score) for rows in kept])


def _score(logits: FloatArray, codes: IntArray, n_labels: int, score: int) -> float:
    if score == ACCURACY:
        return float(np.mean(predicted(logits) == codes))
    if score == AUC:
        return _auc(*_log_odds(logits, 1), codes)
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


def predicted(logits: FloatArray) -> IntArray:
    """The most likely class of each row; of tied classes the smallest: (n_rows,)."""
    top = logits.max(axis=0)
    classes: IntArray = (logits >= top - _margin(np.abs(top))).argmax(axis=0)
    return classes


def _margin(size: FloatArray) -> FloatArray:
    """Largest difference at which two logits of this size count as tied; 0 if they are infinite."""
    return np.asarray(np.where(size < np.inf, TIE * np.maximum(1.0, size), 0.0))


def _log_odds(logits: FloatArray, of: int) -> tuple[FloatArray, FloatArray]:
    """Log odds of a class, and the larger of the two logits behind them.

    Log odds order rows as the probability does, but without its rounding.
    """
    others = np.delete(logits, of, axis=0)
    top = others.max(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.where(np.isneginf(top), top, top + np.log(np.exp(others - top).sum(axis=0)))
    return logits[of] - rest, np.maximum(np.abs(logits[of]), np.abs(rest))


def _auc(odds: FloatArray, sizes: FloatArray, codes: IntArray) -> float:
    """Share of pairs of a positive and a negative row in which the positive has the higher odds.

    Each row's odds become an interval, with half a margin on both sides. Pairs whose intervals
    overlap are tied and count half.
    """
    half = 0.5 * _margin(sizes)
    negative, positive = codes == 0, codes == 1
    upper, lower = np.sort((odds + half)[negative]), np.sort((odds - half)[negative])
    above = np.searchsorted(upper, (odds - half)[positive], "left")
    not_below = np.searchsorted(lower, (odds + half)[positive], "right")
    return float((above + not_below).sum() / (2.0 * positive.sum() * negative.sum()))
