"""`utility_for`, which finds the compiled utility of a scikit-learn model if there is one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any, Literal

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import error_line, one_line
from shapband.errors import InvalidInput
from shapband.records.batch import Batch
from shapband.utilities.base import Utility
from shapband.utilities.estimator import EstimatorUtility
from shapband.utilities.linear import LinearUtility
from shapband.utilities.neighbors import NeighborUtility
from shapband.utilities.rescoring import Scorer
from shapband.utilities.rules import Match, match
from shapband.utilities.scores import Empty

_ROUNDING = 1e-8  # two computations of the same model may differ by this much
# Largest mean difference from a model that stops before its optimum. scikit-learn's logistic
# regressions at the default tolerance differ by 1e-5 to 7e-4 at most if features have similar
# scales; regressions that stop much too early differ by 1e-3 to 2. The mean is used, because
# accuracy changes by whole validation rows, and one row near the decision border is no evidence.
_TOLERANCE = 1e-3
_MOST_RECORDS = 500  # a made-up draw has at most this many records
_NOISE = 0.1  # noise of made-up records, in standard deviations of a feature
_COALITIONS = (0b001, 0b010, 0b100, 0b011, 0b111)
_MADE_UP = f"{3 * len(_COALITIONS)} made-up coalitions"  # three sizes of draws


def utility_for(
    estimator: Any,
    X_val: Any,
    y_val: Any,
    score: str | Scorer | None = None,
    *,
    empty: float | Literal["baseline"] = "baseline",
) -> Utility:
    """Return the fastest utility whose values are the scores of a scikit-learn estimator.

    Some estimators have a compiled utility, which is hundreds of times faster than fitting the
    estimator to every coalition: `LinearRegression` and `Ridge`, `LogisticRegression`,
    `GaussianNB`, `LinearDiscriminantAnalysis`, and nearest neighbours by Euclidean distance. It is
    chosen if it supports all settings of the estimator, and if its values agree with the
    estimator's own scores on 15 coalitions of records made up from the validation rows: to 1e-8,
    or for `LogisticRegression`, which stops before its optimum, to 1e-3 on average. Otherwise the
    result is an `EstimatorUtility`. The attribute `chosen` of the result gives the reason and the
    largest difference, and so does a printed valuation.

    In a pipeline the steps before the model must already be fitted, and wrapped in scikit-learn's
    `FrozenEstimator`. A pipeline with steps that are fitted to every coalition has no compiled
    utility. The exception are scalers before `LinearRegression`, which change its predictions only
    if the features of a coalition are dependent. The pipeline itself is fitted to coalitions with
    no more records than features, where they always are.

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
    >>> type(utility).__name__, utility.chosen[:40]
    ('LinearUtility', 'it agrees with LinearRegression to 1e-08')
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
    """Return the compiled utility, or None if its values differ too much, and the reason."""
    from sklearn.base import clone

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
    if found.small_model and isinstance(compiled, LinearUtility):
        compiled.small_model = clone(general.estimator)
    # Make another utility, because the first one issues each warning only once.
    fitted = EstimatorUtility(general.estimator, X_val, y_val, score, empty=general.empty)
    try:
        # Noise would make classes overlap that the validation rows separate, and there models that
        # stop early differ most from their optimum.
        differences = _differences(compiled, fitted, noise=0.0 if found.approximate else _NOISE)
    except Exception as cause:  # noqa: BLE001  a model may raise anything
        return None, f"{utility} could not be compared ({error_line(cause)})"
    name, largest, mean = _model_name(general.estimator), differences.max(), differences[1:].mean()
    if largest <= _ROUNDING and isinstance(compiled, NeighborUtility):
        # The noise above made all distances different. Compare without noise as well, because the
        # utility and the model choose differently among records at equal distance.
        tied = _differences(compiled, fitted, noise=0.0)[1:].mean()
        if tied > _TOLERANCE:
            return None, (
                f"many records are at equal distance, where {utility} differs from {name} by "
                f"{tied:.1g} on average, and {_TOLERANCE:g} is allowed"
            )
    if largest <= _ROUNDING:
        return compiled, f"it agrees with {name} to {_ROUNDING:g} on {_MADE_UP}; {found.but}"
    told = f"differs from {name} by at most {largest:.1g}, on average {mean:.1g}, on {_MADE_UP}"
    if found.approximate and mean <= _TOLERANCE:
        return compiled, f"it {told}; {found.but}"
    allowed = f"an average of {_TOLERANCE:g}" if found.approximate else f"{_ROUNDING:g}"
    return None, f"{utility} {told}, and {allowed} is allowed"


def _model_name(estimator: Any) -> str:
    """The class of an estimator, or of the last step of a pipeline."""
    return type(estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator).__name__


def _differences(compiled: Utility, fitted: EstimatorUtility, noise: float = _NOISE) -> FloatArray:
    """Differences of two utilities on the empty coalition, then on made-up ones.

    Differences of values above 1 are relative.
    """
    rows, rng = fitted._validation, np.random.default_rng(0)
    pairs = [(compiled.empty, fitted.empty)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in _sizes(rows.schema.n_features):
            draws = [_made_up(rows, size, rng, noise) for _ in range(3)]
            expected = fitted.evaluate(draws, _COALITIONS)
            found = compiled.evaluate([compiled.summarise(d) for d in draws], _COALITIONS)
            pairs += zip(found, expected, strict=True)
    found, expected = np.array(pairs, dtype=np.float64).T
    off: FloatArray = np.abs(found - expected) / np.maximum(1.0, np.abs(expected))
    return off


def _sizes(n_features: int) -> list[int]:
    """Sizes of made-up draws: from a few more records than a model has coefficients, to many."""
    sizes = (n_features + 20, 2 * n_features + 50, 4 * n_features + 200)
    return [min(size, _MOST_RECORDS) for size in sizes]


def _made_up(rows: Batch, size: int, rng: np.random.Generator, noise: float) -> Batch:
    """Records like the validation rows; noise makes the distances of all records different."""
    labels = np.unique(rows.y, return_index=True)[1]
    # Begin with a row of each label; if there are very many, the targets are numbers.
    every = labels if len(labels) < size / 2 else labels[:0]
    chosen = np.concatenate([every, rng.integers(len(rows), size=size - len(every))])
    some = rows.take(chosen)
    if some.numbers is None or noise == 0:
        return some
    spread = np.std(np.asarray(rows.numbers), axis=0)
    X = some.numbers + noise * spread * rng.normal(size=some.numbers.shape)
    if some.is_frame:
        X = type(some.X)(dict(zip(some.X.columns, X.T, strict=True)))
    return Batch(X, some.y)
