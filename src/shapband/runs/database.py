"""The SQLite file of a run: its tables, how it is opened, and what its errors mean."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain
from pathlib import Path
from urllib.parse import quote

from shapband.checks import one_line
from shapband.errors import RunDamaged, RunError, RunExists, RunFull
from shapband.runs.lock import can_lock
from shapband.runs.private import open_private

NAME = "run.db"
FORMAT = 5
# Oldest format that can be read. Format 3 added refused answers, format 4 effects of validation
# rows in the values of the first games, format 5 extensions.
_OLDEST = 2
_MARK = 0x5348_4250  # "SHBP" marks the database of a run
_PAGE = 32_768  # page size in bytes; with large pages the values of games are written faster
_ROWS = 512  # rows per INSERT statement; SQLite takes at most 32,766 values in one statement
_NEW = f"{NAME}.new"
_MANIFEST = "CREATE TABLE manifest (key TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID"
# Codes of errors that mean damage. SQLITE_ERROR: a table or column is missing. None: the error is
# not SQLite's own.
_DAMAGE = (None, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def create(run: Path, tables: Sequence[str], manifest: dict[str, str]) -> None:
    """Make the database of a new run, complete or not at all.

    The directory must be locked. `tables` are statements that create the tables besides the
    manifest, and `manifest` holds JSON strings by key.
    """
    if (run / NAME).exists():
        raise RunExists(f"{run} already holds a run: resume it, or choose another directory")
    with errors(run, begun=False):
        _clear(run)
        try:
            # SQLite gives its other files the permissions of this one.
            os.close(open_private(run / _NEW, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            with closing(_connect(run / _NEW, "rw")) as connection:
                _write_new(connection, tables, manifest)
            os.rename(run / _NEW, run / NAME)
            sync_directory(run)
        except BaseException:
            _clear(run)
            raise


def _clear(run: Path) -> None:
    """Remove a database that was not completed."""
    for leftover in run.glob(f"{_NEW}*"):
        leftover.unlink()


def sync_directory(run: Path) -> None:
    """Write the names of the directory to the disk, so that a power loss does not undo them.

    Windows cannot open a directory. There the file system decides when names are written.
    """
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(run, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_new(
    connection: sqlite3.Connection, tables: Sequence[str], manifest: dict[str, str]
) -> None:
    connection.execute(f"PRAGMA page_size = {_PAGE}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA application_id = {_MARK}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    with transaction(connection):
        for table in (_MANIFEST, *tables):
            connection.execute(table)
        insert(connection, "manifest", list(manifest.items()))


def connect(run: Path, tables: Sequence[str], *, write: bool) -> sqlite3.Connection:
    """Open the database of a run, after checking that this version can read it.

    The database must have exactly the tables that `create` made, because views and triggers added
    by somebody else could make a query do anything.
    """
    check_name(run)
    if not (run / NAME).is_file():
        raise RunError(f"{run} is not a run: it holds no {NAME}{_remains(run)}")
    if (run / NAME).is_symlink():
        raise RunError(f"{run / NAME} is a link to another file: copy that file here")
    with errors(run):
        connection = _connect(run / NAME, "rw" if write else _reading_mode(run / NAME))
    try:
        with errors(run):
            connection.execute("PRAGMA trusted_schema = OFF")
            _check_format(connection, run)
            _check_tables(connection, run, (_MANIFEST, *tables))
            connection.execute(f"PRAGMA query_only = {not write}")
    except BaseException:
        connection.close()
        raise
    return connection


def mark_format(run: Path, connection: sqlite3.Connection) -> None:
    """Mark the database as one of this format."""
    with errors(run):
        if connection.execute("PRAGMA user_version").fetchone() != (FORMAT,):
            connection.execute(f"PRAGMA user_version = {FORMAT}")


def insert(connection: sqlite3.Connection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Insert rows, many per statement, because other threads may run after each statement."""
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        line = f"({', '.join('?' for _ in part[0])})"
        lines = ", ".join(line for _ in part)
        connection.execute(f"INSERT INTO {table} VALUES {lines}", list(chain.from_iterable(part)))  # noqa: S608


def identity(run: Path) -> tuple[int, int] | None:
    """Numbers that identify the database file, even if another has its name; None if it is gone."""
    try:
        found = os.stat(run / NAME)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def check_remains(run: Path) -> None:
    """Refuse a directory with the log of a removed database, which a new database would read."""
    if not (run / NAME).exists() and _remains(run):
        raise RunError(f"{run} cannot hold a new run{_remains(run)}, or remove the directory")


def _remains(run: Path) -> str:
    log = run / f"{NAME}-wal"
    return f": {NAME} was removed and {log.name} is left; restore {NAME}" if log.exists() else ""


def check_name(run: Path) -> None:
    """Refuse a directory whose name SQLite or a terminal could not handle."""
    try:
        str(run).encode()
    except UnicodeEncodeError as cause:
        raise RunError(
            f"the name of a run directory must be UTF-8; received {os.fsencode(run)!r}"
        ) from cause


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=30.0,
        isolation_level=None,
        check_same_thread=False,
    )


def _reading_mode(path: Path) -> str:
    """The mode in which to open a database for reading.

    Readers of a write-ahead log need to write a file beside it. In a read-only directory the
    database cannot change either, so it is opened as immutable, unless a log was left behind.
    The same holds where files cannot be locked, because no run can be played there.
    """
    is_writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    if is_writable and can_lock(path.parent):
        return "rw"
    return "ro" if path.with_name(f"{NAME}-wal").exists() else "ro&immutable=1"


def _check_format(connection: sqlite3.Connection, run: Path) -> None:
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if mark == 0 and version == 0:
        raise RunDamaged(f"{run / NAME} is empty or cut short: restore it from a copy")
    if mark != _MARK:
        raise RunError(f"{run} is not a run: its {NAME} is the database of another program")
    if version < _OLDEST:
        raise RunError(
            f"the run {run} has the format {version} of a version before the first release, and "
            f"this one reads formats from {_OLDEST} on: begin the run again from its "
            f"configuration, which {NAME} keeps in its table manifest under the key config"
        )
    if version > FORMAT:
        raise RunError(
            f"the run {run} has the format {version}, and this version of shapband reads "
            f"formats up to {FORMAT}: upgrade shapband"
        )


def _check_tables(connection: sqlite3.Connection, run: Path, tables: Sequence[str]) -> None:
    found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
    if {sql for (sql,) in found} != set(tables):
        raise RunDamaged(f"the tables of {run / NAME} were altered: restore it from a copy")


@contextmanager
def transaction(connection: sqlite3.Connection, *, durable: bool = True) -> Iterator[None]:
    """Commit all statements, or none; if `durable`, not even a power loss undoes them."""
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Let several statements read the same state, even if another process writes meanwhile."""
    nested = connection.in_transaction
    if not nested:
        connection.execute("BEGIN")
    try:
        yield
    finally:
        if not nested:
            connection.execute("COMMIT")


@contextmanager
def errors(run: Path, *, begun: bool = True) -> Iterator[None]:
    """Turn errors of SQLite into errors of the run; `begun` says whether it has begun."""
    try:
        yield
    except sqlite3.Error as cause:
        raise _explained(cause, run, begun=begun) from cause
    except OSError as cause:
        if cause.errno == errno.ENOSPC:
            raise _full(run, begun=begun) from cause
        raise RunError(f"the run {run} cannot be used: {cause.strerror}") from cause


def _explained(cause: sqlite3.Error, run: Path, *, begun: bool) -> RunError:
    code = getattr(cause, "sqlite_errorcode", None)
    code = None if code is None else code & 0xFF  # without the details of extended codes
    if code == sqlite3.SQLITE_FULL:
        return _full(run, begun=begun)
    if code in _DAMAGE:
        return RunDamaged(f"{run / NAME} is damaged ({one_line(cause)}): restore it from a copy")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return RunError(
            f"the run {run} cannot be written ({one_line(cause)}): is the directory read-only?"
        )
    remedy = "what was stored is safe, resume later" if begun else "nothing was begun, try again"
    return RunError(f"the run {run} cannot be used ({one_line(cause)}): {remedy}")


def _full(run: Path, *, begun: bool) -> RunFull:
    stored = "all that was stored is safe" if begun else "nothing was begun"
    remedy = "make room, then resume" if begun else "make room, then run it again"
    return RunFull(f"the disk of the run {run} is full; {stored}: {remedy}")
