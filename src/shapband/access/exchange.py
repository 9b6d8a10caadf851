"""An exchange with distant sources: requests, answers, and the record of both.

Threads wait for sources, and copy and check each answer before the source is asked again, because
a source may reuse its buffers. The thread that runs the exchange records everything: it takes the
answers that have arrived, writes them and the requests that follow them in one transaction, and
only then allows these requests. So it waits for the disk once per group of answers, however many
sources are asked at the same time. Each source is allowed twice the requests that it can answer at
once, so that it need not wait for the disk either. A source answers up to `concurrent` requests at
once, so answers may arrive in any order.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from queue import Empty, SimpleQueue

from shapband.access.answers import Refusal, received
from shapband.access.deliveries import Delivery, Order
from shapband.access.journal import Asked, Event, Failed, PurchaseJournal, Received, Refused
from shapband.access.threads import RequestThreads
from shapband.access.watchdog import watched
from shapband.checks import error_line, one_line
from shapband.errors import RunError, ShapbandError, SourceError
from shapband.log import warning
from shapband.records.batch import Batch, Schema
from shapband.sources.base import UnusableAnswer

_AHEAD = 1  # requests allowed ahead for each one that a source can answer at once
_NOT_MADE = "the request was not made, because the valuation was stopped"
_TIME_IS_UP = "the time limit of the stopping rule was reached"
_LONGEST_WAIT = 1.0  # longest time, in seconds, between two checks for overdue requests
_SHORTEST_WAIT = 0.01  # shortest wait in seconds, which prevents a busy loop
# After the first answer, wait a little for more answers: waking up takes longer than handling one.
# Meanwhile the sources answer the request that is allowed ahead.
_PAUSE = 0.05  # length of this wait, as a share of the time that a request took
_LONGEST_PAUSE = 0.001  # this wait takes at most this many seconds
_OPEN = nullcontext()  # used instead of a semaphore if only one provider has the source
_GRACE = 1.0  # seconds after the deadline in which a request under way may be answered


class Abandoned(Exception):
    """The access was stopped before all requests of an exchange were made."""


class OutOfTime(SourceError):
    """The deadline was reached before all requests of an exchange were answered."""


# The answer of a source for a game, or the exception that it raised, and the seconds taken.
_Answer = tuple[Delivery, int, Batch | Refusal | BaseException, float]


class Exchange:
    """Fetches some orders from distant sources.

    Parameters
    ----------
    orders : what to fetch
    check : raises SourceError if the schema of a provider's answer is not allowed
    journal : stores requests and answers
    threads : wait for the sources whose `waits` is set; the others are asked in this thread
    concurrency : largest number of requests at the same time
    timeout : seconds that a request in a thread may take; a slower request in this thread only
        causes a warning
    stopped : once it is set, no further request is made; errors set it
    deadline : time on the monotonic clock after which no request is made; requests under way are
        given up one second later
    """

    def __init__(
        self,
        orders: Sequence[Order],
        check: Callable[[str, Schema], None],
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
        self._next_look = 0.0  # time of the next check for overdue requests
        self._open = 0  # requests that are allowed and not yet answered
        self._slots = 0  # requests that a source may be answering now
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        self._events: list[Event] = []
        self._failures: dict[Delivery, BaseException] = {}
        self._gates = _gates(orders)

    def run(self) -> list[Delivery]:
        """Fetch everything, or raise the error of the first provider that failed."""
        try:
            with watched(self.deliveries, self._timeout):
                self._ask()
                while self._open:
                    self._collect()
                    self._ask()
        except BaseException as error:
            self._stopped.set()
            self._finish(error)
            raise
        for delivery in self.deliveries:
            if delivery in self._failures:
                raise self._failures[delivery]
        if not all(delivery.is_complete for delivery in self.deliveries):
            raise OutOfTime(_TIME_IS_UP) if self._is_late() else Abandoned
        return self.deliveries

    def _is_late(self) -> bool:
        return time.monotonic() >= self._deadline

    def _ask(self) -> None:
        """Record the answers that arrived and the next requests, then allow these requests."""
        self._revoke_if_stopped()
        following = self._following()
        self._record([Asked(*one.address(game), one.order.size) for one, game in following])
        for delivery, game in following:
            if delivery.waits and delivery.allow(game):
                self._threads.submit(partial(self._serve, delivery))
        for delivery, game in following:  # last, because these calls block this thread
            if not delivery.waits:
                delivery.allow(game)
                self._serve(delivery)

    def _following(self) -> list[tuple[Delivery, int]]:
        """Choose the requests to allow now; only one of them to a source asked in this thread.

        Sources take turns: a source gets another request only after all others had theirs.
        """
        chosen: list[tuple[Delivery, int]] = []
        turns, self._ready = self._ready, deque()
        while turns and not self._stopped.is_set():
            delivery = turns.popleft()
            if not self._is_needed(delivery):
                continue
            is_ahead = len(delivery.asked) >= delivery.at_once
            if self._slots >= self._concurrency and not is_ahead:
                self._ready.append(delivery)  # wait until another request is answered
                continue
            if is_ahead and self._ready:
                continue  # sources that wait for a free slot go first
            chosen.append((delivery, self._asked(delivery)))
            if len(delivery.asked) < (1 + _AHEAD) * delivery.at_once:
                turns.append(delivery)
        here = False
        while self._ready_here and not here and self._slots < self._concurrency:
            delivery = self._ready_here.popleft()
            if here := not self._stopped.is_set() and self._is_needed(delivery):
                chosen.append((delivery, self._asked(delivery)))
        return chosen

    def _is_needed(self, delivery: Delivery) -> bool:
        """Whether a request must be made for the next game, and can be made.

        Records that were bought before are recalled, even when the time is up.
        """
        while (game := delivery.next_game) is not None:
            if delivery.asked and game in delivery.order.unpaid:
                break
            batch = self._journal.recall(*delivery.address(game))
            if batch is None:
                break
            delivery.recall(batch)
        return game is not None and not self._is_late() and self._has_rows(delivery, game)

    def _asked(self, delivery: Delivery) -> int:
        """Ask for the next game of a delivery."""
        game = delivery.ask()
        self._open += 1
        self._slots += len(delivery.asked) <= delivery.at_once
        return game

    def _ended(self, delivery: Delivery, game: int) -> bool:
        """Note that a request has ended; return whether it had not been given up before."""
        if not delivery.end(game):
            return False
        self._open -= 1
        self._slots -= len(delivery.asked) < delivery.at_once
        return True

    def _has_rows(self, delivery: Delivery, game: int) -> bool:
        """Compute the rows in this thread, because calling a kernel from many threads is slow."""
        try:
            _ = delivery.rows
        except Exception as cause:  # noqa: BLE001  raised by `run`
            self._fail(delivery, cause, game)
            return False
        return True

    def _ends(self) -> bool:
        """Whether no further request may begin."""
        return self._stopped.is_set() or self._is_late()

    def _serve(self, delivery: Delivery) -> None:
        """Make the requests that are allowed, and report the outcome of each in any case."""
        while not self._ends() and (game := delivery.begin()) is not None:
            with self._gates.get(id(delivery.order.provider.source), _OPEN):
                answer, seconds = self._answer(delivery, game)
            if not isinstance(answer, Batch):
                self._stopped.set()
            self._answers.put((delivery, game, answer, seconds))

    def _answer(
        self, delivery: Delivery, game: int
    ) -> tuple[Batch | Refusal | BaseException, float]:
        """Make a request; return a checked copy of its answer, and the seconds it took."""
        started, size = time.perf_counter(), delivery.order.size
        try:
            answer = delivery.request(game)
            seconds = time.perf_counter() - started
            return received(answer, size), seconds
        except UnusableAnswer as cause:
            return Refusal.of(cause.answer, size, cause), time.perf_counter() - started
        except BaseException as cause:  # noqa: BLE001  raised by `run`
            return cause, time.perf_counter() - started

    def _collect(self) -> None:
        """Wait for an answer, or until a request is overdue; take all answers that have arrived.

        Answers that arrive while these are taken are left for later, so that the next requests are
        made soon.
        """
        answered: dict[Delivery, None] = {}
        with suppress(Empty):
            answer = self._answers.get(timeout=self._patience())
            self._take(*answer)
            answered[answer[0]] = None
            if self._open:
                time.sleep(min(_LONGEST_PAUSE, _PAUSE * answer[3]))
            for _ in range(self._answers.qsize()):
                answer = self._answers.get_nowait()
                self._take(*answer)
                answered[answer[0]] = None
        self._give_up_overdue()
        for delivery in answered:
            if delivery.next_game is None:
                continue
            if not delivery.waits:
                self._ready_here.appendleft(delivery)
            elif delivery not in self._ready:
                self._ready.append(delivery)

    def _patience(self) -> float:
        """Seconds to wait for an answer before the time limits are checked."""
        now = time.monotonic()
        left = [when - now for when in (self._deadline, self._deadline + _GRACE) if when > now]
        return max(_SHORTEST_WAIT, min(_LONGEST_WAIT, self._timeout / 4, *left))

    def _take(
        self,
        delivery: Delivery,
        game: int,
        answer: Batch | Refusal | BaseException,
        seconds: float,
    ) -> None:
        """Keep an answer for the journal."""
        if not self._ended(delivery, game):
            return  # the answer came after its time limit
        if isinstance(answer, Batch):
            try:
                self._check(delivery.order.provider.name, answer.schema)
            except SourceError as cause:
                answer = Refusal(one_line(cause), len(answer), answer)
        if isinstance(answer, Batch):
            self._events.append(Received(*delivery.address(game), answer, seconds))
            delivery.receive(game, answer, seconds)
        elif isinstance(answer, Refusal):
            self._events.append(Refused(*delivery.address(game), answer, seconds))
            self._blame(delivery, SourceError(answer.reason))
        else:
            self._fail(delivery, answer, game)

    def _give_up_overdue(self) -> None:
        now = time.monotonic()
        over = now >= self._deadline + _GRACE
        if now < self._next_look and not over:
            return
        self._next_look = now + min(_LONGEST_WAIT, self._timeout / 4)
        for delivery in self.deliveries:
            for game, begun in delivery.under_way().items() if delivery.waits else ():
                late = begun + self._timeout < now
                if not (late or over):
                    continue
                self._ended(delivery, game)
                if late:
                    cause = SourceError(f"no answer within {self._timeout:g} seconds")
                else:
                    cause = OutOfTime(f"no answer when {_TIME_IS_UP}")
                self._fail(delivery, cause, game)

    def _fail(self, delivery: Delivery, cause: BaseException, game: int) -> None:
        self._events.append(Failed(*delivery.address(game), _reason(cause)))
        self._blame(delivery, cause)

    def _blame(self, delivery: Delivery, cause: BaseException) -> None:
        """Stop, and keep the error that `run` raises."""
        self._stopped.set()
        kind = OutOfTime if isinstance(cause, OutOfTime) else SourceError
        name = delivery.order.provider.name
        error: BaseException = kind(f"provider {name!r}: {_reason(cause)}")
        error.__cause__ = cause
        warning(f"request failed: {error}")
        failure = cause if isinstance(cause, KeyboardInterrupt) else error
        self._failures.setdefault(delivery, failure)

    def _revoke_if_stopped(self) -> None:
        if not self._ends():
            return
        for delivery in self.deliveries:
            before, asked = delivery.slots, len(delivery.asked)
            revoked = delivery.revoke()
            self._open -= asked - len(delivery.asked)
            self._slots -= before - delivery.slots
            self._events.extend(Failed(*delivery.address(game), _NOT_MADE) for game in revoked)

    def _record(self, asked: Sequence[Asked] = ()) -> None:
        events, self._events = [*self._events, *asked], []
        if events:
            self._journal.record(events)

    def _finish(self, error: BaseException) -> None:
        """Wait for the requests under way and store their answers, which are paid for."""
        self._revoke_if_stopped()
        while self._open or self._events:
            try:
                self._record()
            except RunError as another:  # storing failed, but later answers may still be stored
                error.add_note(one_line(another))
            if self._open:
                self._collect()


def _reason(cause: BaseException) -> str:
    return one_line(cause) if isinstance(cause, ShapbandError) else error_line(cause)


def _gates(orders: Sequence[Order]) -> dict[int, threading.Semaphore]:
    """Semaphores that limit the requests to sources that several providers share.

    A source gets no more requests than it answers at once. Sources are keyed by their `id`, because
    a class of the user need not be hashable.
    """
    sources = [order.provider.source for order in orders]
    counts = Counter(id(source) for source in sources)
    return {
        id(source): threading.Semaphore(source.concurrent)
        for source in sources
        if counts[id(source)] > 1
    }
