"""Fingerprints of data and settings: the same for equal records, even from different files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache, partial
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband.checks import error_line, printable, written
from shapband.errors import InvalidInput, SourceError
from shapband.sources.base import FiniteSource, MemorySource, Source
from shapband.sources.digests import add_array, add_frame, digest_of

if TYPE_CHECKING:
    from hashlib import _Hash


_UNCHECKED = ", not in memory"


def fingerprint(source: Source) -> str:
    """Give the SHA-256 of records in memory, or the version that another source states.

    Examples
    --------
    >>> import shapband as sb
    >>> fingerprint(sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]))[:23]
    'sha256:6605acf56c2d31cf'
    >>> fingerprint(sb.FunctionSource(lambda size, rng: None))
    'FunctionSource, not in memory'
    """
    about = type(source).__name__
    if isinstance(source, FiniteSource):
        if isinstance(source, MemorySource):
            return source.version
        if source.records is not None:
            return digest_of(source.records)
        about += f", {source.size} records"
    version = _version_of(source)
    return f"{about}{_UNCHECKED}" if version is None else f"{about}, version {version}"


def is_unchecked(mark: str) -> bool:
    """Whether a fingerprint does not depend on the records, because no version is stated."""
    return mark.endswith(_UNCHECKED)


def is_same_data(before: str, now: str) -> bool:
    """Whether a source may hold the data of an earlier fingerprint.

    If no version was stated before, the version that is stated now cannot be compared.
    """
    if before == now:
        return True
    return is_unchecked(before) and now.startswith(before.removesuffix(_UNCHECKED) + ", version ")


def _version_of(source: Source) -> str | None:
    try:
        version: object = source.version
    except Exception as cause:
        raise SourceError(
            f"{type(source).__name__} cannot give its version ({error_line(cause)})"
        ) from cause
    if version is None:
        return None
    if not isinstance(version, str) or not version:
        raise InvalidInput(
            f"{type(source).__name__}: version must be a string that is not empty, or None; "
            f"received {written(version)}"
        )
    return printable(version)


def fingerprint_object(thing: object) -> str:
    """Give the SHA-256 of an object: its class and everything that it holds.

    The hash covers the content of arrays and frames, the code and closures of functions, and the
    parameters of estimators. Values that the object caches are left out.

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
    """Add an object to the hash; `path` is its place, `seen` has the objects that contain it."""
    if isinstance(thing, np.ndarray):
        add_array(digest, path, thing)
    elif hasattr(thing, "columns") and hasattr(thing, "shape"):
        add_frame(digest, thing)
    elif isinstance(thing, str | bytes | int | float | complex | np.generic | None):
        digest.update(f"{path}={thing!r}\0".encode())
    elif id(thing) not in seen:
        digest.update(f"{path}:{_kind(thing)}\0".encode())
        for name, part in _parts(thing):
            _add_object(digest, f"{path}.{name}", part, (*seen, id(thing)))


def _kind(thing: object) -> str:
    """The name of a class or function, without its module, which is __main__ in a script."""
    thing = thing.model if isinstance(thing, Refitted) else thing
    return (thing if isinstance(thing, type | FunctionType) else type(thing)).__qualname__


def _parts(thing: Any) -> Iterator[tuple[str, object]]:
    """The parts of an object, by name."""
    if isinstance(thing, Mapping):
        yield from ((key, thing[key]) for key in sorted(thing, key=repr))
    elif isinstance(thing, list | tuple):
        yield from ((str(place), part) for place, part in enumerate(thing))
    elif isinstance(thing, set | frozenset):
        yield from ((part, None) for part in sorted(map(repr, thing)))
    elif isinstance(thing, FunctionType):
        yield from {"code": thing.__code__, "defaults": thing.__defaults__}.items()
        if thing.__kwdefaults__:
            yield "keyword defaults", thing.__kwdefaults__
        cells = thing.__closure__ or ()
        yield from ((f"cell {place}", cell.cell_contents) for place, cell in enumerate(cells))
        yield from _globals_of(thing)
    elif isinstance(thing, partial):
        yield from (("function", thing.func), ("given", thing.args), ("named", thing.keywords))
    elif isinstance(thing, MethodType):
        yield from (("object", thing.__self__), ("method", thing.__func__))
    elif isinstance(thing, CodeType):
        yield from (("code", thing.co_code), ("names", thing.co_names), ("consts", thing.co_consts))
    elif isinstance(thing, Refitted):
        yield from _parts(thing.model.get_params(deep=False))
    elif hasattr(thing, "get_params") and not isinstance(thing, type):
        yield from _parts(thing.get_params(deep=False))
        yield from _fitted_parts(thing)
    elif not isinstance(thing, type):
        yield from _parts(held_by(thing))


def held_by(thing: Any) -> dict[str, object]:
    """The attributes of an object, without values that it caches.

    Models that a utility fits again are `Refitted`.
    """
    kind = type(thing)
    cached = _cached_names(kind)  # type: ignore[arg-type]  # a class is hashable
    cached |= set(getattr(thing, "_counters", ()))
    held = {name: part for name, part in _attributes(thing).items() if name not in cached}
    # Computed late, but part of the fingerprints of runs that were begun earlier.
    held |= {name: getattr(thing, name) for name in getattr(thing, "_computed", ())}
    for name in getattr(thing, "_refitted", ()):
        held[name] = Refitted(held[name]) if hasattr(held[name], "get_params") else held[name]
    return held


class Refitted:
    """A model that a utility fits again, so that only its parameters matter."""

    def __init__(self, model: Any) -> None:
        self.model = model


def _fitted_parts(model: Any) -> Iterator[tuple[str, object]]:
    """The fitted attributes of a model, whose names end in an underscore in scikit-learn."""
    held = getattr(model, "__dict__", {})
    learned = [name for name in sorted(held) if name.endswith("_") and not name.startswith("_")]
    yield from ((name, held[name]) for name in learned)


def _globals_of(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Numbers, strings, arrays and functions of its own module that a function uses by name.

    Functions of installed packages are left out: their versions are recorded with the run.
    """
    package = function.__module__.partition(".")[0] if function.__module__ else ""
    if package == "shapband" or "site-packages" in function.__code__.co_filename:
        return
    used = (name for name in function.__code__.co_names if name in function.__globals__)
    for name in sorted(used):
        part = function.__globals__[name]
        own = isinstance(part, FunctionType) and part.__module__ == function.__module__
        if own or isinstance(part, str | bytes | int | float | complex | np.ndarray | np.generic):
            yield f"global {name}", part


def _attributes(thing: object) -> dict[str, object]:
    """Attributes in the object's dictionary and in the slots of its classes."""
    slots = [
        name
        for kind in type(thing).__mro__
        for name in (kind.__dict__.get("__slots__") or ())
        if isinstance(kind.__dict__.get("__slots__"), tuple | list)
    ]
    held = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    return {**held, **getattr(thing, "__dict__", {})}


@lru_cache(maxsize=1_000)
def _cached_names(kind: type) -> frozenset[str]:
    """The names of the cached properties of a class."""
    return frozenset(
        name for name in dir(kind) if isinstance(getattr(kind, name, None), cached_property)
    )
