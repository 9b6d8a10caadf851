"""The orders of an exchange with distant sources, and the records received for them."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from shapband._typing import IntArray
from shapband.access.journal import GameNumbers
from shapband.access.meter import Usage
from shapband.errors import SourceError
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.records.draws import Choice, FixedRows, OtherRows, RandomRows, Stream
from shapband.seeds import Seeds
from shapband.sources.addresses import addressed
from shapband.sources.base import FiniteSource, GenerativeSource


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


class Delivery:
    """The records received for an order so far, and the requests that are allowed.

    Attributes
    ----------
    waits : whether a thread waits for the source
    at_once : requests that the source answers at the same time
    asked : games whose requests are chosen or allowed, and not yet answered
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self.seconds = 0.0
        self.bought = 0
        self.asked: set[int] = set()
        source = order.provider.source
        self.waits = source.waits
        self.at_once = source.concurrent if source.waits else 1
        self._of = order.provider.name, order.purpose
        self._due, self._n_due = order.due, len(order.due)
        self._received: dict[int, Batch] = {}
        self._place = 0  # position in `due`; all earlier games are received or asked for
        self._chosen: set[int] = set()  # games whose requests are not yet recorded and allowed
        self._lock = threading.Lock()
        self._allowed: deque[int] = deque()  # games whose requests are allowed and not yet begun
        self._begun: dict[int, float] = {}  # when requests under way were begun
        self._serving = 0  # threads that make requests

    @property
    def batches(self) -> list[Batch]:
        """The records that were received, in the order of the games."""
        return [self._received[game] for game in self.order.due if game in self._received]

    @property
    def usage(self) -> Usage:
        """Requests and records that this exchange has received."""
        return Usage(self.bought, self.bought * self.order.size, self.seconds)

    @property
    def is_complete(self) -> bool:
        """Whether all games are received."""
        return len(self._received) == len(self.order.due)

    @property
    def slots(self) -> int:
        """Largest number of requests under way at once; more requests wait until one has ended."""
        return min(len(self.asked), self.at_once)

    @property
    def next_game(self) -> int | None:
        """The first game that is neither received nor asked for."""
        return self._due[self._place] if self._place < self._n_due else None

    def address(self, game: int) -> tuple[str, str, int]:
        """The address that identifies the request for a game."""
        return *self._of, game

    def full_address(self, game: int) -> str:
        """The address of the draw of a game, the seed included, for `sources.addresses`."""
        order = self.order
        return f"{order.seeds.seed}/{order.purpose}/{order.provider.name}/{game}"

    @cached_property
    def rows(self) -> IntArray | None:
        """The rows to ask of a finite source, one line per game; None for other sources."""
        source = self.order.provider.source
        return self.order.choice(source).rows() if isinstance(source, FiniteSource) else None

    def request(self, game: int) -> object:
        """Ask the source for the draw of a game."""
        order, source = self.order, self.order.provider.source
        if self.rows is not None:
            with addressed([self.full_address(game)]):
                return cast(FiniteSource, source).take(self.rows[game - order.games.start])
        if isinstance(source, GenerativeSource):
            name = order.provider.name
            return source.draw(order.size, order.seeds.generator(order.purpose, name, game))
        raise SourceError("a source must be a FiniteSource or a GenerativeSource")

    def recall(self, batch: Batch) -> None:
        """Receive the next game's records, which were bought before."""
        self._received[self.order.due[self._place]] = batch
        self._place += 1

    def ask(self) -> int:
        """Mark the next game as chosen for a request, and return it."""
        game = self._due[self._place]
        self._place += 1
        self._chosen.add(game)
        self.asked.add(game)
        return game

    def receive(self, game: int, batch: Batch, seconds: float) -> None:
        """Add a game's records, which were bought in this exchange."""
        self._received[game] = batch
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

    def begin(self) -> int | None:
        """Return the next game for a thread that makes requests, or None if the thread must end."""
        with self._lock:
            if not self._allowed:
                self._serving -= 1
                return None
            game = self._allowed.popleft()
            self._begun[game] = time.monotonic()
            return game

    def end(self, game: int) -> bool:
        """Note that a request has ended; return whether it was still waited for."""
        with self._lock:
            self._begun.pop(game, None)
        expected = game in self.asked
        self.asked.discard(game)
        return expected

    def under_way(self) -> dict[int, float]:
        """The requests that were begun and have not ended, and when they were begun."""
        with self._lock:
            return dict(self._begun)

    def revoke(self) -> list[int]:
        """Allow no more requests; return the games whose requests were not begun."""
        with self._lock:
            games = list(self._allowed)
            self._allowed.clear()
        self.asked.difference_update(games, self._chosen)
        self._chosen.clear()
        return games
