"""The pilot: a few records are bought and some games played, to estimate errors and times.

The records are a pool of every provider, and the draws of the games are subsets of it. The pool
is the beginning of any larger pool with the same seed, so a valuation with pools does not buy these
records again. Only if a stock is too small for two draws, fresh draws are bought; they are the
first games of a later valuation with fresh draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.access.access import Access, is_distant
from shapband.access.budget import Cost
from shapband.access.held import HeldPurchases
from shapband.engine.arguments import Arguments
from shapband.engine.copies import find_copies, known_stocks, warn_of_held_rows
from shapband.engine.play import Watch
from shapband.engine.rare import count_labels, find_lacking
from shapband.engine.workers.local import single_threaded_blas
from shapband.errors import BudgetExceeded
from shapband.estimate.estimate import Estimate
from shapband.estimate.estimator import Estimator
from shapband.market.planning.presence import arguments_with
from shapband.market.planning.probes import MOST_GAMES, Bench, Probe, main_solver, probe
from shapband.market.planning.requests import RequestTimes, time_handling
from shapband.market.planning.solvers import Family
from shapband.providers import Provider
from shapband.sampling.base import Sampling
from shapband.sampling.design import Design
from shapband.sampling.fresh import Fresh
from shapband.sampling.pooled import Pooled
from shapband.sampling.rare import LabelCounts, RareLabel
from shapband.sampling.shared import Copies
from shapband.sampling.sizes import DrawSize, draw_sizes, pool_sizes, stock_of
from shapband.solvers.base import Solution

_LEAST_POOL = 60  # the variance of a pool of 60 records has a relative error of about a fifth
_FRESH_GAMES = 32  # games with fresh draws, if stocks are too small for pools
_FAR = 4  # pools this many times as large as the pilot's pools need a second pilot
_LARGEST_DRAWS = 20  # pools of a second pilot hold at most this many draws
_LEAST_GAMES = 16  # the variance across games is estimated from at least this many games
_TIME_SHARE = 0.2  # the pilot may take this share of the time limit
_SHORTEST, _LONGEST = 1.0, 60.0  # bounds on the time of the pilot, in seconds
_SECONDS = 3.0  # the pilot takes this long if there is no time limit


@dataclass(frozen=True, eq=False)
class Pilot:
    """The purchases and the estimates of the pilot.

    Attributes
    ----------
    arguments : the arguments of the pilot's games
    stocks : (n,) records that each source has; infinite if it generates records
    pool_sizes : (n,) records in the pilot's pools, or None if it has fresh draws
    estimate : estimate from the games of the main solver, see `probes`
    twins : the values of the same draws with other providers present, (n_games, n) for the first
        games; None if games do not draw who takes part, or without pools
    probes : measurements of every family of solvers
    fold_seconds, pool_fold_seconds : time to add a game to the sums, without and with pools
    requests : how long the sources take to answer
    copies : copies among the records that were bought or are in memory, and the validation rows
    labels : labels of the providers whose records were bought or are in memory
    unseen_labels : as in `Design`, for draws from the sources
    purchases : the records that were bought
    cost : requests and records in total
    seconds : wall time of the pilot
    """

    arguments: Arguments
    stocks: FloatArray
    pool_sizes: IntArray | None
    estimate: Estimate
    twins: FloatArray | None
    probes: tuple[Probe, ...]
    fold_seconds: float
    pool_fold_seconds: float
    requests: RequestTimes
    copies: Copies
    labels: tuple[LabelCounts, ...]
    unseen_labels: tuple[RareLabel, ...]
    purchases: HeldPurchases
    cost: Cost
    seconds: float

    @property
    def n_games(self) -> int:
        """Games from which the estimate comes."""
        return self.estimate.n_games


def stock(provider: Provider) -> float:
    """Records of a source; infinite if it generates records or draws with replacement."""
    size = stock_of(provider)
    return float("inf") if size is None else float(size)


def pilot_design(
    providers: Sequence[Provider], n_sample: DrawSize, allows: Callable[[Cost], bool]
) -> tuple[Sampling, int]:
    """The sampling of the pilot, and the largest number of games it plays.

    It draws from pools of at least two draws if the stocks are large enough. Otherwise it makes
    fresh draws, for at most a quarter of what the limits allow. `allows` says whether the limits
    cover a cost. Providers that do not take part in all games are asked for fewer fresh draws.
    """
    n, draws = len(providers), draw_sizes("plan", "n_sample", n_sample, providers)
    stocks = np.array([stock(provider) for provider in providers])
    if (stocks >= 2 * draws).all():
        for least in (_LEAST_POOL, 0):
            pools = np.maximum(2 * draws, least)
            cost = _pools_cost(providers, np.minimum(pools, stocks))
            if allows(cost):
                return Pooled(_by_name(pools, providers), n_sample, replace=False), MOST_GAMES
        raise _too_dear(cost)
    games, records = _FRESH_GAMES, int(draws.sum())
    while games > 2 and not allows(Cost(4 * games * n, 4 * games * records)):
        games -= 1
    cost = Cost(games * n, games * records)
    if not allows(cost):
        raise _too_dear(cost)
    return Fresh(n_sample), games


def _by_name(pools: IntArray, providers: Sequence[Provider]) -> DrawSize:
    """Sizes of pools by provider name, or one number if all are equal."""
    if (pools == pools[0]).all():
        return int(pools[0])
    return {one.name: int(size) for one, size in zip(providers, pools, strict=True)}


def _too_dear(cost: Cost) -> BudgetExceeded:
    return BudgetExceeded(
        f"the pilot takes {cost.records:,} records in {cost.requests:,} requests, which is beyond "
        "the limits: raise them, or lower n_sample"
    )


def _pools_cost(providers: Sequence[Provider], pools: FloatArray) -> Cost:
    """The cost of the pilot's pools; distant sources are asked twice."""
    requests = sum(1 + is_distant(provider) for provider in providers)
    return Cost(requests, int(pools.sum()))


def larger_sampling(pilot: Pilot, row: Sampling) -> Sampling | None:
    """The sampling of a second pilot, if the pools of a row are much larger than the first pilot's.

    Predictions for much larger pools depend on how much of the variance is due to single records,
    which small pools do not show well. The records of the second pilot become part of the larger
    pools, so they are not wasted.
    """
    sampling, providers = pilot.arguments.sampling, pilot.arguments.providers
    if not isinstance(sampling, Pooled) or not isinstance(row, Pooled):
        return None
    first = pool_sizes("plan", sampling.n_pool, providers)
    wanted = pool_sizes("plan", row.n_pool, providers)
    if (wanted < _FAR * first).all():
        return None
    draws = draw_sizes("plan", "n_sample", sampling.n_boot, providers)
    larger = np.minimum(wanted // 2, _LARGEST_DRAWS * draws)
    # With draws of 1 to 3 records the first pools hold _LARGEST_DRAWS draws already.
    if (larger <= first).all():
        return None
    return replace(sampling, n_pool=_by_name(np.maximum(larger, first), providers))


def run_pilot(
    given: Arguments,
    families: Sequence[Family],
    minutes: float | None,
    watch: Watch,
    before: Pilot | None = None,
) -> Pilot:
    """Buy the pilot's records, play its games, and measure.

    `before` is an earlier pilot with smaller pools; its records are the first of these pools.
    """
    began = time.perf_counter()
    held = HeldPurchases() if before is None else before.purchases.reopened()
    limit = _SECONDS
    if minutes is not None:
        limit = float(np.clip(60 * minutes * _TIME_SHARE, _SHORTEST, _LONGEST))
    with (
        Access(
            given.providers,
            given.seeds,
            given.budget,
            given.utility.schema,
            held,
            given.concurrency,
            given.timeout,
            present=given.present,
            check_batch=given.utility.check_batch,
        ) as access,
        single_threaded_blas(mergeable=given.utility.mergeable),
    ):
        times = _buy(given, access) if before is None else before.requests
        with access.preparing():
            realisation = given.sampling.prepare(access)
        known = known_stocks(given, realisation)
        copies = find_copies(given, realisation.design, known)
        warn_of_held_rows(given, copies.held)
        lacking = find_lacking(given, realisation, known, from_sources=True)
        bench = Bench(given, realisation, access)
        probes = probe(bench, families, limit / 2)
        chosen = main_solver(bench, families, probes)
        played = arguments_with(given, solver=chosen[0].make(chosen[1]))
        twice = played.draws_presence and isinstance(given.sampling, Pooled)
        left = limit / 4 if twice else limit / 2
        main = bench.solve(*chosen, _LEAST_GAMES, MOST_GAMES, left, watch)
        twins = None
        if twice:
            games = len(main.values)
            twins = bench.solve(*chosen, games, games, left, ahead=MOST_GAMES).values
        effects = bench.fold_effects(main.solver)
        handling = time_handling(given, bench.draws(range(1)))
    held.close()
    design = bench.design(played)
    estimate, pool_fold_seconds = _folded(design, main, effects)
    _, fold_seconds = _folded(replace(design, unseen=None), main, effects)
    return Pilot(
        arguments=given,
        stocks=np.array([stock(provider) for provider in given.providers]),
        pool_sizes=design.pool_sizes,
        estimate=estimate,
        twins=twins,
        probes=(*[one for one in probes if one.solver != main.solver], main),
        fold_seconds=fold_seconds,
        pool_fold_seconds=pool_fold_seconds,
        requests=replace(times, handling=handling),
        copies=copies,
        labels=tuple(count_labels(given, known)),
        unseen_labels=lacking.unseen,
        purchases=held,
        cost=Cost(access.report.requests, access.report.records),
        seconds=time.perf_counter() - began + (0.0 if before is None else before.seconds),
    )


def _buy(given: Arguments, access: Access) -> RequestTimes:
    """Buy the pools; distant sources get two requests of different sizes, to time them."""
    sampling = given.sampling
    if not isinstance(sampling, Pooled):
        return RequestTimes.of_draws(given, access)
    sizes = pool_sizes("plan", sampling.n_pool, given.providers).tolist()
    if not any(map(is_distant, given.providers)):
        access.fetch_pools(sizes)
        return RequestTimes.none(given)
    first = [
        max(1, size // 4) if is_distant(provider) else size
        for provider, size in zip(given.providers, sizes, strict=True)
    ]
    seconds = []
    for wanted in (first, sizes):
        access.fetch_pools(wanted)
        usage = access.report.by_provider
        seconds.append([usage[name].seconds for name in given.names])
    return RequestTimes.of_pools(given, first, sizes, *seconds)


def _folded(design: Design, main: Probe, effects: FloatArray | None) -> tuple[Estimate, float]:
    """The estimate from the games, and the seconds that adding one of them takes."""
    estimator = Estimator(design)
    # The first game loads the kernels.
    one, others = slice(0, 1), slice(1, None)
    spread = main.presence
    first, rest = (None, None) if spread is None else (spread[one], spread[others])
    estimator.add(
        Solution(main.values[one], main.noise[one], 0, presence_variance=first, folds=effects)
    )
    started = time.perf_counter()
    estimator.add(Solution(main.values[others], main.noise[others], 0, presence_variance=rest))
    seconds = time.perf_counter() - started
    return estimator.estimate(), seconds / len(main.values)
