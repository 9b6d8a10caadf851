"""A table or a query of a database as a source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from shapband._typing import IntArray
from shapband.checks import check_kind, check_number, check_whole, nearest, written
from shapband.errors import InvalidInput, SourceError, TemporaryFailure
from shapband.records.batch import Batch
from shapband.records.cells import plain_cells
from shapband.sources.base import FiniteSource
from shapband.sources.sql.answers import Layout
from shapband.sources.sql.databases import Database, database_at
from shapband.sources.sql.keys import Keys, keys_of, listed
from shapband.sources.sql.links import Answer
from shapband.sources.sql.statements import OWNER, Relation

# Draws in one statement. A statement of DuckDB reads whole columns, so many draws take little more
# time than one. A server of PostgreSQL may be far away, and each statement waits for it.
_TOGETHER = {"duckdb": 64, "postgresql": 8}
CONCURRENT = 4  # draws of a source at the same time, by default
TIMEOUT = 60.0  # seconds that a statement may take, by default
_LONGEST_LIST = 1_000  # parameters in one IN list; Oracle takes no more


class SQLSource(FiniteSource):
    """A table or a query of a database, whose rows are fetched by their key.

    The rows are numbered by their key in ascending order, and the library chooses their numbers. So
    the same seed draws the same records from SQLite, PostgreSQL, DuckDB and a data frame that is
    sorted by the key. One draw is one statement. Draws are pandas frames with the names of the
    columns: numbers and booleans as floats, with NaN for NULL, and strings.

    Parameters
    ----------
    url : the address of the database, such as ``sqlite:///clinic.db``,
        ``postgresql://reader:password@host/clinic?sslmode=verify-full`` or
        ``duckdb:///clinic.duckdb``; an engine of SQLAlchemy, or a connection of DuckDB. Connections
        made from a URL are read-only. Other databases that SQLAlchemy knows are asked by lists of
        keys, at most 1,000 in a statement
    table : the name of a table or view, or schema and name with a dot between
    query : a SELECT statement in place of a table; it is run as it is, so it must be your own
    key : the column with a different integer or string in every row. It should have an index, as a
        primary key has
    target : the column with the targets
    features : the columns with the features; by default all but `key`, `target` and
        `version_column`
    version_column : a column that grows whenever a row is changed, such as a time stamp. Without
        it, a resumed run notices rows that were added or removed, but not rows that were changed
    replace : draw with replacement
    concurrent : draws that are fetched at the same time. All sources of a URL share at most 8
        connections
    timeout : seconds that a statement may take in SQLite, PostgreSQL and DuckDB

    Examples
    --------
    >>> import sqlite3, tempfile, pathlib, shapband as sb
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clinic.db"
    >>> with sqlite3.connect(path) as clinic:
    ...     _ = clinic.execute("CREATE TABLE visits (id INTEGER PRIMARY KEY, age REAL, cost REAL)")
    ...     _ = clinic.execute("INSERT INTO visits VALUES (1, 31, 2.5), (2, 64, 9.0)")
    >>> clinic.close()
    >>> source = sb.SQLSource(f"sqlite:///{path}", table="visits", key="id", target="cost")
    >>> source
    SQLSource(2 records, 1 features)
    """

    waits = True

    def __init__(
        self,
        url: Any,
        *,
        key: str,
        target: str,
        table: str | None = None,
        query: str | None = None,
        features: Sequence[str] | None = None,
        version_column: str | None = None,
        replace: bool = False,
        concurrent: int = CONCURRENT,
        timeout: float = TIMEOUT,
    ) -> None:
        roles = {"key": key, "target": target, "version_column": version_column}
        relation, columns = opened(url, timeout, table, query, roles, features)
        self._begin(relation, key, target, columns, version_column, replace, concurrent)
        self._read(keys_of(relation, key, self._owner), layout_of(relation, key, target, columns))

    @classmethod
    def part(
        cls,
        relation: Relation,
        owner: Any,
        key: str,
        layout: Layout,
        keys: Keys | None,
        version_column: str | None,
        *,
        replace: bool,
        concurrent: int,
    ) -> SQLSource:
        """Make a source of the rows of one provider; its keys are read unless they are given."""
        source = cls.__new__(cls)
        source._begin(
            relation, key, layout.target, layout.features, version_column, replace, concurrent
        )
        source._owner = {OWNER: owner}
        source._read(keys or keys_of(relation, key, source._owner), layout)
        return source

    def _begin(
        self,
        relation: Relation,
        key: str,
        target: str,
        features: Sequence[str],
        version_column: str | None,
        replace: bool,
        concurrent: int,
    ) -> None:
        self.concurrent = check_whole("SQLSource: concurrent", concurrent, 1)
        self.replace, self.target = replace, target
        self.together = _TOGETHER.get(relation.database.kind, 1)
        self._relation = relation
        self._key = key
        self._columns = (*features, target)
        self._version_column = version_column
        self._owner: dict[str, Any] = {}

    def _read(self, keys: Keys, layout: Layout) -> None:
        """Keep the keys, and compile the statement of a draw."""
        self._keys = keys
        self._layout = layout
        self.size = keys.size
        self.schema = layout.schema
        self._draw = self._relation.draw(self._key, keys.kind, self._columns)
        self.version = keys.version
        if self._version_column is not None:
            newest = self._run(self._relation.newest(self._version_column)).rows[0][0]
            self.version += f", {self._version_column} up to {newest}"

    def take(self, rows: IntArray) -> Batch:
        return self.take_many([rows])[0]

    def take_many(self, draws: Sequence[IntArray]) -> Sequence[Batch]:
        """Fetch several draws with one statement."""
        keys = self._keys.at(np.concatenate(draws))
        rows = self._fetch(keys)
        batches, start = [], 0
        for draw in draws:
            end = start + len(draw)
            batches.append(self._layout.batch(keys[start:end], rows[start:end]))
            start = end
        return batches

    def _fetch(self, keys: list[Any]) -> Sequence[tuple[Any, ...]]:
        """Fetch the rows of some keys, in this order, and check that each key has one row."""
        database = self._relation.database
        if database.names_quoted:
            rows = self._run(self._draw, keys=listed(database.kind, keys)).rows
        else:
            rows = self._fetch_in_parts(keys)
        found = [row[0] for row in rows]
        if found != keys:
            raise self._changed(keys, found)
        return rows

    def _fetch_in_parts(self, keys: list[Any]) -> list[tuple[Any, ...]]:
        """Fetch different keys in short lists, and put their rows in order."""
        different = list(dict.fromkeys(keys))
        rows: dict[Any, tuple[Any, ...]] = {}
        for start in range(0, len(different), _LONGEST_LIST):
            part = different[start : start + _LONGEST_LIST]
            fetched = self._own_rows(self._run(self._draw, keys=part).rows, set(part))
            if len(fetched) > len({row[0] for row in fetched}):
                raise self._changed(keys, [row[0] for row in fetched])
            rows.update({row[0]: row for row in fetched})
        return [rows.get(key, (None,)) for key in keys]

    def _own_rows(
        self, rows: Sequence[tuple[Any, ...]], keys: set[Any]
    ) -> Sequence[tuple[Any, ...]]:
        """Leave out rows that only the collation of the database takes for the wanted ones."""
        rows = [row for row in rows if row[0] in keys]
        if not self._owner:
            return rows
        return [row[:-1] for row in rows if row[-1] == self._owner[OWNER]]

    def _run(self, statement: Any, **values: Any) -> Answer:
        return self._relation.database.run(statement, **values, **self._owner)

    def _changed(self, keys: list[Any], found: list[Any]) -> SourceError:
        gone = [key for key in keys if key not in set(found)]
        what = f"the row with {self._key} {written(gone[0])} is gone" if gone else "a key is twice"
        return SourceError(
            f"the table changed since its keys were read: {what}: begin a new run, or read a table "
            "that nobody changes, such as a copy"
        )


def opened(
    url: Any,
    timeout: float,
    table: str | None,
    query: str | None,
    roles: dict[str, str | None],
    features: Sequence[str] | None,
) -> tuple[Relation, tuple[str, ...]]:
    """Connect to a database, and check the columns; return the rows and the features."""
    check_number("SQLSource: timeout", timeout, above=0)
    relation = relation_of(database_at(url, timeout), table, query)
    return relation, check_columns(relation, roles, features)


def relation_of(database: Database, table: str | None, query: str | None) -> Relation:
    """Check that either a table or a query is given."""
    if (table is None) == (query is None):
        received = "both" if query is not None else "neither"
        raise InvalidInput(f"SQLSource: either table or query must be given; received {received}")
    name, given = ("table", table) if query is None else ("query", query)
    check_kind(f"SQLSource: {name}", given, str, "a string")
    if not str(given).strip():
        raise InvalidInput(f"SQLSource: {name} must not be empty")
    return Relation(database, table, query and query.strip().rstrip(";"))


def check_columns(
    relation: Relation, roles: dict[str, str | None], features: Sequence[str] | None
) -> tuple[str, ...]:
    """Check that all columns exist and that no column has two roles; return the features."""
    names = _columns_of(relation)
    used = {role: name for role, name in roles.items() if name is not None}
    for role, name in used.items():
        _check_column(role, name, names)
    doubled = [name for name, count in Counter(used.values()).items() if count > 1]
    if doubled:
        both = " and ".join(role for role, name in used.items() if name == doubled[0])
        raise InvalidInput(f"SQLSource: {both} are both {doubled[0]!r}; they must differ")
    if features is None:
        chosen = tuple(name for name in names if name not in used.values())
        if not chosen:
            raise InvalidInput("SQLSource: features: there is no column besides key and target")
        return chosen
    if isinstance(features, str) or not isinstance(features, Sequence):
        raise InvalidInput(
            f"SQLSource: features must be a list of columns; received {written(features)}"
        )
    for name in features:
        _check_column("features", name, names)
        if name == used["target"]:
            raise InvalidInput(f"SQLSource: features must not hold the target {name!r}")
    if len(set(features)) < len(features) or not features:
        raise InvalidInput(
            f"SQLSource: features must be different columns, at least one; received "
            f"{written(list(features))}"
        )
    return tuple(features)


def layout_of(relation: Relation, key: str, target: str, features: Sequence[str]) -> Layout:
    """Find out which columns hold strings; the first rows in the order of the key decide."""
    whole = Relation(relation.database, relation.table, relation.query)
    names = (*features, target)
    rows = relation.database.run(whole.first_rows(key, names)).rows
    strings = set()
    for name, column in zip(names, zip(*rows, strict=True), strict=False):
        where = f"SQLSource: column {name!r}"
        cells = plain_cells(column, where)
        if cells.dtype.kind == "O" and all(cell is None for cell in cells):
            found = relation.database.run(whole.first_known(name)).rows
            cells = plain_cells([cell for (cell,) in found], where)
        if cells.dtype.kind == "O" and len(cells):
            strings.add(name)
    return Layout(features, target, strings)


def _columns_of(relation: Relation) -> tuple[str, ...]:
    """Return the names of all columns; an unknown table or a wrong query is an error."""
    try:
        names = relation.database.run(relation.everything()).names
    except TemporaryFailure:
        raise
    except SourceError as cause:
        if relation.table is None:
            raise InvalidInput(f"SQLSource: query cannot be run: {cause}") from cause
        schema, name = relation.path
        known = relation.database.tables(schema)
        if name in known:
            raise InvalidInput(f"SQLSource: table cannot be read: {cause}") from cause
        remedy = nearest(name, known) if known else "its schema has no tables"
        raise InvalidInput(
            f"SQLSource: table={relation.table!r} is not in the database; {remedy}"
        ) from cause
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidInput(f"SQLSource: query returns the column {twice[0]!r} twice: rename one")
    return names


def _check_column(role: str, name: object, names: Sequence[str]) -> None:
    if name not in names:
        remedy = nearest(str(name), names)
        raise InvalidInput(f"SQLSource: {role}={written(name)} is not a column; {remedy}")
