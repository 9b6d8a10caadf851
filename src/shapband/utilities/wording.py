"""Models and scores in words, for readers of a result.

The words are names of classes and scores. Parameters are left out, because they may hold secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shapband._facts import name_of

_LAMBDA = "<lambda>"
_SCORES = {
    "inverse_mse": "1 / (1 + MSE)",
    "neg_mse": "negative mean squared error",
    "matthews_corrcoef": "Matthews correlation coefficient",
}
_PARTS = {"roc": "ROC", "auc": "AUC", "r2": "R²", "d2": "D²", "f1": "F1", "neg": "negative",
          "brier": "Brier"}  # fmt: skip


def score_words(score: str) -> str:
    """Write the name of a score as readers know it.

    Examples
    --------
    >>> [score_words(name) for name in ("roc_auc", "neg_log_loss", "inverse_mse", "r2")]
    ['ROC AUC', 'negative log loss', '1 / (1 + MSE)', 'R²']
    """
    return _SCORES.get(score) or " ".join(_PARTS.get(part, part) for part in score.split("_"))


def scorer_words(score: str | Callable[..., Any] | None, estimator: Any) -> str:
    """Name the score of an estimator: by its name, a function, or the estimator's own.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Ridge
    >>> scorer_words(None, LogisticRegression()), scorer_words(None, Ridge())
    ('accuracy', 'R²')
    """
    if isinstance(score, str):
        return score_words(score)
    if score is not None:
        return function_words(getattr(score, "_score_func", score))
    from sklearn.base import ClassifierMixin, RegressorMixin

    last = _last_step(estimator)
    known = {ClassifierMixin.score: "accuracy", RegressorMixin.score: "R²"}
    return known.get(getattr(type(last), "score", None), f"the score of {type(last).__name__}")


def function_words(function: Callable[..., Any]) -> str:
    """Name a function.

    Examples
    --------
    >>> function_words(max), function_words(lambda X, y: 0.0)
    ('the function max', 'a function without a name')
    """
    name = name_of(function)
    return "a function without a name" if name == _LAMBDA else f"the function {name}"


def model_words(estimator: Any) -> str:
    """Name the classes of an estimator, or of the steps of a pipeline.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> model_words(make_pipeline(StandardScaler(), LogisticRegression()))
    'a pipeline of StandardScaler and LogisticRegression'
    """
    if _is_pipeline(estimator):
        steps = [step for _, step in estimator.steps if hasattr(step, "get_params")]
        return f"a pipeline of {_joined([model_words(step) for step in steps])}"
    inner, outer = getattr(estimator, "estimator", None), type(estimator).__name__
    if not hasattr(inner, "get_params") or isinstance(inner, type):
        return outer
    return f"{'fitted' if outer == 'FrozenEstimator' else f'{outer} of'} {model_words(inner)}"


def federated_words(model: str, rounds: int) -> str:
    """Name a model that clients train together in rounds.

    Examples
    --------
    >>> federated_words("logistic", 5), federated_words("network", 1)
    ('federated logistic regression, 5 rounds', 'a federated neural network, 1 round')
    """
    name = "a federated neural network" if model == "network" else f"federated {model} regression"
    return f"{name}, {rounds_words(rounds)}"


def rounds_words(rounds: int) -> str:
    """Write a number of rounds: "1 round" or "5 rounds"."""
    return f"{rounds} {'round' if rounds == 1 else 'rounds'}"


def _is_pipeline(estimator: Any) -> bool:
    from sklearn.pipeline import Pipeline

    return isinstance(estimator, Pipeline)


def _last_step(estimator: Any) -> Any:
    return _last_step(estimator.steps[-1][1]) if _is_pipeline(estimator) else estimator


def _joined(words: Sequence[str]) -> str:
    """Join words as in a sentence.

    Examples
    --------
    >>> _joined(["a", "b", "c"]), _joined(["a"])
    ('a, b and c', 'a')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
