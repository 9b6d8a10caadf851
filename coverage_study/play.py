"""Plays one pool, and keeps the library's intervals at several numbers of games."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit

from coverage_study.kept import KeptGames
from coverage_study.settings import CROSSED_GAMES, Setting, sampling
from coverage_study.tasks import task
from shapband._typing import FloatArray, IntArray
from shapband.access.access import Access
from shapband.engine.arguments import Arguments, check_arguments
from shapband.engine.chunks import Job, chunk_size
from shapband.engine.tasks import Chunk
from shapband.estimate.estimate import Estimate
from shapband.estimate.estimator import Estimator
from shapband.estimate.intervals import expectation_interval, variance_interval
from shapband.sampling.base import Realisation
from shapband.solvers.base import Solution

LEVEL = 0.95
Record = dict[str, Any]


def play_pool(setting: Setting, pool: int, folder: Path | None = None) -> Record:
    """Play one pool of a setting.

    Parameters
    ----------
    folder : where games are kept; games that it has are not played again

    Returns
    -------
    A record that JSON can hold: `group`, and under `at` the estimates and intervals by number of
    games. For `Stratified` also `sizes`, the draw sizes that this pool chose, and `crossed`, the
    expectations of games of this pool at the sizes that the next pool chose.
    """
    plan = _plan(setting, pool)
    own = None if folder is None else folder / setting.name / f"{pool}.npy"
    with Access(plan.providers, plan.seeds, plan.budget, plan.utility.schema) as access:
        realisation = plan.sampling.prepare(access)
        found = {
            str(estimate.n_games): _look(estimate)
            for estimate in _play(plan, realisation, setting.games, own)
        }
        record: Record = {"group": realisation.design.per_shuffle, "at": found}
        if setting.sampling == "stratified":
            sizes = chosen_sizes(setting, pool + 1)
            other = None if own is None else own.with_name(f"{pool}-crossed.npy")
            (crossed,) = _play(plan, _resized(realisation, sizes), (CROSSED_GAMES,), other)
            record |= {
                "sizes": realisation.design.draw_sizes.tolist(),
                "other_sizes": sizes.tolist(),
                "crossed": crossed.expectation.tolist(),
            }
    return record


def chosen_sizes(setting: Setting, pool: int) -> IntArray:
    """The draw sizes that a pool would choose."""
    plan = _plan(setting, pool)
    with Access(plan.providers, plan.seeds, plan.budget, plan.utility.schema) as access:
        return plan.sampling.prepare(access).design.draw_sizes


def _plan(setting: Setting, pool: int) -> Arguments:
    played = task(setting.task)
    return check_arguments(
        played.providers,
        played.utility,
        sampling=sampling(setting.sampling, played),
        n_games=max(setting.games),
        seed=setting.seed(pool),
        fixed_validation=True,  # the truth is about the rows of the task; see `validation`
    )


def _play(
    plan: Arguments, realisation: Realisation, looks: tuple[int, ...], path: Path | None
) -> Iterator[Estimate]:
    """Play games as `sb.value` does, and give the estimate whenever a look is due."""
    design = plan.completed(realisation.design)
    job, estimator = Job.of(plan, design), Estimator(design)
    with Access(plan.providers, plan.seeds, plan.budget) as access:
        most = chunk_size(plan, realisation, access, 1)
    kept = KeptGames(path, lambda games: job(Chunk(games, realisation.draws(games))), most)
    for start, look in zip((0, *looks), looks, strict=False):
        values, noise = kept.upto(look)
        estimator.add(Solution(values[start:look], noise[start:look], 0))
        yield estimator.estimate()
    kept.write()


def _resized(realisation: Realisation, sizes: IntArray) -> Realisation:
    """The same pools with draws of other sizes."""
    return replace(realisation, design=replace(realisation.design, draw_sizes=sizes))


def _look(estimate: Estimate) -> dict[str, list[float]]:
    """Estimates and intervals of all providers."""
    low, high = expectation_interval(estimate, LEVEL).T
    variance_low, variance_high = variance_interval(estimate, LEVEL).T
    found = {
        "mean": estimate.expectation,
        "error": estimate.standard_error,
        "low": low,
        "high": high,
        "alone": _games_alone(estimate),
        "within": estimate.raw_variance,
        "variance": estimate.variance,
        "variance_low": variance_low,
        "variance_high": variance_high,
    }
    return {name: [float(f"{x:.9g}") for x in values] for name, values in found.items()}


def _games_alone(estimate: Estimate) -> FloatArray:
    """Half width from the spread of the games alone, as if every game had its own records."""
    games = estimate.n_games
    quantile = float(stdtrit(games - 1, (1 + LEVEL) / 2))
    return np.asarray(quantile * np.sqrt(estimate.raw_variance / games))
