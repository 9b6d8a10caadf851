"""The pilot: a few records are bought and some games played, to estimate errors and times.

The records are a pool of every provider, and the draws of the games are subsets of it. The pool
is the beginning of any larger one with the same seed, so what the pilot bought is not bought again
by a valuation with pools. Only where a stock is too small for two draws, fresh draws are bought;
they are the first games of a later valuation with fresh draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.access.held import HeldPurchases
from shapband.draws import Draws, FixedRows
from shapband.engine.chunks import Chunk, Job, chunk_size
from shapband.engine.plan import Plan
from shapband.engine.play import Progress, Watch
from shapband.errors import BudgetExceeded
from shapband.execution.local import single_threaded_blas
from shapband.moments.accumulate import Moments
from shapband.moments.fold import Fold
from shapband.planning.requests import RequestTimes, is_distant, time_handling
from shapband.planning.solvers import Family, evaluations_per_game
from shapband.providers import Provider
from shapband.sampling.base import Realisation, Sampling, pool_size
from shapband.sampling.fresh import Fresh
from shapband.sampling.pooled import Pooled
from shapband.solvers.base import Solver
from shapband.sources.base import FiniteSource

_LEAST_POOL = 60  # records of a pool that show a variance to about a fifth
_FRESH_GAMES = 32  # fresh draws, where pools are too small
_LEAST_GAMES, _MOST_GAMES = 16, 512  # from which the variance across games is estimated
_PROBE_GAMES = 8  # for the noise and the speed of every other solver
_TIME_SHARE = 0.1  # of the time limit
_SECONDS = 3.0  # without a time limit
_LONGEST = 60.0  # seconds, however much time there is


class Probe(NamedTuple):
    """Some games of the pilot, solved by one solver.

    Attributes
    ----------
    family, work, solver : who solved them
    values, noise : (n_games, n) as in a solution
    evaluations : coalitions a game
    seconds : a game
    """

    family: Family
    work: int
    solver: Solver
    values: FloatArray
    noise: FloatArray
    evaluations: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Pilot:
    """What was bought and found.

    Attributes
    ----------
    plan : the arguments of the pilot's games
    stocks : (n,) records that each source has, infinite for those without end
    pool_sizes : (n,) records in the pilot's pools, or None if it has fresh draws
    n_games : games from which the moments come
    moments : of the games of the least noisy solver for its time
    probes : what every family of solvers did
    fold_seconds, pool_fold_seconds : time to add a game to the sums, without and with pools
    requests : how long the sources take to answer
    purchases : what was bought
    cost : requests and records, in all
    seconds : wall time of the pilot
    """

    plan: Plan
    stocks: FloatArray
    pool_sizes: IntArray | None
    moments: Moments
    probes: tuple[Probe, ...]
    fold_seconds: float
    pool_fold_seconds: float
    requests: RequestTimes
    purchases: HeldPurchases
    cost: Cost
    seconds: float

    @property
    def n_games(self) -> int:
        """Games from which the moments come."""
        return self.moments.n_games


def stock(provider: Provider) -> float:
    """Records of a source; infinite for those without end and those drawn with replacement."""
    source = provider.source
    if isinstance(source, FiniteSource) and not source.replace:
        return float(source.size)
    return float("inf")


def pilot_sampling(
    providers: Sequence[Provider], n_sample: int, allows: Callable[[Cost], bool]
) -> Sampling:
    """How the pilot draws: from pools of at least two draws if the stocks have as many.

    `allows` tells whether the limits pay for some requests and records.
    """
    if min(map(stock, providers)) < 2 * n_sample:
        return Fresh(n_sample)
    for n_pool in (max(2 * n_sample, _LEAST_POOL), 2 * n_sample):
        cost = _pools_cost(providers, n_pool)
        if allows(cost):
            return Pooled(n_pool, n_sample, replace=False)
    raise BudgetExceeded(
        f"the pilot takes {cost.records:,} records in {cost.requests:,} requests, which is beyond "
        "the limits: raise them, or lower n_sample"
    )


def _pools_cost(providers: Sequence[Provider], n_pool: int) -> Cost:
    """What the pilot's pools cost: distant sources are asked twice."""
    requests = sum(1 + is_distant(provider) for provider in providers)
    return Cost(requests, sum(pool_size(provider, n_pool) for provider in providers))


def run_pilot(
    plan: Plan, families: Sequence[Family], minutes: float | None, watch: Watch
) -> Pilot:
    """Buy the pilot's records, play its games, and measure."""
    began = time.perf_counter()
    held = HeldPurchases()
    limit = _SECONDS if minutes is None else min(60 * minutes * _TIME_SHARE, _LONGEST)
    with (
        Access(
            plan.providers,
            plan.seeds,
            plan.budget,
            plan.utility.schema,
            held,
            plan.concurrency,
            plan.timeout,
        ) as access,
        single_threaded_blas(mergeable=plan.utility.mergeable),
    ):
        times = _buy(plan, access)
        realisation = plan.sampling.prepare(access)
        table = _Table(plan, realisation, access)
        probes = _probe(table, families, limit / 2)
        main = _play(table, _best(probes, limit), limit / 2, watch)
        handling = time_handling(plan, table.draws(range(1)))
    held.close()
    moments, pool_fold_seconds = _folded(realisation, main)
    _, fold_seconds = _folded(replace(realisation, design=None), main)
    return Pilot(
        plan=plan,
        stocks=np.array([stock(provider) for provider in plan.providers]),
        pool_sizes=realisation.pool_sizes,
        moments=moments,
        probes=(*[one for one in probes if one.solver != main.solver], main),
        fold_seconds=fold_seconds,
        pool_fold_seconds=pool_fold_seconds,
        requests=replace(times, handling=handling),
        purchases=held,
        cost=Cost(access.report.requests, access.report.records),
        seconds=time.perf_counter() - began,
    )


def _buy(plan: Plan, access: Access) -> RequestTimes:
    """Buy the pools: distant ones in two requests of different sizes, to know their speed."""
    sampling = plan.sampling
    if not isinstance(sampling, Pooled):
        return RequestTimes.of_draws(plan, access)
    sizes = [pool_size(provider, sampling.n_pool) for provider in plan.providers]
    if not any(map(is_distant, plan.providers)):
        access.fetch_pools(sizes)
        return RequestTimes.none(plan)
    first = [
        max(1, size // 4) if is_distant(provider) else size
        for provider, size in zip(plan.providers, sizes, strict=True)
    ]
    seconds = []
    for wanted in (first, sizes):
        access.fetch_pools(wanted)
        usage = access.report.by_provider
        seconds.append([usage[name].seconds for name in plan.names])
    return RequestTimes.of_pools(plan, first, sizes, *seconds)


class _Table:
    """Solves the pilot's games."""

    def __init__(self, plan: Plan, realisation: Realisation, access: Access) -> None:
        self.plan = plan
        self.realisation = realisation
        self.access = access
        fresh = isinstance(plan.sampling, Fresh)
        self.most = _affordable(access, realisation) if fresh else _MOST_GAMES
        self._bought = realisation.draws(range(self.most)) if fresh else None

    def draws(self, games: range) -> Chunk:
        """The draws of some games."""
        if self._bought is None:
            return Chunk(games, self.realisation.draws(games))
        rows = slice(games.start, games.stop)
        return Chunk(games, [Draws(d.batch, FixedRows(d.rows[rows])) for d in self._bought])

    def solve(
        self, family: Family, work: int, least: int, most: int, seconds: float,
        watch: Watch | None = None,
    ) -> Probe:  # fmt: skip
        """Solve games until the time is up, at least and at most so many."""
        solver = family.make(work)
        plan = replace(self.plan, solver=solver, n_games=most)
        job = Job.of(plan, self.realisation)
        size = chunk_size(plan, self.realisation, self.access, 1)
        most = min(most, self.most)
        if plan.utility.mergeable:
            job(self.draws(range(1)))  # kernels are compiled or loaded when they are first called
        solutions, paces, done, began = [], [], 0, time.perf_counter()
        fold = Fold(len(plan.names), None)
        while done < most and (done < least or time.perf_counter() - began < seconds):
            games = range(done, min(done + size, most))
            started = time.perf_counter()
            solutions.append(job(self.draws(games)))
            paces.append((time.perf_counter() - started) / len(games))
            done = games.stop
            if watch is not None:
                fold.add(solutions[-1].values, solutions[-1].noise)
                watch(Progress(most, fold, self.access))
        return Probe(
            family, work, solver,
            np.concatenate([one.values for one in solutions]),
            np.concatenate([one.noise for one in solutions]),
            sum(one.evaluations for one in solutions) / done,
            float(np.median(paces)),
        )  # fmt: skip


def _affordable(access: Access, realisation: Realisation) -> int:
    """Fresh draws of the pilot: at most a quarter of what the budget pays for."""
    limit = access.affordable_games(realisation.cost)
    games = _FRESH_GAMES if limit is None else min(_FRESH_GAMES, max(limit // 4, 2))
    if limit is not None and limit < games:
        raise BudgetExceeded(
            f"the budget of {access.budget} pays for {limit} games, and the pilot takes {games}: "
            "raise the budget"
        )
    return games


def _probe(table: _Table, families: Sequence[Family], seconds: float) -> list[Probe]:
    """Solve a few games with a quick and, where that is cheap, a slow solver of every family."""
    plan, n = table.plan, len(table.plan.names)
    mergeable = plan.utility.mergeable
    probes: list[Probe] = []
    each = seconds / (2 * len(families))
    for family in sorted(families, key=lambda one: not one.noisy):  # the quick ones first
        works = family.works(n)
        chosen = [works[0], works[-1]] if mergeable and len(works) > 1 else works[:1]
        for work in chosen:
            if _too_slow(family, work, table, probes, each):
                continue
            probes.append(table.solve(family, work, _PROBE_GAMES, _MOST_GAMES // 4, each))
    return probes


def _too_slow(
    family: Family, work: int, table: _Table, probes: Sequence[Probe], seconds: float
) -> bool:
    """Whether a few games would take much longer than planned, by the pace of the others."""
    if not probes:
        return False
    plan, pace = table.plan, min(one.seconds / one.evaluations for one in probes)
    solver = family.make(work)
    needed = evaluations_per_game(
        solver, plan.names, plan.seeds, mergeable=plan.utility.mergeable
    )
    return pace * needed * _PROBE_GAMES > 2 * seconds


def _best(probes: Sequence[Probe], seconds: float) -> Probe:
    """The solver to play the most games with: exact ones if there is time, else the best pace."""
    for one in probes:
        if not one.family.noisy and one.seconds * 2 * _LEAST_GAMES <= seconds:
            return one
    return min(probes, key=lambda one: float(one.values.var(axis=0).mean()) * one.seconds)


def _play(table: _Table, chosen: Probe, seconds: float, watch: Watch) -> Probe:
    return table.solve(chosen.family, chosen.work, _LEAST_GAMES, _MOST_GAMES, seconds, watch)


def _folded(realisation: Realisation, main: Probe) -> tuple[Moments, float]:
    """Moments of the games, and the seconds that adding one of them takes."""
    fold = Fold(main.values.shape[1], None, realisation.design)
    fold.add(main.values[:1], main.noise[:1])  # loads the kernels
    started = time.perf_counter()
    fold.add(main.values[1:], main.noise[1:])
    moments = fold.moments()
    return moments, (time.perf_counter() - started) / len(main.values)
