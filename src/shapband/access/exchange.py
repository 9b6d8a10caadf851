"""An exchange with distant sources: requests, answers, and the record of both.

Threads wait for sources, and copy and check each answer before the source is asked again, because
a source may reuse its buffers. The thread that runs the exchange records everything: it takes the
answers that have arrived, writes them and the requests that follow them in one transaction, and
only then allows these requests. So it waits for the disk once per group of answers, however many
sources are asked at the same time. Each source is allowed twice the requests that it can answer at
once, so that it need not wait for the disk either. A source answers up to `concurrent` calls at
once, and up to `together` requests in a call, so answers may arrive in any order.

A request that failed in a way that may pass is made again after a pause. No thread waits for the
end of the pause, and other requests go on meanwhile. Every attempt is recorded.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from queue import Empty, SimpleQueue

from shapband.access.answers import Refusal
from shapband.access.deliveries import Delivery, Order
from shapband.access.journal import Asked, Event, Failed, PurchaseJournal, Received, Refused
from shapband.access.outcomes import (
    Answer,
    is_final,
    is_repeated,
    outcomes_of,
    reason_of,
    why_final,
)
from shapband.access.repeats import Repeats
from shapband.access.threads import RequestThreads, gates_of
from shapband.access.watchdog import watched
from shapband.checks import one_line
from shapband.errors import ProviderFailed, RunError, SourceError, TemporaryFailure
from shapband.log import info, warning
from shapband.records.batch import Batch
from shapband.sources.retry import pause_asked

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


class Exchange:
    """Fetches some orders from distant sources.

    Parameters
    ----------
    orders : what to fetch
    check : raises SourceError if the records that a provider gave cannot be used
    journal : stores requests and answers
    threads : wait for the sources whose `waits` is set; the others are asked in this thread
    concurrency : largest number of requests at the same time
    timeout : seconds that an attempt in a thread may take; a slower request in this thread only
        causes a warning
    stopped : once it is set, no further request is made; errors set it
    deadline : time on the monotonic clock after which no request is made; requests under way are
        given up one second later
    """

    def __init__(
        self,
        orders: Sequence[Order],
        check: Callable[[str, Batch], None],
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
        self._slots = 0  # calls that a source may be answering now
        self._repeats = Repeats()  # requests that are made again after a pause
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self._events: list[Event] = []
        self._failures: dict[Delivery, BaseException] = {}
        self._gates = gates_of(orders)

    def run(self) -> list[Delivery]:
        """Fetch everything, or raise the error of the first provider that failed."""
        try:
            with watched(self.deliveries, self._timeout):
                self._ask()
                while self._open or self._repeats or self._is_blocked():
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

    def _is_blocked(self) -> bool:
        """Whether requests wait for calls that were given up, and may still return."""
        blocked = (one.is_blocked and one.next_game is not None for one in self.deliveries)
        return not self._ends() and any(blocked)

    def _is_late(self) -> bool:
        return time.monotonic() >= self._deadline

    def _ask(self) -> None:
        """Record the answers that arrived and the next requests, then allow these requests."""
        self._revoke_if_stopped()
        for delivery, game in self._repeats.due(time.monotonic()):
            delivery.repeat(game)
            self._is_ready(delivery)
        following = self._following()
        self._record([delivery.event(game) for delivery, game in following])
        # First all requests are allowed, so that a thread finds those that it can make together.
        needed = [delivery for delivery, game in following if delivery.allow(game)]
        for delivery in needed:
            if delivery.waits:
                self._threads.submit(partial(self._serve, delivery))
        for delivery in needed:  # last, because these calls block this thread
            if not delivery.waits:
                self._serve(delivery)

    def _is_ready(self, delivery: Delivery) -> None:
        """Note that a delivery may have a request to make."""
        if not delivery.waits:
            if delivery not in self._ready_here:
                self._ready_here.appendleft(delivery)
        elif delivery not in self._ready:
            self._ready.append(delivery)

    def _following(self) -> list[tuple[Delivery, int]]:
        """Choose the requests to allow now; only one call of a source asked in this thread.

        Sources take turns: a source gets another call only after all others had theirs.
        """
        chosen: list[tuple[Delivery, int]] = []
        turns, self._ready = self._ready, deque()
        while turns and not self._stopped.is_set():
            delivery = turns.popleft()
            if not self._is_needed(delivery):
                continue
            is_ahead = len(delivery.asked) >= delivery.capacity
            if self._slots >= self._concurrency and not is_ahead:
                self._ready.append(delivery)  # wait until another request is answered
                continue
            if is_ahead and self._ready:
                continue  # sources that wait for a free slot go first
            chosen += self._one_call(delivery)
            if len(delivery.asked) < (1 + _AHEAD) * delivery.capacity:
                turns.append(delivery)
        here = False
        while self._ready_here and not here and self._slots < self._concurrency:
            delivery = self._ready_here.popleft()
            if here := not self._stopped.is_set() and self._is_needed(delivery):
                chosen += self._one_call(delivery)
        return chosen

    def _one_call(self, delivery: Delivery) -> list[tuple[Delivery, int]]:
        """Choose the requests of one call, of which the first is needed."""
        chosen = [(delivery, self._asked(delivery))]
        while len(chosen) < delivery.together and self._is_needed(delivery):
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
        if game is None or self._is_late() or delivery.is_blocked:
            return False
        if time.monotonic() < delivery.paused_until:
            return False  # the request that led to the pause brings the delivery back
        return self._has_rows(delivery, game)

    def _asked(self, delivery: Delivery) -> int:
        """Ask for the next game of a delivery."""
        before = delivery.slots
        game = delivery.ask()
        self._open += 1
        self._slots += delivery.slots - before
        return game

    def _ended(self, delivery: Delivery, game: int, call: int) -> bool:
        """Note that a request has ended; return whether it had not been given up before."""
        before = delivery.slots
        if not delivery.end(game, call):
            return False
        self._open -= 1
        self._slots -= before - delivery.slots
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
        while not self._ends() and (call := delivery.begin()) is not None:
            with self._gates.get(id(delivery.order.provider.source), _OPEN):
                outcomes, seconds = outcomes_of(delivery, call)
            for game, outcome in zip(call.games, outcomes, strict=True):
                if is_final(delivery, call, game, outcome):
                    self._stopped.set()
                self._answers.put(Answer(delivery, call.number, game, outcome, seconds))

    def _collect(self) -> None:
        """Wait for an answer, or until a request is overdue; take all answers that have arrived.

        Answers that arrive while these are taken are left for later, so that the next requests are
        made soon.
        """
        answered: dict[Delivery, None] = {}
        with suppress(Empty):
            answer = self._answers.get(timeout=self._patience())
            self._take(answer)
            answered[answer.delivery] = None
            if self._open:
                time.sleep(min(_LONGEST_PAUSE, _PAUSE * answer.seconds))
            for _ in range(self._answers.qsize()):
                answer = self._answers.get_nowait()
                self._take(answer)
                answered[answer.delivery] = None
        self._give_up_overdue()
        for delivery in answered:
            if delivery.next_game is not None:
                self._is_ready(delivery)

    def _patience(self) -> float:
        """Seconds to wait for an answer before the time limits are checked."""
        now = time.monotonic()
        times = self._deadline, self._deadline + _GRACE, max(self._repeats.first(), now)
        left = [when - now for when in times if when >= now]
        return max(_SHORTEST_WAIT, min(_LONGEST_WAIT, self._timeout / 4, *left))

    def _take(self, arrived: Answer) -> None:
        """Keep an answer for the journal."""
        delivery, call, game, answer, seconds = arrived
        if not self._ended(delivery, game, call):
            return  # the answer came after its time limit
        if isinstance(answer, Batch):
            try:
                self._check(delivery.order.provider.name, answer)
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
        no_answer = f"no answer within {self._timeout:g} seconds"
        for delivery in self.deliveries:
            for game, begun in delivery.under_way().items() if delivery.waits else ():
                late = begun + self._timeout < now
                if not (late or over):
                    continue
                self._give_up(delivery, game)
                if late:
                    cause: SourceError = TemporaryFailure(no_answer)
                else:
                    cause = OutOfTime(f"no answer when {_TIME_IS_UP}")
                self._fail(delivery, cause, game)
            if delivery.blocked_since() + self._timeout < now and delivery not in self._failures:
                self._blame(delivery, SourceError(no_answer))

    def _give_up(self, delivery: Delivery, game: int) -> None:
        """Wait no longer for a request, and let another thread make the requests that follow."""
        before = delivery.slots
        delivery.give_up(game)
        self._open -= 1
        self._slots -= before - delivery.slots
        self._threads.replace_one()

    def _fail(self, delivery: Delivery, cause: BaseException, game: int) -> None:
        """Record that an attempt failed, then repeat the request after a pause, or stop."""
        self._events.append(Failed(*delivery.address(game), reason_of(cause)))
        repeated = is_repeated(delivery, game, cause)
        delivery.failures[game] += 1
        delivery.failed_in_row += 1
        if not repeated:
            self._blame(delivery, cause, delivery.failures[game])
        elif not self._ends():
            self._repeat(delivery, cause, game)

    def _repeat(self, delivery: Delivery, cause: BaseException, game: int) -> None:
        failures, now = delivery.failures[game], time.monotonic()
        pause = delivery.retry.pause(failures, cause)
        self._repeats.add(now + pause, delivery, game)
        # A source that answers nothing any more is left alone until one of its requests is due.
        is_down = delivery.failed_in_row > delivery.capacity
        whole = pause if is_down else pause_asked(cause)
        delivery.paused_until = max(delivery.paused_until, now + whole)
        name, attempts = delivery.order.provider.name, delivery.retry.attempts
        info(
            f"provider {name!r}: {reason_of(cause)}; attempt {failures + 1} of {attempts} follows "
            f"in {pause:.2g} seconds"
        )

    def _blame(self, delivery: Delivery, cause: BaseException, attempts: int = 1) -> None:
        """Stop, and keep the error that `run` raises."""
        self._stopped.set()
        name, why = delivery.order.provider.name, why_final(delivery, cause, attempts)
        message = f"provider {name!r}: {reason_of(cause)}{why}"
        is_late = isinstance(cause, OutOfTime)
        error: BaseException = OutOfTime(message) if is_late else ProviderFailed(message, name)
        error.__cause__ = cause
        warning(f"request failed: {error}")
        failure = cause if isinstance(cause, KeyboardInterrupt) else error
        self._failures.setdefault(delivery, failure)

    def _revoke_if_stopped(self) -> None:
        if not self._ends():
            return
        self._repeats.clear()
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
