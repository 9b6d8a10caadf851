"""What `shapband init --from` finds in a database: providers, keys, columns and validation rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from shapband.app.config.found import OWNERS, VALIDATION, Column, Found, guess_target
from shapband.app.config.sql import IN_FILES
from shapband.checks import one_line
from shapband.errors import InvalidInput, SourceError, TemporaryFailure
from shapband.records.cells import plain_cells
from shapband.secrets import hide
from shapband.sources.sql.databases import Database, database_at
from shapband.sources.sql.keys import sizes_by
from shapband.sources.sql.statements import Relation

_SECONDS = 60.0  # a statement may take so long
_VARIABLE = "DATABASE_URL"  # holds an address with a password
_KEYS = ("id", "key", "uuid", "row_id", "rowid")
_TRIED = 5  # columns that are tried as keys, because each of them is read whole
_MOST_LABELS = 20  # integers with at most so many values may be classes


@dataclass(frozen=True)
class _Table:
    """A table with a key.

    Attributes
    ----------
    name, key, names : of the table, its key and all its columns
    size : number of rows
    known : number of values in each column that are not NULL
    first : the first values of each column, in the order of the key
    """

    relation: Relation
    name: str
    key: str
    names: tuple[str, ...]
    size: int
    known: Mapping[str, int]
    first: Mapping[str, Sequence[Any]]

    def column(self, name: str) -> Column:
        """Describe a column."""
        cells, gaps = self.first[name], self.known[name] < self.size
        try:
            kind = plain_cells(cells, name).dtype.kind
        except InvalidInput:
            other = next(cell for cell in cells if cell is not None)
            return Column(name, type(other).__name__, gaps)
        return Column(name, "number" if kind == "f" else "string", gaps)

    def with_labels(self, column: Column) -> Column:
        """Count the different targets, if they may be classes."""
        ((count,),) = self.relation.database.run(self.relation.different(column.name)).rows
        whole = column.kind == "string" or count <= 2
        if not whole:
            cells = np.asarray(plain_cells(self.first[column.name], column.name), dtype=float)
            whole = bool((cells == np.round(cells)).all()) and count <= _MOST_LABELS
        return replace(column, labels=count) if whole else column


def find(address: str, target: str | None, folder: Path) -> Found:
    """Look at the tables of a database; the path of a file in the result starts from `folder`."""
    try:
        database = database_at(address, _SECONDS)
        return _found(address, database, target, folder)
    except (InvalidInput, SourceError) as cause:
        why = str(cause).removeprefix("SQLSource: ")
        raise InvalidInput(hide(f"--from {one_line(address)}: {why}")) from cause


def _found(address: str, database: Database, target: str | None, folder: Path) -> Found:
    tables, without = _tables_of(database)
    if not tables:
        why = f": {', '.join(without)} has none" if without else ""
        raise InvalidInput(
            f"there is no table with rows and a key, a column with a different integer or string "
            f"in every row{why}"
        )
    rows = [one for one in tables if one.name.lower() in VALIDATION]
    chosen, data = _alike([one for one in tables if one not in rows] or rows, target)
    first = data[0]
    columns = [first.column(name) for name in first.names if name != first.key]
    columns = [first.with_labels(one) if one.name == chosen else one for one in columns]
    gaps = {name for one in data for name, known in one.known.items() if known < one.size}
    columns = [replace(one, gaps=one.name in gaps) for one in columns]
    url, needs = _url(address, folder)
    by = next((one for word in OWNERS for one in first.names if one.lower() == word), None)
    by = None if by in (chosen, first.key) or len(data) > 1 else by
    wanted = {one.name for one in columns if one.kind == "number" and not one.gaps} - {by}
    rows = [one for one in rows if one not in data and {*wanted, chosen} <= {*one.names}]
    validation = None if not rows else _source(url, rows[0])
    listed = ", ".join(one.name for one in data)
    about = f"the table {listed}" if len(data) == 1 else f"the tables {listed}"
    left = [one.name for one in tables if one not in (*data, *rows)] + without
    about += f" (not used: {', '.join(left)})" if left else ""
    if by is None:
        made = [
            ({"name": one.name, "source": _source(url, one)}, f"{one.size:,} records")
            for one in data
        ]
        smallest = min(one.size for one in data)
    else:
        smallest = min(size for size, _ in sizes_by(first.relation, first.key, by).values())
        about += f", providers by {by}"
        source = {**_source(url, first), "by": by}
        made = [({"source": source}, f"one provider for each value of {by}")]
    return Found(about, columns, made, smallest, chosen, validation, needs)


def _tables_of(database: Database) -> tuple[list[_Table], list[str]]:
    """The tables that have rows and a key, and the names of the others."""
    found: list[_Table] = []
    without: list[str] = []
    for name in sorted(database.tables(None)):
        table = None if "." in name else _looked_at(database, name)  # a dot follows a schema
        if table is None:
            without.append(name)
        else:
            found.append(table)
    return found, without


def _looked_at(database: Database, name: str) -> _Table | None:
    """Look at a table; None if it has no rows or no key, or may not be read."""
    relation = Relation(database, name, None)
    try:
        names = database.run(relation.everything()).names
    except TemporaryFailure:
        raise
    except SourceError:
        return None
    size, *known = database.run(relation.known(names)).rows[0]
    counts = dict(zip(names, known, strict=True))
    full = [one for one in names if counts[one] == size]
    key = _key_of(relation, full, size) if size else None
    if key is None:
        return None
    rows = database.run(relation.first_rows(key, names)).rows
    first = dict(zip(names, zip(*rows, strict=True), strict=True))
    return _Table(relation, name, key, tuple(names), size, counts, first)


def _key_of(relation: Relation, full: Sequence[str], size: int) -> str | None:
    """The primary key if it is one column, or a column of integers or strings that all differ."""
    database = relation.database
    declared = database.primary_key(relation.path[1])
    if len(declared) == 1 and declared[0] in full:
        return declared[0]
    likely = [one for word in _KEYS for one in full if one.lower() == word]
    likely += [one for one in full if one.lower().endswith(("id", "key")) and one not in likely]
    others = [one for one in full if one not in likely]
    for name in [*likely, *others][:_TRIED]:
        ((value,),) = database.run(relation.first_known(name)).rows
        if type(value) not in (int, str, UUID):
            continue
        ((different,),) = database.run(relation.different(name)).rows
        if different == size:
            return name
    return None


def _alike(tables: Sequence[_Table], target: str | None) -> tuple[str | None, list[_Table]]:
    """The target, and the tables with the same columns: those with a target, then the most rows."""
    if target is not None:
        having = [one for one in tables if target in one.names]
        if not having:
            guess_target(sorted({name for one in tables for name in one.names}), target)
        tables = having
    groups: dict[frozenset[str], list[_Table]] = {}
    for one in tables:
        groups.setdefault(frozenset(one.names), []).append(one)

    def weight(group: Sequence[_Table]) -> tuple[bool, int]:
        known = guess_target(group[0].names, target) is not None
        return known, sum(one.size for one in group)

    best = max(groups.values(), key=weight)
    return guess_target([one for one in best[0].names if one != best[0].key], target), best


def _source(url: Any, table: _Table) -> dict[str, Any]:
    return {"kind": "sql", "url": url, "table": table.name, "key": table.key}


def _url(address: str, folder: Path) -> tuple[Any, tuple[str, ...]]:
    """The address as the configuration has it, and what is left to the user."""
    if hide(address) != address:
        need = f"set {_VARIABLE} in the environment to this address with its password"
        return {"env": _VARIABLE}, (need,)
    for start in IN_FILES:
        if address.startswith(start):
            path = os.path.abspath(address.removeprefix(start))
            inside = os.path.relpath(path, os.path.abspath(folder))
            return start + (path if inside.startswith("..") else inside), ()
    return address, ()
