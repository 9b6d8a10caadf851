"""The best settings of every method within the limits: pool sizes, solver's work, and games."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, partial
from math import ceil, inf

import numpy as np

from shapband._typing import FloatArray
from shapband.access.budget import Budget, Cost
from shapband.market.planning.errors import ErrorModel, Errors
from shapband.market.planning.pilot import Pilot
from shapband.market.planning.presence import Attendance, arguments_with
from shapband.market.planning.seconds import TimeModel
from shapband.market.planning.solvers import Family
from shapband.market.planning.ways import MOST_GAMES, Method, Way, pool_grid
from shapband.market.prices import Prices
from shapband.progress import duration
from shapband.sampling.fresh import Fresh
from shapband.sampling.sizes import format_sizes
from shapband.sampling.trace import Trace

_ENOUGH = 0.02  # enough games: their part of the squared error is below this share of the pools'
_MOST_DRAWS = 300  # a pool from an endless source holds at most this many draws
_ALIKE = 1.02  # errors up to this ratio count as equal
_SOON = 10.0  # shorter times, in seconds, count as equal


@dataclass(frozen=True)
class Limits:
    """The limits on a valuation, the pilot included, and the error it must reach.

    Attributes
    ----------
    budget : records and requests
    prices, money : what the sources charge, and the largest amount that may be paid
    minutes : wall time, or None
    error : largest half width of the 95 % interval of any expectation; None to make it as small as
        the limits allow
    """

    budget: Budget
    prices: Prices | None
    money: Decimal | None
    minutes: float | None
    error: float | None

    def allows(self, cost: Cost) -> bool:
        """Whether records, requests and money suffice."""
        paid = self.money is None or self.prices is None or self.prices.of(cost) <= self.money
        return paid and self.budget.allows(Cost(), cost)

    def __str__(self) -> str:
        told = [] if self.budget == Budget() else [str(self.budget)]
        if self.money is not None:
            told.append(f"{self.money} of money")
        if self.minutes is not None:
            told.append(f"{self.minutes:g} min")
        return " and ".join(told) or "no limit"


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to value with some number of games: its errors, bill and time."""

    way: Way
    n_games: int
    errors: Errors
    cost: Cost
    seconds: float

    @property
    def worst(self) -> float:
        """Half width of the widest interval."""
        return float(self.errors.half_width.max())


@dataclass(frozen=True, eq=False)
class Search:
    """Looks for the best candidates.

    Attributes
    ----------
    pilot : what was bought and found
    model, times : predict errors and seconds
    limits : what may be taken
    failures : why candidates of the method at hand failed, and by how much
    """

    pilot: Pilot
    model: ErrorModel
    times: TimeModel
    limits: Limits
    failures: dict[str, float] = field(default_factory=dict)

    @cached_property
    def attendance(self) -> Attendance:
        """Counts the games in which each provider takes part, if they have fresh draws."""
        return Attendance(arguments_with(self.pilot.arguments, sampling=Fresh(1)))

    @cached_property
    def held(self) -> FloatArray | None:
        """(n,) records of the pilot's pools, or None without pools."""
        sizes = self.pilot.pool_sizes
        return None if sizes is None else sizes.astype(np.float64)

    def best(self, method: Method, family: Family) -> Candidate | str:
        """The best candidate of a method and a family of solvers, or why there is none."""
        impossible = method.impossible(self.pilot.arguments.providers, self.pilot.stocks)
        if impossible is not None:
            return impossible
        self.failures.clear()
        found = list(self._candidates(method, family))
        return self.pick(found) if found else min(self.failures, key=self.failures.__getitem__)

    def endless(self, one: Candidate) -> float:
        """Half width of the widest interval that any number of games would leave."""
        if not one.way.method.pooled and self.model.rows is None:
            return 0.0
        return float(self.model.errors(one.way, MOST_GAMES).half_width.max())

    def pick(self, found: Sequence[Candidate]) -> Candidate:
        """The best of some candidates.

        The best has the smallest error; or, if an error is asked for, the smallest bill and then
        the shortest time. Among equally good candidates, the smallest error of the variance
        decides.
        """
        if self.limits.error is None:
            least = min(one.worst for one in found)
            alike = [one for one in found if one.worst <= _ALIKE * least]
        else:
            bill = min(self.bill(one) for one in found)
            cheap = [one for one in found if self.bill(one) == bill]
            quick = max(2 * min(one.seconds for one in cheap), _SOON)
            alike = [one for one in cheap if one.seconds <= quick]
        return min(alike, key=lambda one: float(one.errors.variance_standard_error.mean()))

    def bill(self, candidate: Candidate) -> Decimal:
        """What a candidate costs: money, or records without prices."""
        prices = self.limits.prices
        return Decimal(candidate.cost.records) if prices is None else prices.of(candidate.cost)

    def order(self, candidate: Candidate) -> tuple[float, float]:
        """The place of a candidate in the table."""
        first = candidate.worst if self.limits.error is None else float(self.bill(candidate))
        return first, candidate.seconds

    def _candidates(self, method: Method, family: Family) -> Iterator[Candidate]:
        stocks = self.pilot.stocks
        for n_pool in self._pools(method):
            for work in family.works(self.pilot.arguments.most_present):
                way = Way(method, n_pool, family, work, stocks, self.held)
                n_games = self._games(way)
                if n_games and self._fits(made := self._make(way, n_games)):
                    yield made

    def _make(self, way: Way, n_games: int) -> Candidate:
        return Candidate(
            way,
            n_games,
            self.model.errors(way, n_games),
            self.cost(way.method, way.n_pool, n_games),
            self.times.seconds(way, n_games),
        )

    def _fits(self, made: Candidate) -> bool:
        limits, error = self.limits, self.limits.error
        if error is not None and made.worst > error:
            why = f"{made.way.method.name} reaches ±{made.worst:.2g} at best"
            self.failures[why] = made.worst
        elif not limits.allows(made.cost):
            self.failures[f"it takes {self._beyond(made.cost)}"] = made.cost.records
        elif limits.minutes is not None and made.seconds > 60 * limits.minutes:
            self.failures[f"it takes {duration(made.seconds)}, beyond {limits}"] = made.seconds
        else:
            return True
        return False

    def _beyond(self, cost: Cost) -> str:
        return f"{cost.records:,} records in {cost.requests:,} requests, beyond {self.limits}"

    def cost(self, method: Method, n_pool: int, n_games: int) -> Cost:
        """What is asked of the sources in all, the pilot included."""
        pilot, n = self.pilot, len(self.pilot.stocks)
        if not method.pooled:
            fresh = self.attendance.cost(n_games, method.sizes)
            if pilot.pool_sizes is not None:
                return pilot.cost + fresh
            return Cost(
                max(fresh.requests, pilot.cost.requests), max(fresh.records, pilot.cost.records)
            )
        sizes = method.pool_sizes(n_pool, pilot.stocks)
        if pilot.pool_sizes is None:
            return pilot.cost + Cost(n, int(sizes.sum()))
        missing = np.maximum(sizes - pilot.pool_sizes, 0)
        return pilot.cost + Cost(int((missing > 0).sum()), int(missing.sum()))

    def _pools(self, method: Method) -> list[int]:
        """Sizes of pools to try: from the pilot's pools to the largest that the limits allow."""
        if not method.pooled:
            return [0]
        pilot, allows = self.pilot, self.limits.allows
        least = max(method.least_pool, self._held_pool(method))
        cost = self.cost(method, least, 0)
        if not allows(cost):
            self.failures[f"the least pools take {self._beyond(cost)}"] = cost.records
            return []
        endless = np.isinf(pilot.stocks)
        finite = np.where(endless, _MOST_DRAWS * method.sizes, pilot.stocks)
        most = max(ceil((finite / method.sizes).max() * method.largest_draw), least)
        largest = _largest(least, most, lambda size: allows(self.cost(method, size, 0)))
        sizes = pool_grid(least, largest)
        if method.shuffles:  # whole numbers of draws leave no record unused
            draw = method.largest_draw
            draws = {size // draw * draw for size in sizes}
            sizes = sorted({*sizes, *(size for size in draws if size >= least)})
        return sizes

    @property
    def _rounds(self) -> int:
        """Recorded rounds, which have the same weight in a multiple of as many games; else 0."""
        participation = self.pilot.arguments.participation
        return len(participation.rounds) if isinstance(participation, Trace) else 0

    def _held_pool(self, method: Method) -> int:
        """The largest pools that take no more than the pilot's records."""
        if self.held is None:
            return 0
        draws, unbought = self.held / method.sizes, self.held < self.pilot.stocks
        held = draws[unbought].min() if unbought.any() else draws.max()
        return int(held * method.largest_draw)

    def _games(self, way: Way) -> int:
        """Games to play, or 0 if no number of games keeps the limits and reaches the error."""
        least, group = 2, self._rounds or way.per_shuffle or 1
        most = self._most_games(way)
        if self.limits.error is None:
            games = min(max(self._enough(way), least), most)
            if games > group:  # an incomplete shuffle leaves more of the error
                games = games // group * group
        else:
            needed = self._needed(way, self.limits.error)
            if needed == inf:
                worst = float(self.model.errors(way, MOST_GAMES).half_width.max())
                why = f"{MOST_GAMES:,} games leave ±{worst:.2g}"
                if (left := float(self.model.rows_half_width.max())) >= self.limits.error:
                    why = f"the choice of the validation rows alone leaves ±{left:.2g}"
                elif way.method.pooled:
                    why = (
                        f"pools of {format_sizes(way.pool_sizes.astype(np.int64))} leave "
                        f"±{worst:.2g}, however many games are played"
                    )
                self.failures[why] = worst
                return 0
            games = ceil(max(needed, least))
            if games > group:
                games = ceil(games / group) * group
        if games < least:
            self.failures[f"no more than {most:,} games fit in {self.limits}"] = -float(most)
            return 0
        return games

    def _most_games(self, way: Way) -> int:
        """Games within the limits."""
        limits, most = self.limits, MOST_GAMES
        if limits.minutes is not None:
            most = self.times.games_within(way, 60 * limits.minutes)
        if way.method.pooled:
            return most
        fits = partial(self._affords, way.method)
        known = 64  # doubled, so that presence is not counted in many more games than fit
        while known < most and fits(known):
            known *= 2
        return _largest(0, min(known, most), fits)

    def _affords(self, method: Method, games: int) -> bool:
        return self.limits.allows(self.cost(method, 0, games))

    def _enough(self, way: Way) -> int:
        """Number of games that adds at most `_ENOUGH` of the pools' squared error."""
        if not way.method.pooled:
            return MOST_GAMES
        pools, games = self.model.pools_variance(way).sum(), self.model.games_variance(way).sum()
        return int(min(games / max(_ENOUGH * pools, 1e-300), MOST_GAMES)) + 1

    def _needed(self, way: Way, error: float) -> float:
        """Games that reach the error for every provider, infinite if none do."""
        pools, n_games = self.model.pools_variance(way), 1000.0
        for _ in range(8):  # Student's quantile, and what dealing cancels, depend on it
            games = self.model.games_variance(way, n_games)
            quantile = self.model.quantile(way, max(int(n_games), 2))
            room = (error**2 - self.model.rows_half_width**2) / quantile**2 - pools
            if (room[games > 0] <= 0).any():
                return inf
            wanted = float(np.max(games / np.where(room > 0, room, inf), initial=2.0))
            if wanted > MOST_GAMES:
                return inf
            n_games = max(ceil(wanted * (1 + 1e-9)), 2)
        return n_games


def _largest(low: int, high: int, fits: Callable[[int], bool]) -> int:
    """The largest number from `low` to `high` that fits, as all smaller numbers do.

    Examples
    --------
    >>> _largest(0, 100, lambda number: number**2 <= 50)
    7
    """
    return low + bisect_left(range(low + 1, high + 1), True, key=lambda number: not fits(number))
