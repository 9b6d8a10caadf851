"""Probes: games of the pilot solved by every family of solvers, to measure noise and speed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shapband._typing import FloatArray
from shapband.access.access import Access
from shapband.engine.arguments import Arguments
from shapband.engine.chunks import Job, chunk_size
from shapband.engine.play import Progress, Watch
from shapband.engine.tasks import Chunk, MixedChunk
from shapband.estimate.estimator import Estimator
from shapband.market.planning.presence import arguments_with
from shapband.market.planning.solvers import Family, evaluations_per_game
from shapband.records.draws import Draws, FixedRows
from shapband.sampling.base import Realisation
from shapband.sampling.design import Design
from shapband.sampling.fresh import Fresh
from shapband.solvers.base import Solution, Solver

MOST_GAMES = 2048  # largest number of games that the main solver plays
_PROBED = (0, 1, 3)  # positions of the amounts of work that are probed if evaluations are cheap
_FOLD_GAMES = 4  # games that are solved again without folds of the validation rows
_MORE_FOLD_GAMES = 16  # the same, if games are cheap, or vary with who takes part
_PROBE_GAMES, _MOST_PROBED = 8, 128  # fewest and most games that any other solver plays


@dataclass(frozen=True, eq=False)
class Probe:
    """Some games of the pilot, solved by one solver.

    Attributes
    ----------
    family, work, solver : the solver, its family and its amount of work
    values, noise : (n_games, n) as in a solution
    evaluations : coalitions per game
    seconds : time per game
    averages : whether the values are averages over who takes part
    presence : (n_games, n) their variances over who takes part, if they are averages; else None
    """

    family: Family
    work: int
    solver: Solver
    values: FloatArray
    noise: FloatArray
    evaluations: float
    seconds: float
    averages: bool = False
    presence: FloatArray | None = None

    @property
    def spread(self) -> float:
        """Variance across games, noise included: the mean of all providers."""
        return float(self.values.var(axis=0).mean())


class Bench:
    """Solves the pilot's games, with one worker.

    Parameters
    ----------
    given : the arguments of the pilot's games
    realisation : gives their draws
    access : access to the sources
    """

    def __init__(self, given: Arguments, realisation: Realisation, access: Access) -> None:
        self.given = given
        self.realisation = realisation
        self.access = access
        fresh = isinstance(given.sampling, Fresh)
        self._bought = realisation.draws(range(given.n_games)) if fresh else None

    def design(self, given: Arguments) -> Design:
        """The design of games with these arguments."""
        return given.completed(self.realisation.design)

    def task(self, given: Arguments, games: range, ahead: int = 0) -> Chunk | MixedChunk:
        """The draws of some games, of those who take part.

        Who takes part, and the solver's random numbers, are those of the games `ahead` of these.
        """
        chunk = self.draws(games)
        if ahead:
            chunk = replace(chunk, indices=range(games.start + ahead, games.stop + ahead))
        present = given.present(chunk.indices)
        return chunk if present.all() else MixedChunk.of(chunk, present)

    def draws(self, games: range) -> Chunk:
        """The draws of some games."""
        if self._bought is None:
            return Chunk(games, self.realisation.draws(games))
        rows = slice(games.start, games.stop)
        return Chunk(games, [Draws(d.batch, FixedRows(d.rows[rows])) for d in self._bought])

    def solve(
        self, family: Family, work: int, least: int, most: int, seconds: float,
        watch: Watch | None = None, ahead: int = 0,
    ) -> Probe:  # fmt: skip
        """Solve games until the time is up, within the least and the largest number of games.

        `ahead` is as in `task`.
        """
        solver = family.make(work)
        # Times are measured without the folds of validation rows, which only a few games have.
        given = arguments_with(self.given, solver=solver, n_games=most, rows_kept=())
        design = self.design(given)
        job = Job.of(given, design)
        size = chunk_size(given, self.realisation, self.access, 1)
        most = min(most, self.given.n_games)
        if given.utility.mergeable:
            job(
                self.task(given, range(1))
            )  # kernels are compiled or loaded when they are first called
        solutions: list[Solution] = []
        paces: list[float] = []
        done, began = 0, time.perf_counter()
        estimator = Estimator(replace(design, unseen=None))
        while done < most:
            left = seconds - (time.perf_counter() - began)
            step = min(size, least - done) if done < least else int(min(left / paces[-1], size))
            if step < 1:
                break
            games = range(done, min(done + step, most))
            started = time.perf_counter()
            solutions.append(job(self.task(given, games, ahead)))
            paces.append((time.perf_counter() - started) / len(games))
            done = games.stop
            if watch is not None:
                estimator.add(solutions[-1])
                watch(Progress(most, estimator, self.access))
        return Probe(
            family, work, solver,
            np.concatenate([one.values for one in solutions]),
            np.concatenate([one.noise for one in solutions]),
            sum(one.evaluations for one in solutions) / done,
            float(np.median(paces[1:] or paces)),
            given.averaging.averages,
            _presence_variances(solutions) if given.averaging.averages else None,
        )  # fmt: skip

    def fold_effects(self, solver: Solver) -> FloatArray | None:
        """Effects of leaving out folds of the validation rows in a few games, or None if unknown.

        The shape is (n_games, n_folds, n).
        """
        given = arguments_with(self.given, solver=solver)
        if not given.rows_kept:
            return None
        job = Job.of(given, self.design(given))
        more = given.utility.mergeable or given.draws_presence
        most = _MORE_FOLD_GAMES if more else _FOLD_GAMES
        games = range(min(most, given.n_games, given.fold_games))
        found = [job(self.task(given, range(game, game + 1))).folds for game in games]
        return np.concatenate([one for one in found if one is not None])


def _presence_variances(solutions: Sequence[Solution]) -> FloatArray:
    """Variances over who takes part of games that are averages over it: (n_games, n)."""
    found = [one.presence_variance for one in solutions]
    return np.concatenate([one for one in found if one is not None])


def probe(bench: Bench, families: Sequence[Family], seconds: float) -> list[Probe]:
    """Solve a few games by every family of solvers; by slower ones too if evaluations are cheap."""
    n, mergeable = bench.given.most_present, bench.given.utility.mergeable
    probes: list[Probe] = []
    each = seconds / (len(_PROBED) * len(families))
    for family in sorted(families, key=lambda one: not one.noisy):  # the quick ones first
        works = family.works(n)
        chosen = [works[at] for at in _PROBED if at < len(works)] if mergeable else works[:1]
        for work in chosen:
            if _too_slow(family, work, bench, probes, each):
                continue
            probes.append(bench.solve(family, work, _PROBE_GAMES, _MOST_PROBED, each))
    return probes


def _too_slow(
    family: Family, work: int, bench: Bench, probes: Sequence[Probe], seconds: float
) -> bool:
    """Whether a few games would take much longer than planned, judging by the other probes."""
    if not probes:
        return False
    pace = min(one.seconds / max(one.evaluations, 1.0) for one in probes)
    solver = family.make(work)
    needed = evaluations_per_game(arguments_with(bench.given, solver=solver), solver)
    return pace * needed * _PROBE_GAMES > 2 * seconds


def main_solver(
    bench: Bench, families: Sequence[Family], probes: Sequence[Probe]
) -> tuple[Family, int]:
    """The solver for most of the games: it estimates the variance best in a given time.

    The error of a variance is proportional to the variance, noise included. So the solver with the
    smallest product of the squared variance and the time of a game is best.

    Games that are averages over who takes part show the variances of both kinds of games, so they
    are played if they are not too slow.
    """
    for one in probes:
        if one.averages:
            return one.family, one.work
    true = min(max(one.spread - float(one.noise.mean()), one.spread / 10) for one in probes)
    losses = {(one.family, one.work): one.spread**2 * one.seconds for one in probes}
    pace = min(one.seconds / max(one.evaluations, 1.0) for one in probes)
    for family in families:
        work = family.works(bench.given.most_present)[0]
        given = arguments_with(bench.given, solver=family.make(work))
        if not family.noisy and not given.averaging.averages and (family, work) not in losses:
            needed = evaluations_per_game(given, given.solver)
            losses[family, work] = true**2 * needed * pace
    return min(losses, key=lambda one: losses[one])
