"""Scores of one fitted model on several parts of the validation rows.

Predicting again for every part would take as long as a fit of many models. So a model predicts all
rows once, and the predictions are scored part by part. The predictions for the score on all rows
are kept, so that no model predicts twice: nearest neighbours predict longer than they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray
from shapband.records.batch import Batch

Scorer = Callable[[Any, Any, Any], float]
# Methods of a model that a scorer of scikit-learn may call.
_ANSWERS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
_SAME = 1e-9  # a score made from predictions must agree with the model's own score to this


def score_with_parts(
    fitted: Any,
    rows: Batch,
    scorer: Scorer,
    parts: Sequence[IntArray],
    *,
    own_score: bool,
) -> tuple[float, FloatArray]:
    """Score of a fitted model on all validation rows, and on parts of them.

    Parameters
    ----------
    fitted : the model, which nobody else uses
    rows : the validation rows; the model may change them
    scorer : scores a model
    parts : rows of each part
    own_score : whether the score is the model's own method

    Returns
    -------
    The score, and (n_parts,) those on the parts, NaN if they fail.
    """
    answers, own = _Answers(fitted, rows), rows.copy()
    with answers.kept():
        score = float(scorer(fitted, own.X, own.y))
    name = _own_name(fitted) if own_score else _name_of(scorer)
    try:
        found = _from_answers(answers, scorer, score, parts, name)
        if found is None:
            some = [rows.take(part).copy() for part in parts]
            found = [float(scorer(fitted, one.X, one.y)) for one in some]
    except Exception:  # noqa: BLE001  a scorer may raise anything, such as for rows of one label
        return score, np.full(len(parts), np.nan)
    return score, np.array(found)


def _from_answers(
    answers: _Answers, scorer: Scorer, score: float, parts: Sequence[IntArray], name: str
) -> list[float] | None:
    """Scores from the answers for all rows, or None if they do not give the known score."""
    predicted, rows = _from_predictions(answers, name), answers.rows
    if predicted is not None and _agree(predicted(np.arange(len(rows))), score):
        return [predicted(part) for part in parts]
    if not type(scorer).__module__.startswith("sklearn."):
        return None
    places = np.arange(len(rows))[:, None]
    if not _agree(float(scorer(answers, places, rows.y)), score):
        return None
    return [float(scorer(answers, places[part], rows.y[part])) for part in parts]


def _agree(found: float, score: float) -> bool:
    return abs(found - score) <= _SAME * max(1.0, abs(score))


def _from_predictions(answers: _Answers, name: str) -> Callable[[IntArray], float] | None:
    """Return a function of rows for the scores that most models have, or None for other scores.

    Scorers of scikit-learn take longer for one part than these functions for ten.
    """
    if name == "roc_auc_score":
        return _auc(answers)
    score = _SCORES.get(name)
    if score is None or not hasattr(answers.fitted, "predict"):
        return None
    predictions = answers.of("predict")
    if predictions.shape != answers.rows.y.shape:
        return None
    return score(answers.rows.y, predictions)


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


def _auc(answers: _Answers) -> Callable[[IntArray], float] | None:
    """Area under the ROC curve: the share of pairs of one row of each class in the right order.

    Equal scores count half. Rows are counted by the rank of their score, so that a part is not
    sorted again. A part with one class has no area.
    """
    classes: Any = getattr(answers.fitted, "classes_", ())
    if len(classes) != 2:
        return None
    # Scorers of scikit-learn prefer the decision function, too.
    known = hasattr(answers.fitted, "decision_function")
    odds = answers.of("decision_function") if known else answers.of("predict_proba")[:, 1]
    levels, rank = np.unique(odds, return_inverse=True)
    positive = (answers.rows.y == classes[1]).astype(np.float64)

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
    """A fitted model that answers once for all validation rows, and is asked by their numbers."""

    def __init__(self, fitted: Any, rows: Batch) -> None:
        self.fitted = fitted
        self.rows = rows
        self._known: dict[str, AnyArray] = {}

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep what the model answers for all rows while it is scored.

        A pipeline is scored by its last step, which gives the same answers.
        """
        steps = getattr(self.fitted, "steps", None)
        last = [steps[-1][1]] if isinstance(steps, list) else []
        changed: list[tuple[dict[str, Any], str]] = []
        for model in (self.fitted, *last):
            own = getattr(model, "__dict__", {})  # without one, the model is asked again later
            for name in _ANSWERS:
                method = None if name in own else getattr(model, name, None)
                if method is not None:
                    own[name] = self._keeping(name, method)
                    changed.append((own, name))
        try:
            yield
        finally:
            for own, name in changed:
                own.pop(name, None)

    def _keeping(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def answer(X: Any, *given: Any, **options: Any) -> Any:
            found = method(X, *given, **options)
            count = X.shape[0] if hasattr(X, "shape") else len(X)  # sparse matrices have no length
            if count == len(self.rows) and not given and not options:
                self._known.setdefault(name, np.array(found))
            return found

        return answer

    def of(self, name: str) -> AnyArray:
        """What a method of the model answers for all rows."""
        if name not in self._known:
            self._known[name] = np.asarray(getattr(self.fitted, name)(self.rows.copy().X))
        return self._known[name]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.fitted, name)
        if name not in _ANSWERS:
            return found

        def answer(places: AnyArray) -> AnyArray:
            return np.asarray(self.of(name)[np.asarray(places)[:, 0]])

        answer.__name__ = name  # scikit-learn's scorers ask for it
        return answer
