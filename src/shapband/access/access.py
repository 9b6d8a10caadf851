"""Requests to the sources."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np

from shapband._typing import BoolArray
from shapband.access.budget import Budget, Cost
from shapband.access.deliveries import Delivery, Order
from shapband.access.exchange import Exchange
from shapband.access.journal import GameNumbers, NullPurchases, PurchaseJournal
from shapband.access.meter import AccessReport, Usage
from shapband.access.threads import RequestThreads
from shapband.checks import error_line, one_line
from shapband.errors import BudgetExceeded, InvalidInput, SourceError
from shapband.log import info
from shapband.providers import Provider
from shapband.records.batch import Batch, Schema, concat
from shapband.records.draws import Draws, FixedRows
from shapband.seeds import Seeds
from shapband.sources.base import FiniteSource

_Answer = tuple[Draws, Usage]
_NOTHING = Batch(np.empty((0, 0)), np.empty(0))  # records of a provider absent from all games
CONCURRENCY = 256  # default limit on requests at the same time
TIMEOUT = 600.0  # default limit on the seconds that a request may take


class Access:
    """Makes the requests to the sources, within the budget, and counts them.

    One request fetches all records of one provider for one draw or one pool. The purpose, the
    provider's name and the game determine which records. Sources that wait are asked in
    parallel, so that a game takes the time of the slowest request, not the sum of all. After
    `time_left` seconds no request is made, and requests under way are given up. `present` says who
    takes part in consecutive games, (n_games, n), and only these providers are asked for games. In
    the context `preparing`, before the first game, all providers are asked. `check_batch` raises
    InvalidInput for records that the utility cannot use; such an answer is refused.

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
        time_left: float = float("inf"),
        present: Callable[[range], BoolArray] | None = None,
        check_batch: Callable[[Batch], None] | None = None,
    ) -> None:
        self.providers = tuple(providers)
        self.seeds = seeds
        self.budget = budget
        self._schema = schema
        self._journal = journal or NullPurchases()
        self._concurrency = concurrency
        self._timeout = timeout
        self._deadline = time.monotonic() + time_left
        self._present = present
        self._check_batch = check_batch
        self._preparing = False
        self._seen: dict[str, Schema] = {}
        before = dict(self._journal.usage())
        # Providers that were left out have been paid, so they stay in the report.
        self._usage = {p.name: before.get(p.name, Usage()) for p in providers} | before
        self._spent = Cost(
            sum(used.requests for used in before.values()),
            sum(used.records for used in before.values()),
        )
        self._pools = Cost()
        self._pools_in_parts: tuple[str, ...] = ()
        self._sunk = self._journal.sunk_cost([provider.name for provider in providers])
        self._threads = RequestThreads(concurrency)
        self._stopped = threading.Event()

    def __enter__(self) -> Access:
        return self

    def __exit__(self, *raised: object) -> None:
        self._threads.close()

    @contextmanager
    def stopped_by_errors(self) -> Iterator[None]:
        """Start no request after an error in this context; requests under way are completed."""
        try:
            yield
        except BaseException:
            self._stopped.set()
            raise

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Ask all providers in this context, because its records are shared by all games."""
        self._preparing = True
        try:
            yield
        finally:
            self._preparing = False

    @property
    def report(self) -> AccessReport:
        """Requests, records and seconds so far, by provider."""
        return AccessReport(self._usage)

    @property
    def pools_in_parts(self) -> tuple[str, ...]:
        """Providers that draw for themselves, and whose pools took several requests.

        A pool that was bought at once would have other records.
        """
        return self._pools_in_parts

    @property
    def waits(self) -> bool:
        """Whether any source waits for something outside this process."""
        return any(provider.source.waits for provider in self.providers)

    @property
    def fetches_ahead(self) -> bool:
        """Whether a thread may fetch ahead: all sources that are not in memory have `waits` set."""
        bound = any(is_distant(p) and not p.source.waits for p in self.providers)
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

        The number counts from the first game, so that a resumed run gets the same number. Answers
        that could not be used, and records of providers that were left out, are paid for too, and
        leave fewer games.
        """
        return self.budget.games_within(self._pools + self._sunk, per_game)

    def affordable_of(self, costs: Iterable[Cost]) -> int | None:
        """Number of games, in their order, that the budget covers; None if there is no limit."""
        return self.budget.games_of(self._pools + self._sunk, costs)

    def fetch(
        self, purpose: str, games: range, sizes: Sequence[int], what: str, besides: str = ""
    ) -> list[Draws]:
        """Fetch every provider's draws for some games: one request per provider and game.

        A provider is not asked for games in which it does not take part. Its draws still have rows
        for these games, which are meaningless and must not be used.

        Parameters
        ----------
        purpose : selects the random stream of the rows
        games : the numbers of the games
        sizes : records in a draw of each provider
        what : name of the fetched records in error messages
        besides : purpose of earlier draws of these sizes. Records that an earlier draw took from a
            finite source are not drawn again in the same game, unless the source draws with
            replacement
        """
        orders = self._orders(purpose, games, sizes, besides)
        draws = self._fill(orders, what)
        if purpose == "pool":
            self._pools += Cost(len(orders) * len(games), sum(sizes) * len(games))
        return draws

    def fetch_pools(self, sizes: Sequence[int]) -> list[Batch]:
        """Fetch a pool of every provider, which begins with records bought for smaller pools.

        From a finite source, the records are the same as from a single request. `pools_in_parts`
        names the providers of whom this is not so.
        """
        parts = [self._parts(p, size) for p, size in zip(self.providers, sizes, strict=True)]
        orders = [order for one in parts for order in one]
        filled = iter(self._fill(orders, "the pools"))
        self._pools += Cost(len(orders), sum(order.size for order in orders))
        self._pools_in_parts = tuple(
            provider.name
            for provider, one in zip(self.providers, parts, strict=True)
            if len(one) > 1 and not isinstance(provider.source, FiniteSource)
        )
        pools = [concat([next(filled).batches()[0] for _ in one]) for one in parts]
        return [
            pool if len(pool) == size else pool.take(np.arange(size))
            for pool, size in zip(pools, sizes, strict=True)
        ]

    def _parts(self, provider: Provider, size: int) -> list[Order]:
        """The orders of a pool: one for each part that was bought before, and one for the rest."""
        held = self._journal.pool_parts(provider.name)
        sizes = [*held, size - sum(held)] if sum(held) < size else held
        orders, before = [], 0
        for game, part in enumerate(sizes):
            games = range(game, game + 1)
            unpaid = games if game >= len(held) else range(0)
            orders.append(Order(provider, "pool", games, games, unpaid, part, self.seeds, before))
            before += part
        return orders

    def _fill(self, orders: Sequence[Order], what: str) -> list[Draws]:
        """Fetch the records of the orders, within the budget, and count them."""
        requests = sum(len(order.unpaid) for order in orders)
        records = sum(len(order.unpaid) * order.size for order in orders)
        self.require(Cost(requests, records), what)
        self._tell_taken(orders)
        with self.stopped_by_errors():
            answers = self._answers(orders)
        for order, (_, usage) in zip(orders, answers, strict=True):
            self._usage[order.provider.name] += usage
        self._spent += Cost(requests, records)
        return [draws for draws, _ in answers]

    def _orders(
        self, purpose: str, games: range, sizes: Sequence[int], besides: str
    ) -> list[Order]:
        """Make the orders for the draws of the providers that take part."""
        unpaid = self._journal.unpaid([p.name for p in self.providers], purpose, games)
        due: list[GameNumbers] = [games for _ in sizes]
        if self._present is not None and not self._preparing:
            due = [_numbers(games, column) for column in self._present(games).T]
            unpaid = [_common(one, other) for one, other in zip(unpaid, due, strict=True)]
        parts = zip(self.providers, due, unpaid, sizes, strict=True)
        return [
            Order(provider, purpose, games, wanted, left, size, self.seeds, besides=besides)
            for provider, wanted, left, size in parts
        ]

    def _tell_taken(self, orders: Sequence[Order]) -> None:
        """Record draws from memory in the journal; providers with equal draws share an entry."""
        alike: dict[tuple[str, GameNumbers, int], list[str]] = {}
        for order in orders:
            if order.unpaid and not is_distant(order.provider):
                for games in _alike(order):
                    key = (order.purpose, games, order.size)
                    alike.setdefault(key, []).append(order.provider.name)
        for wanted, names in alike.items():
            self._journal.taken(names, *wanted)

    def _answers(self, orders: Sequence[Order]) -> list[_Answer]:
        """Answer orders: orders to distant sources by an exchange, the others from memory."""
        answers = {o: self._take(o) for o in orders if not is_distant(o.provider)}
        distant = [order for order in orders if order not in answers]
        if distant:
            for delivery in self._exchange(distant).run():
                answers[delivery.order] = _stack(delivery), delivery.usage
        return [answers[order] for order in orders]

    def _exchange(self, orders: Sequence[Order]) -> Exchange:
        return Exchange(
            orders,
            self._check_answer,
            self._journal,
            self._threads,
            self._concurrency,
            self._timeout,
            self._stopped,
            self._deadline,
        )

    def _take(self, order: Order) -> _Answer:
        """Take rows of records in memory."""
        source = cast(FiniteSource, order.provider.source)
        records = cast(Batch, source.records)
        usage = Usage(len(order.unpaid), len(order.unpaid) * order.size)
        with _named(order.provider):
            self._check_schema(order.provider.name, records.schema)
        return Draws(records, order.choice(source)), usage

    def _check_answer(self, name: str, batch: Batch) -> None:
        """Raise SourceError if records of a distant source cannot be used."""
        self._check_schema(name, batch.schema)
        if self._check_batch is None:
            return
        try:
            self._check_batch(batch)
        except InvalidInput as cause:
            raise SourceError(one_line(cause)) from cause
        except (Exception, SystemExit) as cause:  # noqa: BLE001  a fault of the user's utility
            # The records may be good: keep them. The games report the fault of the utility.
            info(f"the records of provider {name!r} could not be checked: {error_line(cause)}")

    def _check_schema(self, name: str, schema: Schema) -> None:
        """Check that features equal earlier ones, of this provider and of the other providers."""
        before = self._seen.setdefault(name, schema)
        if schema is before is self._schema:
            return  # the usual case
        expected = self._schema or schema
        if schema != before:
            raise SourceError(f"the source gave {schema} after it had given {before}")
        if not schema.fits(expected):
            raise SourceError(f"the source gave {schema} where {expected} were expected")
        # If the validation rows are an array, the first data frame determines the columns.
        self._schema = schema if expected.columns is None else expected


def _numbers(games: range, wanted: BoolArray) -> GameNumbers:
    """The numbers of the wanted games."""
    if wanted.all():
        return games
    return tuple((np.flatnonzero(wanted) + games.start).tolist())


def _common(one: GameNumbers, other: GameNumbers) -> GameNumbers:
    """The games that are in both, in ascending order."""
    if isinstance(other, range) and len(other) >= len(one):
        return one
    inside = one if isinstance(one, range) else set(one)
    return tuple(game for game in other if game in inside)


def _alike(order: Order) -> Iterable[GameNumbers]:
    """Cut the games of an order into parts; equal parts of several providers share a ledger entry.

    If a provider misses some games, every game is a part of its own. Then the ledger has one entry
    for all providers that take part in a game, instead of one entry for each provider.
    """
    if len(order.due) == len(order.games):
        return [order.unpaid]
    return [(game,) for game in order.unpaid]


def is_distant(provider: Provider) -> bool:
    """Whether the records are not in memory, so that requests take time."""
    source = provider.source
    return not (isinstance(source, FiniteSource) and source.records is not None)


@contextmanager
def _named(provider: Provider) -> Iterator[None]:
    """Name the provider in the errors of its source."""
    try:
        yield
    except SourceError as cause:
        raise SourceError(f"provider {provider.name!r}: {cause}") from cause


def _stack(delivery: Delivery) -> Draws:
    """Join the draws of several games, which must have the same features."""
    batches, order = delivery.batches, delivery.order
    places = np.arange(len(batches) * order.size).reshape(len(batches), order.size)
    if len(order.due) < len(order.games):
        given, known = np.asarray(order.due, dtype=np.int64) - order.games.start, places
        places = np.zeros((len(order.games), order.size), dtype=np.int64)
        places[given] = known
    if not batches:
        return Draws(_NOTHING, FixedRows(places))
    with _named(order.provider):
        first = batches[0].schema
        for batch in batches:
            schema = batch.schema
            if schema is not first and schema != first:
                raise SourceError(f"the source gave {schema} after it had given {first}")
        try:
            joined = concat(batches)
        except Exception as cause:
            raise SourceError(
                "the source gave records of different types in different requests, which cannot "
                f"be joined ({error_line(cause)})"
            ) from cause
    return Draws(joined, FixedRows(places))
