"""Python objects as numbers, strings and missing values.

The type of an object decides: a string is never read as a missing value, and a date is never read
as a number.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from shapband._typing import AnyArray, FloatArray
from shapband.checks import one_line, written
from shapband.errors import InvalidInput

_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
_MISSING = {"NoneType", "NAType", "NaTType", "MaskedConstant"}
_LARGEST_EXACT = 2**53  # all integers up to this are exact as floats
NOT_FINITE = "holds missing, NaN or infinite values"


def plain_cells(cells: Sequence[Any], where: str) -> AnyArray:
    """Convert objects to floats, or to an array of objects that are strings or missing.

    A missing value is NaN among floats, and NaN or None among strings. A `Decimal` or a fraction
    becomes the nearest float; bytes are decoded as UTF-8.

    Examples
    --------
    >>> from decimal import Decimal
    >>> plain_cells([Decimal("0.1"), None, True], "y").tolist()
    [0.1, nan, 1.0]
    >>> plain_cells([b"a", "b"], "y").tolist()
    ['a', 'b']
    """
    kinds = {kind: _kind_of(kind) for kind in {type(cell) for cell in cells}}
    found = {name: kind for kind, name in kinds.items()}
    if "date" in found:
        raise no_dates(where)
    if "other" in found:
        raise InvalidInput(
            f"{where} holds objects of the type {found['other'].__name__}: pass numbers or strings"
        )
    if "string" in found:
        return _strings(cells, kinds, where)
    if "number" not in found:
        return _objects([None if cell is None else np.nan for cell in cells])
    try:
        numbers = [np.nan if kinds[type(c)] == "missing" else float(c) for c in cells]
    except (ValueError, OverflowError) as cause:  # a signalling NaN, an integer beyond all floats
        raise InvalidInput(
            f"{where} holds a number that is not a finite float ({one_line(cause)}): pass others"
        ) from cause
    return np.array(numbers, dtype=np.float64)


def floats_of(cells: AnyArray, where: str) -> FloatArray:
    """Convert the result of `plain_cells` to floats, NaN and infinity allowed; parse strings."""
    if cells.dtype.kind == "f":
        return cells
    floats = np.full(len(cells), np.nan)
    for place, cell in enumerate(cells.tolist()):
        if isinstance(cell, str):
            try:
                floats[place] = _number_of(cell)
            except ValueError as cause:
                raise InvalidInput(
                    f"{where} holds {written(cell[:40])}, which is not a number: encode it first, "
                    "or use EstimatorUtility with a data frame and a pipeline that does"
                ) from cause
    return floats


def _number_of(cell: str) -> float:
    """Parse a number as written in files; unlike `float`, refuse "12_3" and non-ASCII digits."""
    if "_" in cell or not cell.isascii():
        raise ValueError(f"{cell!r} is not a number")
    return float(cell)


def check_exact(cells: AnyArray, where: str) -> None:
    """Refuse integers beyond 2**53, because two labels may be the same float."""
    if cells.dtype.kind in "iu":
        beyond = bool(((cells > _LARGEST_EXACT) | (cells < -_LARGEST_EXACT)).any())
    else:
        integers = (cell for cell in cells if isinstance(cell, Integral))
        beyond = any(abs(int(cell)) > _LARGEST_EXACT for cell in integers)
    if beyond:
        raise InvalidInput(
            f"{where} holds integers beyond 2**53, which are not exact as floats: pass "
            "labels as strings, and quantities as floats"
        )


def no_dates(where: str) -> InvalidInput:
    """Return the error for dates, times, durations and periods."""
    return InvalidInput(
        f"{where} holds dates, times or durations, which have no unit as numbers: convert them to "
        "numbers first, such as (dates - np.datetime64('2020-01-01')) / np.timedelta64(1, 'D') "
        "for days"
    )


def _kind_of(kind: type) -> str:
    """Whether objects of a type are numbers, strings, missing, dates, or something else."""
    if kind.__name__ in _MISSING:
        return "missing"
    # np.timedelta64 counts as an integer for `numbers`, so dates come before numbers.
    if issubclass(kind, _DATES) or kind.__name__ == "Period":
        return "date"
    if issubclass(kind, str | bytes):
        return "string"
    return "number" if issubclass(kind, Real | Decimal | np.bool_) else "other"


def _strings(cells: Sequence[Any], kinds: dict[type, str], where: str) -> AnyArray:
    """Strings and missing values as an array of objects; numbers among them are an error."""
    plain: list[Any] = []
    for cell in cells:
        if isinstance(cell, str):
            plain.append(str(cell))
        elif isinstance(cell, bytes):
            plain.append(_decoded(cell, where))
        elif cell is None:
            plain.append(None)
        elif kinds[type(cell)] == "missing" or cell != cell:
            plain.append(np.nan)
        else:
            raise InvalidInput(
                f"{where} holds strings and numbers, such as {written(cell)}: pass one or the other"
            )
    return _objects(plain)


def _decoded(cell: bytes, where: str) -> str:
    try:
        return cell.decode()
    except UnicodeDecodeError as cause:
        raise InvalidInput(
            f"{where} holds bytes that are not UTF-8: pass strings ({one_line(cause)})"
        ) from cause


def _objects(cells: list[Any]) -> AnyArray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
