"""The compiled utility of a scikit-learn model, where there is one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any, Literal

import numpy as np

from shapband.checks import error_line, one_line
from shapband.errors import InvalidInput
from shapband.records import Batch
from shapband.utilities.base import Utility
from shapband.utilities.estimator import EstimatorUtility, Scorer
from shapband.utilities.rules import Match, match
from shapband.utilities.scores import Empty

_TOLERANCE = 1e-8  # largest difference, relative to values above 1
_MOST_RECORDS = 500  # of a made-up draw
_COALITIONS = (0b001, 0b010, 0b100, 0b011, 0b111)


def utility_for(
    estimator: Any,
    X_val: Any,
    y_val: Any,
    score: str | Scorer | None = None,
    *,
    empty: float | Literal["baseline"] = "baseline",
) -> Utility:
    """Return the fastest utility that is worth the score of a scikit-learn estimator.

    Some estimators have a compiled utility, which is hundreds of times faster than to fit the
    estimator to every coalition: `LinearRegression` and `Ridge`, `LogisticRegression`,
    `GaussianNB`, `LinearDiscriminantAnalysis`, and nearest neighbours by Euclidean distance. It is
    chosen if it knows all settings of the estimator, and if both agree to 1e-8 on five coalitions
    of records made up from the validation rows. Otherwise the result is an `EstimatorUtility`. The
    attribute `chosen` of the result says why, and so does a printed valuation.

    In a pipeline the steps before the model must be fitted already: scikit-learn's
    `FrozenEstimator` says so. Other steps are fitted again to every coalition. Scalers before
    `LinearRegression` do not matter, unless the features of a coalition are dependent.

    Parameters
    ----------
    estimator : a scikit-learn estimator or pipeline
    X_val, y_val : validation rows: arrays, or a data frame if the providers hold data frames
    score : the name of a scikit-learn scorer, a function ``score(fitted, X_val, y_val)``, or
        None for the estimator's own `score`
    empty : value of the empty coalition: ``"baseline"`` for the score of a dummy model, or a
        number

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> utility = sb.utility_for(LinearRegression(), X, X.sum(axis=1))
    >>> type(utility).__name__, utility.chosen[:46]
    ('LinearUtility', 'it agrees with LinearRegression to 1e-08 on ma')
    >>> utility = sb.utility_for(LinearRegression(positive=True), X, X.sum(axis=1))
    >>> type(utility).__name__, utility.chosen
    ('EstimatorUtility', 'positive=True has no compiled form')
    """
    general = EstimatorUtility(estimator, X_val, y_val, score, empty=empty)
    if callable(score):
        general.chosen = "a score of one's own has no compiled form"
        return general
    found = match(estimator, score)
    if isinstance(found, str):
        general.chosen = found
        return general
    compiled, reason = _compiled(found, general, X_val, y_val, score)
    chosen = general if compiled is None else compiled
    chosen.chosen = reason
    return chosen


def _compiled(
    found: Match, general: EstimatorUtility, X_val: Any, y_val: Any, score: str | None
) -> tuple[Utility | None, str]:
    """Make the compiled utility, or None if it differs; and the reason."""
    utility = found.utility.__name__
    unknown = sorted(set(found.options) - set(signature(found.utility).parameters))
    if unknown:
        return None, f"{utility} does not know {', '.join(unknown)}"
    empty: Empty = "baseline" if general.baseline else general.empty
    make: Callable[..., Utility] = found.utility
    try:
        compiled = make(X_val, y_val, **found.options, empty=empty)
    except InvalidInput as cause:
        return None, one_line(cause)
    name = type(_model_of(general.estimator)).__name__
    # Another utility, because the first one remembers of which warnings it has told.
    converged = _with(general.estimator, found.converged)
    fitted = EstimatorUtility(converged, X_val, y_val, score, empty=general.empty)
    try:
        difference = _difference(compiled, fitted)
    except Exception as cause:  # noqa: BLE001  a model may raise anything
        return None, f"{utility} could not be compared ({error_line(cause)})"
    if not difference <= _TOLERANCE:
        told = f"{utility} differs from {name} by {difference:.1g} on made-up records"
        return None, told
    return compiled, f"it agrees with {name} to {_TOLERANCE:g} on made-up records; {found.but}"


def _with(estimator: Any, parameters: dict[str, Any]) -> Any:
    """Copy an estimator, and change parameters of its last step."""
    from sklearn.base import clone

    copy = clone(estimator)
    _model_of(copy).set_params(**parameters)
    return copy


def _model_of(estimator: Any) -> Any:
    """The last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def _difference(compiled: Utility, fitted: EstimatorUtility) -> float:
    """Largest difference of two utilities on made-up coalitions, and on the empty one."""
    rng = np.random.default_rng(0)
    draws = [_made_up(fitted._validation, rng) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.append(fitted.evaluate(draws, _COALITIONS), fitted.empty)
        summaries = [compiled.summarise(draw) for draw in draws]
        found = np.append(compiled.evaluate(summaries, _COALITIONS), compiled.empty)
    return float(np.max(np.abs(found - expected) / np.maximum(1.0, np.abs(expected))))


def _made_up(rows: Batch, rng: np.random.Generator) -> Batch:
    """Records like the validation rows; noise makes the distances of all records different."""
    size = min(_MOST_RECORDS, 2 * rows.schema.n_features + 50)
    labels = np.unique(rows.y, return_index=True)[1]
    every = labels if len(labels) < size / 2 else labels[:0]  # each label, if they are labels
    chosen = np.concatenate([every, rng.integers(len(rows), size=size - len(every))])
    some = rows.take(chosen)
    if some.numbers is None:
        return some
    spread = np.std(np.asarray(rows.numbers), axis=0)
    X = some.numbers + 0.1 * spread * rng.normal(size=some.numbers.shape)
    if some.is_frame:
        X = type(some.X)(dict(zip(some.X.columns, X.T, strict=True)))
    return Batch(X, some.y)
