"""The values of solved games, in the chunks they were solved in."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from shapband._typing import FloatArray
from shapband.errors import RunDamaged
from shapband.runs import database
from shapband.runs.ledger import Head, canonical, now

Buffer: TypeAlias = bytes | memoryview
_COLUMNS = (
    'first_game, n_games, time, evaluations, ledger_entries, seconds, digest, "values", noise'
)
_INSERT = f"INSERT INTO games ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
_SELECT = f"SELECT {_COLUMNS} FROM games ORDER BY first_game"  # noqa: S608  names of columns


@dataclass(frozen=True, eq=False)
class SolvedChunk:
    """Consecutive games: values and noise, (n_games, n) each."""

    games: range
    values: FloatArray
    noise: FloatArray


class SolvedGames:
    """The solved games of one run.

    Each chunk is chained by hash to the chunk before it and to the ledger as it was then.

    Parameters
    ----------
    run : the directory, for errors
    connection : the database
    start : the digest that the first chunk is chained to
    """

    def __init__(self, run: Path, connection: sqlite3.Connection, start: str) -> None:
        self._run = run
        self._connection = connection
        self._start = start
        self._last: SolvedChunk | None = None
        self.reread()

    def reread(self) -> None:
        """Look up how many games are stored, and the digest of the last chunk."""
        with database.errors(self._run):
            row = self._connection.execute(
                "SELECT first_game + n_games, digest FROM games ORDER BY first_game DESC LIMIT 1"
            ).fetchone()
        self.count: int = 0 if row is None else row[0]
        self.digest: str = self._start if row is None else row[1]

    def add(
        self,
        connection: sqlite3.Connection,
        ledger: Head,
        chunk: SolvedChunk,
        evaluations: int,
        seconds: float,
    ) -> None:
        """Write the next chunk, inside a transaction; `reread` when it is through."""
        values, noise = _to_bytes(chunk.values), _to_bytes(chunk.noise)
        games = chunk.games
        facts = (games.start, len(games), now(), evaluations, ledger.entries, seconds)
        digest = _digest(self.digest, ledger.digest, facts, values, noise)
        connection.execute(_INSERT, (*facts, digest, values, noise))

    def seconds(self, games: int) -> float:
        """Seconds played, over all sessions, when the first `games` games were stored."""
        with database.errors(self._run):
            row = self._connection.execute(
                "SELECT seconds FROM games WHERE first_game < ? ORDER BY first_game DESC LIMIT 1",
                (games,),
            ).fetchone()
        return 0.0 if row is None else float(row[0])

    def evaluations(self, games: range) -> int:
        """Evaluations of the chunks that begin with one of the games."""
        with database.errors(self._run):
            (total,) = self._connection.execute(
                "SELECT COALESCE(SUM(evaluations), 0) FROM games "
                "WHERE first_game >= ? AND first_game < ?",
                (games.start, games.stop),
            ).fetchone()
        return int(total)

    def read(self, games: range, n_providers: int) -> tuple[FloatArray, FloatArray]:
        """Values and noise of stored games, (n_games, n) each."""
        parts = [(np.empty((0, n_providers)), np.empty((0, n_providers)))]
        for chunk in self.chunks(games, n_providers):
            first = chunk.games.start
            rows = slice(max(games.start - first, 0), games.stop - first)
            parts.append((chunk.values[rows], chunk.noise[rows]))
        values, noise = zip(*parts, strict=True)
        return np.concatenate(values), np.concatenate(noise)

    def chunks(self, games: range, n_providers: int) -> Iterator[SolvedChunk]:
        """The chunks that hold the games; the last one read is kept at hand."""
        with database.errors(self._run):
            firsts = self._connection.execute(
                "SELECT first_game, n_games FROM games WHERE first_game < ? "
                "AND first_game + n_games > ? ORDER BY first_game",
                (games.stop, games.start),
            ).fetchall()
        for first, count in firsts:
            if self._last is None or self._last.games != range(first, first + count):
                self._last = self._read(range(first, first + count), n_providers)
            yield self._last

    def _read(self, games: range, n_providers: int) -> SolvedChunk:
        with database.errors(self._run):
            blobs = self._connection.execute(
                'SELECT "values", noise FROM games WHERE first_game = ?', (games.start,)
            ).fetchone()
        if any(len(blob) != 8 * len(games) * n_providers for blob in blobs):
            raise RunDamaged(f"the values of games {games.start} to {games[-1]} were altered")
        values, noise = (_from_bytes(blob, n_providers) for blob in blobs)
        return SolvedChunk(games, values, noise)

    def verify(self, ledger_digests: Mapping[int, str]) -> None:
        """Raise RunDamaged at the first chunk that does not fit the chain."""
        digest, due = self._start, 0
        with database.errors(self._run):
            rows = self._connection.execute(_SELECT)
            for *facts, written, values, noise in rows:
                first, count, entries = facts[0], facts[1], facts[4]
                if first != due:
                    raise RunDamaged(f"the values of games from {due} on are missing")
                if entries not in ledger_digests:
                    raise RunDamaged(
                        f"the ledger is broken: entries up to {entries}, which there were when "
                        f"game {first} was stored, are missing"
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
