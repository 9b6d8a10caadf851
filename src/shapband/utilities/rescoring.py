"""Scores of one fitted model on several parts of the validation rows.

Predicting again for every part would take as long as a fit of many models. So a model predicts all
rows once, and the predictions are scored part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray
from shapband.records.batch import Batch

Scorer = Callable[[Any, Any, Any], float]
# Methods of a model that a scorer of scikit-learn may call.
_ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
_SAME = 1e-9  # a score made from predictions must agree with the model's own score to this


def scores_on_parts(
    fitted: Any,
    rows: Batch,
    scorer: Scorer,
    score: float,
    parts: Sequence[IntArray],
    *,
    own_score: bool,
) -> FloatArray:
    """Scores of a fitted model on parts of the validation rows, NaN if they fail: (n_parts,).

    Parameters
    ----------
    fitted : the model
    rows : the validation rows; the model may change them
    scorer : scores a model
    score : its score of this model on all rows
    parts : rows of each part
    own_score : whether the score is the model's own method
    """
    name = _own_name(fitted) if own_score else _name_of(scorer)
    try:
        found = _from_one_prediction(fitted, rows, scorer, score, parts, name)
        if found is None:
            some = [rows.take(part).copy() for part in parts]
            found = [float(scorer(fitted, one.X, one.y)) for one in some]
    except Exception:  # noqa: BLE001  a scorer may raise anything, such as for rows of one label
        return np.full(len(parts), np.nan)
    return np.array(found)


def _from_one_prediction(
    fitted: Any,
    rows: Batch,
    scorer: Scorer,
    score: float,
    parts: Sequence[IntArray],
    name: str,
) -> list[float] | None:
    """Scores from the predictions of all rows, or None if they do not give the known score."""
    predicted = _from_predictions(fitted, rows, name)
    if predicted is not None and _agree(predicted(np.arange(len(rows))), score):
        return [predicted(part) for part in parts]
    if not type(scorer).__module__.startswith("sklearn."):
        return None
    answers, places = _Answers(fitted, rows), np.arange(len(rows))[:, None]
    if not _agree(float(scorer(answers, places, rows.y)), score):
        return None
    return [float(scorer(answers, places[part], rows.y[part])) for part in parts]


def _agree(found: float, score: float) -> bool:
    return abs(found - score) <= _SAME * max(1.0, abs(score))


def _from_predictions(fitted: Any, rows: Batch, name: str) -> Callable[[IntArray], float] | None:
    """Return a function of rows for the scores that most models have, or None for other scores.

    Scorers of scikit-learn take longer for one part than these functions for ten.
    """
    if name == "roc_auc_score":
        return _auc(fitted, rows)
    score = _SCORES.get(name)
    if score is None or not hasattr(fitted, "predict"):
        return None
    predictions = np.asarray(fitted.predict(rows.copy().X))
    if predictions.shape != rows.y.shape:
        return None
    return score(rows.y, predictions)


def _own_name(fitted: Any) -> str:
    """Name of the score function that most models of this kind have as their own."""
    from sklearn.base import is_classifier

    return "accuracy_score" if is_classifier(fitted) else "r2_score"


def _name_of(scorer: Scorer) -> str:
    """Name of the score function behind a scorer of scikit-learn; empty if it has options."""
    function = getattr(scorer, "_score_func", None)
    return "" if getattr(scorer, "_kwargs", None) else str(getattr(function, "__name__", ""))


def _accuracy(y: AnyArray, predictions: AnyArray) -> Callable[[IntArray], float]:
    right = predictions == y
    return lambda rows: float(right[rows].mean())


def _r2(y: AnyArray, predictions: AnyArray) -> Callable[[IntArray], float]:
    square = (y - predictions) ** 2

    def score(rows: IntArray) -> float:
        return float(1.0 - square[rows].mean() / y[rows].var())

    return score


def _negative_mean(loss: AnyArray) -> Callable[[IntArray], float]:
    return lambda rows: -float(loss[rows].mean())


def _auc(fitted: Any, rows: Batch) -> Callable[[IntArray], float] | None:
    """Area under the ROC curve: the share of pairs of one row of each class in the right order.

    Equal scores count half. Rows are counted by the rank of their score, so that a part is not
    sorted again. A part with one class has no area.
    """
    classes: Any = getattr(fitted, "classes_", ())
    if len(classes) != 2:
        return None
    own = rows.copy().X
    # Scorers of scikit-learn prefer the decision function, too.
    known = hasattr(fitted, "decision_function")
    odds = np.asarray(fitted.decision_function(own) if known else fitted.predict_proba(own)[:, 1])
    levels, rank = np.unique(odds, return_inverse=True)
    positive = (rows.y == classes[1]).astype(np.float64)

    def score(some: IntArray) -> float:
        at, weight = rank[some], positive[some]
        above = np.bincount(at, weight, len(levels))
        below = np.bincount(at, 1.0 - weight, len(levels))
        n_above = weight.sum()
        pairs = n_above * (len(some) - n_above)
        if pairs == 0:
            return float("nan")
        return float(above @ (below.cumsum() - below / 2) / pairs)

    return score


_SCORES: dict[str, Callable[[AnyArray, AnyArray], Callable[[IntArray], float]]] = {
    "accuracy_score": _accuracy,
    "r2_score": _r2,
    "mean_squared_error": lambda y, predictions: _negative_mean((y - predictions) ** 2),
    "mean_absolute_error": lambda y, predictions: _negative_mean(np.abs(y - predictions)),
}


class _Answers:
    """A fitted model that has answered for all validation rows, and is asked by their numbers."""

    def __init__(self, fitted: Any, rows: Batch) -> None:
        self._fitted = fitted
        self._rows = rows
        self._known: dict[str, AnyArray] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._fitted, name)
        if name not in _ANSWERS:
            return found
        if name not in self._known:
            self._known[name] = np.asarray(found(self._rows.copy().X))

        def answer(places: AnyArray) -> AnyArray:
            return np.asarray(self._known[name][np.asarray(places)[:, 0]])

        answer.__name__ = name  # scikit-learn's scorers ask for it
        return answer
