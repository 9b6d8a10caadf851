"""Plays one pool, and keeps the library's intervals at several numbers of games."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
from scipy.special import stdtrit

from coverage_study.settings import CROSSED_GAMES, Setting, sampling
from coverage_study.tasks import task
from shapband._typing import FloatArray, IntArray
from shapband.access.access import Access
from shapband.engine.chunks import Chunk, Job, chunk_size
from shapband.engine.plan import Plan, make_plan
from shapband.estimate.accumulate import Moments
from shapband.estimate.fold import Fold
from shapband.estimate.intervals import expectation_interval, variance_interval
from shapband.sampling.base import PoolDesign, Realisation

LEVEL = 0.95
Record = dict[str, Any]


def play_pool(setting: Setting, pool: int) -> Record:
    """Play one pool of a setting.

    Returns
    -------
    A record that JSON can hold: `group`, and under `at` the estimates and intervals by number of
    games. For `Stratified` also `sizes`, the draw sizes that this pool chose, and `crossed`, the
    expectations of games of this pool at the sizes that the next pool chose.
    """
    plan = _plan(setting, pool)
    with Access(plan.providers, plan.seeds, plan.budget, plan.utility.schema) as access:
        realisation = plan.sampling.prepare(access)
        looks = looks_of(setting, realisation.group)
        found = {
            str(moments.n_games): _look(moments) for moments in _play(plan, realisation, looks)
        }
        record: Record = {"group": realisation.group, "at": found}
        if setting.sampling == "stratified":
            sizes = chosen_sizes(setting, pool + 1)
            (crossed,) = _play(plan, _resized(realisation, sizes), (CROSSED_GAMES,))
            record |= {
                "sizes": realisation.draw_sizes.tolist(),
                "other_sizes": sizes.tolist(),
                "crossed": crossed.mean.tolist(),
            }
    return record


def looks_of(setting: Setting, group: int | None) -> tuple[int, ...]:
    """Numbers of games to look at; for `Blocks` also ten shuffles."""
    return setting.games if group is None else tuple(sorted({*setting.games, 10 * group}))


def chosen_sizes(setting: Setting, pool: int) -> IntArray:
    """The draw sizes that a pool would choose."""
    plan = _plan(setting, pool)
    with Access(plan.providers, plan.seeds, plan.budget, plan.utility.schema) as access:
        return plan.sampling.prepare(access).draw_sizes


def _plan(setting: Setting, pool: int) -> Plan:
    played = task(setting.task)
    return make_plan(
        played.providers,
        played.utility,
        sampling=sampling(setting.sampling, played),
        n_games=max(setting.games),
        seed=setting.seed(pool),
    )


def _play(plan: Plan, realisation: Realisation, looks: tuple[int, ...]) -> Iterator[Moments]:
    """Play games as `sb.value` does, and give the moments whenever a look is due."""
    job = Job.of(plan, realisation)
    fold = Fold(len(plan.providers), realisation.group, realisation.design)
    with Access(plan.providers, plan.seeds, plan.budget) as access:
        most = chunk_size(plan, realisation, access, 1)
    for start, look in zip((0, *looks), looks, strict=False):
        for at in range(start, look, most):
            games = range(at, min(at + most, look))
            solution = job(Chunk(games, realisation.draws(games)))
            fold.add(solution.values, solution.noise)
        yield fold.moments()


def _resized(realisation: Realisation, sizes: IntArray) -> Realisation:
    """The same pools with draws of other sizes."""
    design = cast(PoolDesign, realisation.design)
    resized = replace(design, draw_sizes=tuple(sizes.tolist()))
    return replace(realisation, draw_sizes=sizes, design=resized)


def _look(moments: Moments) -> dict[str, list[float]]:
    """Estimates and intervals of all providers."""
    low, high = expectation_interval(moments, LEVEL).T
    variance_low, variance_high = variance_interval(moments, LEVEL).T
    found = {
        "mean": moments.mean,
        "low": low,
        "high": high,
        "alone": _games_alone(moments),
        "within": moments.raw_variance,
        "variance": moments.variance,
        "variance_low": variance_low,
        "variance_high": variance_high,
    }
    return {name: [float(f"{x:.9g}") for x in values] for name, values in found.items()}


def _games_alone(moments: Moments) -> FloatArray:
    """Half width from the spread of the games alone, as if every game had its own records."""
    games = moments.n_games
    quantile = float(stdtrit(games - 1, (1 + LEVEL) / 2))
    return np.asarray(quantile * np.sqrt(moments.raw_variance / games))
