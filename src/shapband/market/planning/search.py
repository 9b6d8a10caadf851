"""The best settings of every method within the limits: pool sizes, solver's work, and games."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, inf

import numpy as np

from shapband._typing import FloatArray
from shapband.access.budget import Budget, Cost
from shapband.market.planning.errors import ErrorModel, Errors
from shapband.market.planning.pilot import Pilot
from shapband.market.planning.prices import Prices
from shapband.market.planning.samplings import Method, pool_grid
from shapband.market.planning.seconds import TimeModel
from shapband.market.planning.solvers import Family
from shapband.progress import duration

_ENOUGH = 0.02  # enough games: their part of the squared error is below this share of the pools'
_MOST_DRAWS = 300  # a pool from an endless source holds at most this many draws
_SHUFFLES = 4  # at least this many shuffles are played, because their variance is estimated
_MOST_GAMES = 10**7
_ALIKE = 1.02  # errors up to this ratio count as equal
_SOON = 10.0  # shorter times, in seconds, count as equal


@dataclass(frozen=True)
class Limits:
    """The limits on a valuation, the pilot included, and the error it must reach.

    Attributes
    ----------
    budget : records and requests
    prices, money : what the sources charge, and how much of it may be spent
    minutes : wall time, or None
    error : largest half width of the 95 % interval of any expectation, or None for the smallest
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
    """One way to value: its sampling, solver and games, its errors, bill and time."""

    method: Method
    n_pool: int
    family: Family
    work: int
    n_games: int
    errors: Errors
    cost: Cost
    seconds: float

    @property
    def worst(self) -> float:
        """Half width of the widest interval."""
        return float(self.errors.half_width.max())


class Search:
    """Looks for the best candidates.

    Parameters
    ----------
    pilot : what was bought and found
    errors, times : predict
    limits : what may be taken
    """

    def __init__(self, pilot: Pilot, errors: ErrorModel, times: TimeModel, limits: Limits) -> None:
        self._pilot = pilot
        self._errors = errors
        self._times = times
        self._limits = limits
        self._why: dict[str, float] = {}  # why candidates failed, and how far they missed

    def best(self, method: Method, family: Family) -> Candidate | str:
        """The best candidate of a method and a family of solvers, or why there is none."""
        providers, stocks = self._pilot.arguments.providers, self._pilot.stocks
        impossible = method.impossible(providers, stocks)
        if impossible is not None:
            return impossible
        self._why = {}
        found = list(self._candidates(method, family))
        return self.pick(found) if found else min(self._why, key=lambda why: self._why[why])

    def endless(self, one: Candidate) -> float:
        """Half width of the widest interval after any number of games from a candidate's pools."""
        if not one.method.pooled:
            return 0.0
        played = self._errors.errors(one.method, one.n_pool, one.family, one.work, _MOST_GAMES)
        return float(played.half_width.max())

    def pick(self, found: Sequence[Candidate]) -> Candidate:
        """The best of some candidates.

        The best has the smallest error; or, if an error is asked for, the smallest bill and then
        the shortest time. Among equally good ones, it has the smallest error of the variance.
        """
        if self._limits.error is None:
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
        prices = self._limits.prices
        return Decimal(candidate.cost.records) if prices is None else prices.of(candidate.cost)

    def order(self, candidate: Candidate) -> tuple[float, float]:
        """The place of a candidate in the table."""
        first = candidate.worst if self._limits.error is None else float(self.bill(candidate))
        return first, candidate.seconds

    def _candidates(self, method: Method, family: Family) -> Iterator[Candidate]:
        works = family.works(len(self._pilot.stocks))
        for n_pool in self._pools(method):
            for work in works:
                n_games = self._games(method, n_pool, family, work)
                if n_games:
                    made = self._make(method, n_pool, family, work, n_games)
                    if self._fits(made):
                        yield made

    def _make(
        self, method: Method, n_pool: int, family: Family, work: int, n_games: int
    ) -> Candidate:
        arguments = (method, n_pool, family, work, n_games)
        return Candidate(
            *arguments,
            self._errors.errors(*arguments),
            self.cost(method, n_pool, n_games),
            self._times.seconds(*arguments),
        )

    def _fits(self, made: Candidate) -> bool:
        limits, error = self._limits, self._limits.error
        if error is not None and made.worst > error:
            self._fail(f"{made.method.name} reaches ±{made.worst:.2g} at best", made.worst)
        elif not limits.allows(made.cost):
            self._fail(
                f"it takes {made.cost.records:,} records in {made.cost.requests:,} requests, "
                f"beyond {limits}",
                made.cost.records,
            )
        elif limits.minutes is not None and made.seconds > 60 * limits.minutes:
            self._fail(f"it takes {duration(made.seconds)}, beyond {limits}", made.seconds)
        else:
            return True
        return False

    def _fail(self, why: str, size: float) -> None:
        self._why[why] = size

    def cost(self, method: Method, n_pool: int, n_games: int) -> Cost:
        """Requests and records in total, the pilot included."""
        pilot, n = self._pilot, len(self._pilot.stocks)
        draw = method.n_sample
        if not method.pooled:
            fresh = Cost(n * n_games, n * n_games * draw)
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
        pilot = self._pilot
        held = 0 if pilot.pool_sizes is None else int(pilot.pool_sizes.max())
        least = max(method.least_pool, held)
        finite = np.where(np.isinf(pilot.stocks), _MOST_DRAWS * method.n_sample, pilot.stocks)
        most = max(int(finite.max()), least)
        if not self._limits.allows(self.cost(method, least, 0)):
            cost = self.cost(method, least, 0)
            self._fail(
                f"the smallest pools take {cost.records:,} records in {cost.requests:,} requests, "
                f"beyond {self._limits}",
                cost.records,
            )
            return []
        low, high = least, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            fits = self._limits.allows(self.cost(method, middle, 0))
            low, high = (middle, high) if fits else (low, middle)
        sizes = pool_grid(least, low)
        if method.shuffles:  # whole numbers of draws leave no record unused
            draws = {size // method.n_sample * method.n_sample for size in sizes}
            sizes = sorted({*sizes, *(size for size in draws if size >= least)})
        return sizes

    def _games(self, method: Method, n_pool: int, family: Family, work: int) -> int:
        """Games to play, or 0 if no number of games keeps the limits and reaches the error."""
        group = method.per_shuffle(n_pool, self._pilot.stocks) or 1
        least = _SHUFFLES * group if group > 1 else 2
        most = self._most_games(method, n_pool, family, work)
        if self._limits.error is None:
            enough = max(self._enough(method, n_pool, family, work), least)
            games = min(enough, most) // group * group
        else:
            needed = self._needed(method, n_pool, family, work)
            if needed == inf:
                made = self._make(method, n_pool, family, work, _MOST_GAMES)
                why = f"pools of {n_pool:,} leave ±{made.worst:.2g}, however many games are played"
                if not method.pooled:
                    why = f"{_MOST_GAMES:,} games leave ±{made.worst:.2g}"
                self._fail(why, made.worst)
                return 0
            games = ceil(max(needed, least) / group) * group
        if games < least:
            self._fail(f"no more than {most:,} games fit in {self._limits}", -float(most))
            return 0
        return games

    def _most_games(self, method: Method, n_pool: int, family: Family, work: int) -> int:
        """Games within the limits."""
        limits, most = self._limits, _MOST_GAMES
        if limits.minutes is not None:
            seconds = 60 * limits.minutes
            most = self._times.games_within(method, n_pool, family, work, seconds)
        if method.pooled:
            return most
        low, high = 0, most + 1
        while high - low > 1:
            middle = (low + high) // 2
            fits = limits.allows(self.cost(method, n_pool, middle))
            low, high = (middle, high) if fits else (low, middle)
        return low

    def _enough(self, method: Method, n_pool: int, family: Family, work: int) -> int:
        """Number of games that adds at most `_ENOUGH` of the pools' squared error."""
        if not method.pooled:
            return _MOST_GAMES
        pools = self._between(method, n_pool).sum()
        games = self._single(method, n_pool, family, work).sum()
        return int(min(games / max(_ENOUGH * pools, 1e-300), _MOST_GAMES)) + 1

    def _needed(self, method: Method, n_pool: int, family: Family, work: int) -> float:
        """Number of games that reach the error for every provider; infinite if no number does."""
        error = self._limits.error or inf
        pools = self._between(method, n_pool)
        games = self._single(method, n_pool, family, work)
        n_games: float = 1000.0
        for _ in range(8):  # Student's quantile depends on the number of games
            made = self._errors.errors(method, n_pool, family, work, max(int(n_games), 2))
            known = np.where(made.standard_error > 0, made.standard_error, 1.0)
            quantile = np.where(made.standard_error > 0, made.half_width / known, 1.0)
            room = (error / quantile) ** 2 - pools
            if (room[games > 0] <= 0).any():
                return inf
            wanted = float(np.max(games / np.where(room > 0, room, inf), initial=2.0))
            if wanted > _MOST_GAMES:
                return inf
            n_games = max(ceil(wanted * (1 + 1e-9)), 2)
        return n_games

    def _between(self, method: Method, n_pool: int) -> FloatArray:
        if not method.pooled:
            return np.zeros_like(self._pilot.stocks)
        return self._errors.between(method.pool_sizes(n_pool, self._pilot.stocks))

    def _single(self, method: Method, n_pool: int, family: Family, work: int) -> FloatArray:
        """Variance of the mean of G games from given pools, times G."""
        noise = self._errors.solver_noise(family, work)
        return self._errors.games_variance(method, n_pool) + noise
