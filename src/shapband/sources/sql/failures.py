"""Errors of databases: those that may pass, and those that stay."""

from __future__ import annotations

import sqlite3
from typing import Any

from shapband.checks import error_line
from shapband.errors import InvalidInput, SourceError, TemporaryFailure

# Primary codes of SQLite: the database is busy, a table is locked, a statement was interrupted.
_SQLITE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT}
# States of PostgreSQL: serialization failure, deadlock, lock not available, cancelled statement
# (the time limit), and a server that shuts down, crashed or starts.
_STATES = {"40001", "40P01", "55P03", "57014", "57P01", "57P02", "57P03"}
_CLASSES = ("08", "53")  # lost connections, and a server without room for more of them


def failure_of(error: Exception) -> SourceError:
    """Translate the error of a driver; its message is one line without secrets."""
    kind = TemporaryFailure if may_pass(error) else SourceError
    return kind(f"the database failed ({error_line(getattr(error, 'orig', None) or error)})")


def may_pass(error: Exception) -> bool:
    """Whether the same statement may succeed later, on a new connection."""
    if getattr(error, "connection_invalidated", False):
        return True
    error = getattr(error, "orig", None) or error  # SQLAlchemy wraps the error of the driver
    library = type(error).__module__.partition(".")[0]
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        return code is not None and code & 0xFF in _SQLITE
    if library == "psycopg":
        return _may_pass_in_postgres(error)
    if library in ("duckdb", "_duckdb"):
        return type(error).__name__ in ("InterruptException", "IOException", "ConnectionException")
    return False


def _may_pass_in_postgres(error: Any) -> bool:
    state = error.sqlstate
    if state is None:  # the server could not be reached, or the connection was lost
        return type(error).__name__ in ("OperationalError", "InterfaceError", "ConnectionTimeout")
    return state in _STATES or state.startswith(_CLASSES)


def missing_package(name: str, extra: str) -> InvalidInput:
    """Return the error for a package that is not installed, with the command that installs it."""
    return InvalidInput(f"SQLSource needs the package {name}: pip install 'shapband[{extra}]'")
