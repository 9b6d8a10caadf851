"""Rows of a table in files, in the order of the files; those that fulfil conditions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shapband._typing import AnyArray, BoolArray, IntArray
from shapband.checks import one_line, written
from shapband.errors import InvalidInput
from shapband.sources.reading.columns import Columns
from shapband.sources.reading.stores import Store

_FUNCTIONS = {
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
OPERATORS = (*_FUNCTIONS, "in", "not in")
Conditions = Sequence[tuple[str, str, Any]]


class Rows:
    """The rows of a store that fulfil all conditions, numbered from 0.

    Attributes
    ----------
    size : the number of rows
    decoded : the number of rows that were read so far to reach the wanted ones
    """

    def __init__(self, store: Store, columns: Columns, sizes: Sequence[Sequence[int]]) -> None:
        self.store = store
        self.columns = columns
        # One entry for each part of each file; `_kept` has the places of the rows that are kept in
        # a part, or None if all are.
        self._parts = [(file, part) for file, some in enumerate(sizes) for part in range(len(some))]
        self._counts: IntArray = np.array([n for some in sizes for n in some], dtype=np.int64)
        self._kept: list[AnyArray | None] = [None] * len(self._parts)
        self._number()
        self.decoded = 0

    def _number(self) -> None:
        sizes = [
            count if kept is None else len(kept)
            for count, kept in zip(self._counts.tolist(), self._kept, strict=True)
        ]
        self._ends = np.cumsum(np.array(sizes, dtype=np.int64))
        self.size = int(self._ends[-1]) if sizes else 0

    def keep(self, conditions: Conditions) -> None:
        """Keep the rows that fulfil all conditions: the columns of the conditions are read."""
        names = list(dict.fromkeys(name for name, _, _ in conditions))
        for place, part in self._read(range(len(self._parts)), names):
            found = np.ones(part.num_rows, dtype=bool)
            for name, operator, value in conditions:
                found &= _fulfils(part.column(name), operator, value, self.columns.owner)
            rows = np.flatnonzero(found).astype(np.uint32)
            self._kept[place] = None if len(rows) == part.num_rows else rows
        self._number()

    def take(self, rows: IntArray) -> Any:
        """Return an Arrow table of rows with increasing numbers; every part is read once."""
        import pyarrow as pa

        parts = np.searchsorted(self._ends, rows, side="right")
        touched, first = np.unique(parts, return_index=True)
        bounds = [*first.tolist(), len(rows)]
        taken = []
        for at, (place, part) in enumerate(self._read(touched.tolist(), self.columns.needed)):
            begin = int(self._ends[place - 1]) if place else 0
            inside = rows[bounds[at] : bounds[at + 1]] - begin
            kept = self._kept[place]
            taken.append(part.take(pa.array(inside if kept is None else kept[inside])))
        return pa.concat_tables(taken)

    def all(self) -> Iterator[Any]:
        """Return all rows as Arrow tables, one for each part, in order."""
        for place, part in self._read(range(len(self._parts)), self.columns.needed):
            kept = self._kept[place]
            yield part if kept is None else part.take(kept)

    def row_bytes(self) -> float:
        """Estimate the bytes of a row in Arrow from the first rows."""
        for table in self.all():
            if table.num_rows:
                first = table.slice(0, 1_000)
                return float(first.nbytes / first.num_rows)
        return 1.0

    def levels(self, name: str) -> Any:
        """Return the pandas type of a column of categories: all dictionaries, in order."""
        import pandas as pd

        found: dict[Any, None] = {}
        ordered = True
        for file, some in itertools.groupby(self._parts, key=lambda one: one[0]):
            for _, table in self.store.read(file, [part for _, part in some], [name]):
                column = table.column(name)
                ordered = ordered and column.type.ordered
                for chunk in column.chunks:
                    found.update(dict.fromkeys(chunk.dictionary.to_pylist()))
        return pd.CategoricalDtype(list(found), ordered=ordered)

    def _read(self, places: Sequence[int], names: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """Read some parts, in order; a file is opened once for its parts."""
        for file, some in itertools.groupby(places, key=lambda place: self._parts[place][0]):
            inside = {self._parts[place][1]: place for place in some}
            in_file = self.columns.in_file(file, names)
            unread = ((part, None) for part in inside)  # columns of directory names only
            tables = self.store.read(file, list(inside), in_file) if in_file else unread
            for part, table in tables:
                place = inside[part]
                count = int(self._counts[place])
                self.decoded += count if in_file else 0
                yield place, self.columns.aligned(table, file, names, count)


def _fulfils(column: Any, operator: str, value: Any, owner: str) -> BoolArray:
    """Whether each cell fulfils a condition; a missing cell never does.

    Numbers are compared in 64 bits, because Arrow would round them to the type of the narrower one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    values = value if isinstance(value, list) else [value]
    wanted = column.type
    if pa.types.is_integer(wanted) or pa.types.is_floating(wanted):
        whole = pa.types.is_integer(wanted) and all(type(one) is int for one in values)
        wanted = pa.int64() if whole else pa.float64()
    try:
        column = column if column.type == wanted else column.cast(wanted, safe=False)
        given = pa.array(values, wanted)
        if operator in ("in", "not in"):
            found = pc.is_in(column, given)
            found = found if operator == "in" else pc.and_(pc.invert(found), column.is_valid())
        else:
            found = getattr(pc, _FUNCTIONS[operator])(column, given[0])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as cause:
        raise InvalidInput(
            f"{owner}: where cannot compare the column with {written(value)} "
            f"({one_line(cause)}): compare numbers with numbers, and strings with strings"
        ) from cause
    return np.asarray(found.fill_null(False).to_numpy(), dtype=bool)


def check_conditions(where: object, owner: str) -> list[tuple[str, str, Any]]:
    """Check the argument `where`: a list of (column, operator, value)."""
    if where is None:
        return []
    rule = (
        f"{owner}: where must be a list of conditions (column, operator, value), such as "
        "[('year', '>=', 2020)]"
    )
    if isinstance(where, str | dict) or not isinstance(where, Sequence):
        raise InvalidInput(f"{rule}; received {written(where)}")
    found = []
    for one in where:
        if not isinstance(one, Sequence) or isinstance(one, str) or len(one) != 3:
            raise InvalidInput(f"{rule}; received {written(one)}")
        name, operator, value = one
        if not isinstance(name, str) or operator not in OPERATORS:
            raise InvalidInput(
                f"{rule}, with one of the operators {', '.join(OPERATORS)}; received {written(one)}"
            )
        several = operator in ("in", "not in")
        if several != isinstance(value, list | tuple | set | frozenset):
            wanted = "a list of values" if several else "one value"
            raise InvalidInput(f"{rule}; {operator!r} needs {wanted}; received {written(value)}")
        found.append((name, operator, list(value) if several else value))
    return found
