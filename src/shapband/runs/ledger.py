"""The ledger: everything that happens in a run, each entry chained by hash to the one before it.

There is an entry for every request to a source and every answer, for every chunk of solved games,
for every note and for the result. An entry holds the hash of the data stored with it. The digest
of an entry is the SHA-256 of the previous digest and of the entry itself, so an entry that is
altered, removed or inserted breaks the chain. The first entry is chained to the manifest. Entries
are written in one transaction with the data that they describe.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic_core import to_json

from shapband.errors import RunDamaged, RunError
from shapband.runs import database

Outcome = Literal["asked", "received", "refused", "taken", "failed", "solved", "noted", "finished"]
Row: TypeAlias = tuple[Any, ...]  # an entry as it is hashed, with its providers as one JSON string


@dataclass(frozen=True)
class Request:
    """One event: a request, several requests alike, or something that was stored.

    Attributes
    ----------
    providers, purpose, first_game : the address of the request
    requests : number of requests to each provider: one per game, from `first_game` on
    records : number of records requested from each provider, or received
    seconds : time until the answer
    outcome : ``asked`` before a distant source is asked, ``received`` when its records are
        stored, ``refused`` when its records cannot be used, ``failed`` when it gave none;
        ``taken`` for draws from records in memory; ``solved`` for stored games, ``noted`` for a
        note, ``finished`` for the result
    note : the hash of the stored data, or the reason for a failure; for a refused answer both; for
        a request that is made again after a failure, the number of the attempt
    """

    providers: tuple[str, ...]
    purpose: str
    first_game: int
    requests: int
    records: int
    seconds: float
    outcome: Outcome
    note: str


@dataclass(frozen=True)
class LedgerEntry(Request):
    """A request with its place in the ledger.

    Attributes
    ----------
    id : place in the ledger, from 1 on
    time : when it was entered, UTC, ISO 8601
    digest : chains the entry to the one before it
    """

    id: int
    time: str
    digest: str


_REQUEST = tuple(field.name for field in fields(Request))
_values_of = attrgetter(*_REQUEST)
COLUMNS = ("id", "time", *_REQUEST, "digest")
_TYPES = {"id": "INTEGER PRIMARY KEY", "seconds": "REAL NOT NULL"} | dict.fromkeys(
    ("first_game", "requests", "records"), "INTEGER NOT NULL"
)
_LISTED = ", ".join(COLUMNS)
_SELECT = f"SELECT {_LISTED} FROM ledger ORDER BY id"  # noqa: S608  names of fields
_DECLARED = ", ".join(f"{name} {_TYPES.get(name, 'TEXT NOT NULL')}" for name in COLUMNS)
TABLES = (
    f"CREATE TABLE ledger ({_DECLARED})",
    "CREATE TABLE notes (key TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID",
)


class Head(NamedTuple):
    """The end of the chain: how many entries it has, and the digest of the last."""

    entries: int
    digest: str

    def follow(self, requests: Iterable[Request]) -> tuple[Head, list[Row]]:
        """Chain requests to this end; return the new end and the rows to insert."""
        time = now()
        number, digest, rows = self.entries, self.digest, []
        for request in requests:
            number += 1
            providers, *rest = _values_of(request)
            content = (number, time, canonical(providers), *rest)
            digest = chained(digest, content)
            rows.append((*content, digest))
        return Head(number, digest), rows


class Ledger:
    """The ledger of one run. Its lock guards the database connection, which threads share.

    Parameters
    ----------
    run : the directory, for errors
    connection : the database
    start : the digest that the first entry is chained to
    """

    def __init__(self, run: Path, connection: sqlite3.Connection, start: str) -> None:
        self.lock = threading.RLock()
        self.run = run
        self._connection = connection
        self._start = start
        self._waiting: list[Request] = []
        self._in_doubt = False  # whether it is unknown if the last transaction was committed
        self._place = database.identity(run)
        with database.errors(run):
            self._head = self._read_head()

    def enter_later(self, request: Request) -> None:
        """Enter a request that cost nothing, together with whatever is entered next."""
        with self.lock, database.errors(self.run):
            self._settle()
            self._waiting.append(request)

    def enter(
        self,
        requests: Sequence[Request] = (),
        also: Callable[[sqlite3.Connection], None] | None = None,
        *,
        durable: bool = True,
    ) -> None:
        """Enter requests and write the data that belongs to them, in one transaction.

        Data that can be fetched again without paying need not be `durable`: it may be lost in a
        power failure, but not when the process ends.
        """
        with self.lock, database.errors(self.run):
            self._settle()
            self._check_place()
            head, rows = self._head.follow([*self._waiting, *requests])
            self._in_doubt = True
            with database.transaction(self._connection, durable=durable):
                database.insert(self._connection, "ledger", rows)
                if also is not None:
                    also(self._connection)
            self._entered(head)

    def note(self, key: str, content: Any) -> None:
        """Store a fact that was not known when the manifest was written."""
        self.note_all({key: content})

    def note_all(
        self,
        contents: Mapping[str, Any],
        also: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        """Store several facts by key, and what belongs to them, in one transaction."""
        texts = {key: canonical(content) for key, content in contents.items()}

        def write(connection: sqlite3.Connection) -> None:
            for note in texts.items():
                connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", note)
            if also is not None:
                also(connection)

        self.enter([stored("noted", key, 0, hash_of(text)) for key, text in texts.items()], write)

    def noted(self, key: str) -> Any:
        """Give what was noted, or None."""
        rows = self.query("SELECT json FROM notes WHERE key = ?", key)
        return json.loads(rows[0][0]) if rows else None

    def verify_notes(self, hashes: Mapping[str, str]) -> None:
        """Raise RunDamaged unless the notes have these hashes, by key."""
        rows = self.query("SELECT key, json FROM notes")
        if {key: hash_of(text) for key, text in rows} != hashes:
            raise RunDamaged(f"the notes of the run {self.run} were altered")

    @property
    def digest(self) -> str:
        """The digest of the last entry, which depends on everything stored before."""
        return self._head.digest

    def last(self) -> LedgerEntry | None:
        """The last entry."""
        rows = self.query(f"{_SELECT} DESC LIMIT 1")
        return _entry_of(rows[0]) if rows else None

    def check_first(self) -> None:
        """Raise RunDamaged if the first entry is not chained to the manifest."""
        for row in self.query(f"{_SELECT} LIMIT 1"):
            if row[0] != 1 or chained(self._start, row[:-1]) != row[-1]:
                raise RunDamaged(
                    "the ledger is broken at entry 1: it, or the manifest before it, was altered"
                )

    def entries(self) -> Iterator[LedgerEntry]:
        """All entries, in their order."""
        return map(_entry_of, self._rows())

    def verified(self) -> Iterator[LedgerEntry]:
        """Yield all entries; raise RunDamaged at the first entry that breaks the chain."""
        digest = self._start
        for number, row in enumerate(self._rows(), start=1):
            *content, written = row
            if content[0] != number:
                raise RunDamaged(f"the ledger is broken: entry {number} is missing")
            digest = chained(digest, content)
            if digest != written:
                raise RunDamaged(
                    f"the ledger is broken at entry {number}: it, or the manifest before it, was "
                    "altered"
                )
            yield _entry_of(row)

    def select(self, query: str) -> Iterator[tuple[tuple[str, ...], Row]]:
        """Run a query whose first column is `providers`; give the names and the other columns."""
        for providers, *rest in self.query(query):
            yield _names_of(providers), tuple(rest)

    def query(self, query: str, *values: object) -> list[Row]:
        """Run a query on any table of the run, and give all rows."""
        with self.lock, database.errors(self.run):
            return self._connection.execute(query, values).fetchall()

    def _rows(self) -> Iterator[Row]:
        with database.errors(self.run):
            for row in self._connection.execute(_SELECT):  # noqa: UP028
                yield row  # `yield from` may close the cursor after the database is closed

    def _check_place(self) -> None:
        """Raise if the database was removed or replaced: SQLite would go on writing to nowhere."""
        found = database.identity(self.run)
        if found != self._place:
            raise RunError(
                f"the database of the run {self.run} was removed or replaced while the run was "
                "being played: bring it back, then resume"
            )

    def _entered(self, head: Head) -> None:
        # This line comes first: even if an interruption follows, no request is entered twice.
        self._waiting.clear()
        self._head = head
        self._in_doubt = False

    def _settle(self) -> None:
        """Find out whether an interrupted transaction was committed."""
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
        number, digest = last.fetchone() or (0, self._start)
        if not isinstance(digest, str):
            raise RunDamaged("the ledger is broken: the digest of its last entry was altered")
        return Head(number, digest)


def now() -> str:
    """The time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def stored(outcome: Outcome, purpose: str, first_game: int, note: str) -> Request:
    """The entry of data that was stored but did not come from a source."""
    return Request((), purpose, first_game, 0, 0, 0.0, outcome, note)


def hash_of(*parts: str | bytes | memoryview) -> str:
    """The hash by which an entry refers to the data stored with it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return f"sha256:{digest.hexdigest()}"


def chained(before: str, content: Any) -> str:
    """The digest of content that follows a digest."""
    return hashlib.sha256(before.encode() + to_json(content)).hexdigest()


def canonical(content: Any) -> str:
    """Write content as JSON, always in the same way."""
    return to_json(content).decode()


def _entry_of(row: Row) -> LedgerEntry:
    columns = dict(zip(COLUMNS, row, strict=True))
    return LedgerEntry(**{**columns, "providers": _names_of(columns["providers"])})


def _names_of(providers: str) -> tuple[str, ...]:
    try:
        names = json.loads(providers)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("not a list of names")
        return tuple(names)
    except (ValueError, TypeError, RecursionError) as cause:
        raise RunDamaged("the ledger is broken: the providers of an entry were altered") from cause
