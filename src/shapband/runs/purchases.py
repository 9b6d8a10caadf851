"""The purchases of a run: what was asked, what was received, and the records themselves."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapband.access.journal import GameNumbers, PurchaseJournal
from shapband.access.meter import Usage
from shapband.checks import one_line
from shapband.errors import RunDamaged, RunError, RunFull
from shapband.records import Batch
from shapband.runs import batches, database
from shapband.runs.ledger import Ledger, LedgerEntry, Request, hash_of
from shapband.runs.reserve import Reserve
from shapband.secrets import hide

TABLE = (
    "CREATE TABLE purchases (provider TEXT NOT NULL, purpose TEXT NOT NULL, "
    "game INTEGER NOT NULL, part INTEGER NOT NULL, blob BLOB NOT NULL, "
    "UNIQUE (provider, purpose, game, part))"
)
_PART = 256_000_000  # bytes of an answer in one row; SQLite takes at most 1,000,000,000
_MANY = 16  # requests under way from which on they are entered in groups
_LINGER = 0.004  # seconds that a request waits for others of its group
_RECORD_BYTES = 256  # guessed for the reserve until the first answer shows the real size
_LONGEST_REASON = 2_000  # characters of an error that the ledger keeps
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
    WHERE answer.id > request.id AND answer.outcome = 'failed'
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
    run : the directory
    connection : its database
    ledger : its ledger
    """

    def __init__(self, run: Path, connection: sqlite3.Connection, ledger: Ledger) -> None:
        self._run = run
        self._connection = connection
        self._ledger = ledger
        self._paid = _paid(ledger)
        self._paid_lock = threading.Lock()  # not the ledger's, which is held while disks are slow
        self._reserve = Reserve(run)
        self._out = _Outstanding()
        self._full: RunFull | None = None
        self._queue: deque[_Waiting] = deque()
        self._record_bytes = float(_RECORD_BYTES)

    def usage(self) -> Mapping[str, Usage]:
        """What was received so far, by provider."""
        return usage_of(self._ledger)

    def unpaid(self, names: Sequence[str], purpose: str, games: range) -> list[GameNumbers]:
        """For each provider, the games whose draws it has not yet given for this purpose."""
        with self._paid_lock:
            return [self._paid[name, purpose].missing(games) for name in names]

    def recall(self, name: str, purpose: str, game: int) -> Batch | None:
        """Records already bought from a distant source, or None."""
        if self.unpaid([name], purpose, range(game, game + 1))[0]:
            return None
        with self._ledger.lock:
            blob = _blob(self._run, self._connection, name, purpose, game)
        if blob is None:
            raise RunDamaged(f"the records of provider {name!r} for {purpose} {game} are missing")
        return batches.from_bytes(blob)

    def asking(self, name: str, purpose: str, game: int, size: int) -> None:
        """Record that a distant source is about to be asked for one draw."""
        if self._full is not None:
            raise self._full
        address = (name, purpose, game)
        # Twice, because SQLite first writes to its log and then copies to the database.
        needed = int(2 * self._record_bytes * (self._out.records + size))
        if not self._reserve.covers(needed):
            with self._ledger.lock:
                self._reserve.hold(needed)
        self._out.begin(address, size)
        try:
            self._enter(_Waiting(Request((name,), purpose, game, 1, size, 0.0, "asked", "")))
        except BaseException:
            self._out.end(address)
            raise

    def received(self, name: str, purpose: str, game: int, batch: Batch, seconds: float) -> None:
        """Store the records of an answered request. They are on disk when this returns."""
        try:
            self._store(name, purpose, game, batch, seconds)
        finally:
            self._out.end((name, purpose, game))

    def failed(self, name: str, purpose: str, game: int, reason: str) -> None:
        """Record that the request failed."""
        try:
            # The message of a failed source may repeat a password it was given.
            note = hide(reason)[:_LONGEST_REASON]
            self._ledger.enter(
                [Request((name,), purpose, game, 1, 0, 0.0, "failed", note)], durable=False
            )
        finally:
            self._out.end((name, purpose, game))

    def taken(self, names: Sequence[str], purpose: str, games: GameNumbers, size: int) -> None:
        """Record draws from records in memory: one request per provider and game."""
        with self._ledger.lock:
            for run in _consecutive(games):
                count = len(run)
                self._ledger.enter_later(
                    Request(tuple(names), purpose, run.start, count, count * size, 0.0, "taken", "")
                )
                with self._paid_lock:
                    for name in names:
                        self._paid[name, purpose].add(run)

    def close(self) -> None:
        """Accept no more requests, and wait for those under way."""
        self._out.close()
        self._reserve.give_up()

    def _store(self, name: str, purpose: str, game: int, batch: Batch, seconds: float) -> None:
        try:
            blob = batches.to_bytes(batch)
        except RunError as cause:
            raise RunError(f"provider {name!r}: {cause}") from cause
        self._record_bytes = max(self._record_bytes, len(blob) / max(len(batch), 1))
        note = hash_of(blob)
        request = Request((name,), purpose, game, 1, len(batch), seconds, "received", note)
        try:
            self._enter(_Waiting(request, blob))
        except (RunError, sqlite3.Error) as cause:
            raise RunError(
                f"the records of provider {name!r} for {purpose} {game} were received but "
                f"could not be stored, and resuming asks for them again ({one_line(cause)})"
            ) from cause

    def _enter(self, waiting: _Waiting) -> None:
        """Enter a request, in one transaction with those of other threads that wait here."""
        self._queue.append(waiting)
        if self._out.count > _MANY:
            time.sleep(_LINGER)  # for the others: transactions wait for the disk
        with self._ledger.lock:
            if waiting.entered:  # by another thread, while this one waited for the lock
                return
            group = [self._queue.popleft() for _ in range(len(self._queue))]
            try:
                self._commit(group)
            except BaseException:
                self._queue.extend(other for other in group if other is not waiting)
                raise

    def _commit(self, group: Sequence[_Waiting]) -> None:
        """Store a group; if records are among it, not even a power loss undoes that."""
        requests = [one.request for one in group]
        bought = [one for one in group if one.blob is not None]

        def write(connection: sqlite3.Connection) -> None:
            for one in bought:
                connection.executemany("INSERT INTO purchases VALUES (?, ?, ?, ?, ?)", one.rows())

        try:
            self._ledger.enter(requests, write, durable=bool(bought))
        except RunFull as full:
            self._full = full  # nothing more is asked; these answers are paid for and are stored
            self._reserve.give_up()
            self._ledger.enter(requests, write, durable=bool(bought))
        for one in group:
            one.entered = True
        with self._paid_lock:
            for name, purpose, game in (one.address for one in bought):
                self._paid[name, purpose].add(range(game, game + 1))


@dataclass(eq=False)
class _Waiting:
    """A request that waits to be entered, with the records it was answered with."""

    request: Request
    blob: bytes | None = None
    entered: bool = False

    @property
    def address(self) -> tuple[str, str, int]:
        return self.request.providers[0], self.request.purpose, self.request.first_game

    def rows(self) -> list[tuple[object, ...]]:
        """The records in parts that SQLite can take."""
        blob = self.blob or b""
        starts = range(0, len(blob), _PART)
        return [(*self.address, at, blob[start : start + _PART]) for at, start in enumerate(starts)]


def usage_of(ledger: Ledger) -> dict[str, Usage]:
    """What was received so far, by provider."""
    usage: dict[str, Usage] = {}
    for names, used in ledger.select(
        "SELECT providers, SUM(requests), SUM(records), SUM(seconds) FROM ledger "
        "WHERE outcome IN ('received', 'taken') GROUP BY providers"
    ):
        for name in names:
            usage[name] = usage.get(name, Usage()) + Usage(*used)
    return usage


def count_unanswered(run: Path, connection: sqlite3.Connection) -> int:
    """Requests that were asked and neither received nor failed since."""
    with database.errors(run):
        (count,) = connection.execute(_COUNT_UNANSWERED).fetchone()
    return int(count)


def verify_purchase(run: Path, connection: sqlite3.Connection, entry: LedgerEntry) -> None:
    """Raise RunDamaged unless the records of a ``received`` entry are as they were stored."""
    (name,) = entry.providers
    blob = _blob(run, connection, name, entry.purpose, entry.first_game)
    if blob is None or hash_of(blob) != entry.note:
        fate = "missing" if blob is None else "altered"
        raise RunDamaged(
            f"the records that entry {entry.id} of the ledger received (provider "
            f"{name!r}, {entry.purpose} {entry.first_game}) are {fate}"
        )


def _blob(
    run: Path, connection: sqlite3.Connection, name: str, purpose: str, game: int
) -> bytes | None:
    select = (
        "SELECT blob FROM purchases WHERE provider = ? AND purpose = ? AND game = ? ORDER BY part"
    )
    with database.errors(run):
        parts = connection.execute(select, (name, purpose, game)).fetchall()
    return b"".join(part for (part,) in parts) if parts else None


def _paid(ledger: Ledger) -> defaultdict[tuple[str, str], PaidGames]:
    """Which games every provider has given draws for, by provider and purpose."""
    games: defaultdict[tuple[str, str], PaidGames] = defaultdict(PaidGames)
    for names, (purpose, first, count) in ledger.select(
        "SELECT providers, purpose, first_game, requests FROM ledger "
        "WHERE outcome IN ('received', 'taken')"
    ):
        for name in names:
            games[name, purpose].add(range(first, first + count))
    return games


class PaidGames:
    """A set of games: all games before one of them, and a few beyond it."""

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

    def missing(self, games: range) -> GameNumbers:
        """Those of the games that are not in the set."""
        rest = range(max(games.start, self._until), games.stop)
        if not self._beyond:
            return rest
        return tuple(game for game in rest if game not in self._beyond)


class _Outstanding:
    """The requests under way, by address: the thread that waits for each, and its records."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: dict[tuple[str, str, int], tuple[int, int]] = {}
        self._closed = False

    @property
    def count(self) -> int:
        """Requests that are under way."""
        return len(self._requests)

    @property
    def records(self) -> int:
        """Records that are under way."""
        with self._changed:
            return sum(size for _, size in self._requests.values())

    def begin(self, address: tuple[str, str, int], size: int) -> None:
        with self._changed:
            if self._closed:
                raise RunError("the run was closed; this source is not asked")
            self._requests[address] = threading.get_ident(), size

    def end(self, address: tuple[str, str, int]) -> None:
        with self._changed:
            self._requests.pop(address, None)
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            here = threading.get_ident()  # an interrupted request of this thread never ends
            self._changed.wait_for(
                lambda: all(thread == here for thread, _ in self._requests.values())
            )


def _consecutive(games: GameNumbers) -> list[range]:
    """Split ascending numbers into ranges."""
    if games[-1] - games[0] == len(games) - 1:
        return [range(games[0], games[-1] + 1)]
    breaks = [place for place in range(1, len(games)) if games[place] > games[place - 1] + 1]
    starts, ends = [0, *breaks], [*breaks, len(games)]
    return [
        range(games[start], games[end - 1] + 1) for start, end in zip(starts, ends, strict=True)
    ]
