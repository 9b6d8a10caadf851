"""The ledger as it is kept: entries go in, in one transaction with what they account for."""

from __future__ import annotations

import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from shapband.access.journal import Games
from shapband.access.meter import Usage
from shapband.runs import database
from shapband.runs.ledger import COLUMNS, INSERT, Head, Request, Row, names_of


class Book:
    """The ledger of one run.

    Parameters
    ----------
    run : the directory, for errors
    connection : the database
    start : the digest that the first entry is chained to
    """

    def __init__(self, run: Path, connection: sqlite3.Connection, start: str) -> None:
        self.lock = threading.RLock()
        self._run = run
        self._connection = connection
        self._start = start
        self._waiting: list[Request] = []
        self._in_doubt = False  # whether a transaction was begun and its end not seen
        with database.errors(run):
            self._head = self._read_head()

    def enter_later(self, requests: Sequence[Request]) -> None:
        """Enter requests that cost nothing, together with whatever is entered next."""
        with self.lock, database.errors(self._run):
            self._settle()
            self._waiting.extend(requests)

    def enter(
        self,
        requests: Sequence[Request] = (),
        also: Callable[[sqlite3.Connection, Head], None] | None = None,
    ) -> None:
        """Enter requests, and write what belongs to them: all of it is safe, or nothing is."""
        with self.lock, database.errors(self._run):
            self._settle()
            head, rows = self._head.follow([*self._waiting, *requests])
            self._in_doubt = True
            with database.transaction(self._connection):
                self._connection.executemany(INSERT, rows)
                if also is not None:
                    also(self._connection, head)
            self._entered(head)

    def _entered(self, head: Head) -> None:
        # An interruption may come after any line; what waited must not be entered twice.
        self._waiting.clear()
        self._head = head
        self._in_doubt = False

    def _settle(self) -> None:
        """Find out how a transaction ended that was interrupted, perhaps after its commit."""
        if not self._in_doubt:
            return
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        head = self._read_head()
        if head != self._head:
            self._entered(head)
        self._in_doubt = False

    def _read_head(self) -> Head:
        last = self._connection.execute("SELECT id, digest FROM ledger ORDER BY id DESC LIMIT 1")
        return Head(*(last.fetchone() or (0, self._start)))

    def rows(self) -> Iterator[Row]:
        """All entries, in their order."""
        with database.errors(self._run):
            rows = self._connection.execute(f"SELECT {COLUMNS} FROM ledger ORDER BY id")  # noqa: S608
            for row in rows:  # noqa: UP028  `yield from` also closes, after the database perhaps
                yield row

    def usage(self) -> dict[str, Usage]:
        """What was received so far, by provider."""
        with self.lock, database.errors(self._run):
            rows = self._connection.execute(
                "SELECT providers, SUM(requests), SUM(records), SUM(seconds) FROM ledger "
                "WHERE outcome IN ('received', 'taken') GROUP BY providers"
            )
            usage: dict[str, Usage] = {}
            for providers, *used in rows:
                for name in names_of(providers):
                    usage[name] = usage.get(name, Usage()) + Usage(*used)
        return usage

    def paid(self) -> defaultdict[tuple[str, str], Paid]:
        """Which games every provider has given draws for, by provider and purpose."""
        games: defaultdict[tuple[str, str], Paid] = defaultdict(Paid)
        with self.lock, database.errors(self._run):
            rows = self._connection.execute(
                "SELECT providers, purpose, first_game, requests FROM ledger "
                "WHERE outcome IN ('received', 'taken')"
            )
            for providers, purpose, first, count in rows:
                for name in names_of(providers):
                    games[name, purpose].add(range(first, first + count))
        return games


class Paid:
    """A set of games: all before one of them, and a few beyond it."""

    def __init__(self) -> None:
        self._until = 0
        self._beyond: set[int] = set()

    def add(self, games: range) -> None:
        """Put games in."""
        if games.start <= self._until:
            self._until = max(self._until, games.stop)
        else:
            self._beyond.update(games)
        while self._beyond and self._until in self._beyond:
            self._beyond.remove(self._until)
            self._until += 1

    def missing(self, games: range) -> Games:
        """Those of the games that are not in the set."""
        rest = range(max(games.start, self._until), games.stop)
        if not self._beyond:
            return rest
        return tuple(game for game in rest if game not in self._beyond)
