"""An exchange with distant sources: requests, answers, and the record of both.

Threads do nothing but wait for sources. The thread that runs the exchange records everything: it
takes the answers that have come, writes them and the requests that follow them in one
transaction, and only then allows these requests. So the disk is waited for once per group of
answers, however many sources are asked at the same time. Each source has one request allowed
beyond the one that it is answering, so that it does not wait for the disk either.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from queue import Empty, SimpleQueue

from shapband._typing import IntArray
from shapband.access.journal import Asked, Event, Failed, GameNumbers, PurchaseJournal, Received
from shapband.access.meter import Usage
from shapband.access.threads import RequestThreads
from shapband.checks import error_line, one_line
from shapband.draws import Choice, FixedRows, RandomRows, Stream
from shapband.errors import RunError, ShapbandError, SourceError
from shapband.providers import Provider
from shapband.records import Batch
from shapband.seeds import Seeds
from shapband.sources.base import FiniteSource, GenerativeSource

_AHEAD = 2  # requests that a source is allowed at the same time; it answers one after the other
_NOT_MADE = "the request was not made, because the valuation was stopped"
_TIME_IS_UP = "the time limit of the stopping rule was reached"
_LONGEST_WAIT = 1.0  # seconds after which overdue requests are looked for
_SHORTEST_WAIT = 0.01
_GRACE = 1.0  # seconds after the deadline in which a request under way may be answered


class Abandoned(Exception):
    """The access was stopped before all requests of an exchange were made."""


class OutOfTime(SourceError):
    """The deadline was reached before all requests of an exchange were answered."""


@dataclass(frozen=True, eq=False)
class Order:
    """The draws to fetch from one provider.

    Attributes
    ----------
    provider, purpose : address the draws
    games : the games of the order; a pool that is bought in several requests has one for each
    due : those of the games in which the provider takes part
    unpaid : those of them that were not bought before
    size : records in a draw
    seeds : the random streams
    before : records in the parts of a pool before this one
    """

    provider: Provider
    purpose: str
    games: range
    due: GameNumbers
    unpaid: GameNumbers
    size: int
    seeds: Seeds
    before: int = 0

    def choice(self, source: FiniteSource) -> Choice:
        """Return the rows of a finite source that the games use.

        The rows of a pool are the first of one shuffle, so a part continues those before it.
        """
        asked = self.before + self.size
        if asked > source.size and not source.replace:
            # The kernel that chooses the rows would read past their end.
            raise SourceError(
                f"provider {self.provider.name!r} has {source.size:,} records, fewer than the "
                f"{asked:,} that were asked for"
            )
        if self.before:
            stream = Stream(self.seeds, self.purpose, self.provider.name, range(1))
            whole = RandomRows(stream, self.before + self.size, source.size, source.replace)
            return FixedRows(whole.rows()[:, self.before :])
        stream = Stream(self.seeds, self.purpose, self.provider.name, self.games)
        return RandomRows(stream, self.size, source.size, source.replace)


class Delivery:
    """What has been received for an order so far, and the requests that are allowed."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.batches: list[Batch] = []
        self.seconds = 0.0
        self.bought = 0
        self.asked = 0  # requests allowed and not yet answered
        self._lock = threading.Lock()
        self._allowed: deque[int] = deque()  # games whose requests are allowed and not yet begun
        self._busy = False  # whether a thread makes requests

    @property
    def usage(self) -> Usage:
        """What this exchange received."""
        return Usage(self.bought, self.bought * self.order.size, self.seconds)

    @property
    def missing(self) -> int:
        """Games that are neither received nor asked for."""
        return len(self.order.due) - len(self.batches) - self.asked

    @property
    def waits(self) -> bool:
        """Whether a thread waits for the source."""
        return self.order.provider.source.waits

    @property
    def next_game(self) -> int:
        """The game after those that were received."""
        return self.order.due[len(self.batches)]

    def address(self, game: int) -> tuple[str, str, int]:
        """What identifies the request for a game."""
        return self.order.provider.name, self.order.purpose, game

    @cached_property
    def rows(self) -> IntArray | None:
        """The rows to ask of a finite source, one line per game; None for other sources."""
        source = self.order.provider.source
        return self.order.choice(source).rows() if isinstance(source, FiniteSource) else None

    def request(self, game: int) -> object:
        """Ask the source for the draw of a game."""
        order, source = self.order, self.order.provider.source
        if isinstance(source, FiniteSource) and self.rows is not None:
            return source.take(self.rows[game - order.games.start])
        if isinstance(source, GenerativeSource):
            name = order.provider.name
            return source.draw(order.size, order.seeds.generator(order.purpose, name, game))
        raise SourceError("a source must be a FiniteSource or a GenerativeSource")

    def allow(self, game: int) -> bool:
        """Allow a request; return whether a thread must be found for it."""
        self.asked += 1
        with self._lock:
            self._allowed.append(game)
            idle, self._busy = not self._busy, True
            return idle

    def begin(self) -> int | None:
        """Give the thread that makes requests the next game, or None if it has to end."""
        with self._lock:
            self._busy = bool(self._allowed)
            return self._allowed.popleft() if self._allowed else None

    def revoke(self) -> list[int]:
        """Allow no more requests; return the games whose requests were not begun."""
        with self._lock:
            games = list(self._allowed)
            self._allowed.clear()
        self.asked -= len(games)
        return games


_Answer = tuple[Delivery, object, float]  # what a source gave, or the exception it raised


class Exchange:
    """Fetches some orders from distant sources, from each source one game at a time.

    Parameters
    ----------
    orders : what to fetch
    check : gives the batch in an answer to an order, or raises SourceError
    journal : stores what was asked and received
    threads : wait for the sources whose `waits` is set, the others are asked in this thread
    concurrency : requests at the same time
    timeout : seconds that a request in a thread may take
    stopped : once it is set, no further request is made; it is set by errors
    deadline : on the monotonic clock: from then on no request is made, and those under way are
        given up after one second
    """

    def __init__(
        self,
        orders: Sequence[Order],
        check: Callable[[Order, object], Batch],
        journal: PurchaseJournal,
        threads: RequestThreads,
        concurrency: int,
        timeout: float,
        stopped: threading.Event,
        deadline: float = float("inf"),
    ) -> None:
        self.deliveries = [Delivery(order) for order in orders]
        self._check = check
        self._journal = journal
        self._threads = threads
        self._concurrency = concurrency
        self._timeout = timeout
        self._stopped = stopped
        self._deadline = deadline
        self._ready = deque(one for one in self.deliveries if one.waits)
        self._ready_here = deque(one for one in self.deliveries if not one.waits)
        self._overdue: dict[Delivery, float] = {}  # requests under way, and when to give up
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        self._events: list[Event] = []
        self._failures: dict[Delivery, BaseException] = {}

    def run(self) -> list[Delivery]:
        """Fetch everything, or raise the error of the first provider that failed."""
        try:
            self._ask()
            while self._overdue:
                self._collect()
                self._ask()
        except BaseException as error:
            self._stopped.set()
            self._finish(error)
            raise
        for delivery in self.deliveries:
            if delivery in self._failures:
                raise self._failures[delivery]
        if any(delivery.missing for delivery in self.deliveries):
            raise OutOfTime(_TIME_IS_UP) if self._is_late() else Abandoned
        return self.deliveries

    def _is_late(self) -> bool:
        return time.monotonic() >= self._deadline

    def _ask(self) -> None:
        """Record the answers that came and the requests that follow, and allow these requests."""
        self._revoke_if_stopped()
        following = self._following()
        self._record([Asked(*one.address(game), one.order.size) for one, game in following])
        for delivery, game in following:
            if delivery.waits:
                self._overdue.setdefault(delivery, time.monotonic() + self._timeout)
                if delivery.allow(game):
                    self._threads.submit(partial(self._serve, delivery))
        for delivery, game in following:  # after the others, which are waited for meanwhile
            if not delivery.waits:
                delivery.allow(game)
                self._serve(delivery)
                self._overdue[delivery] = float("inf")

    def _following(self) -> list[tuple[Delivery, int]]:
        """Choose the requests to allow now; among sources of this thread, only one."""
        chosen: list[tuple[Delivery, int]] = []
        at_once = len(self._overdue)
        while self._ready and not self._stopped.is_set():
            if at_once == self._concurrency and not self._ready[0].asked:
                break
            delivery = self._ready.popleft()
            if delivery.asked or self._is_needed(delivery):
                at_once += not delivery.asked
                chosen.extend((delivery, game) for game in self._allowable(delivery))
        here = False
        while self._ready_here and not here and at_once < self._concurrency:
            delivery = self._ready_here.popleft()
            if here := not self._stopped.is_set() and self._is_needed(delivery):
                chosen.extend((delivery, game) for game in self._allowable(delivery))
        return chosen

    def _is_needed(self, delivery: Delivery) -> bool:
        """Whether a request must be made for the next game, and can be made."""
        return not self._recall(delivery) and self._has_rows(delivery)

    def _allowable(self, delivery: Delivery) -> Iterator[int]:
        """The games of a delivery that may be asked for now."""
        if self._is_late():
            return
        first = len(delivery.batches)
        last = first + (_AHEAD if delivery.waits else 1)
        for game in delivery.order.due[first + delivery.asked : last]:
            if game not in delivery.order.unpaid:
                return  # it was bought before, and is recalled when it is next
            yield game

    def _recall(self, delivery: Delivery) -> bool:
        """Add records that were bought before; return whether no request is needed any more."""
        while delivery.missing:
            batch = self._journal.recall(*delivery.address(delivery.next_game))
            if batch is None:
                return False
            delivery.batches.append(batch)
        return True

    def _has_rows(self, delivery: Delivery) -> bool:
        """Have the rows computed, in this thread: calling a kernel from many at once is slow."""
        try:
            _ = delivery.rows
        except Exception as cause:  # noqa: BLE001  raised by `run`
            self._fail(delivery, cause)
            return False
        return True

    def _ends(self) -> bool:
        """Whether no further request may begin."""
        return self._stopped.is_set() or self._is_late()

    def _serve(self, delivery: Delivery) -> None:
        """Make the requests that are allowed. How each ended is never lost."""
        while not self._ends() and (game := delivery.begin()) is not None:
            started = time.perf_counter()
            answer: object
            try:
                answer = delivery.request(game)
            except BaseException as cause:  # noqa: BLE001  raised by `run`
                self._stopped.set()
                answer = cause
            self._answers.put((delivery, answer, time.perf_counter() - started))

    def _collect(self) -> None:
        """Wait for an answer, or until a request is overdue; take all answers that came."""
        answered: dict[Delivery, None] = {}
        try:
            answer = self._answers.get(timeout=self._patience())
            while True:
                self._take(*answer)
                answered[answer[0]] = None
                answer = self._answers.get_nowait()
        except Empty:
            self._give_up_overdue()
        for delivery in answered:
            if delivery.missing:
                (self._ready if delivery.waits else self._ready_here).appendleft(delivery)

    def _patience(self) -> float:
        """Seconds to wait for an answer before the clock is looked at."""
        now = time.monotonic()
        left = [when - now for when in (self._deadline, self._deadline + _GRACE) if when > now]
        return max(_SHORTEST_WAIT, min(_LONGEST_WAIT, self._timeout / 4, *left))

    def _take(self, delivery: Delivery, answer: object, seconds: float) -> None:
        """Check an answer, and keep it for the journal."""
        if self._overdue.pop(delivery, None) is None:
            return  # it came after its time limit
        delivery.asked -= 1
        if delivery.asked:
            self._overdue[delivery] = time.monotonic() + self._timeout
        try:
            if isinstance(answer, BaseException):
                raise answer
            batch = self._check(delivery.order, answer)
        except BaseException as cause:  # noqa: BLE001  raised by `run`
            self._fail(delivery, cause)
            return
        self._events.append(Received(*delivery.address(delivery.next_game), batch, seconds))
        delivery.batches.append(batch)
        delivery.bought += 1
        delivery.seconds += seconds

    def _give_up_overdue(self) -> None:
        now = time.monotonic()
        over = now >= self._deadline + _GRACE
        for delivery in [one for one, until in self._overdue.items() if over or until < now]:
            until = self._overdue.pop(delivery)
            delivery.asked -= 1
            if until < now:
                cause = SourceError(f"no answer within {self._timeout:g} seconds")
            else:
                cause = OutOfTime(f"no answer when {_TIME_IS_UP}")
            self._fail(delivery, cause)

    def _fail(self, delivery: Delivery, cause: BaseException) -> None:
        self._stopped.set()
        reason = one_line(cause) if isinstance(cause, ShapbandError) else error_line(cause)
        self._events.append(Failed(*delivery.address(delivery.next_game), reason))
        kind = OutOfTime if isinstance(cause, OutOfTime) else SourceError
        error: BaseException = kind(f"provider {delivery.order.provider.name!r}: {reason}")
        error.__cause__ = cause
        self._failures[delivery] = cause if isinstance(cause, KeyboardInterrupt) else error

    def _revoke_if_stopped(self) -> None:
        if not self._ends():
            return
        for delivery in self.deliveries:
            revoked = delivery.revoke()
            self._events.extend(Failed(*delivery.address(game), _NOT_MADE) for game in revoked)
            if revoked and not delivery.asked:
                self._overdue.pop(delivery, None)

    def _record(self, asked: Sequence[Asked] = ()) -> None:
        events, self._events = [*self._events, *asked], []
        if events:
            self._journal.record(events)

    def _finish(self, error: BaseException) -> None:
        """Wait for the requests under way and store their answers, which are paid for."""
        self._revoke_if_stopped()
        while self._overdue or self._events:
            try:
                self._record()
            except RunError as another:  # the answers still to come may be stored nevertheless
                error.add_note(one_line(another))
            if self._overdue:
                self._collect()
