"""Single connections to databases, by driver.

Draws use the driver's own cursor, because SQLAlchemy's results take several times as long as a
small statement. Other databases than SQLite, PostgreSQL and DuckDB are asked through SQLAlchemy.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_PADDED = 1042  # the number that PostgreSQL gives to the type char(n)
_FIRST_CREATED = 16_384  # the first number for types that PostgreSQL does not have by itself
_STEPS = 20_000  # instructions of SQLite between two looks at the clock: about a millisecond


@dataclass(frozen=True, eq=False)
class Statement:
    """A compiled statement.

    Attributes
    ----------
    text : the statement in the dialect of the database
    places : names of the parameters in the order of their marks
    constants : values of parameters that never change
    core : the statement before it was compiled
    """

    text: str
    places: tuple[str, ...]
    constants: Mapping[str, Any]
    core: Any

    def parameters(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the values in the order of their marks."""
        known = {**self.constants, **values}
        return [known[name] for name in self.places]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a statement returned: the names of the columns, and the rows."""

    names: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


class Link(ABC):
    """A connection, used by one thread at a time."""

    @abstractmethod
    def run(self, statement: Statement, values: Mapping[str, Any]) -> Answer:
        """Run a statement and fetch all its rows."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection, or give it back to the engine of the user."""


class DriverLink(Link):
    """A connection of SQLAlchemy whose driver is asked directly."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._driver = connection.connection.driver_connection

    def run(self, statement: Statement, values: Mapping[str, Any]) -> Answer:
        cursor = self._cursor()
        try:
            cursor.execute(statement.text, statement.parameters(values))
            rows = self._fetched(cursor)
            return Answer(tuple(column[0] for column in cursor.description), rows)
        finally:
            cursor.close()

    def _fetched(self, cursor: Any) -> Any:
        return cursor.fetchall()

    def _cursor(self) -> Any:
        return self._driver.cursor()

    def close(self) -> None:
        self._connection.close()


class SQLiteLink(DriverLink):
    """A connection to SQLite, with a time limit on statements."""

    def __init__(self, connection: Any, timeout: float | None) -> None:
        super().__init__(connection)
        self._timeout = timeout
        self._deadline = float("inf")
        if timeout is not None:
            self._driver.set_progress_handler(self._is_late, _STEPS)

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def run(self, statement: Statement, values: Mapping[str, Any]) -> Answer:
        if self._timeout is not None:
            self._deadline = time.monotonic() + self._timeout
        return super().run(statement, values)


class PostgresLink(DriverLink):
    """A connection to PostgreSQL, which sends numbers in binary form.

    Types that were created in the database, such as enumerations and citext, arrive as bytes, and
    values of the type ``char(n)`` with the blanks that pad them, which PostgreSQL ignores.
    """

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._are_strings: dict[int, bool] = {}

    def _cursor(self) -> Any:
        return self._driver.cursor(binary=True)

    def _fetched(self, cursor: Any) -> Any:
        rows = cursor.fetchall()
        types = [column.type_code for column in cursor.description]
        padded = {place for place, one in enumerate(types) if one == _PADDED}
        coded = {place for place, one in enumerate(types) if self._is_string(one)}
        if not rows or not (padded or coded):
            return rows
        cells = list(zip(*rows, strict=True))
        for place in padded:
            cells[place] = tuple(None if one is None else one.rstrip(" ") for one in cells[place])
        for place in coded:
            cells[place] = tuple(None if one is None else one.decode() for one in cells[place])
        return list(zip(*cells, strict=True))

    def _is_string(self, kind: int) -> bool:
        """Whether a type that was created in the database is one of strings, or an enumeration."""
        if kind < _FIRST_CREATED:
            return False
        if kind not in self._are_strings:
            asked = "SELECT typcategory IN ('S', 'E') FROM pg_catalog.pg_type WHERE oid = %s"
            with self._driver.cursor() as cursor:
                ((found,),) = cursor.execute(asked, [kind]).fetchall()
            self._are_strings[kind] = found
        return self._are_strings[kind]


class CoreLink(Link):
    """A connection to any other database, asked through SQLAlchemy."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, statement: Statement, values: Mapping[str, Any]) -> Answer:
        with self._connection.begin():
            result = self._connection.execute(statement.core, dict(values))
            return Answer(tuple(result.keys()), [tuple(row) for row in result.fetchall()])

    def close(self) -> None:
        self._connection.close()


class DuckDBLink(Link):
    """A cursor of DuckDB, which is a connection of its own; another thread interrupts it."""

    def __init__(self, cursor: Any, timeout: float) -> None:
        self._cursor = cursor
        self._timeout = timeout

    def run(self, statement: Statement, values: Mapping[str, Any]) -> Answer:
        alarm = threading.Timer(self._timeout, self._cursor.interrupt)
        alarm.daemon = True
        alarm.start()
        try:
            self._cursor.execute(statement.text, statement.parameters(values))
            rows = self._cursor.fetchall()
            return Answer(tuple(column[0] for column in self._cursor.description), rows)
        finally:
            alarm.cancel()

    def close(self) -> None:
        self._cursor.close()
