"""Draws from tables of a million rows, beside the bare statement of the same driver.

    python -m benchmarks.databases [ROWS]

It starts a PostgreSQL server of its own, so it needs the packages of developers and no group of
`run.py`. Statements are interleaved, so that a busy machine slows both down.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import psycopg
from tests.postgres import server

import shapband as sb

FEATURES = [f"x{place}" for place in range(12)]
COLUMNS = ", ".join(f"t.{name}" for name in ("id", *FEATURES, "y"))
GAP = 3  # between two keys, so that a snapshot of them is needed
SITES = 10
DRAW, POOL, N_GAMES = 60, 250, 200
JOINS = {
    "SQLite": "json_each(?) k LEFT JOIN visits t ON t.id = k.value ORDER BY k.key",
    "PostgreSQL": "unnest(%s::bigint[]) WITH ORDINALITY k(value, place) LEFT JOIN visits t "
    "ON t.id = k.value ORDER BY k.place",
    "DuckDB": "unnest(?::bigint[]) WITH ORDINALITY k(value, place) LEFT JOIN visits t "
    "ON t.id = k.value ORDER BY k.place",
}


def rows_of(n_rows: int) -> np.ndarray:
    """Key, site, features and target of every row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, len(FEATURES)))
    y = X.sum(axis=1) + rng.normal(size=n_rows)
    keys = np.arange(n_rows) * GAP
    return np.column_stack([keys, keys // GAP % SITES, X, y])


def created(kind: str) -> str:
    columns = ", ".join(f"{name} DOUBLE PRECISION" for name in (*FEATURES, "y"))
    return f"CREATE TABLE visits (id {kind} PRIMARY KEY, site INTEGER, {columns})"


def fill(folder: str, url: str, table: np.ndarray) -> dict[str, Any]:
    """Write the table to all databases, and return addresses and bare connections."""
    rows = ([int(row[0]), int(row[1]), *row[2:]] for row in table.tolist())
    marks = ", ".join("?" * table.shape[1])
    small = sqlite3.connect(f"{folder}/clinic.db")
    small.execute(created("INTEGER"))
    small.executemany(f"INSERT INTO visits VALUES ({marks})", rows)
    small.commit()
    served = psycopg.connect(url, autocommit=True)
    served.execute(created("BIGINT"))
    with served.cursor().copy("COPY visits FROM STDIN") as copy:
        for row in table.tolist():
            copy.write_row([int(row[0]), int(row[1]), *row[2:]])
    served.execute("VACUUM ANALYZE visits")
    lake = duckdb.connect()
    names = ", ".join(
        f"column{place}::{kind} AS {name}"
        for place, (name, kind) in enumerate(
            [("id", "BIGINT"), ("site", "INTEGER"), *((f, "DOUBLE") for f in (*FEATURES, "y"))]
        )
    )
    columns = {f"column{place}": table[:, place] for place in range(table.shape[1])}
    lake.register("given", columns)
    lake.execute(f"CREATE TABLE visits AS SELECT {names} FROM given")
    return {
        "SQLite": (f"sqlite:///{folder}/clinic.db", small),
        "PostgreSQL": (url, served),
        "DuckDB": (lake, lake),
    }


def bare(kind: str, connection: Any) -> Callable[[np.ndarray], Any]:
    """Fetch rows with the driver alone."""
    statement = f"SELECT {COLUMNS} FROM {JOINS[kind]}"
    if kind == "PostgreSQL":
        cursor = connection.cursor(binary=True)
        return lambda keys: cursor.execute(statement, [keys.tolist()], prepare=True).fetchall()
    if kind == "SQLite":
        return lambda keys: connection.execute(statement, [json.dumps(keys.tolist())]).fetchall()
    return lambda keys: connection.execute(statement, [keys.tolist()]).fetchall()


def draws(kind: str, place: tuple[Any, Any], n_rows: int, size: int, rounds: int) -> str:
    source = sb.SQLSource(
        place[0], table="visits", key="id", target="y", features=FEATURES, concurrent=1
    )
    fetch = bare(kind, place[1])
    rng = np.random.default_rng(1)
    taken: dict[bool, list[float]] = {True: [], False: []}
    for round_ in range(rounds + 6):  # a statement of PostgreSQL is prepared after five
        rows = rng.integers(0, n_rows, size)
        for ours in (True, False) if round_ % 2 else (False, True):
            started = time.perf_counter()
            source.take(rows) if ours else fetch(rows * GAP)
            taken[ours].append(time.perf_counter() - started)
    ours, theirs = (statistics.median(taken[one][6:]) * 1e3 for one in (True, False))
    return f"| {kind} | {size:,} | {ours:.3g} ms | {theirs:.3g} ms | {ours / theirs:.2f} |"


class Held(sb.FiniteSource):
    """Arrays that are asked like a database.

    An `ArraySource` shows all its records, and a valuation compares the records of providers that
    do. With a million of them, a valuation took several times as long as with this class.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self._X, self._y = X, y
        self.size = len(y)

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._X[rows], self._y[rows]


def pools(place: tuple[Any, Any], table: np.ndarray, rounds: int) -> str:
    """Pooled games of ten providers, beside arrays and the bare fetch of their pools."""
    started = time.perf_counter()
    far = sb.providers_from_sql(
        place[0], "visits", by="site", key="id", target="y", features=FEATURES
    )
    opened = time.perf_counter() - started
    near = [
        sb.Provider(str(site), Held(part[:, 2:-1], part[:, -1]))
        for site in range(SITES)
        for part in [table[table[:, 1] == site]]
    ]
    check = rows_of(1000)
    utility = sb.LinearUtility(check[:, 2:-1], check[:, -1])
    fetch = bare("PostgreSQL", place[1])
    rng = np.random.default_rng(2)

    def value(providers: list[sb.Provider]) -> sb.Valuation:
        sampling = sb.Pooled(n_pool=POOL, n_boot=DRAW)
        return sb.value(providers, utility, sampling=sampling, n_games=N_GAMES, seed=0)

    assert np.array_equal(value(far).games, value(near).games)
    ratios, times = [], []
    for _ in range(rounds):
        marks = [time.perf_counter()]
        value(far)
        marks.append(time.perf_counter())
        value(near)
        for _ in range(SITES):
            fetch(rng.integers(0, len(table), POOL) * GAP)
        marks.append(time.perf_counter())
        ratios.append((marks[1] - marks[0]) / (marks[2] - marks[1]))
        times.append(marks[1] - marks[0])
    return (
        f"{N_GAMES} pooled games of {SITES} providers in PostgreSQL: "
        f"{statistics.median(times):.3g} s, {statistics.median(ratios):.2f} times arrays and the "
        f"bare fetch ({min(ratios):.2f} to {max(ratios):.2f}); reading the keys took {opened:.3g} s"
    )


def main(n_rows: int) -> None:
    table = rows_of(n_rows)
    with tempfile.TemporaryDirectory() as folder, server(buffers="512MB") as url:
        places = fill(folder, url, table)
        print(f"{n_rows:,} rows, {len(FEATURES)} features, load {os.getloadavg()[0]:.1f}\n")
        print("| database | rows in a draw | SQLSource | bare statement | ratio |")
        print("| --- | --- | --- | --- | --- |")
        for size, rounds in ((DRAW, 200), (5000, 10)):
            for kind, place in places.items():
                print(draws(kind, place, n_rows, size, 20 if kind == "DuckDB" else rounds))
        print("\n" + pools(places["PostgreSQL"], table, 9))
        for _, connection in places.values():
            connection.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
