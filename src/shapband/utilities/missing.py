"""Missing values in records, and models that are known to refuse them."""

from __future__ import annotations

from typing import Any

from shapband.records.batch import Batch
from shapband.records.frames import as_frame

# Parameters that hold other models.
_PARTS = ("estimator", "estimators", "regressor", "transformers", "transformer_list")


def refuses_missing(estimator: Any) -> bool:
    """Whether a model of scikit-learn states that it takes no missing values.

    A pipeline is judged by its first step. Other models that consist of models, and models of other
    packages, which need not state what they take, count as if they took missing values.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> refuses_missing(Ridge()), refuses_missing(DecisionTreeRegressor())
    (True, False)
    """
    from sklearn import utils
    from sklearn.pipeline import Pipeline

    while type(estimator) is Pipeline:
        estimator = estimator.steps[0][1]
    if not type(estimator).__module__.startswith("sklearn."):
        return False
    if any(hasattr(estimator, part) for part in _PARTS):
        return False
    if not hasattr(utils, "get_tags"):  # scikit-learn before version 1.6
        return False
    tags = utils.get_tags(estimator)
    return not (tags.input_tags.allow_nan or tags.no_validation)


def column_with_missing(batch: Batch) -> str | None:
    """Name the first column of a data frame with missing values; arrays have none.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> column_with_missing(Batch(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, None]}), np.ones(2)))
    'b'
    """
    if not batch.is_frame:
        return None
    table = as_frame(batch.X)
    for name in table.columns:
        column = table[name]
        if column.is_null().any() or (column.dtype.is_float() and column.is_nan().any()):
            return str(name)
    return None
