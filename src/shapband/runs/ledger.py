"""The ledger: every request to a source, each entry chained to the one before it by hash.

An entry's digest is the SHA-256 of the digest before it and of the entry itself, so an entry
that is altered, removed or put in leaves a chain that no longer fits. The first entry is
chained to the manifest.

A row of the database holds an entry as it is hashed, its providers as one JSON text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from pydantic_core import to_json

from shapband.errors import RunDamaged

Outcome = Literal["asked", "received", "taken", "failed"]


@dataclass(frozen=True)
class LedgerEntry:
    """One request, or several at once: of several providers, for consecutive games.

    Attributes
    ----------
    id : place in the ledger, from 1 on
    time : when it was entered, UTC, ISO 8601
    providers, purpose, first_game : the address of the request
    requests : how many of each provider, one a game from `first_game` on
    records : how many were asked of each provider, or came
    seconds : time it took to answer
    outcome : ``asked`` before a distant source is asked, ``received`` when its records are
        safe, ``failed`` when it gave none; ``taken`` for draws from records in memory
    note : the hash of what was received, or why a request failed
    digest : chains the entry to the one before it
    """

    id: int
    time: str
    providers: tuple[str, ...]
    purpose: str
    first_game: int
    requests: int
    records: int
    seconds: float
    outcome: Outcome
    note: str
    digest: str


Row: TypeAlias = tuple[Any, ...]
COLUMNS = ", ".join(field.name for field in fields(LedgerEntry))
_PLACES = ", ".join("?" for _ in fields(LedgerEntry))
INSERT = f"INSERT INTO ledger ({COLUMNS}) VALUES ({_PLACES})"  # noqa: S608  names of fields


class Request(NamedTuple):
    """What an entry says, before it has a place in the ledger."""

    providers: tuple[str, ...]
    purpose: str
    first_game: int
    requests: int
    records: int
    seconds: float
    outcome: Outcome
    note: str = ""


@dataclass(frozen=True)
class Head:
    """The end of a chain: how many entries it has, and the digest of the last."""

    entries: int
    digest: str

    def follow(self, requests: Iterable[Request]) -> tuple[Head, list[Row]]:
        """Chain requests to this end; give the new end and the rows to insert."""
        time = now()
        number, digest, rows = self.entries, self.digest, []
        for providers, *rest in requests:
            number += 1
            content = (number, time, canonical(providers), *rest)
            digest = chained(digest, content)
            rows.append((*content, digest))
        return Head(number, digest), rows


def now() -> str:
    """The time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def chained(before: str, content: Any) -> str:
    """The digest of something that follows a digest."""
    return hashlib.sha256(before.encode() + to_json(content)).hexdigest()


def canonical(content: Any) -> str:
    """The one way to write some content as JSON."""
    return to_json(content).decode()


def entry_of(row: Row) -> LedgerEntry:
    """Read a row."""
    number, time, providers, *rest = row
    return LedgerEntry(number, time, names_of(providers), *rest)


def names_of(providers: str) -> tuple[str, ...]:
    """Read the providers of a row."""
    try:
        return tuple(json.loads(providers))
    except (ValueError, TypeError) as cause:
        raise RunDamaged("the ledger is broken: the providers of an entry were altered") from cause


def verified(rows: Iterable[Row], start: str) -> Iterator[LedgerEntry]:
    """Give the entries, or raise RunDamaged at the first that does not fit the chain."""
    digest = start
    for number, row in enumerate(rows, start=1):
        *content, written = row
        if content[0] != number:
            raise RunDamaged(f"the ledger is broken: entry {number} is missing")
        digest = chained(digest, content)
        if digest != written:
            raise RunDamaged(
                f"the ledger is broken at entry {number}: it, or the manifest before it, was "
                "altered"
            )
        yield entry_of(row)
