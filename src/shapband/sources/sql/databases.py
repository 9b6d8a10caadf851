"""Databases: how to connect, and a pool of connections that all sources of a database share."""

from __future__ import annotations

import re
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shapband.checks import described, error_line, nearest, one_line
from shapband.errors import InvalidInput, ShapbandError
from shapband.secrets import learn
from shapband.sources.sql.failures import failure_of, missing_package
from shapband.sources.sql.links import (
    Answer,
    CoreLink,
    DuckDBLink,
    Link,
    PostgresLink,
    SQLiteLink,
    Statement,
)

CONNECTIONS = 8  # most connections to one database, however many sources read it
_KNOWN = "sqlite:///clinic.db, postgresql://reader@host/clinic or duckdb:///clinic.duckdb"
_ESCAPES = "'@' as %40, '/' as %2F, '?' as %3F and '#' as %23"
_IN_FILES = ("sqlite", "duckdb")
_BUSY = 5.0  # seconds that a statement of SQLite waits for a locked database
_open: weakref.WeakValueDictionary[tuple[str, float, tuple[int, int]], Database]
_lock = threading.Lock()


class Database(ABC):
    """A database, and a pool of connections to it.

    Attributes
    ----------
    kind : "sqlite", "postgresql", "duckdb" or the name of another dialect
    dialect : compiles statements
    names_quoted : whether names are always quoted; other dialects quote where their rules require
        it, because some of them fold unquoted names to capitals
    """

    kind: str
    dialect: Any
    names_quoted: bool

    def __init__(self) -> None:
        self._idle: list[Link] = []
        self._free = threading.Semaphore(CONNECTIONS)
        weakref.finalize(self, _close_all, self._idle)

    @abstractmethod
    def _connect(self) -> Link:
        """Open a connection."""

    @abstractmethod
    def tables(self, schema: str | None) -> list[str]:
        """Return the names of the tables and views, for suggestions."""

    @abstractmethod
    def primary_key(self, table: str) -> list[str]:
        """Return the columns of the primary key of a table in the default schema; may be empty."""

    def compile(self, core: Any) -> Statement:
        """Compile a statement of SQLAlchemy."""
        if not self.names_quoted:
            return Statement("", (), {}, core)
        compiled = core.compile(dialect=self.dialect, compile_kwargs={"render_postcompile": True})
        return Statement(str(compiled), tuple(compiled.positiontup), compiled.params, core)

    def run(self, statement: Statement, **values: Any) -> Answer:
        """Run a statement; a connection that fails is closed and replaced."""
        try:
            with self._lent() as link:
                return link.run(statement, values)
        except ShapbandError:
            raise
        except Exception as cause:
            raise failure_of(cause) from cause

    @contextmanager
    def _lent(self) -> Iterator[Link]:
        with self._free:
            try:
                link = self._idle.pop()
            except IndexError:
                link = self._connect()
            try:
                yield link
            except BaseException:
                with suppress(Exception):  # it may be broken; the error that broke it is raised
                    link.close()
                raise
            self._idle.append(link)


class EngineDatabase(Database):
    """A database that SQLAlchemy connects to."""

    def __init__(self, engine: Any, timeout: float | None) -> None:
        super().__init__()
        self._engine = engine
        self._timeout = timeout
        self.kind = engine.dialect.name
        if self.kind == "postgresql" and engine.dialect.driver != "psycopg":
            self.kind = f"{self.kind}+{engine.dialect.driver}"
        self.names_quoted = self.kind in ("sqlite", "postgresql")
        self.dialect = _compiler(self.kind) if self.names_quoted else engine.dialect

    def _connect(self) -> Link:
        connection = self._engine.connect()
        if self.kind == "sqlite":  # reading begins no transaction
            return SQLiteLink(connection, self._timeout)
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        return PostgresLink(connection) if self.kind == "postgresql" else CoreLink(connection)

    def tables(self, schema: str | None) -> list[str]:
        with self._inspected() as inspector:
            return [*inspector.get_table_names(schema), *inspector.get_view_names(schema)]

    def primary_key(self, table: str) -> list[str]:
        with self._inspected() as inspector:
            return list(inspector.get_pk_constraint(table)["constrained_columns"])

    @contextmanager
    def _inspected(self) -> Iterator[Any]:
        import sqlalchemy as sa

        try:
            yield sa.inspect(self._engine)
        except Exception as cause:
            raise failure_of(cause) from cause


class DuckDatabase(Database):
    """A database of DuckDB, whose cursors are connections of their own."""

    kind = "duckdb"
    names_quoted = True

    def __init__(self, root: Any, timeout: float) -> None:
        super().__init__()
        self._root = root
        self._timeout = timeout
        self.dialect = _compiler(self.kind)

    def _connect(self) -> Link:
        return DuckDBLink(self._root.cursor(), self._timeout)

    def tables(self, schema: str | None) -> list[str]:
        rows = self._root.cursor().execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = coalesce(?, current_schema())",
            [schema],
        )
        return [name for (name,) in rows.fetchall()]

    def primary_key(self, table: str) -> list[str]:
        rows = self._root.cursor().execute(
            "SELECT constraint_column_names FROM duckdb_constraints() WHERE table_name = ? "
            "AND schema_name = current_schema() AND constraint_type = 'PRIMARY KEY'",
            [table],
        )
        return [name for (names,) in rows.fetchall() for name in names]


def database_at(place: Any, timeout: float) -> Database:
    """Return the database of a URL, an engine of SQLAlchemy or a connection of DuckDB."""
    try:
        import sqlalchemy as sa
    except ImportError as cause:
        raise missing_package("sqlalchemy", "sql") from cause
    if type(place).__name__ == "DuckDBPyConnection":
        return DuckDatabase(place, timeout)
    if isinstance(place, sa.Engine):
        address = place.url.render_as_string(hide_password=False)
        learn(address)
        _check_escaped(address)
        return EngineDatabase(place, None)
    if isinstance(place, sa.URL):
        place = place.render_as_string(hide_password=False)
    if not isinstance(place, str):
        raise InvalidInput(
            f"SQLSource: url must be a URL such as {_KNOWN}, an engine of SQLAlchemy or a "
            f"connection of DuckDB; received {described(place)}"
        )
    learn(place)
    url = _parsed(place)
    # A file that was replaced is another database, although its address is the same.
    file = _file_of(url) if url.get_backend_name() in _IN_FILES else None
    stamp = (0, 0) if file is None else (file.stat().st_dev, file.stat().st_ino)
    if file is not None:
        url = url.set(database=str(file.resolve()))  # the working directory may change
    key = (url.render_as_string(hide_password=False), timeout, stamp)
    with _lock:
        found = _open.get(key)
        if found is None:
            found = _open[key] = _opened(url, timeout)
        return found


def _parsed(address: str) -> Any:
    import sqlalchemy as sa

    _check_escaped(address)
    try:
        url = sa.make_url(address)
    except sa.exc.ArgumentError as cause:
        raise InvalidInput(
            f"SQLSource: url must be a URL such as {_KNOWN}; received {one_line(repr(address))}"
        ) from cause
    except ValueError:  # its message repeats what stands in place of the port
        raise InvalidInput(
            "SQLSource: url must have a number as its port, as in "
            "postgresql://reader@host:5432/clinic; received something else after the host: correct "
            f"it, and write in a user or password {_ESCAPES}"
        ) from None
    if url.drivername in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    return url


def _check_escaped(address: str) -> None:
    """Check that the only '@' of an address ends its user and password.

    With a second one, a driver would take a part of the password for the host, and repeat it in its
    errors.
    """
    scheme, _, rest = address.partition("://")
    if scheme.partition("+")[0] in _IN_FILES:  # these have neither user nor host
        return
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    if "@" in address and not address.count("@") == authority.count("@") == 1:
        raise InvalidInput(
            "SQLSource: url must have a single '@', which ends the user and the password; it is "
            f"not shown, because it may hold a password: write in a user or password {_ESCAPES}, "
            "and an '@' elsewhere as %40"
        )


def _opened(url: Any, timeout: float) -> Database:
    kind = url.get_backend_name()
    if kind == "duckdb":
        return _open_duckdb(url.database, timeout)
    connect = {"check_same_thread": False, "timeout": min(timeout, _BUSY)}
    return EngineDatabase(_engine(url, connect if kind == "sqlite" else {}, timeout), timeout)


def _engine(url: Any, connect: Mapping[str, Any], timeout: float) -> Any:
    import sqlalchemy as sa

    try:
        engine = sa.create_engine(url, poolclass=sa.NullPool, connect_args=dict(connect))
    except ImportError as cause:
        if url.drivername == "postgresql+psycopg":
            raise missing_package("psycopg", "sql") from cause
        raise InvalidInput(
            f"SQLSource: the driver of {url.drivername} is not installed ({error_line(cause)})"
        ) from cause
    except sa.exc.NoSuchModuleError as cause:
        known = ["sqlite", "postgresql", "duckdb", "mysql", "mariadb", "mssql", "oracle"]
        raise InvalidInput(
            f"SQLSource: url names the unknown database {url.drivername!r}; "
            f"{nearest(url.drivername, known)}"
        ) from cause
    statements = {
        "sqlite": ["PRAGMA query_only = ON"],
        "postgresql": [
            "SET default_transaction_read_only = on",
            f"SET statement_timeout = {max(1, round(timeout * 1000))}",
        ],
    }.get(engine.dialect.name, [])

    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        cursor.close()
        connection.commit()

    sa.event.listen(engine, "connect", prepare)
    return engine


def _open_duckdb(path: str, timeout: float) -> Database:
    try:
        import duckdb
    except ImportError as cause:
        raise missing_package("duckdb", "duckdb") from cause
    try:
        return DuckDatabase(duckdb.connect(path, read_only=True), timeout)
    except duckdb.Error as cause:
        raise failure_of(cause) from cause


def _file_of(url: Any) -> Path | None:
    """Return the file of a database, which must exist; None if it is named by a URI of SQLite."""
    name: str = url.database or ""
    if name in ("", ":memory:"):
        raise InvalidInput(
            "SQLSource: url names a database in memory, and every connection would have an empty "
            f"one of its own: pass the {'connection' if url.drivername == 'duckdb' else 'engine'} "
            "that holds the records"
        )
    if name.startswith("file:"):
        return None
    if not Path(name).is_file():
        raise InvalidInput(f"SQLSource: url names the file {one_line(name)}, which does not exist")
    return Path(name)


def _compiler(kind: str) -> Any:
    """Return the dialect that writes statements for a driver, with marks for positions."""
    if kind == "sqlite":
        from sqlalchemy.dialects.sqlite.pysqlite import dialect

        return dialect(paramstyle="qmark")
    from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

    # DuckDB reads the language of PostgreSQL, with other marks for parameters.
    return PGDialect_psycopg(paramstyle="qmark" if kind == "duckdb" else "format")


def _close_all(links: list[Link]) -> None:
    while links:
        with suppress(Exception):  # a connection that the server closed before
            links.pop().close()


_open = weakref.WeakValueDictionary()
