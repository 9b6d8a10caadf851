"""Columns of pandas and polars as plain columns: floats, integers, booleans, strings, categories.

Floats and integers become 64 bits wide, so that products in a pipeline do not wrap. Missing values
stay missing, for pipelines that impute them; in pandas they become NaN, except for None among
strings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shapband.checks import one_line
from shapband.errors import InvalidInput
from shapband.records.cells import no_dates, plain_cells


def library_of(thing: Any) -> str:
    """The name of the package that an object belongs to."""
    return type(thing).__module__.partition(".")[0]


def plain_series(values: Any, where: str) -> Any:
    """Make a series of pandas or polars plain; return everything else as it is."""
    library = library_of(values)
    if library == "polars" and hasattr(values, "to_list"):
        return plain_polars(values, where)
    if library == "pandas" and getattr(values, "ndim", 0) == 1 and hasattr(values, "dtype"):
        import pandas as pd

        series = pd.Series(values)
        if isinstance(series.dtype, pd.CategoricalDtype):
            categories = pd.Series(series.dtype.categories)
            series = series.astype(object if series.isna().any() else categories.dtype)
        return plain_pandas(series, where)
    return values


def plain_pandas(column: Any, where: str) -> Any:
    """Make a pandas series plain; a series that is plain already is returned as it is."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        return plain_pandas(column.sparse.to_dense(), where)
    if isinstance(dtype, pd.CategoricalDtype):
        return _plain_categories(column, where)
    if isinstance(dtype, pd.DatetimeTZDtype | pd.PeriodDtype):
        raise no_dates(where)
    if isinstance(dtype, pd.StringDtype):
        usual = _usual_strings()
        if dtype == usual:
            return column
        return pd.Series(column.to_numpy(object, na_value=np.nan), column.index, usual)
    if isinstance(dtype, np.dtype) and not _is_objects(dtype):
        return _plain_numbers(column, where)
    if getattr(dtype, "kind", "O") in "iufb":  # a pandas dtype with a mask, or an Arrow dtype
        if column.isna().any():
            floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
            return _plain_numbers(pd.Series(floats, column.index), where)
        numbers = column.to_numpy(dtype=dtype.numpy_dtype)
        return _plain_numbers(pd.Series(numbers, column.index), where)
    cells = plain_cells(list(column), where)
    if cells.dtype.kind == "f":
        return _plain_numbers(pd.Series(cells, column.index), where)
    return pd.Series(cells, column.index, dtype if _is_objects(dtype) else _usual_strings())


def plain_polars(column: Any, where: str) -> Any:
    """Make a polars series plain; a series that is plain already is returned as it is."""
    import polars as pl

    dtype = column.dtype
    if dtype.is_temporal():
        raise no_dates(where)
    if dtype.is_decimal() or dtype == pl.Object:
        cells = plain_cells(column.to_list(), where).tolist()
        known = [None if cell is None or cell != cell else cell for cell in cells]
        text = any(isinstance(cell, str) for cell in known)
        column = pl.Series(column.name, known, dtype=pl.String if text else pl.Float64)
    elif dtype.is_float() and dtype != pl.Float64:
        column = column.cast(pl.Float64)
    elif dtype.is_integer() and dtype != pl.Int64:
        try:
            column = column.cast(pl.Int64)
        except pl.exceptions.InvalidOperationError as cause:
            raise _too_large(where) from cause
    elif not (dtype.is_numeric() or _is_label(dtype) or dtype in (pl.Boolean, pl.Null)):
        raise _unknown(where, dtype)
    if column.dtype == pl.Float64 and column.is_infinite().any():
        raise _infinite(where)
    return column


def _is_label(dtype: Any) -> bool:
    import polars as pl

    return dtype in (pl.String, pl.Categorical) or isinstance(dtype, pl.Enum)


def _plain_numbers(column: Any, where: str) -> Any:
    """Widen numbers of a NumPy dtype to 64 bits, and refuse infinite ones."""
    kind = column.dtype.kind
    if kind in "Mm":
        raise no_dates(where)
    if kind not in "iufb":
        raise _unknown(where, column.dtype)
    if kind == "u" and len(column) and column.max() > np.iinfo(np.int64).max:
        raise _too_large(where)
    if kind in "iu" and column.dtype != np.int64:
        return column.astype(np.int64)
    if kind == "f":
        with np.errstate(over="ignore"):
            column = column if column.dtype == np.float64 else column.astype(np.float64)
        if np.isinf(column.to_numpy()).any():
            raise _infinite(where)
    return column


def _plain_categories(column: Any, where: str) -> Any:
    """Make the categories plain, in their order; the codes stay.

    Integers become floats: when pandas joins columns to an array, it reads a missing value in a
    column of integer categories as the integer -2**63.
    """
    import pandas as pd

    given = column.dtype.categories
    plain = plain_pandas(pd.Series(given), where)
    plain = plain.astype(np.float64) if plain.dtype.kind in "iub" else plain
    if plain.dtype == given.dtype:
        return column
    try:
        return column.cat.rename_categories(pd.Index(plain))
    except ValueError as cause:
        raise InvalidInput(
            f"{where} has categories that are equal as numbers or strings: join them "
            f"({one_line(cause)})"
        ) from cause


def _is_objects(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _usual_strings() -> Any:
    """The dtype that pandas gives to strings: `str` from version 3 on, `object` before."""
    import pandas as pd

    return pd.Series(["a"]).dtype


def _infinite(where: str) -> InvalidInput:
    return InvalidInput(f"{where} holds infinite values: remove them")


def _too_large(where: str) -> InvalidInput:
    return InvalidInput(f"{where} holds integers beyond 2**63: pass them as floats")


def _unknown(where: str, dtype: Any) -> InvalidInput:
    return InvalidInput(
        f"{where} has the type {one_line(dtype)}, but must hold numbers, strings or categories: "
        "convert it to one of these"
    )
