"""The orders of an exchange with distant sources, and the records received for them."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count
from typing import NamedTuple, cast

from shapband._typing import IntArray
from shapband.access.journal import Asked, GameNumbers
from shapband.access.meter import Usage
from shapband.checks import described
from shapband.errors import SourceError
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.records.draws import Choice, FixedRows, OtherRows, RandomRows, Stream
from shapband.seeds import Seeds
from shapband.sources.addresses import addressed
from shapband.sources.base import FiniteSource, GenerativeSource, UnusableAnswer
from shapband.sources.retry import Retry

_REPEATED = Retry()  # the default for sources that wait
_ONCE = Retry(attempts=1)  # the default for the others: a failure in this process does not pass


@dataclass(frozen=True, eq=False)
class Order:
    """The draws to fetch from one provider.

    Attributes
    ----------
    provider, purpose : address the draws
    games : the games of the order; for a pool, each request for a part of it counts as one game
    due : the games of the order in which the provider takes part
    unpaid : the games of `due` whose draws were not bought before
    size : records in a draw
    seeds : the random streams
    before : records in the parts of a pool before this one
    besides : purpose of earlier draws of the same size whose rows are not drawn again; empty if any
        rows may be drawn
    """

    provider: Provider
    purpose: str
    games: range
    due: GameNumbers
    unpaid: GameNumbers
    size: int
    seeds: Seeds
    before: int = 0
    besides: str = ""

    def choice(self, source: FiniteSource) -> Choice:
        """Return the rows of a finite source that the games use.

        The rows of a pool are the first rows of one shuffle, so a part continues the part before.
        """
        asked = self.before + self.size * (2 if self.besides else 1)
        if asked > source.size and not source.replace:
            # The kernel that chooses rows does not check their number: it would read past the end.
            raise SourceError(
                f"provider {self.provider.name!r} has {source.size:,} records, fewer than the "
                f"{asked:,} that were asked for"
            )
        if self.before:
            stream = Stream(self.seeds, self.purpose, self.provider.name, range(1))
            whole = RandomRows(stream, self.before + self.size, source.size, source.replace)
            return FixedRows(whole.rows()[:, self.before :])
        stream = Stream(self.seeds, self.purpose, self.provider.name, self.games)
        if self.besides and not source.replace:
            earlier = replace(stream, purpose=self.besides)
            taken = RandomRows(earlier, self.size, source.size, replace=False)
            return OtherRows(stream, self.size, source.size, taken)
        return RandomRows(stream, self.size, source.size, source.replace)


class Call(NamedTuple):
    """One call of a source, which answers the requests for some games."""

    number: int
    games: tuple[int, ...]


class _Begun(NamedTuple):
    """A request under way: the number of its call, and when it was begun."""

    call: int
    time: float


class Delivery:
    """The records received for an order so far, and the requests that are allowed.

    Attributes
    ----------
    waits : whether a thread waits for the source
    retry : how often a request is made
    at_once : calls that the source answers at the same time
    together : requests that the source answers in one call
    asked : games whose requests are chosen or allowed, and not yet answered
    failures : number of attempts that failed, by game
    failed_in_row : number of attempts that failed since the last answer
    paused_until : time on the monotonic clock before which the source is not asked
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self.seconds = 0.0
        self.bought = 0
        self.retries = 0
        self.asked: set[int] = set()
        self.failures: Counter[int] = Counter()
        self.failed_in_row = 0
        self.paused_until = 0.0
        source = order.provider.source
        self.waits = source.waits
        self.retry = order.provider.retry or (_REPEATED if source.waits else _ONCE)
        self.at_once = source.concurrent if source.waits else 1
        self.together = source.together
        self._of = order.provider.name, order.purpose
        self._due, self._n_due = order.due, len(order.due)
        self._received: dict[int, Batch] = {}
        self._place = 0  # position in `due`; earlier games are received, asked for or repeated
        self._again: deque[int] = deque()  # games whose requests are to be made again now
        self._chosen: set[int] = set()  # games whose requests are not yet recorded and allowed
        self._lock = threading.Lock()
        self._allowed: deque[int] = deque()  # games whose requests are allowed and not yet begun
        self._begun: dict[int, _Begun] = {}  # the requests under way
        self._calls = count()  # numbers of the calls
        self._lost: dict[
            int, float
        ] = {}  # calls that were given up and have not returned, and when
        self._serving = 0  # threads that make requests

    @property
    def batches(self) -> list[Batch]:
        """The records that were received, in the order of the games."""
        return [self._received[game] for game in self.order.due if game in self._received]

    @property
    def usage(self) -> Usage:
        """Requests and records that this exchange has received."""
        return Usage(self.bought, self.bought * self.order.size, self.seconds, self.retries)

    @property
    def is_complete(self) -> bool:
        """Whether all games are received."""
        return len(self._received) == len(self.order.due)

    @property
    def capacity(self) -> int:
        """Number of requests that the source can be answering at the same time."""
        return self.at_once * self.together

    @property
    def slots(self) -> int:
        """Largest number of calls under way at once; more requests wait until one has ended."""
        return min(-(-len(self.asked) // self.together), self.at_once)

    @property
    def next_game(self) -> int | None:
        """The first game that is neither received nor asked for; games to repeat come first."""
        if self._again:
            return self._again[0]
        return self._due[self._place] if self._place < self._n_due else None

    def address(self, game: int) -> tuple[str, str, int]:
        """The address that identifies the request for a game."""
        return *self._of, game

    def event(self, game: int) -> Asked:
        """The next attempt to make the request for a game, for the journal."""
        return Asked(*self.address(game), self.order.size, self.failures[game] + 1)

    def full_address(self, game: int) -> str:
        """The address of the draw of a game, the seed included, for `sources.addresses`."""
        order = self.order
        return f"{order.seeds.seed}/{order.purpose}/{order.provider.name}/{game}"

    @cached_property
    def rows(self) -> IntArray | None:
        """The rows to ask of a finite source, one line per game; None for other sources."""
        source = self.order.provider.source
        return self.order.choice(source).rows() if isinstance(source, FiniteSource) else None

    def request(self, games: Sequence[int]) -> list[object]:
        """Ask the source for the draws of some games, in one call.

        Every attempt gets rows and generators of its own, because a source may change them.
        """
        order, source = self.order, self.order.provider.source
        if self.rows is not None:
            finite = cast(FiniteSource, source)
            rows = [self.rows[game - order.games.start].copy() for game in games]
            with addressed([self.full_address(game) for game in games]):
                if len(rows) == 1:
                    return [finite.take(rows[0])]
                return _one_for_each(finite.take_many(rows), "take_many", len(rows))
        if isinstance(source, GenerativeSource):
            stream = partial(order.seeds.generator, order.purpose, order.provider.name)
            generators = [stream(game) for game in games]
            if len(generators) == 1:
                return [source.draw(order.size, generators[0])]
            sizes = [order.size] * len(generators)
            return _one_for_each(source.draw_many(sizes, generators), "draw_many", len(sizes))
        raise SourceError("a source must be a FiniteSource or a GenerativeSource")

    def recall(self, batch: Batch) -> None:
        """Receive the next game's records, which were bought before."""
        self._received[self.order.due[self._place]] = batch
        self._place += 1

    def ask(self) -> int:
        """Mark the next game as chosen for a request, and return it."""
        if self._again:
            game = self._again.popleft()
            self.retries += 1
        else:
            game = self._due[self._place]
            self._place += 1
        self._chosen.add(game)
        self.asked.add(game)
        return game

    def repeat(self, game: int) -> None:
        """Make the request for a game again before any other."""
        self._again.append(game)

    def receive(self, game: int, batch: Batch, seconds: float) -> None:
        """Add a game's records, which were bought in this exchange."""
        self._received[game] = batch
        self.failed_in_row = 0
        self.bought += 1
        self.seconds += seconds

    def allow(self, game: int) -> bool:
        """Allow the request for a game; return whether a thread must be found for it."""
        self._chosen.discard(game)
        with self._lock:
            self._allowed.append(game)
            more = self._serving < self.at_once
            self._serving += more
            return more

    def begin(self) -> Call | None:
        """Return the next call for a thread that makes requests, or None if the thread must end."""
        with self._lock:
            if not self._allowed:
                self._serving -= 1
                return None
            some = min(self.together, len(self._allowed))
            call = Call(next(self._calls), tuple(self._allowed.popleft() for _ in range(some)))
            begun = _Begun(call.number, time.monotonic())
            self._begun.update(dict.fromkeys(call.games, begun))
            return call

    def end(self, game: int, call: int) -> bool:
        """Note that a request has ended; return whether its call had not been given up before."""
        with self._lock:
            self._lost.pop(call, None)
            begun = self._begun.get(game)
            if begun is None or begun.call != call:
                return False
            del self._begun[game]
        self.asked.discard(game)
        return True

    def waits_for(self, game: int, call: int) -> bool:
        """Whether a call under way is expected to answer the request for a game."""
        with self._lock:
            begun = self._begun.get(game)
            return begun is not None and begun.call == call

    def give_up(self, game: int) -> None:
        """Wait no longer for a request. Its call holds its place until it returns."""
        with self._lock:
            begun = self._begun.pop(game)
            self._lost[begun.call] = time.monotonic()
        self.asked.discard(game)

    @property
    def is_blocked(self) -> bool:
        """Whether calls that were given up hold all places of the source."""
        return len(self._lost) >= self.at_once

    def blocked_since(self) -> float:
        """When the last place of the source was lost to a call that was given up; else never."""
        with self._lock:
            return max(self._lost.values()) if self.is_blocked else float("inf")

    def under_way(self) -> dict[int, float]:
        """The requests that were begun and have not ended, and when they were begun."""
        with self._lock:
            return {game: begun.time for game, begun in self._begun.items()}

    def revoke(self) -> list[int]:
        """Allow no more requests; return the games whose requests were not begun."""
        with self._lock:
            games = list(self._allowed)
            self._allowed.clear()
        self.asked.difference_update(games, self._chosen)
        self._chosen.clear()
        return games


def _one_for_each(answers: object, method: str, requests: int) -> list[object]:
    """Check that a source gave as many answers as there are requests in the call."""
    listed = list(answers) if isinstance(answers, Iterable) else None
    if listed is None or len(listed) != requests:
        found = described(answers) if listed is None else f"{len(listed)} answers"
        raise UnusableAnswer(
            f"{method} must return one answer for each of the {requests} draws; received {found}",
            None,
        )
    return listed
