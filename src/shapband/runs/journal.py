"""The journal of a run, kept in its database."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from shapband._typing import FloatArray
from shapband.access.journal import Games, Journal
from shapband.access.meter import Usage
from shapband.errors import RunDamaged, RunError, RunFull
from shapband.records import Batch
from shapband.runs import batches, database
from shapband.runs.book import Book
from shapband.runs.ledger import Head, Request
from shapband.runs.reserve import Reserve
from shapband.runs.secrets import hide
from shapband.runs.solved import SolvedChunk, SolvedGames


class StoredJournal(Journal):
    """Remembers everything, for good.

    A request to a distant source is in the ledger before it is made, and its records are safe
    before they are used. Draws from records in memory cost nothing and can be repeated; they
    are entered with the games they were for.

    Parameters
    ----------
    run : the directory
    connection : its database
    book : its ledger
    games : its solved games
    names : the providers, in the order of all arrays
    """

    def __init__(
        self,
        run: Path,
        connection: sqlite3.Connection,
        book: Book,
        games: SolvedGames,
        names: Sequence[str],
    ) -> None:
        self._run = run
        self._connection = connection
        self._book = book
        self._games = games
        self._names = tuple(names)
        self._paid = book.paid()
        self._reserve = Reserve(run)
        self._out = _Outstanding()
        self._full: RunFull | None = None

    def usage(self) -> Mapping[str, Usage]:
        """What was received so far, by provider."""
        return self._book.usage()

    def unpaid(self, names: Sequence[str], purpose: str, games: range) -> list[Games]:
        """Those of the games whose draws each provider has not yet given for this purpose."""
        with self._book.lock:
            return [self._paid[name, purpose].missing(games) for name in names]

    def recall(self, name: str, purpose: str, game: int) -> Batch | None:
        """Records that were bought from a distant source, if they were."""
        if self.unpaid([name], purpose, range(game, game + 1))[0]:
            return None
        with self._book.lock, database.errors(self._run):
            blob = database.purchase(self._connection, name, purpose, game)
        if blob is None:
            raise RunDamaged(f"the records of provider {name!r} for {purpose} {game} are missing")
        return batches.from_bytes(blob)

    def asking(self, name: str, purpose: str, game: int, size: int) -> None:
        """A distant source is about to be asked for one draw."""
        if self._full is not None:
            raise self._full
        with self._book.lock:
            self._reserve.hold()
            self._book.enter([Request((name,), purpose, game, 1, size, 0.0, "asked")])
            self._out.begin()

    def received(self, name: str, purpose: str, game: int, batch: Batch, seconds: float) -> None:
        """It answered; the records are safe when this returns."""
        try:
            self._store(name, purpose, game, batch, seconds)
        finally:
            self._out.end()

    def failed(self, name: str, purpose: str, game: int, reason: str) -> None:
        """It did not."""
        try:
            # What a source says of its failure may repeat a password it was given.
            told = hide(reason)
            self._book.enter([Request((name,), purpose, game, 1, 0, 0.0, "failed", told)])
        finally:
            self._out.end()

    def taken(self, names: Sequence[str], purpose: str, games: Games, size: int) -> None:
        """Draws are taken from records in memory: one request a provider and game."""
        with self._book.lock:
            for run in _consecutive(games):
                count = len(run)
                request = Request(
                    tuple(names), purpose, run.start, count, count * size, 0.0, "taken"
                )
                self._book.enter_later([request])
                for name in names:
                    self._paid[name, purpose].add(run)

    def solved(self) -> int:
        """How many games, from the first on, are solved and stored."""
        return self._games.count

    def solutions(self, games: range) -> tuple[FloatArray, FloatArray, int]:
        """Values and noise of stored games, (n_games, n) each, and their evaluations."""
        with self._book.lock:
            values, noise = self._games.read(games, len(self._names))
            return values, noise, self._games.evaluations(games)

    def seconds(self, games: int) -> float:
        """Seconds played, over all sessions, when the first `games` games were stored."""
        with self._book.lock:
            return self._games.seconds(games)

    def solve(
        self,
        games: range,
        values: FloatArray,
        noise: FloatArray,
        evaluations: int,
        seconds: float,
    ) -> None:
        """Store the next games, and the seconds played so far; safe when this returns."""
        chunk = SolvedChunk(games, values, noise)

        def write(connection: sqlite3.Connection, head: Head) -> None:
            self._games.add(connection, head, chunk, evaluations, seconds)

        with self._book.lock:
            try:
                self._book.enter(also=write)
            finally:  # an interruption may come after the commit
                self._games.reread()

    def close(self) -> None:
        """Take no more requests, and wait for those that are on their way."""
        self._out.close()
        self._reserve.give_up()

    def _store(self, name: str, purpose: str, game: int, batch: Batch, seconds: float) -> None:
        try:
            blob = batches.to_bytes(batch)
        except RunError as cause:
            raise RunError(f"provider {name!r}: {cause}") from cause
        mark = batches.mark(blob)
        request = Request((name,), purpose, game, 1, len(batch), seconds, "received", mark)

        def write(connection: sqlite3.Connection, head: Head) -> None:  # noqa: ARG001
            purchase = (name, purpose, game, len(batch), blob)
            connection.execute("INSERT INTO purchases VALUES (?, ?, ?, ?, ?)", purchase)

        with self._book.lock:
            try:
                self._book.enter([request], write)
            except RunFull as full:
                self._full = full  # nothing more is asked; this is paid for and must be kept
                self._reserve.give_up()
                self._book.enter([request], write)
            self._paid[name, purpose].add(range(game, game + 1))


class _Outstanding:
    """Counts the requests that threads are waiting for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._threads: set[int] = set()
        self._closed = False

    def begin(self) -> None:
        with self._changed:
            if self._closed:
                raise RunError("the run was closed; this source is not asked")
            self._threads.add(threading.get_ident())

    def end(self) -> None:
        with self._changed:
            self._threads.discard(threading.get_ident())
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            here = {threading.get_ident()}  # an interrupted request of this thread never ends
            self._changed.wait_for(lambda: self._threads <= here)


def _consecutive(games: Games) -> list[range]:
    """Cut rising numbers into ranges."""
    if games[-1] - games[0] == len(games) - 1:
        return [range(games[0], games[-1] + 1)]
    breaks = [place for place in range(1, len(games)) if games[place] > games[place - 1] + 1]
    starts, ends = [0, *breaks], [*breaks, len(games)]
    return [
        range(games[start], games[end - 1] + 1) for start, end in zip(starts, ends, strict=True)
    ]
