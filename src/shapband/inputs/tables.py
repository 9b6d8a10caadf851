"""Data frames, tuples (X, y) and files, made into sources in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shapband.checks import described, written
from shapband.errors import InvalidInput
from shapband.records.batch import take_in
from shapband.records.columns import library_of
from shapband.records.frames import NUMBERS, is_frame
from shapband.sources.base import MemorySource, Source
from shapband.sources.files import read_arrow, read_csv, read_parquet
from shapband.sources.frames import records_of_frame
from shapband.sources.reading.stores import format_of

KNOWN = "a data frame, a tuple (X, y), the path of a .csv or .parquet file, or a source"


def source_of(thing: Any, target: Any, where: str) -> Source:
    """Make a source of one provider's data; a source is returned as it is.

    Parameters
    ----------
    thing : a data frame that narwhals reads, a tuple (X, y), a path or a source
    target : the column with the targets of a data frame or a file
    where : names the data in errors, such as "providers['north']"
    """
    return thing if isinstance(thing, Source) else memory_source(thing, target, where)


def memory_source(thing: Any, target: Any, where: str) -> MemorySource:
    """Make a source of a data frame, a tuple (X, y) or a path."""
    if isinstance(thing, tuple):
        return _of_tuple(thing, target, where)
    if is_path(thing):
        thing = _read(thing, where)
    frame = frame_of(thing, where)
    if frame is None:
        raise InvalidInput(f"{where} must be {KNOWN}; {_instead(thing)}")
    records = records_of_frame(frame, target, where)
    return MemorySource(records, replace=False, target=str(target))


def is_table(thing: Any) -> bool:
    """Whether a thing is a path or a data frame, so that `target` must name a column of it."""
    import narwhals as nw

    if is_path(thing):
        return True
    try:  # without collecting a lazy frame
        table: Any = nw.from_native(thing, pass_through=True)
    except nw.exceptions.DuplicateError:
        return True
    return isinstance(table, nw.DataFrame | nw.LazyFrame)


def is_path(thing: Any) -> bool:
    """Whether a thing is the path of a file."""
    return isinstance(thing, str | os.PathLike)


def frame_of(thing: Any, where: str) -> Any:
    """The pandas or polars frame of anything that narwhals reads; None if it is no frame."""
    import narwhals as nw

    try:
        table: Any = nw.from_native(thing, pass_through=True)
        if isinstance(table, nw.LazyFrame):
            table = table.collect()
    except nw.exceptions.DuplicateError:
        return thing  # `as_frame` names the duplicate
    if not isinstance(table, nw.DataFrame):
        return None
    native = table.to_native()
    if library_of(native) in NUMBERS:
        return native
    try:
        return table.to_pandas()
    except ImportError as cause:
        raise InvalidInput(
            f"{where}: a frame of {library_of(native)} cannot be converted to pandas ({cause}): "
            "pass a pandas or polars frame"
        ) from cause


def _of_tuple(pair: tuple[Any, ...], target: Any, where: str) -> MemorySource:
    if len(pair) != 2:
        raise InvalidInput(f"{where} must be a tuple (X, y) of two; received {described(pair)}")
    X, y = pair
    if isinstance(y, str | int) and is_table(X):
        raise InvalidInput(
            f"{where}: y must be the targets; received {written(y)}: pass the frame alone, and "
            f"target={written(y)}"
        )
    if target is not None and is_frame(X) and target in X.columns:
        raise InvalidInput(
            f"{where}: the targets are passed twice, as y and as the column {target!r} of X, "
            "where a model would see them: drop the column, or pass the frame alone instead of "
            "(X, y)"
        )
    return MemorySource(take_in(X, y, where), replace=False)


def _read(path: str | os.PathLike[str], where: str) -> Any:
    """Read the file at a path or an address, by the format that its name tells."""
    kind = format_of(str(path))
    if kind == "parquet":
        return read_parquet(path, where)
    if kind == "arrow":
        return read_arrow(path, where)
    if kind == "csv":
        return read_csv(path, None, where)
    if Path(path).is_dir():
        raise InvalidInput(
            f"{where} must be one .csv or .parquet file; received the directory {path}: pass "
            "sb.FileSource(path, target=...)"
        )
    raise InvalidInput(
        f"{where} must be a .csv or .parquet file; received {path}: read it with pandas or "
        "polars, and pass the frame"
    )


def _instead(thing: Any) -> str:
    """Say what was received, and what to write instead."""
    if isinstance(thing, Mapping):
        return (
            f"received a dict of {', '.join(map(repr, list(thing)[:3]))}: pass "
            "pandas.DataFrame(...) of a dict of columns, or sb.Group(name, providers) if several "
            "providers take part as one"
        )
    if isinstance(thing, np.ndarray):
        return f"received {described(thing)}: pass (X, y), with the targets as y"
    if isinstance(thing, list):
        return f"received a list of {len(thing)}: pass a tuple (X, y)"
    if isinstance(thing, type):
        return f"received the class {thing.__name__}: pass an object"
    if library_of(thing) in NUMBERS and hasattr(thing, "dtype"):
        return f"received a {type(thing).__name__}: pass the frame with all columns"
    return f"received {type(thing).__name__}: pass one of these"
