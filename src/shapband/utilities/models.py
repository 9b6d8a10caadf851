"""Questions about how a scikit-learn model treats its input, answered from its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def is_plain(model: Any) -> bool:
    """Whether a model consists of scikit-learn's own classes and of fixed parameters.

    Functions and classes of the user may do anything with a data frame or with parameters, and a
    search, such as `GridSearchCV`, changes the parameters.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge, RidgeCV
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> is_plain(make_pipeline(StandardScaler(), Ridge())), is_plain(RidgeCV())
    (True, False)
    >>> is_plain(make_pipeline(FunctionTransformer(abs), Ridge()))
    False
    """
    return all(map(_is_plain_part, _parts(model)))


def names_columns(model: Any, columns: set[Any]) -> bool:
    """Whether a plain model may use column names, from its parameters or from an earlier fit.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor as Boosting
    >>> names_columns(Boosting(), {"age"})
    False
    >>> names_columns(Boosting(categorical_features=["age"]), {"age"})
    True
    """
    from sklearn.compose import ColumnTransformer

    return any(
        isinstance(part, ColumnTransformer)
        or (isinstance(part, str) and part in columns)
        or hasattr(part, "feature_names_in_")  # a fitted, frozen step would warn about arrays
        for part in _parts(model)
    )


def takes_all_columns(model: Any) -> bool:
    """Whether a model uses every column unchanged, because no part of it selects or converts any.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> takes_all_columns(Ridge()), takes_all_columns(make_pipeline(FunctionTransformer(abs)))
    (True, False)
    """
    from sklearn.compose import ColumnTransformer

    return not any(
        isinstance(part, ColumnTransformer)
        or (callable(part) and not isinstance(part, type))
        or (hasattr(part, "get_params") and not type(part).__module__.startswith("sklearn."))
        for part in _parts(model)
    )


def _parts(thing: Any) -> Iterator[Any]:
    """A model, its parameters, and the parameters of the models inside it."""
    yield thing
    if isinstance(thing, list | tuple):
        for part in thing:
            yield from _parts(part)
    elif hasattr(thing, "get_params") and not isinstance(thing, type):
        for part in thing.get_params(deep=False).values():
            yield from _parts(part)


def _is_plain_part(part: Any) -> bool:
    if part is None or isinstance(part, str | int | float | list | tuple | slice):
        return True
    kind = part if isinstance(part, type) else type(part)
    if issubclass(kind, np.number):
        return True
    return kind.__module__.startswith("sklearn.") and not kind.__name__.endswith("CV")
