"""The purchases of a run: requests, answers, and the records themselves."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from shapband.access.answers import Refusal
from shapband.access.budget import Cost
from shapband.access.journal import (
    Asked,
    Event,
    Failed,
    GameNumbers,
    PurchaseJournal,
    Received,
    Refused,
)
from shapband.access.meter import Usage
from shapband.checks import one_line
from shapband.errors import RunDamaged, RunError, RunFull
from shapband.records.batch import Batch
from shapband.runs import batches, database
from shapband.runs.ledger import Ledger, LedgerEntry, Outcome, Request, hash_of
from shapband.runs.refused import is_stored, note_of, purpose_in, reason_in, refused_cost
from shapband.runs.reserve import Reserve
from shapband.secrets import hide

TABLE = (
    "CREATE TABLE purchases (provider TEXT NOT NULL, purpose TEXT NOT NULL, "
    "game INTEGER NOT NULL, part INTEGER NOT NULL, blob BLOB NOT NULL, "
    "UNIQUE (provider, purpose, game, part))"
)
_PART = 256_000_000  # largest part of an answer in one row, in bytes; SQLite allows 1,000,000,000
_RECORD_BYTES = 256  # assumed size of a record in the reserve, until the first answer
_Address: TypeAlias = tuple[str, str, int]  # provider, purpose and game
_LONGEST_REASON = 2_000  # the ledger keeps at most this many characters of an error
# Only requests without received records reach the second subquery, so it needs no index.
_COUNT_UNANSWERED = """
SELECT COUNT(*) FROM ledger AS request
WHERE outcome = 'asked'
AND NOT EXISTS (
    SELECT 1 FROM purchases
    WHERE provider = json_extract(request.providers, '$[0]')
    AND purpose = request.purpose AND game = request.first_game
)
AND NOT EXISTS (
    SELECT 1 FROM ledger AS answer
    WHERE answer.id > request.id AND answer.outcome IN ('failed', 'refused')
    AND answer.providers = request.providers
    AND answer.purpose = request.purpose AND answer.first_game = request.first_game
)
"""


class StoredPurchases(PurchaseJournal):
    """Keeps every purchase on disk.

    A request to a distant source is in the ledger before it is made, and its records are stored
    before they are used. Draws from records in memory cost nothing and can be repeated; they
    are entered in the ledger with the games they were for.

    Parameters
    ----------
    ledger : the ledger of the run
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._paid = _paid(ledger)
        self._pool_parts = pool_parts(ledger)
        self._reserve = Reserve(ledger.run)
        self._asked: dict[_Address, int] = {}  # number of records of each request under way
        self._full: RunFull | None = None
        self._record_bytes = float(_RECORD_BYTES)

    def usage(self) -> Mapping[str, Usage]:
        """What was received so far, by provider."""
        return usage_of(self._ledger)

    def sunk_cost(self, names: Collection[str]) -> Cost:
        """Requests and records of answers that could not be used, and of providers left out."""
        refused = refused_cost(self._ledger, names)
        others = [used for name, used in self.usage().items() if name not in names]
        return Cost(
            refused.requests + sum(used.requests for used in others),
            refused.records + sum(used.records for used in others),
        )

    def unpaid(self, names: Sequence[str], purpose: str, games: range) -> list[GameNumbers]:
        """For each provider, the games whose draws it has not yet given for this purpose."""
        return [self._paid[name, purpose].missing(games) for name in names]

    def pool_parts(self, name: str) -> list[int]:
        """Number of records in each request for a provider's pool so far."""
        return list(self._pool_parts[name])

    def recall(self, name: str, purpose: str, game: int) -> Batch | None:
        """Records already bought from a distant source, or None."""
        if self.unpaid([name], purpose, range(game, game + 1))[0]:
            return None
        blob = _blob(self._ledger, name, purpose, game)
        if blob is None:
            raise RunDamaged(f"the records of provider {name!r} for {purpose} {game} are missing")
        return batches.from_bytes(blob)

    def record(self, events: Sequence[Event]) -> None:
        """Enter requests and answers in one transaction, and store the records received.

        Once the disk is full, no further request is made. Answers to earlier requests are paid for,
        and are stored in the space set aside for them.
        """
        asked = [event for event in events if isinstance(event, Asked)]
        answers = [event for event in events if not isinstance(event, Asked)]
        try:
            if asked:
                self._make_room(asked)
            self._enter(events)
        except RunFull as full:
            self._full = full
            self._reserve.give_up()
            self._enter(answers)
            if asked:
                raise
        self._asked.update((_address(event), event.size) for event in asked)

    def taken(self, names: Sequence[str], purpose: str, games: GameNumbers, size: int) -> None:
        """Record draws from records in memory: one request per provider and game."""
        with self._ledger.lock:
            for run in _consecutive(games):
                count = len(run)
                self._ledger.enter_later(
                    Request(tuple(names), purpose, run.start, count, count * size, 0.0, "taken", "")
                )
                for name in names:
                    self._paid[name, purpose].add(run)
                    if purpose == "pool":
                        self._pool_parts[name] += [size] * count

    def close(self) -> None:
        """Release the space that was set aside."""
        self._reserve.give_up()

    def _make_room(self, asked: Sequence[Asked]) -> None:
        """Set space aside for all records under way, or raise RunFull."""
        if self._full is not None:
            raise self._full
        records = sum(self._asked.values()) + sum(event.size for event in asked)
        # Twice the size, because SQLite first writes to its log and then copies to the database.
        needed = int(2 * self._record_bytes * records)
        if not self._reserve.covers(needed):
            with self._ledger.lock:
                self._reserve.hold(needed)

    def _enter(self, events: Sequence[Event]) -> None:
        """Enter events; if answers are among them, even a power failure does not lose them."""
        entered = [self._entry_of(event) for event in events]
        blobs = [
            (*where, part, blob) for _, where, parts in entered for part, blob in enumerate(parts)
        ]
        bought = [event for event in events if isinstance(event, Received | Refused)]

        def write(connection: sqlite3.Connection) -> None:
            database.insert(connection, "purchases", blobs)

        try:
            requests = [request for request, _, _ in entered]
            self._ledger.enter(requests, write, durable=bool(bought))
        except (RunError, sqlite3.Error) as cause:
            may_fit = isinstance(cause, RunFull) and self._full is None
            if may_fit or not bought:
                raise
            raise _not_stored(bought, cause) from cause
        for event in events:
            self._asked.pop(_address(event), None)
        for event, request in zip(events, requests, strict=True):
            if request.outcome == "received":
                self._paid[event.name, event.purpose].add(range(event.game, event.game + 1))
                if event.purpose == "pool":
                    self._pool_parts[event.name].append(request.records)
        for event, request in zip(events, requests, strict=True):
            if isinstance(event, Received) and request.outcome == "refused":
                raise RunError(f"provider {event.name!r}: {reason_in(request.note)}")

    def _entry_of(self, event: Event) -> tuple[Request, _Address, Sequence[bytes]]:
        """Return the entry of an event, its key, and the answer in parts that SQLite can store."""
        where = _address(event)
        if isinstance(event, Asked):
            again = "" if event.attempt == 1 else f"attempt {event.attempt}"
            return _request(event, event.size, 0.0, "asked", again), where, ()
        if isinstance(event, Failed):
            # The message of a failed source may repeat a password it was given.
            reason = hide(event.reason)[:_LONGEST_REASON]
            return _request(event, 0, 0.0, "failed", reason), where, ()
        if isinstance(event, Refused):
            return self._refused(event)
        try:
            blob = batches.to_bytes(event.batch)
        except RunError as cause:  # raised again once the other answers are stored
            refusal = Refusal(one_line(cause), len(event.batch))
            return self._refused(Refused(*where, refusal, event.seconds))
        self._record_bytes = max(self._record_bytes, len(blob) / max(len(event.batch), 1))
        request = _request(event, len(event.batch), event.seconds, "received", hash_of(blob))
        return request, where, _parts(blob)

    def _refused(self, event: Refused) -> tuple[Request, _Address, Sequence[bytes]]:
        """As `_entry_of`, for an answer that cannot be used; no parts if it cannot be stored."""
        refusal = event.refusal
        blob = None if refusal.batch is None else _bytes_or_none(refusal.batch)
        note = note_of(hide(refusal.reason), blob)
        request = _request(event, refusal.records, event.seconds, "refused", note)
        purpose = purpose_in(note)
        if blob is None or purpose is None:
            return request, _address(event), ()
        if is_stored(self._ledger, event.name, purpose, event.game):
            return request, _address(event), ()
        return request, (event.name, purpose, event.game), _parts(blob)


def _parts(blob: bytes) -> list[bytes]:
    return [blob[start : start + _PART] for start in range(0, len(blob), _PART)]


def _bytes_or_none(batch: Batch) -> bytes | None:
    """Convert a refused answer to bytes, or return None if that is not possible."""
    try:
        return batches.to_bytes(batch)
    except Exception:  # noqa: BLE001  an unusable answer may hold anything
        return None


def _address(event: Event) -> _Address:
    return event.name, event.purpose, event.game


def _request(event: Event, records: int, seconds: float, outcome: Outcome, note: str) -> Request:
    return Request((event.name,), event.purpose, event.game, 1, records, seconds, outcome, note)


def _not_stored(bought: Sequence[Event], cause: Exception) -> RunError:
    first, *others = bought
    more = f", and the records of {len(others)} more requests," if others else ""
    return RunError(
        f"the records of provider {first.name!r} for {first.purpose} {first.game}{more} were "
        f"received but could not be stored, and resuming asks for them again ({one_line(cause)})"
    )


def usage_of(ledger: Ledger) -> dict[str, Usage]:
    """Requests and records received so far, by provider, including unusable answers."""
    usage: dict[str, Usage] = {}
    for names, used in ledger.select(
        "SELECT providers, SUM(requests), SUM(records), SUM(seconds) FROM ledger "
        "WHERE outcome IN ('received', 'taken', 'refused') GROUP BY providers"
    ):
        for name in names:
            usage[name] = usage.get(name, Usage()) + Usage(*used)
    for names, (repeated,) in ledger.select(
        "SELECT providers, COUNT(*) FROM ledger "
        "WHERE outcome = 'asked' AND note <> '' GROUP BY providers"
    ):
        for name in names:
            usage[name] = usage.get(name, Usage()) + Usage(retries=repeated)
    return usage


def count_unanswered(ledger: Ledger) -> int:
    """Requests that were asked and neither received nor failed since."""
    ((count,),) = ledger.query(_COUNT_UNANSWERED)
    return int(count)


def verify_purchase(ledger: Ledger, entry: LedgerEntry) -> _Address | None:
    """Raise RunDamaged unless the answer of an entry is as it was stored.

    Returns
    -------
    The key under which the answer is stored, or None if it is not stored.
    """
    (name,) = entry.providers
    is_refused = entry.outcome == "refused"
    purpose = purpose_in(entry.note) if is_refused else entry.purpose
    if purpose is None:
        return None
    blob = _blob(ledger, name, purpose, entry.first_game)
    expected = purpose.removeprefix("refused ") if is_refused else entry.note
    if blob is None or hash_of(blob) != expected:
        fate = "missing" if blob is None else "altered"
        raise RunDamaged(
            f"the records that entry {entry.id} of the ledger received (provider "
            f"{name!r}, {entry.purpose} {entry.first_game}) are {fate}"
        )
    return name, purpose, entry.first_game


def _blob(ledger: Ledger, name: str, purpose: str, game: int) -> bytes | None:
    """The answer that is stored under a key, or None."""
    parts = ledger.query(
        "SELECT blob FROM purchases WHERE provider = ? AND purpose = ? AND game = ? ORDER BY part",
        *(name, purpose, game),
    )
    return b"".join(part for (part,) in parts) if parts else None


def _paid(ledger: Ledger) -> defaultdict[tuple[str, str], PaidGames]:
    """The games whose draws were received, by provider and purpose."""
    games: defaultdict[tuple[str, str], PaidGames] = defaultdict(PaidGames)
    for names, (purpose, first, count) in ledger.select(
        "SELECT providers, purpose, first_game, requests FROM ledger "
        "WHERE outcome IN ('received', 'taken')"
    ):
        for name in names:
            games[name, purpose].add(range(first, first + count))
    return games


def pool_parts(ledger: Ledger) -> defaultdict[str, list[int]]:
    """Number of records in each request for a pool, by provider."""
    parts: defaultdict[str, list[int]] = defaultdict(list)
    for names, (requests, records) in ledger.select(
        "SELECT providers, requests, records FROM ledger "
        "WHERE purpose = 'pool' AND outcome IN ('received', 'taken') ORDER BY id"
    ):
        for name in names:
            parts[name] += [records // requests] * requests
    return parts


class PaidGames:
    """A set of games: all games before a limit, and some games beyond it.

    A provider that misses games leaves gaps; games beyond the first gap are stored as bits.
    """

    def __init__(self) -> None:
        self._until = 0
        self._beyond = _Bits()

    def add(self, games: range) -> None:
        """Add games to the set."""
        if games.start <= self._until:
            self._until = max(self._until, games.stop)
        else:
            for game in games:
                self._beyond.add(game)
        while self._beyond and self._until in self._beyond:
            self._beyond.remove(self._until)
            self._until += 1

    def missing(self, games: range) -> GameNumbers:
        """The games that are not in the set."""
        rest = range(max(games.start, self._until), games.stop)
        if not self._beyond:
            return rest
        return tuple(game for game in rest if game not in self._beyond)


class _Bits:
    """A set of integers that takes little more than one bit per number."""

    def __init__(self) -> None:
        self._words: dict[int, int] = {}  # each word has the bits of 1,024 numbers

    def __bool__(self) -> bool:
        return bool(self._words)

    def __contains__(self, number: int) -> bool:
        return bool(self._words.get(number >> 10, 0) >> (number & 1023) & 1)

    def add(self, number: int) -> None:
        self._words[number >> 10] = self._words.get(number >> 10, 0) | 1 << (number & 1023)

    def remove(self, number: int) -> None:
        """Remove a number that is in the set."""
        rest = self._words.pop(number >> 10) ^ 1 << (number & 1023)
        if rest:
            self._words[number >> 10] = rest


def _consecutive(games: GameNumbers) -> list[range]:
    """Split ascending numbers into ranges."""
    if games[-1] - games[0] == len(games) - 1:
        return [range(games[0], games[-1] + 1)]
    breaks = [place for place in range(1, len(games)) if games[place] > games[place - 1] + 1]
    starts, ends = [0, *breaks], [*breaks, len(games)]
    return [
        range(games[start], games[end - 1] + 1) for start, end in zip(starts, ends, strict=True)
    ]
