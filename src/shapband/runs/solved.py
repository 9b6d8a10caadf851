"""The solved games of a run, in the chunks they were solved in."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from shapband._typing import FloatArray
from shapband.engine.journal import GameJournal
from shapband.errors import RunDamaged
from shapband.runs import database
from shapband.runs.ledger import Head, Ledger, canonical, now
from shapband.sampling.base import Realisation
from shapband.solvers.base import Solution

Buffer: TypeAlias = bytes | memoryview
_COLUMNS = {
    "first_game": "INTEGER PRIMARY KEY",
    "n_games": "INTEGER NOT NULL",
    "time": "TEXT NOT NULL",
    "evaluations": "INTEGER NOT NULL",
    "ledger_entries": "INTEGER NOT NULL",
    "seconds": "REAL NOT NULL",
    "digest": "TEXT NOT NULL",
    '"values"': "BLOB NOT NULL",
    "noise": "BLOB NOT NULL",
}
_LISTED = ", ".join(_COLUMNS)
TABLE = f"CREATE TABLE games ({', '.join(f'{name} {kind}' for name, kind in _COLUMNS.items())})"
_INSERT = f"INSERT INTO games ({_LISTED}) VALUES ({', '.join('?' for _ in _COLUMNS)})"  # noqa: S608
_SELECT = f"SELECT {_LISTED} FROM games ORDER BY first_game"  # noqa: S608  names of columns


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Consecutive games: values and noise, (n_games, n) each."""

    games: range
    values: FloatArray
    noise: FloatArray


class StoredGames(GameJournal):
    """The solved games of one run.

    Each chunk is chained by hash to the chunk before it and to the ledger at that time.

    Parameters
    ----------
    run : the directory, for errors
    connection : the database
    ledger : the ledger of the run
    start : the digest that the first chunk is chained to
    n_providers : columns of the values
    """

    def __init__(
        self,
        run: Path,
        connection: sqlite3.Connection,
        ledger: Ledger,
        start: str,
        n_providers: int,
    ) -> None:
        self._run = run
        self._connection = connection
        self._ledger = ledger
        self._start = start
        self._n_providers = n_providers
        self._last: _Chunk | None = None
        self._reread()

    @property
    def digest(self) -> str:
        """The digest of the last chunk."""
        return self._digest

    def begin(self, realisation: Realisation) -> None:
        """Record what the games are, for readers of the unfinished run."""
        pools = realisation.pool_sizes
        facts = {
            "draw_sizes": realisation.draw_sizes.tolist(),
            "pool_sizes": None if pools is None else pools.tolist(),
            "target": realisation.target,
            "target_code": realisation.target_code,
            "group": realisation.group,
        }
        if self._ledger.noted("games") != facts:
            self._ledger.note("games", facts)

    def facts(self) -> Mapping[str, Any] | None:
        """What `begin` recorded, or None before the first game."""
        facts: Mapping[str, Any] | None = self._ledger.noted("games")
        return facts

    def solved(self) -> int:
        """Number of games, from the first on, that are stored."""
        return self._count

    def solutions(self, games: range) -> Solution:
        """Read stored games."""
        with self._ledger.lock:
            values, noise = self.read(games)
            return Solution(values, noise, self.evaluations(games))

    def seconds(self, games: int) -> float:
        """Seconds played, over all sessions, when the first `games` games had been stored."""
        with self._ledger.lock, database.errors(self._run):
            row = self._connection.execute(
                "SELECT seconds FROM games WHERE first_game < ? ORDER BY first_game DESC LIMIT 1",
                (games,),
            ).fetchone()
        return 0.0 if row is None else float(row[0])

    def store_games(self, games: range, solution: Solution, seconds: float) -> None:
        """Store the next games and the seconds played so far. Both are on disk on return."""
        values, noise = _to_bytes(solution.values), _to_bytes(solution.noise)

        def write(connection: sqlite3.Connection, ledger: Head) -> None:
            size, spent = len(games), solution.evaluations
            facts = (games.start, size, now(), spent, ledger.entries, seconds)
            digest = _digest(self._digest, ledger.digest, facts, values, noise)
            connection.execute(_INSERT, (*facts, digest, values, noise))

        with self._ledger.lock:
            try:
                self._ledger.enter(also=write)
            finally:  # an interruption may come after the commit
                self._reread()

    def evaluations(self, games: range) -> int:
        """Evaluations of the chunks that begin with one of the games."""
        with database.errors(self._run):
            (total,) = self._connection.execute(
                "SELECT COALESCE(SUM(evaluations), 0) FROM games "
                "WHERE first_game >= ? AND first_game < ?",
                (games.start, games.stop),
            ).fetchone()
        return int(total)

    def read(self, games: range) -> tuple[FloatArray, FloatArray]:
        """Values and noise of stored games, (n_games, n) each."""
        parts = [(np.empty((0, self._n_providers)), np.empty((0, self._n_providers)))]
        for chunk in self._chunks(games):
            first = chunk.games.start
            rows = slice(max(games.start - first, 0), games.stop - first)
            parts.append((chunk.values[rows], chunk.noise[rows]))
        values, noise = zip(*parts, strict=True)
        return np.concatenate(values), np.concatenate(noise)

    def solved_chunks(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Values and noise of all stored games, chunk by chunk."""
        for chunk in self._chunks(range(self._count)):
            yield chunk.values, chunk.noise

    def verify(self, ledger_digests: Mapping[int, str]) -> None:
        """Raise RunDamaged at the first chunk that breaks the chain."""
        digest, due = self._start, 0
        with database.errors(self._run):
            rows = self._connection.execute(_SELECT)
            for *facts, written, values, noise in rows:
                first, count, entries = facts[0], facts[1], facts[4]
                if first != due:
                    raise RunDamaged(f"the values of games from {due} on are missing")
                if entries not in ledger_digests:
                    raise RunDamaged(
                        f"the ledger is broken: game {first} was stored after {entries} entries, "
                        "and some of these are missing"
                    )
                digest = _digest(digest, ledger_digests[entries], facts, values, noise)
                if digest != written:
                    raise RunDamaged(
                        f"the values of games {first} to {first + count - 1} were altered"
                    )
                due = first + count

    def ledger_entries(self) -> set[int]:
        """The places in the ledger that chunks are chained to."""
        with database.errors(self._run):
            return {row[0] for row in self._connection.execute("SELECT ledger_entries FROM games")}

    def _reread(self) -> None:
        """Look up how many games are stored, and the digest of the last chunk."""
        with database.errors(self._run):
            row = self._connection.execute(
                "SELECT first_game + n_games, digest FROM games ORDER BY first_game DESC LIMIT 1"
            ).fetchone()
        self._count: int = 0 if row is None else row[0]
        self._digest: str = self._start if row is None else row[1]

    def _chunks(self, games: range) -> Iterator[_Chunk]:
        """The chunks that hold the games. The last one read is cached, as stages share chunks."""
        with database.errors(self._run):
            firsts = self._connection.execute(
                "SELECT first_game, n_games FROM games WHERE first_game < ? "
                "AND first_game + n_games > ? ORDER BY first_game",
                (games.stop, games.start),
            ).fetchall()
        for first, count in firsts:
            if self._last is None or self._last.games != range(first, first + count):
                self._last = self._read(range(first, first + count))
            yield self._last

    def _read(self, games: range) -> _Chunk:
        with database.errors(self._run):
            blobs = self._connection.execute(
                'SELECT "values", noise FROM games WHERE first_game = ?', (games.start,)
            ).fetchone()
        if any(len(blob) != 8 * len(games) * self._n_providers for blob in blobs):
            raise RunDamaged(f"the values of games {games.start} to {games[-1]} were altered")
        values, noise = (_from_bytes(blob, self._n_providers) for blob in blobs)
        return _Chunk(games, values, noise)


def _digest(before: str, ledger: str, facts: object, values: Buffer, noise: Buffer) -> str:
    hashed = hashlib.sha256(f"{before}{ledger}{canonical(facts)}".encode())
    hashed.update(values)
    hashed.update(noise)
    return hashed.hexdigest()


def _to_bytes(numbers: FloatArray) -> memoryview:
    return np.ascontiguousarray(numbers, dtype="<f8").data


def _from_bytes(blob: bytes, n_providers: int) -> FloatArray:
    numbers = np.frombuffer(blob, dtype="<f8").reshape(-1, n_providers)
    return numbers.astype(np.float64, copy=False)
