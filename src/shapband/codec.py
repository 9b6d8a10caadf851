"""Records as JSON documents and back; no digits are lost.

`encode` and `decode` follow the fields of a dataclass or a NamedTuple and their types: numbers,
strings, tuples, mappings of strings, arrays, other records, and None where a type allows it. JSON
has no NaN, so it is written as null. Documents are checked against the types when they are read,
because they may come from elsewhere: `decode` raises ValueError with the place of a wrong value.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

_Record = TypeVar("_Record")
# Types that a cell of an array may have in a document, by the kind of the array.
_CELLS: dict[str, set[type]] = {"f": {int, float, types.NoneType}, "i": {int}}


def lock_arrays(record: Any) -> None:
    """Make the arrays of a frozen record read-only, so that sorting one changes no result.

    The arrays are replaced by read-only views, so other references to them stay writeable.
    """
    kind: Any = type(record)
    for name in _field_names(kind):
        part = getattr(record, name)
        if isinstance(part, np.ndarray) and part.flags.writeable:
            view = part.view()
            view.flags.writeable = False
            object.__setattr__(record, name, view)


@cache
def _field_names(kind: Any) -> tuple[str, ...]:
    """The fields of a record; games are folded into new records often enough to remember them."""
    return tuple(one.name for one in dataclasses.fields(kind))


def encode(value: Any) -> Any:
    """Turn a record into values that JSON can write.

    Examples
    --------
    >>> from shapband.grouping import Grouping
    >>> encode(Grouping(("north",), ((0, 1),)))
    {'names': ['north'], 'members': [[0, 1]]}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if hasattr(value, "to_document"):
        return value.to_document()
    if dataclasses.is_dataclass(value):
        return {one.name: encode(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: encode(getattr(value, name)) for name in value._fields}
    if isinstance(value, Mapping):
        return {name: encode(part) for name, part in value.items()}
    return [encode(part) for part in value]


def _encode_array(values: np.ndarray[Any, Any]) -> Any:
    if values.dtype.kind != "f":
        return values.tolist()
    if np.isinf(values).any():
        raise ValueError("infinite values cannot be written as JSON")
    listed = values.astype(object)
    listed[np.isnan(values)] = None
    return listed.tolist()


def decode(kind: type[_Record], document: Any) -> _Record:
    """Make a record of a kind from the values that `encode` gave.

    Fields that the document does not have take their default. Other names are refused.

    Examples
    --------
    >>> from shapband.grouping import Grouping
    >>> decode(Grouping, {"names": ["north"], "members": [[0, 1]]})
    Grouping(names=('north',), members=((0, 1),))
    """
    found: _Record = _decode(kind, document, kind.__name__)
    return found


def _decode(kind: Any, value: Any, place: str) -> Any:
    kind = _without_alias(kind)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(kind), value, place)
    if origin is np.ndarray:
        return _decode_array(np.dtype(get_args(get_args(kind)[1])[0]), value, place)
    if origin is tuple:
        return tuple(_decode(get_args(kind)[0], part, place) for part in _listed(value, place))
    if origin is Literal:
        return _checked(value, value in get_args(kind), place)
    if origin is not None and issubclass(origin, Mapping):
        of = get_args(kind)[1]
        pairs = _named(value, place).items()
        return {_text(name, place): _decode(of, part, f"{place}[{name!r}]") for name, part in pairs}
    if hasattr(kind, "from_document"):
        return kind.from_document(value)
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        return _decode_record(kind, value, place)
    return _decode_plain(kind, value, place)


def _without_alias(kind: Any) -> Any:
    """Replace an alias, such as the NDArray of NumPy 2.5 on Python 3.12, by what it stands for."""
    origin = get_origin(kind)
    return origin.__value__[get_args(kind)] if hasattr(origin, "__value__") else kind


def _decode_union(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    (kind,) = (one for one in kinds if one is not type(None))
    return _decode(kind, value, place)


def _decode_record(kind: Any, value: Any, place: str) -> Any:
    hints, given = _hints(kind), _named(value, place)
    unknown = given.keys() - hints.keys()
    _checked(value, not unknown, f"{place}: {min(unknown, default='')!r}")
    parts = {name: _decode(hints[name], given[name], f"{place}.{name}") for name in given}
    return kind(**parts)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    if dataclasses.is_dataclass(kind):
        return {one.name: hints[one.name] for one in dataclasses.fields(kind)}
    return hints


def _decode_array(dtype: np.dtype[Any], value: Any, place: str) -> Any:
    try:
        cells = np.array(_listed(value, place), dtype=object)
        # NumPy would truncate 1.5 to an integer, and convert "3" and True to numbers.
        _checked(value, set(map(type, cells.flat)) <= _CELLS[dtype.kind], place)
        array = cells.astype(dtype)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{place} is not an array of numbers") from None
    return _checked(array, not np.isinf(array).any(), place)


def _decode_plain(kind: Any, value: Any, place: str) -> Any:
    if kind is str:
        return _text(value, place)
    if kind is int:
        return _checked(value, type(value) is int, place)
    if kind is float:
        if value is None:
            return math.nan
        return float(_checked(value, type(value) in (int, float) and math.isfinite(value), place))
    return _checked(value, type(value) is kind, place)


def _text(value: Any, place: str) -> str:
    """Check a string, which must be one that can be written as UTF-8."""
    _checked(value, isinstance(value, str), place)
    str(value).encode()
    return str(value)


def _named(value: Any, place: str) -> Mapping[str, Any]:
    return dict(_checked(value, isinstance(value, dict), place))


def _listed(value: Any, place: str) -> list[Any]:
    return list(_checked(value, isinstance(value, list | tuple), place))


def _checked(value: Any, fits: object, place: str) -> Any:
    if not fits:
        raise ValueError(f"{place} is missing, unknown or of another kind")
    return value
