"""Fingerprints of the code that the user wrote: classes, functions, and the values they read.

The code of shapband, of the standard library and of installed packages is left out: the versions
are recorded with the run. A fingerprint depends on compiled code, and so neither on comments nor on
the place of a class, but on the version of Python, which it names.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import hashlib
import re
import sys
import sysconfig
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cached_property, partial, partialmethod
from pathlib import Path, PurePath
from types import CellType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

import shapband
from shapband._typing import AnyArray
from shapband.records.frames import as_frame
from shapband.runs.bytecode import Names
from shapband.runs.fingerprints import Refitted, held_by
from shapband.secrets import is_sensitive
from shapband.sources.base import Source

NONE = "none"  # the fingerprint of an object without code of the user
_MOST_OBJECTS = 20_000  # searched for code of the user
_MOST_UNITS = 2_000  # classes and functions in a fingerprint
_MOST_VALUES = 50_000  # in lists, dictionaries and attributes that the code reads
_DEEPEST = 40  # how deep values may be nested; deeper ones count by their class
_LARGEST = 100_000_000  # bytes of an array that is hashed whole; of larger ones, a part is
_LONGEST = 10_000_000  # characters of a string, likewise
_MOST_CELLS = 5_000_000  # of a data frame that is hashed; larger ones count by their shape
_SCALARS = (int, float, complex, str, bytes)
_SAID_BY_REPR = (
    np.generic,
    decimal.Decimal,
    fractions.Fraction,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    datetime.tzinfo,
    range,
    slice,
    type(None),
    type(Ellipsis),
    type(NotImplemented),
)
_WRAPPERS = (staticmethod, classmethod, property, cached_property, partial, partialmethod)
# Entries of a class that its definition does not state, or that comments and places may change.
_NOT_STATED = {
    *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__"),
    *("__annotate__", "__annotate_func__", "__annotations_cache__", "__firstlineno__"),
    *("__static_attributes__", "__abstractmethods__", "_abc_impl", "__orig_bases__"),
    *("__parameters__", "__type_params__", "__signature__"),
}
_STDLIB = Path(sysconfig.get_path("stdlib"))
_LIBRARY = Path(shapband.__file__).parent


def fingerprint_code(thing: object) -> str:
    """Give the SHA-256 of the user's code that an object consists of, and the version of Python.

    It covers the methods and class attributes of the user's classes and of their base classes, the
    user's functions, and what both read by name: numbers, strings, arrays, containers and objects
    that they do not change themselves. The attributes of a source of the user's class are left
    out, because they may be connections.

    Examples
    --------
    >>> import shapband as sb
    >>> fingerprint_code(sb.AdditiveUtility([1.0, 2.0]))
    'none'
    """
    walk = _Walk()
    walk.look_into(thing)
    return walk.fingerprint()


def is_same_code(before: str, now: str) -> bool:
    """Whether code may be the same: compiled code of two versions of Python cannot be compared.

    Examples
    --------
    >>> is_same_code("sha256:ab, Python 3.11", "sha256:cd, Python 3.12")
    True
    >>> is_same_code("sha256:ab, Python 3.12", "sha256:cd, Python 3.12")
    False
    """
    if before == now:
        return True
    return NONE not in (before, now) and before.partition(", ")[2] != now.partition(", ")[2]


class _Walk:
    """Adds classes and functions of the user to a hash, each once, in the order they are found."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._numbers: dict[int, int] = {}
        self._units: list[FunctionType | type] = []  # kept, so that their ids stay theirs
        self._left = _MOST_VALUES

    def fingerprint(self) -> str:
        """Add the units, and those found meanwhile."""
        at = 0
        while at < len(self._units):
            unit = self._units[at]
            if isinstance(unit, type):
                self._add_class(unit)
            else:
                self._add_function(unit)
            at += 1
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        return f"sha256:{self._digest.hexdigest()}, {version}" if self._units else NONE

    def look_into(self, thing: object) -> None:
        """Find classes and functions in an object whose other content is known."""
        due, found = deque([thing]), {id(thing): thing}
        while due:
            now = due.popleft()
            if _is_own_unit(now):
                self._refer(now)
            elif isinstance(now, FunctionType):
                due.extend(_wrapped_by(now))
            if _is_own(type(now)):
                self._refer(type(now))
            for part in _content(now, of_source=isinstance(thing, Source)):
                if id(part) not in found and len(found) < _MOST_OBJECTS:
                    found[id(part)] = part
                    due.append(part)

    def _put(self, *words: object) -> None:
        text = "\0".join(map(str, words))
        self._digest.update(text.encode("utf-8", "surrogatepass") + b"\0\0")

    def _refer(self, unit: Any) -> None:
        """Add the number of a class or function, which is added itself later."""
        if id(unit) not in self._numbers:
            if len(self._units) >= _MOST_UNITS:
                self._put("another", unit.__qualname__)
                return
            self._numbers[id(unit)] = len(self._units)
            self._units.append(unit)
        self._put("unit", self._numbers[id(unit)])

    def _add_class(self, kind: type) -> None:
        self._put("class", kind.__qualname__)
        for base in kind.__mro__[1:]:
            self._add_name(base)
        self._add_name(type(kind))
        held = {name: part for name, part in vars(kind).items() if _is_stated(name, part)}
        changed = set().union(*(Names.of(code).changed for code in _codes(held.values())))
        for name in sorted(held):
            self._put("attribute", name)
            self._add_read(held[name], name, changed)

    def _add_name(self, kind: type) -> None:
        if _is_own(kind):
            self._refer(kind)
        else:
            self._put("name", kind.__qualname__)

    def _add_function(self, function: FunctionType) -> None:
        code, names = function.__code__, Names.of(function.__code__)
        self._put("function", function.__qualname__)
        self._add_code(code, function.__doc__)
        self._add_value(function.__defaults__, ())
        self._add_value(function.__kwdefaults__, ())
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self._put("cell", name)
            if cell != CellType():  # a variable that has a value
                self._add_read(cell.cell_contents, name, names.changed, names.attributes)
        for name in sorted(names.variables & function.__globals__.keys()):
            self._put("global", name)
            part = function.__globals__[name]
            self._add_read(part, name, names.changed, names.attributes)

    def _add_code(self, code: CodeType, doc: str | None = None) -> None:
        consts = list(code.co_consts)
        if consts and doc is not None and consts[0] == doc:
            consts[0] = None
        self._put("code", code.co_flags, code.co_argcount, code.co_posonlyargcount)
        self._put(code.co_kwonlyargcount, *code.co_names)
        self._put(*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        self._put(code.co_code.hex(), code.co_exceptiontable.hex())
        if "__firstlineno__" in code.co_names:  # the body of a class, since Python 3.13
            consts = [part for part in consts if part != code.co_firstlineno]
        for part in consts:
            if isinstance(part, CodeType):
                self._add_code(part)
            else:
                self._add_value(part, ())

    def _add_read(
        self,
        part: object,
        name: str,
        changed: set[str],
        attributes: set[str] | None = None,
        above: tuple[int, ...] = (),
    ) -> None:
        """Add what code reads by name; a module counts by those of its attributes that are read."""
        if _is_secret(name, part) or (name.startswith("__") and isinstance(part, str)):
            return
        if isinstance(part, ModuleType):
            if attributes is None or id(part) in above or not _is_own_module(part.__name__):
                return
            for inner in sorted(attributes & vars(part).keys()):
                self._put("of module", inner)
                above_inner = (*above, id(part))
                self._add_read(vars(part)[inner], inner, changed, attributes, above_inner)
        elif name not in changed or _is_own_unit(part):
            self._add_value(part, ())
        elif _is_model(part):
            self._add_value(Refitted(part), ())
        elif _is_own(type(part)):
            self._refer(type(part))

    def _add_value(self, thing: Any, above: tuple[int, ...]) -> None:
        """Add a value; `above` has the ids of the objects that contain it."""
        self._left -= 1
        if self._left < 0 or len(above) > _DEEPEST or id(thing) in above:
            self._put("more", type(thing).__qualname__)
            return
        try:
            self._add_content(thing, (*above, id(thing)))
        except Exception:  # noqa: BLE001  objects of others may raise anything
            self._put("unreadable", type(thing).__qualname__)

    def _add_content(self, thing: Any, above: tuple[int, ...]) -> None:
        kind = type(thing)
        if isinstance(thing, FunctionType | type):
            self._add_unit(thing, above)
        elif isinstance(thing, Enum):
            self._add_name(kind)
            self._put(thing.name)
            self._add_value(thing.value, above)
        elif isinstance(thing, (*_SCALARS, *_SAID_BY_REPR)):
            self._put(kind.__qualname__, _written(thing))
        elif isinstance(thing, np.ndarray):
            self._add_array(thing, above)
        elif hasattr(thing, "columns") and hasattr(thing, "shape"):
            self._add_frame(thing, above)
        elif isinstance(thing, dict | MappingProxyType):
            self._put(kind.__qualname__, len(thing))
            for key in sorted(thing, key=_order) if len(thing) <= self._left else ():
                self._add_value(key, above)
                if not _is_secret(key, thing[key]):
                    self._add_value(thing[key], above)
        elif isinstance(thing, list | tuple | deque):
            self._put(kind.__qualname__, len(thing))
            for part in thing:
                if self._left < 0:
                    break
                self._add_value(part, above)
        elif isinstance(thing, set | frozenset):
            self._put(kind.__qualname__, len(thing))
            for part in sorted(thing, key=_order) if len(thing) <= self._left else ():
                # Parts that cannot be ordered by their content count by their class.
                self._add_value(part if _has_order(part) else type(part), above)
        elif isinstance(thing, re.Pattern):
            self._put("pattern", thing.pattern, thing.flags)
        elif isinstance(thing, CodeType):
            self._add_code(thing)
        elif isinstance(thing, (*_WRAPPERS, MethodType)):
            self._put(kind.__qualname__)
            self._add_value(_inside(thing), above)
        elif isinstance(thing, Refitted):
            self._add_model(thing.model, above, fitted=False)
        elif _is_model(thing):
            self._add_model(thing, above, fitted=True)
        elif _is_own(kind):
            self._refer(kind)
            self._add_attributes(held_by(thing), above)
        else:
            self._put("other", kind.__qualname__)
            for part in _wrapped_by(thing):
                self._add_value(part, above)

    def _add_unit(self, unit: Any, above: tuple[int, ...]) -> None:
        if _is_own_unit(unit):
            self._refer(unit)
            return
        self._put("name", unit.__qualname__)
        if not isinstance(unit, type):
            for part in _wrapped_by(unit):
                self._add_value(part, above)

    def _add_model(self, model: Any, above: tuple[int, ...], *, fitted: bool) -> None:
        """Add the parameters of a model, and what it learned unless it is fitted anew."""
        self._add_name(type(model))
        self._add_attributes(model.get_params(deep=False), above)
        held = vars(model) if fitted and hasattr(model, "__dict__") else {}
        learned = {k: part for k, part in held.items() if k.endswith("_") and k[0] != "_"}
        self._add_attributes(learned, above)

    def _add_attributes(self, held: Mapping[str, object], above: tuple[int, ...]) -> None:
        for name in sorted(held, key=str):
            self._put("attribute", name)
            if not _is_secret(name, held[name]):
                self._add_value(held[name], above)

    def _add_array(self, values: AnyArray, above: tuple[int, ...]) -> None:
        self._put("array", values.dtype.str, values.shape)
        if values.dtype.kind in "OV":
            self._add_value(values.ravel()[: max(self._left, 0)].tolist(), above)
            return
        step = 1 + values.nbytes // _LARGEST
        part = np.ascontiguousarray(values if step == 1 else values.flat[::step])
        self._digest.update(part.tobytes())

    def _add_frame(self, frame: Any, above: tuple[int, ...]) -> None:
        table = as_frame(frame)
        self._put("frame", *table.shape)
        for name in table.columns:
            self._put("column", name)
            if np.prod(table.shape) <= _MOST_CELLS:
                self._add_array(table[name].to_numpy(), above)


def _content(thing: Any, *, of_source: bool) -> Iterable[object]:
    """The parts of an object that may be classes or functions of the user, or hold some.

    Of a source, only sources of shapband are searched, for the functions and sources that they were
    given; clients and connections are not.
    """
    kind = type(thing)
    if isinstance(thing, Refitted):
        return [thing.model]
    if isinstance(thing, (*_SCALARS, *_SAID_BY_REPR, np.ndarray, FunctionType, type, ModuleType)):
        return ()
    try:
        if isinstance(thing, dict | MappingProxyType):
            return [thing[key] for key in sorted(thing, key=_order)]
        if isinstance(thing, list | tuple | deque):
            return list(thing)
        if isinstance(thing, set | frozenset):
            return sorted(filter(_has_order, thing), key=_order)
        if isinstance(thing, partial | MethodType):
            return [_inside(thing)]
        if _is_model(thing):
            held = thing.get_params(deep=False)
        elif of_source and not (isinstance(thing, Source) and not _is_own(kind)):
            return ()
        else:
            held = {**held_by(thing), "wrapped": _wrapped_by(thing)}
        return [held[name] for name in sorted(held, key=str)]
    except Exception:  # noqa: BLE001  objects of others may raise anything
        return ()


def _is_secret(name: object, part: object) -> bool:
    """Whether this is a string that must not be stored, not even as a part of a hash."""
    return isinstance(part, str | bytes) and isinstance(name, str) and is_sensitive(name)


def _inside(thing: Any) -> object:
    """What a wrapper of a function holds."""
    if isinstance(thing, staticmethod | classmethod):
        return thing.__func__
    if isinstance(thing, property):
        return thing.fget, thing.fset, thing.fdel
    if isinstance(thing, cached_property):
        return thing.func
    if isinstance(thing, MethodType):
        return thing.__func__, thing.__self__
    return thing.func, thing.args, thing.keywords


def _wrapped_by(thing: Any) -> list[object]:
    """The user's functions that a decorator or a compiler of an installed package holds."""
    held: list[object] = []
    if isinstance(thing, FunctionType):
        cells = thing.__closure__ or ()
        held = [cell.cell_contents for cell in cells if cell != CellType()]
    with suppress(Exception):  # objects of others may raise anything
        # Compiled functions of numba name their function `py_func`.
        held += [getattr(thing, name, None) for name in ("__wrapped__", "py_func")]
    return [part for part in held if isinstance(part, FunctionType | type)]


def _codes(held: Iterable[Any]) -> Iterator[CodeType]:
    """The code of the methods among the entries of a class."""
    for part in held:
        inside = _inside(part) if isinstance(part, _WRAPPERS) else part
        for one in inside if isinstance(inside, tuple) else (inside,):
            if isinstance(one, FunctionType):
                yield one.__code__


def _is_stated(name: str, part: object) -> bool:
    """Whether an entry of a class is written by the user, and not made by a package."""
    if name in _NOT_STATED or name.startswith("_sklearn"):
        return False
    covered = (*_SCALARS, *_SAID_BY_REPR, np.ndarray, FunctionType, type, re.Pattern, Enum)
    containers = (dict, MappingProxyType, list, tuple, deque, set, frozenset)
    if isinstance(part, (*covered, *containers, *_WRAPPERS)):
        return True
    return _is_own(type(part)) or _is_model(part) or bool(_wrapped_by(part))


def _is_model(thing: object) -> bool:
    with suppress(Exception):  # objects of others may raise anything
        return hasattr(thing, "get_params") and not isinstance(thing, type)
    return False


def _written(thing: Any) -> str:
    """A value as a string, without calling a `repr` of the user."""
    if isinstance(thing, str):
        return f"{len(thing)} {str.__repr__(thing[:_LONGEST])}"
    if isinstance(thing, bytes):
        return f"{len(thing)} {bytes.__repr__(thing[:_LONGEST])}"
    if isinstance(thing, int):
        return hex(thing)  # Python refuses to write very large integers in digits
    if isinstance(thing, float):
        return float.__repr__(thing)
    return repr(thing)


def _order(thing: Any) -> str:
    """A string that sorts keys and the parts of sets, in every process alike."""
    if isinstance(thing, Enum):
        return f"{type(thing).__qualname__}.{thing.name}"
    if isinstance(thing, (*_SCALARS, *_SAID_BY_REPR)):
        return f"{type(thing).__qualname__} {_written(thing)}"
    if isinstance(thing, tuple):
        return f"({' '.join(map(_order, thing))})"
    if isinstance(thing, frozenset):
        return f"({' '.join(sorted(map(_order, thing)))})"
    if isinstance(thing, FunctionType | type):
        return thing.__qualname__
    return type(thing).__qualname__


def _has_order(thing: object) -> bool:
    if isinstance(thing, tuple | frozenset):
        return all(map(_has_order, thing))
    ordered = (*_SCALARS, *_SAID_BY_REPR, Enum, FunctionType, type)
    return isinstance(thing, ordered)


def _is_own_unit(thing: object) -> bool:
    if isinstance(thing, FunctionType):
        file = thing.__code__.co_filename
        return _is_own_module(thing.__module__) and _is_own_file(file)
    return isinstance(thing, type) and _is_own(thing)


def _is_own(kind: type) -> bool:
    return _is_own_module(getattr(kind, "__module__", None))


def _is_own_module(name: object) -> bool:
    """Whether a module is of the user; also if its name is not known, as in a notebook."""
    if not isinstance(name, str) or name == "__main__":
        return True
    top = name.partition(".")[0]
    if top in ("shapband", "builtins") or top in sys.stdlib_module_names:
        return False
    module = sys.modules.get(name) or sys.modules.get(top)
    file = getattr(module, "__file__", None)
    return not isinstance(file, str) or _is_own_file(file)


def _is_own_file(file: str) -> bool:
    path = PurePath(file)
    if file.startswith("<frozen ") or {"site-packages", "dist-packages"} & set(path.parts):
        return False
    return not (path.is_relative_to(_STDLIB) or path.is_relative_to(_LIBRARY))
