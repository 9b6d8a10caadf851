"""The layout of the records that a server announces: its columns, their types and the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband._typing import AnyArray
from shapband.checks import MOST, written
from shapband.errors import InvalidInput, SourceError
from shapband.records.batch import Batch, Schema

TYPES = ("float64", "int64", "bool", "string")
METHODS = ("take", "draw")
_TARGETS = ("float64", "string")


@dataclass(frozen=True)
class Layout:
    """The columns of a server's records.

    Attributes
    ----------
    types : the type of each feature by its name, in order; one of `TYPES`
    target : the name of the target's column
    target_type : float64 or string
    named : whether the names mean something. If not, the records are an array of floats, and the
        names are the positions of its columns
    """

    types: Mapping[str, str]
    target: str
    target_type: str
    named: bool

    @property
    def schema(self) -> Schema:
        """The schema of the batches."""
        if not self.named:
            return Schema(len(self.types))
        return Schema(len(self.types), tuple(self.types), "pandas")

    @property
    def columns(self) -> dict[str, str]:
        """The types of all columns, the target last."""
        return {**self.types, self.target: self.target_type}

    @staticmethod
    def of(batch: Batch) -> Layout:
        """Return the layout of records.

        Examples
        --------
        >>> Layout.of(Batch(np.ones((2, 1)), np.array(["a", "b"]))).columns
        {'0': 'float64', 'target': 'string'}
        """
        if batch.is_frame:
            from shapband.records.frames import as_frame

            table = as_frame(batch.X)
            types = {str(name): _type_of(table[name].to_numpy(), name) for name in table.columns}
        else:
            types = {str(place): "float64" for place in range(batch.X.shape[1])}
        target = "target"
        while target in types:
            target += "_"
        return Layout(types, target, _type_of(batch.y, target), batch.is_frame)

    def batch(self, columns: Mapping[str, AnyArray]) -> Batch:
        """Make a batch of all columns."""
        features = [columns[name] for name in self.types]
        if not self.named:
            return Batch(np.column_stack(features), columns[self.target])
        import pandas as pd

        # Without a type, pandas would make objects of a column of strings that are all missing.
        strings = pd.Series(["a"]).dtype
        series = {
            name: pd.Series(cells, dtype=strings if kind == "string" else kind)
            for (name, kind), cells in zip(self.types.items(), features, strict=True)
        }
        return Batch(pd.DataFrame(series), columns[self.target])

    def arrays(self, batch: Batch) -> dict[str, AnyArray]:
        """Return the columns of a batch by name; strings as objects, missing ones as None."""
        if batch.is_frame:
            from shapband.records.frames import as_frame

            table = as_frame(batch.X)
            found = [table[name].to_numpy() for name in table.columns]
        else:
            found = list(batch.X.T)
        wanted = self.columns
        if len(found) + 1 != len(wanted):
            raise InvalidInput(f"the source has {len(found)} features; {len(wanted) - 1} were said")
        return {
            name: _plain(cells, kind)
            for (name, kind), cells in zip(wanted.items(), [*found, batch.y], strict=True)
        }


@dataclass(frozen=True)
class Announcement:
    """What a server says about its source in the answer to `/v1/schema`.

    Attributes
    ----------
    layout : the columns
    methods : take if the client may choose rows, draw if the server chooses them
    size : number of records; None if there is no such number
    replace : whether one draw may hold a record more than once
    version : changes with the records; None if it is not known
    max_draws, max_records : largest number of draws, and of records, in one request
    """

    layout: Layout
    methods: tuple[str, ...]
    size: int | None
    replace: bool
    version: str | None
    max_draws: int
    max_records: int

    def document(self) -> dict[str, Any]:
        """Return the announcement as a JSON document."""
        layout = self.layout
        return {
            "size": self.size,
            "replace": self.replace,
            "columns": [{"name": name, "type": kind} for name, kind in layout.types.items()],
            "named": layout.named,
            "target": {"name": layout.target, "type": layout.target_type},
            "version": self.version,
            "methods": list(self.methods),
            "max_draws": self.max_draws,
            "max_records": self.max_records,
        }

    @staticmethod
    def read(document: object) -> Announcement:
        """Read an announcement; keys that are not known are left alone."""
        found = _Keys(document, "the schema")
        listed = found.get("columns", list, "a list of columns")
        columns = [_column(one, f"columns[{at}]", TYPES) for at, one in enumerate(listed)]
        target, target_type = _column(found.get("target", dict, "a column"), "target", _TARGETS)
        named = found.get("named", bool, "true or false")
        types = dict(columns)
        if not columns or len({*types, target}) != len(columns) + 1:
            raise SourceError(
                "the schema must have at least one column, and all names must differ, that of the "
                f"target included; received {written([*(name for name, _ in columns), target])}"
            )
        if not named and set(types.values()) != {"float64"}:
            raise SourceError("the schema must name columns that are not float64: set named")
        methods = found.get("methods", list, f"a list with {' or '.join(METHODS)}")
        known = tuple(name for name in METHODS if name in methods)
        if not known:
            raise SourceError(
                f"the schema: methods must hold {' or '.join(METHODS)}; received {written(methods)}"
            )
        size = found.maybe("size", int, "a whole number, or null")
        if "take" in known and size is None:
            raise SourceError("the schema: size must be given, because methods has take")
        if size is not None and not 1 <= size <= MOST:
            raise SourceError(f"the schema: size must be at least 1; received {written(size)}")
        version = found.maybe("version", str, "a string, or null")
        if version == "":
            raise SourceError("the schema: version must not be empty: use null")
        return Announcement(
            Layout(types, target, target_type, named),
            known,
            size,
            found.get("replace", bool, "true or false"),
            version,
            found.count("max_draws"),
            found.count("max_records"),
        )


class _Keys:
    """The keys of a JSON object, with errors that name them."""

    def __init__(self, document: object, where: str) -> None:
        if not isinstance(document, dict):
            raise SourceError(f"{where} must be a JSON object; received {written(document)[:80]}")
        self._keys = document
        self._where = where

    def get(self, key: str, kind: type, wanted: str) -> Any:
        if key not in self._keys:
            raise SourceError(f"{self._where}: {key} is missing: it must be {wanted}")
        value = self._keys[key]
        if type(value) is not kind:
            raise SourceError(
                f"{self._where}: {key} must be {wanted}; received {written(value)[:80]}"
            )
        return value

    def maybe(self, key: str, kind: type, wanted: str) -> Any:
        return None if self._keys.get(key) is None else self.get(key, kind, wanted)

    def count(self, key: str) -> int:
        value = self.get(key, int, "a whole number of at least 1")
        if value < 1:
            raise SourceError(f"{self._where}: {key} must be at least 1; received {written(value)}")
        return int(value)


def _column(given: object, where: str, types: tuple[str, ...]) -> tuple[str, str]:
    found = _Keys(given, f"the schema: {where}")
    name = found.get("name", str, "a string")
    kind = found.get("type", str, f"one of {', '.join(types)}")
    if kind not in types:
        raise SourceError(
            f"the schema: {where}.type must be one of {', '.join(types)}; received {written(kind)}"
        )
    return name, kind


def _type_of(cells: AnyArray, name: str) -> str:
    kinds = {"f": "float64", "i": "int64", "b": "bool", "U": "string", "T": "string"}
    kind = kinds.get(cells.dtype.kind)
    if kind is None and all(c is None or isinstance(c, str) or c != c for c in cells.tolist()):
        kind = "string"
    if kind is None:
        raise InvalidInput(
            f"column {name!r} must hold {', '.join(TYPES)}; received {cells.dtype}: convert it"
        )
    return kind


def _plain(cells: AnyArray, kind: str) -> AnyArray:
    if kind != "string":
        return cells.astype(kind)
    plain = np.empty(len(cells), dtype=object)
    plain[:] = [cell if isinstance(cell, str) else None for cell in cells.tolist()]
    return plain
