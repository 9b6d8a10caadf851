"""The same table in every database, and its rows in the order of its key."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import pandas as pd

# Columns whose collation takes different strings for the same: the database and the type.
COLLATED = {
    "NOCASE in SQLite": ("sqlite", "TEXT COLLATE NOCASE"),
    "RTRIM in SQLite": ("sqlite", "TEXT COLLATE RTRIM"),
    "NOCASE in another": ("other", "TEXT COLLATE NOCASE"),
    "RTRIM in another": ("other", "TEXT COLLATE RTRIM"),
    "NOCASE in DuckDB": ("duckdb", "TEXT COLLATE NOCASE.NOACCENT"),
    "ICU in PostgreSQL": ("postgresql", "TEXT COLLATE folded"),
    "citext in PostgreSQL": ("postgresql", "CITEXT"),
}
KINDS = ("sqlite", "postgresql", "duckdb", "other")
_TYPES = {"i": "BIGINT", "f": "DOUBLE PRECISION", "b": "BOOLEAN"}


def let_sqlite_be_another(monkeypatch: Any) -> None:
    """Let SQLite pass for a database that shapband has no statements of its own for."""
    from shapband.sources.sql import databases

    class Other(databases.EngineDatabase):
        def __init__(self, engine: Any, timeout: float | None) -> None:
            super().__init__(engine, timeout)
            self.kind, self.names_quoted, self.dialect = "other", False, engine.dialect

    monkeypatch.setattr(databases, "EngineDatabase", Other)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def create(execute: Any, table: str, frame: pd.DataFrame, mark: str, key: str | None) -> None:
    """Create a table with the rows of a frame, in the order of the frame."""
    columns = ", ".join(
        f"{quoted(str(name))} {_TYPES.get(frame[name].dtype.kind, 'TEXT')}"
        + (" PRIMARY KEY" if name == key else "")
        for name in frame.columns
    )
    execute(f"CREATE TABLE {quoted(table)} ({columns})", None)
    marks = ", ".join([mark] * len(frame.columns))
    target = quoted(table).replace("%", "%%") if mark == "%s" else quoted(table)
    for row in rows_of(frame):
        execute(f"INSERT INTO {target} VALUES ({marks})", row)  # noqa: S608


def rows_of(frame: pd.DataFrame) -> Sequence[list[Any]]:
    columns = [
        [None if pd.isna(cell) else cell for cell in frame[name].tolist()] for name in frame.columns
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def run(url: str, statement: str, values: Any = None) -> Any:
    """Run a statement with the driver of a URL, and return the rows."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            rows = connection.execute(statement, values or []).fetchall()
        connection.close()
        return rows
    if url.startswith("duckdb"):
        import duckdb

        with duckdb.connect(url.removeprefix("duckdb:///")) as connection:
            return connection.execute(statement, values).fetchall()
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def fill(url: str, table: str, frame: pd.DataFrame, key: str | None = None) -> None:
    """Create a table in the database of a URL, in one transaction."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as one:
            create(lambda text, row: one.execute(text, row or []), table, frame, "?", key)
        one.close()
    elif url.startswith("duckdb"):
        import duckdb

        with duckdb.connect(url.removeprefix("duckdb:///")) as other:
            create(lambda text, row: other.execute(text, row), table, frame, "?", key)
    else:
        import psycopg

        with psycopg.connect(url) as third:
            create(lambda text, row: third.execute(text, row), table, frame, "%s", key)
