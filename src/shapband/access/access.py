"""Requests to the sources."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np

from shapband.access.answers import check_answer
from shapband.access.budget import Budget, Cost
from shapband.access.journal import GameNumbers, NullPurchases, PurchaseJournal
from shapband.access.meter import AccessReport, Usage
from shapband.access.threads import RequestThreads
from shapband.checks import one_line
from shapband.draws import Choice, Draws, FixedRows, RandomRows, Stream
from shapband.errors import BudgetExceeded, ShapbandError, SourceError
from shapband.providers import Provider
from shapband.records import Batch, Schema, concat
from shapband.seeds import Seeds
from shapband.sources.base import FiniteSource, GenerativeSource

_Answer = tuple[Draws, Usage]
CONCURRENCY = 256  # requests in parallel; each source answers one request at a time
TIMEOUT = 600.0  # seconds that a request may take


class Access:
    """Makes the requests to the sources, within the budget, and counts them.

    One request fetches all records of one provider for one draw or one pool. The purpose, the
    provider's name and the game determine which records. Sources that wait are asked in
    parallel, so that a game takes the time of the slowest request, not the sum of all.

    Examples
    --------
    >>> import shapband as sb
    >>> from shapband.seeds import Seeds
    >>> providers = [sb.Provider("north", sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]))]
    >>> access = sb.Access(providers, Seeds(0), sb.Budget())
    >>> (drawn,) = access.fetch("draw", range(3), [1], "the draws")
    >>> drawn.rows.shape, access.report.records
    ((3, 1), 3)
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        seeds: Seeds,
        budget: Budget,
        schema: Schema | None = None,
        journal: PurchaseJournal | None = None,
        concurrency: int = CONCURRENCY,
        timeout: float = TIMEOUT,
    ) -> None:
        self.providers = tuple(providers)
        self.seeds = seeds
        self.budget = budget
        self._schema = schema
        self._journal = journal or NullPurchases()
        self._concurrency = concurrency
        self._timeout = timeout
        self._seen: dict[str, Schema] = {}
        self._seeing = threading.Lock()
        before = self._journal.usage()
        self._usage = {p.name: before.get(p.name, Usage()) for p in providers}
        self._spent = Cost(
            sum(used.requests for used in before.values()),
            sum(used.records for used in before.values()),
        )
        self._pools = Cost()
        self._threads: RequestThreads | None = None
        self._stopped = threading.Event()

    def __enter__(self) -> Access:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._threads is not None:
            self._threads.close()

    @contextmanager
    def stopped_by_errors(self) -> Iterator[None]:
        """Start no request after an error in this context; running ones are paid and finish."""
        try:
            yield
        except BaseException:
            self._stopped.set()
            raise

    @property
    def report(self) -> AccessReport:
        """Requests, records and seconds so far, by provider."""
        return AccessReport(self._usage)

    @property
    def waits(self) -> bool:
        """Whether any source waits for something outside this process."""
        return any(provider.source.waits for provider in self.providers)

    @property
    def fetches_ahead(self) -> bool:
        """Whether a thread may fetch ahead: all sources that are not in memory have `waits` set."""
        bound = any(_is_distant(p) and not p.source.waits for p in self.providers)
        return self.waits and not bound and self._concurrency > 1

    def require(self, cost: Cost, what: str) -> None:
        """Raise BudgetExceeded unless the rest of the budget covers `cost`."""
        spent = self._spent
        if not self.budget.allows(spent, cost):
            raise BudgetExceeded(
                f"{what} take {cost.records:,} records in {cost.requests:,} requests, but the "
                f"budget is {self.budget} and {spent.records:,} records in {spent.requests:,} "
                "requests are spent: raise the budget, or ask for less"
            )

    def affordable_games(self, per_game: Cost) -> int | None:
        """Number of games that the budget covers besides the pools; None if there is no limit.

        Counted from the first game, so that a resumed run gets the same number.
        """
        return self.budget.games_within(self._pools, per_game)

    def fetch(self, purpose: str, games: range, sizes: Sequence[int], what: str) -> list[Draws]:
        """Fetch every provider's draws for some games: one request per provider and game.

        Parameters
        ----------
        purpose : selects the random stream of the rows
        games : the numbers of the games
        sizes : records in a draw of each provider
        what : name of the fetched records in error messages
        """
        unpaid = self._journal.unpaid([p.name for p in self.providers], purpose, games)
        requests = sum(len(due) for due in unpaid)
        records = sum(len(due) * size for due, size in zip(unpaid, sizes, strict=True))
        self.require(Cost(requests, records), what)
        orders = [
            _Order(provider, purpose, games, due, size)
            for provider, due, size in zip(self.providers, unpaid, sizes, strict=True)
        ]
        self._tell_taken(orders)
        with self.stopped_by_errors():
            answers = self._answers(orders)
        for order, (_, usage) in zip(orders, answers, strict=True):
            self._usage[order.provider.name] += usage
        self._spent += Cost(requests, records)
        if purpose == "pool":
            self._pools += Cost(len(orders) * len(games), sum(sizes) * len(games))
        return [draws for draws, _ in answers]

    def _tell_taken(self, orders: Sequence[_Order]) -> None:
        """Record the draws from memory in the journal, one entry for equal draws of providers."""
        alike: dict[tuple[str, GameNumbers, int], list[str]] = {}
        for order in orders:
            if order.unpaid and not _is_distant(order.provider):
                key = (order.purpose, order.unpaid, order.size)
                alike.setdefault(key, []).append(order.provider.name)
        for wanted, names in alike.items():
            self._journal.taken(names, *wanted)

    def _answers(self, orders: Sequence[_Order]) -> list[_Answer]:
        """Answer all orders: sources that wait in threads, the others in this thread."""
        at_once = min(self._concurrency, len(orders))
        if not self.waits:
            return [self._answer(order) for order in orders]
        threads = self._threads = self._threads or RequestThreads(at_once, self._timeout)
        if at_once == 1:
            return [self._answer_alone(order, threads) for order in orders]
        futures = [
            threads.submit(partial(self._answer, order))
            if order.provider.source.waits
            else Future()
            for order in orders
        ]
        for order, future in zip(orders, futures, strict=True):
            if not order.provider.source.waits:
                self._answer_here(order, future)
        threads.wait(futures)
        return _gather(futures)

    def _answer_alone(self, order: _Order, threads: RequestThreads) -> _Answer:
        """Have one order answered while no other is; a thread keeps the time of those that wait."""
        if not order.provider.source.waits:
            return self._answer(order)
        future = threads.submit(partial(self._answer, order))
        threads.wait([future])
        return future.result()

    def _answer_here(self, order: _Order, future: Future[_Answer]) -> None:
        try:
            future.set_result(self._answer(order))
        except Exception as error:  # noqa: BLE001  raised when the threads are done
            future.set_exception(error)

    def _answer(self, order: _Order) -> _Answer:
        """Answer one provider's order, from the source or from records bought before."""
        with self.stopped_by_errors():
            try:
                if _is_distant(order.provider):
                    return self._ask(order)
                return self._take(order)
            except SourceError as cause:
                raise SourceError(f"provider {order.provider.name!r}: {cause}") from cause

    def _take(self, order: _Order) -> _Answer:
        """Take rows of records in memory."""
        source = order.provider.source
        if not isinstance(source, FiniteSource) or source.records is None:
            raise SourceError("a source must be a FiniteSource or a GenerativeSource")
        usage = Usage(len(order.unpaid), len(order.unpaid) * order.size)
        self._check_schema(order.provider.name, source.records.schema)
        choice = order.choice(source, self.seeds, order.games)
        return Draws(source.records, choice), usage

    def _ask(self, order: _Order) -> _Answer:
        """Make one request per game to a source; records bought before are not requested again."""
        batches, usage = [], Usage()
        name = order.provider.name
        for game in order.games:
            batch = self._journal.recall(name, order.purpose, game)
            if batch is None:
                if self._stopped.is_set():
                    raise _Abandoned
                started = time.perf_counter()
                self._journal.asking(name, order.purpose, game, order.size)
                with self._within_time(order, game):
                    batch = self._request(order, game)
                seconds = time.perf_counter() - started
                self._journal.received(name, order.purpose, game, batch, seconds)
                usage += Usage(1, order.size, seconds)
            batches.append(batch)
        return _stack(batches, order.size), usage

    def _within_time(self, order: _Order, game: int) -> AbstractContextManager[None]:
        """Apply the time limit to a request, unless it is made in the caller's thread."""
        if self._threads is None:
            return nullcontext()
        name, purpose = order.provider.name, order.purpose

        def give_up(reason: str) -> None:
            self._stopped.set()
            self._journal.failed(name, purpose, game, reason)

        return self._threads.request(name, give_up)

    def _request(self, order: _Order, game: int) -> Batch:
        """Make one request; if it fails, record the failure and raise SourceError.

        All exceptions are caught, also those such as CancelledError and SystemExit, because the
        journal must learn how every request ended.
        """
        source = order.provider.source
        try:
            if isinstance(source, FiniteSource):
                rows = order.choice(source, self.seeds, range(game, game + 1)).rows()[0]
                answer = source.take(rows)
            elif isinstance(source, GenerativeSource):
                name = order.provider.name
                answer = source.draw(order.size, self.seeds.generator(order.purpose, name, game))
            else:
                raise SourceError("a source must be a FiniteSource or a GenerativeSource")
            batch = check_answer(answer, order.size)
            self._check_schema(order.provider.name, batch.schema)
        except BaseException as cause:
            reason = _format_error(cause)
            self._journal.failed(order.provider.name, order.purpose, game, reason)
            if isinstance(cause, KeyboardInterrupt):
                raise
            raise SourceError(reason) from cause
        return batch

    def _check_schema(self, name: str, schema: Schema) -> None:
        """Check that a provider's features are the same as before and as those of all providers."""
        with self._seeing:
            before = self._seen.setdefault(name, schema)
            expected = self._schema = self._schema or schema
        if schema != before:
            raise SourceError(f"the source gave {schema} after it had given {before}")
        if not schema.fits(expected):
            raise SourceError(f"the source gave {schema} where {expected} were expected")


class _Abandoned(Exception):
    """Another request failed, so no further request is made to this source."""


def _gather(futures: Sequence[Future[_Answer]]) -> list[_Answer]:
    """Return all answers, or raise the first error that is not `_Abandoned`."""
    for future in futures:
        error = future.exception()
        if error is not None and not isinstance(error, _Abandoned):
            raise error
    return [future.result() for future in futures]


@dataclass(frozen=True, eq=False)
class _Order:
    """The draws to fetch from one provider."""

    provider: Provider
    purpose: str
    games: range
    unpaid: GameNumbers
    size: int

    def choice(self, source: FiniteSource, seeds: Seeds, games: range) -> Choice:
        """Return the rows of a finite source that the games use."""
        stream = Stream(seeds, self.purpose, self.provider.name, games)
        return RandomRows(stream, self.size, source.size, source.replace)


def _is_distant(provider: Provider) -> bool:
    """Whether the records are not in memory."""
    source = provider.source
    return not (isinstance(source, FiniteSource) and source.records is not None)


def _format_error(cause: BaseException) -> str:
    """Return the exception of a source as one line of text."""
    said = one_line(cause)
    if isinstance(cause, ShapbandError):
        return said
    kind = type(cause).__name__
    return f"{kind}: {said}" if said else kind


def _stack(batches: Sequence[Batch], size: int) -> Draws:
    """Join the draws of several games, which must have the same features."""
    for batch in batches:
        if batch.schema != batches[0].schema:
            raise SourceError(
                f"the source gave {batch.schema} after it had given {batches[0].schema}"
            )
    places = np.arange(len(batches) * size, dtype=np.int64).reshape(len(batches), size)
    try:
        joined = concat(batches)
    except Exception as cause:
        raise SourceError(
            "the source gave records of different types in different requests, which cannot be "
            f"joined ({type(cause).__name__}: {one_line(cause)})"
        ) from cause
    return Draws(joined, FixedRows(places))
