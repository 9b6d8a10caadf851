"""Plain data frames of several providers joined to one: columns must be of one kind.

Integers, floats and booleans are joined to floats, as in pandas. Categories with different levels
are joined to categories with all levels. Joining numbers and strings is an error, because an
encoder could treat the column neither as numbers nor as strings.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.records.columns import library_of

_OneType: TypeAlias = Callable[[Sequence[Any], int], list[Any]]


def join_frames(frames: Sequence[Any], *, alike: bool) -> Any:
    """Join frames of the same columns, one below the other; `alike` if their dtypes are equal."""
    library = library_of(frames[0])
    if not alike:
        frames = _of_one_type(frames, _polars_columns if library == "polars" else _pandas_columns)
    return sys.modules[library].concat(frames)


def _of_one_type(frames: Sequence[Any], one_type: _OneType) -> Sequence[Any]:
    """Give columns the same names and types in all frames; names may differ as 0 and "0" do."""
    frames = [_renamed(frame, list(frames[0].columns)) for frame in frames]
    types = [list(frame.dtypes) for frame in frames]
    for place, dtype in enumerate(types[0]):
        if any(other[place] != dtype for other in types[1:]):
            frames = one_type(frames, place)
    return frames


def _renamed(frame: Any, names: list[Any]) -> Any:
    if list(frame.columns) == names:
        return frame
    renamed = frame.copy(deep=False)  # a pandas frame, because polars has only strings as names
    renamed.columns = names
    return renamed


def _pandas_columns(frames: Sequence[Any], place: int) -> list[Any]:
    """Give the column at one place the same type in all pandas frames."""
    import pandas as pd

    columns = [frame.iloc[:, place] for frame in frames]
    known = [column for column in columns if not column.isna().all()] or columns
    if all(column.dtype.kind in "iufb" for column in known):
        dtype: Any = "float64"
    elif all(isinstance(column.dtype, pd.CategoricalDtype) for column in known):
        dtype = _all_levels([column.dtype for column in known], columns[0].name)
    elif any(column.dtype.kind in "iufb" for column in known):
        raise _two_kinds(columns[0].name)
    else:
        dtype = object
    joined = [frame.copy(deep=False) for frame in frames]
    for frame, column in zip(joined, columns, strict=True):
        frame.isetitem(place, column.astype(dtype))
    return joined


def _all_levels(dtypes: Sequence[Any], name: Any) -> Any:
    """The categories of all dtypes: in their order if they are the same, else sorted."""
    import pandas as pd

    if all(dtype == dtypes[0] for dtype in dtypes):
        return dtypes[0]
    if any(dtype.ordered for dtype in dtypes):
        raise InvalidInput(
            f"column {written(name)} has ordered categories, which differ between providers or "
            "requests: give all of them the same categories in the same order"
        )
    levels = {level for dtype in dtypes for level in dtype.categories}
    if len({isinstance(level, str) for level in levels}) > 1:
        raise _two_kinds(name)
    return pd.CategoricalDtype(sorted(levels))


def _polars_columns(frames: Sequence[Any], place: int) -> list[Any]:
    """Give the column at one place the same type in all polars frames."""
    import polars as pl

    columns = [frame.to_series(place) for frame in frames]
    known = [one for one in columns if one.null_count() < len(one)] or columns
    kinds = {one.dtype for one in known}
    dtype: Any
    if len(kinds) == 1:
        dtype = kinds.pop()
    elif all(kind.is_numeric() or kind == pl.Boolean for kind in kinds):
        dtype = pl.Float64
    elif any(kind.is_numeric() or kind == pl.Boolean for kind in kinds):
        raise _two_kinds(columns[0].name)
    else:
        dtype = pl.String
    casted = [one if one.dtype == dtype else one.cast(dtype) for one in columns]
    return [
        frame.with_columns(one.alias(frame.columns[place]))
        for frame, one in zip(frames, casted, strict=True)
    ]


def _two_kinds(name: Any) -> InvalidInput:
    return InvalidInput(
        f"column {written(name)} holds numbers in some records and strings in others: pass one or "
        "the other from all providers"
    )
