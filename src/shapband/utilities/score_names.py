"""Names of scikit-learn's scorers, for errors about names that are not."""

from __future__ import annotations

from inspect import isroutine
from typing import Any

from shapband.checks import nearest, written
from shapband.errors import InvalidInput
from shapband.records.batch import Batch

# Common names, in lower case and without separators, of scores that scikit-learn calls otherwise.
_COMMON = {
    "acc": "accuracy",
    "auc": "roc_auc",
    "auroc": "roc_auc",
    "rocauc": "roc_auc",
    "rocaucscore": "roc_auc",
    "aucroc": "roc_auc",
    "auprc": "average_precision",
    "prauc": "average_precision",
    "f1score": "f1",
    "logloss": "neg_log_loss",
    "crossentropy": "neg_log_loss",
    "brier": "neg_brier_score",
    "brierscore": "neg_brier_score",
    "mcc": "matthews_corrcoef",
    "mse": "neg_mean_squared_error",
    "meansquarederror": "neg_mean_squared_error",
    "rmse": "neg_root_mean_squared_error",
    "rootmeansquarederror": "neg_root_mean_squared_error",
    "mae": "neg_mean_absolute_error",
    "meanabsoluteerror": "neg_mean_absolute_error",
    "mape": "neg_mean_absolute_percentage_error",
    "r2score": "r2",
    "rsquared": "r2",
}
# Scores of predicted labels or probabilities. Scores of an order, such as roc_auc, are defined for
# regressors too.
_OF_LABELS = (
    *("accuracy", "balanced_accuracy", "f1", "precision", "recall", "jaccard"),
    *("neg_log_loss", "neg_brier_score", "matthews_corrcoef", "top_k_accuracy"),
)
_ERRORS = "neg_"  # scikit-learn negates errors, so that larger is better


def unknown_score(score: object) -> InvalidInput:
    """Make the error of a name that no scorer of scikit-learn has.

    Examples
    --------
    >>> print(unknown_score("RMSE"))
    score='RMSE' is not the name of a scikit-learn scorer: use 'neg_root_mean_squared_error' (an
    error, negated so that more is better); sklearn.metrics.get_scorer_names() lists all names
    """
    from sklearn.metrics import get_scorer_names

    known = sorted(get_scorer_names())
    word = "".join(letter for letter in str(score).lower() if letter.isalnum())
    negated = " (an error, negated so that more is better)"
    found = _COMMON.get(word) if isinstance(score, str) else None
    if found is None and isinstance(score, str):
        found = next((name for name in known if name.replace("_", "") == word), None)
    if found is not None:
        remedy = f"use {found!r}{negated if found.startswith(_ERRORS) else ''};"
    elif isinstance(score, str):
        hint = nearest(score, known)
        remedy = hint if hint.endswith("?") else "use a name such as 'r2' or 'roc_auc';"
    else:
        remedy = "use a name such as 'roc_auc', a function score(fitted, X, y), or None;"
    return InvalidInput(
        f"score={written(score)} is not the name of a scikit-learn scorer: {remedy} "
        "sklearn.metrics.get_scorer_names() lists all names"
    )


def no_dummy_score(score: object, rows: Batch, why: str, *, classifies: bool) -> str:
    """Say that a score cannot be computed on validation rows, even for a dummy model."""
    named = f"score={score!r}" if isinstance(score, str) else "the score"
    labels = f" with {len(set(rows.y.tolist())):,} labels" if classifies else ""
    other = "'accuracy' or 'neg_log_loss'" if classifies else "'r2' or 'neg_mean_squared_error'"
    return (
        f"{named} cannot be computed on {len(rows):,} validation rows{labels}, not even for the "
        f"dummy model of v(∅) ({why}): pass another score, such as {other}, other validation rows, "
        "or v(∅) itself, as sb.utility_for(model, X_val, y_val, score, empty=0.0)"
    )


def check_score(score: Any, model: Any) -> None:
    """Refuse unknown names, metrics in place of scorers, and scores of labels for a regressor."""
    from sklearn.base import is_regressor
    from sklearn.metrics import get_scorer_names

    module = str(getattr(score, "__module__", ""))
    if isroutine(score) and module.startswith("sklearn.metrics."):
        name = score.__name__
        word = name.replace("_", "")
        known = _COMMON.get(word) or next(
            (one for one in get_scorer_names() if one in (name, name.removesuffix("_score"))), None
        )
        use = f"use score={known!r}" if known else f"use sklearn.metrics.make_scorer({name})"
        raise InvalidInput(
            f"score must be the name of a scorer or a function score(fitted, X, y); received "
            f"the metric {name}(y_true, y_pred): {use}"
        )
    if score is None or callable(score):
        return
    if not isinstance(score, str) or score not in get_scorer_names():
        raise unknown_score(score)
    if score.startswith(_OF_LABELS) and is_regressor(model):
        raise InvalidInput(
            f"score={score!r} is for classifiers, and {type(model).__name__} is a regressor: use "
            "'r2' or 'neg_root_mean_squared_error', or pass a classifier"
        )
