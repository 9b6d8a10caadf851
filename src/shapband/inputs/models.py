"""The utility of a scikit-learn model that is scored on validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shapband.checks import concerning, error_line, written
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records.arrays import float_targets
from shapband.records.batch import Batch, concat
from shapband.records.frames import as_frame
from shapband.sources.base import MemorySource
from shapband.utilities.base import Utility
from shapband.utilities.estimator import EstimatorUtility
from shapband.utilities.kinds import not_numbers
from shapband.utilities.neighbors import NeighborUtility
from shapband.utilities.recognise import utility_for
from shapband.utilities.score_names import check_score

_COMPARED = 200  # records of each provider that are searched for ties
_KNOWN = "a scikit-learn model, such as LogisticRegression(), or a shapband utility"


def check_model(model: Any) -> None:
    """Check that a model can be fitted, scored and cloned, before any data are read."""
    if isinstance(model, type):
        raise InvalidInput(
            f"utility must be {_KNOWN}; received the class {model.__name__}: pass an object, "
            f"{model.__name__}(...)"
        )
    lacking = [name for name in ("fit", "predict", "get_params") if not hasattr(model, name)]
    if not lacking:
        return
    remedy = "pass a model or a utility"
    if hasattr(model, "fit") and hasattr(model, "transform"):
        remedy = "it transforms and does not predict: pass a pipeline that ends in a model"
    elif hasattr(model, "fit") and hasattr(model, "predict"):
        remedy = "it has no get_params: derive its class from sklearn.base.BaseEstimator"
    elif callable(model):
        remedy = "pass sb.FunctionUtility(function) if a coalition is worth what it returns"
    said = written(model) if isinstance(model, str) else type(model).__name__
    raise InvalidInput(f"utility must be {_KNOWN}; received {said}: {remedy}")


def model_utility(model: Any, rows: Batch, score: Any, providers: Sequence[Provider]) -> Utility:
    """Make the utility of a model; an error if the model cannot take records like these rows."""
    check_score(score, model)
    _check_targets(model, rows)
    with concerning("utility"):
        utility = utility_for(model, rows.X, rows.y, score)
    if isinstance(utility, NeighborUtility):
        utility = _with_ties(utility, model, rows, score, providers)
    if isinstance(utility, EstimatorUtility):
        _check_fit(utility, rows)
    return utility


def _with_ties(
    compiled: Utility, model: Any, rows: Batch, score: Any, providers: Sequence[Provider]
) -> Utility:
    """Return the model itself if records of the providers have ties that matter.

    Where records are at equal distance, the compiled utility chooses others than the model.
    `utility_for` knows the validation rows only, which may lack the ties.
    """
    stocks = [one.source.records for one in providers if isinstance(one.source, MemorySource)]
    some = [stock.take(np.arange(min(len(stock), _COMPARED))) for stock in stocks]
    if not some:
        return compiled
    records = concat(some)
    try:
        other = utility_for(model, records.X, records.y, score)
    except InvalidInput:
        return compiled  # records that cannot be rows, such as those of one label
    if isinstance(other, NeighborUtility):
        return compiled
    general = EstimatorUtility(model, rows.X, rows.y, score)
    general.chosen = f"of the providers' records, {other.chosen}"
    return general


def _check_targets(model: Any, rows: Batch) -> None:
    """Refuse numbers that are no labels for a classifier, and labels for a regressor."""
    from sklearn.base import is_classifier, is_regressor

    kind = type(model).__name__
    if is_classifier(model) and rows.y.dtype.kind == "f":
        fractions = rows.y[rows.y != np.floor(rows.y)]
        if len(fractions):
            raise InvalidInput(
                f"target must hold labels, because {kind} is a classifier; received numbers such "
                f"as {fractions[0]:g}: pass a regressor, or make classes of the numbers"
            )
    if is_regressor(model) and rows.y.dtype.kind != "f":
        try:
            float_targets(rows.y)
        except InvalidInput as cause:
            raise InvalidInput(
                f"target must hold numbers, because {kind} is a regressor; received labels such "
                f"as {written(rows.y[0])}: pass a classifier"
            ) from cause


def _check_fit(utility: EstimatorUtility, rows: Batch) -> None:
    """Fit the model to the validation rows, and raise an error if a known mistake makes it fail.

    A fit may fail for other reasons, such as a single class in few rows. They are left to the
    games, which name the providers concerned.
    """
    from sklearn.exceptions import NotFittedError

    try:
        utility.score(rows)
    except NotFittedError as cause:
        raise InvalidInput(
            f"utility must have fitted models inside FrozenEstimator; received one that is not "
            f"fitted ({error_line(cause)}): fit it first, or use it without FrozenEstimator"
        ) from cause
    except Exception as cause:  # a model may raise anything
        remedy = _remedy(rows, cause)
        if remedy:
            raise InvalidInput(
                f"utility: {type(utility.estimator).__name__} cannot be fitted to records like the "
                f"validation rows ({error_line(cause)[:120]}): {remedy}"
            ) from cause


def _remedy(rows: Batch, cause: Exception) -> str:
    """What to do about a score, strings or missing values that a model does not take."""
    if "predict_proba" in str(cause):
        return "its score needs probabilities: pass another score, or CalibratedClassifierCV(model)"
    texts = not_numbers(rows)
    if texts:
        return f"{texts}: pass a pipeline that encodes them, such as one with a OneHotEncoder"
    if rows.is_frame:
        table = as_frame(rows.X)
        for name in table.columns:
            column = table.get_column(name)
            if column.null_count() or (column.dtype.is_float() and column.is_nan().any()):
                return (
                    f"column {written(name)} has missing values: pass a pipeline that imputes them"
                )
    return ""
