"""Fingerprints of data and settings: the same for the same records, whatever file they are in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import AnyArray
from shapband.intake.frames import as_frame
from shapband.records import Batch
from shapband.sources.base import FiniteSource, Source

if TYPE_CHECKING:
    from hashlib import _Hash


def fingerprint(source: Source) -> str:
    """Give the SHA-256 of records in memory, or what there is to say of other sources.

    Examples
    --------
    >>> import shapband as sb
    >>> fingerprint(sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]))[:23]
    'sha256:6605acf56c2d31cf'
    >>> fingerprint(sb.FunctionSource(lambda size, rng: None))
    'FunctionSource, not in memory'
    """
    if isinstance(source, FiniteSource):
        records = source.records
        if records is not None:
            return fingerprint_of(records)
        return f"{type(source).__name__}, {source.size} records, not in memory"
    return f"{type(source).__name__}, not in memory"


def fingerprint_of(batch: Batch) -> str:
    """Give the SHA-256 of a batch: targets, then features, frames column by column."""
    digest = hashlib.sha256()
    _add(digest, "targets", batch.y)
    if isinstance(batch.X, np.ndarray):
        _add(digest, "features", batch.X)
    else:
        _add_frame(digest, batch.X)
    return f"sha256:{digest.hexdigest()}"


def fingerprint_object(thing: object) -> str:
    """Give the SHA-256 of an object: its class and everything that it holds.

    Arrays and frames enter by their content, functions by their code and what they close over,
    estimators by their parameters. Values that the object caches are left out.

    Examples
    --------
    >>> import shapband as sb
    >>> utility = sb.AdditiveUtility([1.0, 2.0])
    >>> fingerprint_object(utility) == fingerprint_object(sb.AdditiveUtility([1.0, 2.0]))
    True
    >>> fingerprint_object(utility) == fingerprint_object(sb.AdditiveUtility([1.0, 3.0]))
    False
    """
    digest = hashlib.sha256()
    _add_object(digest, "", thing, seen=())
    return f"sha256:{digest.hexdigest()}"


def _add_object(digest: _Hash, path: str, thing: object, seen: tuple[int, ...]) -> None:
    """Add an object; `path` says where it is, `seen` holds the objects that it is inside of."""
    if isinstance(thing, np.ndarray):
        _add(digest, path, thing)
    elif hasattr(thing, "columns") and hasattr(thing, "shape"):
        _add_frame(digest, thing)
    elif isinstance(thing, str | bytes | int | float | complex | np.generic | None):
        digest.update(f"{path}={thing!r}\0".encode())
    elif id(thing) not in seen:
        digest.update(f"{path}:{_kind(thing)}\0".encode())
        for name, part in _parts(thing):
            _add_object(digest, f"{path}.{name}", part, (*seen, id(thing)))


def _kind(thing: object) -> str:
    """The name of a class or function, without its module, which is __main__ in a script."""
    return (thing if isinstance(thing, type | FunctionType) else type(thing)).__qualname__


def _parts(thing: Any) -> Iterator[tuple[str, object]]:
    """What an object holds, by name."""
    if isinstance(thing, Mapping):
        yield from ((key, thing[key]) for key in sorted(thing, key=repr))
    elif isinstance(thing, list | tuple):
        yield from ((str(place), part) for place, part in enumerate(thing))
    elif isinstance(thing, set | frozenset):
        yield from ((part, None) for part in sorted(map(repr, thing)))
    elif isinstance(thing, FunctionType):
        yield from {"code": thing.__code__, "defaults": thing.__defaults__}.items()
        cells = thing.__closure__ or ()
        yield from ((f"cell {place}", cell.cell_contents) for place, cell in enumerate(cells))
    elif isinstance(thing, CodeType):
        yield from (("code", thing.co_code), ("names", thing.co_names), ("consts", thing.co_consts))
    elif hasattr(thing, "get_params") and not isinstance(thing, type):
        yield from _parts(thing.get_params(deep=False))
    elif hasattr(thing, "__dict__") and not isinstance(thing, type):
        cached = {name for name in dir(type(thing)) if _is_cached(type(thing), name)}
        cached |= set(getattr(thing, "_counters", ()))
        yield from _parts({name: part for name, part in vars(thing).items() if name not in cached})


def _is_cached(kind: type, name: str) -> bool:
    return isinstance(getattr(kind, name, None), cached_property)


def _add_frame(digest: _Hash, frame: Any) -> None:
    table = as_frame(frame)
    for name in table.columns:
        _add(digest, f"column {name}", table[name].to_numpy())


def _add(digest: _Hash, name: str, values: AnyArray) -> None:
    """Add an array: its name, type and shape first, so that no two tables read alike."""
    header: Any = (name, values.dtype.str, values.shape)
    digest.update(repr(header).encode())
    if values.dtype.kind in "biuf":
        digest.update(np.ascontiguousarray(values).data)
    else:
        for value in values.ravel().tolist():
            digest.update(repr(value).encode() + b"\0")
