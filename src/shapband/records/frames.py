"""Data frames of pandas and polars with plain columns, and as arrays of floats."""

from __future__ import annotations

from collections import Counter
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import concerning, one_line, printable, written
from shapband.errors import InvalidInput
from shapband.records.cells import floats_of, plain_cells
from shapband.records.columns import library_of, plain_pandas, plain_polars

if TYPE_CHECKING:
    import narwhals as nw

# Types of columns whose frame becomes an array without a loss.
NUMBERS = {"pandas": {"float64", "int64"}, "polars": {"Float64", "Int64"}}


def is_frame(X: Any) -> bool:
    """Whether features are passed as a data frame."""
    return hasattr(X, "columns") and not isinstance(X, np.ndarray)


def as_frame(frame: Any) -> nw.DataFrame[Any]:
    """Wrap a pandas or polars data frame in the common interface of narwhals."""
    import narwhals as nw

    try:
        table: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
        names = table.columns
    except TypeError as cause:
        raise _no_frame(frame) from cause
    except nw.exceptions.DuplicateError as cause:
        raise InvalidInput(
            f"the columns of a frame must have different names: rename some ({one_line(cause)})"
        ) from cause
    if library_of(frame) not in NUMBERS:
        raise _no_frame(frame)
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise InvalidInput("the columns of a frame must have one level of names: join the levels")
    twice = [name for name, count in Counter(map(str, names)).items() if count > 1]
    if twice:
        raise InvalidInput(
            f"the columns of a frame must have different names: rename one of {twice[0]!r}"
        )
    return table


def own_frame(frame: Any, where: str) -> Any:
    """Copy a data frame and make its columns plain; the index of a pandas frame is dropped."""
    with concerning(where):
        table = as_frame(frame)
        _check_names(table.columns)
        if not table.columns or not len(table):
            raise InvalidInput(
                f"the frame must have at least one record and one feature; received {table.shape}"
            )
    if library_of(frame) == "polars":
        columns = [plain_polars(one, _column(where, one.name)) for one in frame.get_columns()]
        return frame.with_columns(columns)
    import pandas as pd

    own = frame.copy()
    own.index = pd.RangeIndex(len(own))
    for place, name in enumerate(table.columns):
        given = own.iloc[:, place]
        plain = plain_pandas(given, _column(where, name))
        if plain is not given:
            own.isetitem(place, plain)
    return own


def float_frame(frame: Any) -> FloatArray:
    """Convert a plain frame to a contiguous array of finite floats (n_rows, n_columns)."""
    table = as_frame(frame)
    if {str(kind) for kind in frame.dtypes} <= NUMBERS[library_of(frame)]:
        floats = np.ascontiguousarray(frame.to_numpy(), dtype=np.float64)
    else:
        floats = np.empty((len(frame), len(table.columns)))
        for place, name in enumerate(table.columns):
            where = f"this utility needs numeric features, and column {name!r}"
            cells = table.get_column(name).to_list()
            floats[:, place] = floats_of(plain_cells(cells, where), where)
    finite = np.isfinite(floats).all(axis=0)
    if not finite.all():
        raise InvalidInput(
            f"column {table.columns[int(np.argmin(finite))]!r} holds missing or infinite "
            "values: impute them first, or use EstimatorUtility with a pipeline that does"
        )
    return floats


def _column(where: str, name: Any) -> str:
    return f"{where}: column {written(name)}"


def _check_names(names: list[Any]) -> None:
    """Check that columns are named by strings, or all by integers, as scikit-learn requires."""
    others = [name for name in names if not isinstance(name, str)]
    if others and not all(isinstance(n, Integral) and not isinstance(n, bool) for n in names):
        raise InvalidInput(
            "the columns of a frame must be named by strings, or all by integers; received "
            f"{printable(', '.join(map(repr, names)))[:100]}: rename them"
        )


def _no_frame(frame: Any) -> InvalidInput:
    return InvalidInput(
        f"frame must be a pandas or polars data frame; received {type(frame).__name__}"
    )
