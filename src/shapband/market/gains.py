"""Games with a further draw of every provider, played to find what each of these draws adds.

The further draws take part as players of their own, after the providers. With n providers a game
takes n + 1 evaluations: of all providers together, and of all of them with each further draw.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from shapband._typing import FloatArray
from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.access.journal import PurchaseJournal
from shapband.access.meter import AccessReport
from shapband.engine.arguments import Arguments
from shapband.engine.chunks import Job, chunk_size, fetched_ahead
from shapband.engine.copies import find_copies, known_stocks, warn_of_held_rows
from shapband.engine.ending import affordable_games
from shapband.engine.faults import FaultFinder
from shapband.engine.play import Progress, Watch
from shapband.engine.tasks import Chunk
from shapband.engine.workers.base import Workers
from shapband.engine.workers.local import single_threaded_blas
from shapband.errors import EvaluationError
from shapband.estimate.estimate import Estimate
from shapband.estimate.estimator import Estimator
from shapband.games import Games
from shapband.sampling.base import Realisation
from shapband.sampling.design import Design
from shapband.sampling.further import TwoDraws
from shapband.solvers.base import Solution, Solver


@dataclass(frozen=True)
class WithOneMore(Solver):
    """The value of a player is the value of all providers and this player together.

    The first half of the players are the providers, so their value is v(N). The others are further
    draws i', with the value v(N ∪ {i'}).
    """

    def check(self, n_providers: int) -> None:
        """Accept any number of providers."""

    def floats_per_game(self, n_providers: int) -> int:
        # A coalition is a row with one byte for each of 2n players.
        return (n_providers + 1) * (1 + n_providers // 4)

    def solve(self, games: Games) -> Solution:
        n_games, n = len(games.indices), games.n_providers // 2
        inside = np.zeros((n + 1, 2 * n), dtype=np.uint8)
        inside[:, :n] = 1
        inside[1:, n:] = np.eye(n, dtype=np.uint8)
        rows = np.tile(inside, (n_games, 1))
        found = games.values(rows, np.repeat(np.arange(n_games), n + 1)).reshape(n_games, n + 1)
        values = np.concatenate([np.repeat(found[:, :1], n, axis=1), found[:, 1:]], axis=1)
        return Solution(values, np.zeros_like(values), found.size)


@dataclass(frozen=True, eq=False)
class Gains:
    """What further draws add, from games that were played.

    Attributes
    ----------
    design : how the games are made, without further draws
    estimate : of the gains v(N ∪ {i'}) − v(N)
    now : mean of v(N) over the games
    access : requests, records and waiting time
    evaluations, failures : coalitions evaluated, and how many of them failed
    """

    design: Design
    estimate: Estimate
    now: float
    access: AccessReport
    evaluations: int
    failures: int


def play_gains(
    given: Arguments, workers: Workers, watch: Watch, purchases: PurchaseJournal | None = None
) -> Gains:
    """Play the games of a valuation with further draws, and estimate the gains.

    `purchases` are records that were bought before.
    """
    further = given.sampling.further_purchases(given.providers) or ()
    with (
        Access(
            given.providers,
            given.seeds,
            given.budget,
            given.utility.schema,
            purchases,
            given.concurrency,
            given.timeout,
            check_batch=given.utility.check_batch,
        ) as access,
        single_threaded_blas(mergeable=given.utility.mergeable),
    ):
        realisation = given.sampling.prepare(access)
        copies = find_copies(given, realisation.design, known_stocks(given, realisation))
        warn_of_held_rows(given, copies.held)
        design = given.completed(
            realisation.design, shared_records=copies.shared, held_rows=copies.held
        )
        cost = realisation.cost + Cost(sum(size > 0 for size in further), sum(further))
        n_games = affordable_games(access, design, cost, given)
        estimator = Estimator(design if design.unseen is None else TwoDraws.after(design))
        progress = Progress(n_games, estimator, access)
        now, evaluations, failures = [np.empty(0)], 0, 0
        with closing(_solutions(given, realisation, design, access, workers, n_games)) as found:
            for solution in found:
                estimator.add(_gains(solution))
                now.append(solution.values[:, 0])
                evaluations += solution.evaluations
                failures += solution.failures
                watch(progress)
    if failures == evaluations:
        raise EvaluationError(
            f"all {evaluations:,} coalitions could not be evaluated: leave out failed= to see the "
            "cause"
        )
    mean = float(np.concatenate(now).mean())
    return Gains(design, estimator.estimate(), mean, access.report, evaluations, failures)


def _solutions(
    given: Arguments,
    realisation: Realisation,
    design: Design,
    access: Access,
    workers: Workers,
    n_games: int,
) -> Generator[Solution, None, None]:
    """Solve the games in chunks, in their order."""
    faults = FaultFinder(given, known_stocks(given, realisation), design.draw_sizes)
    names = (*given.names, *(f"{name}, one more draw" for name in given.names))
    job = replace(Job.of(given, design), names=names)
    size = chunk_size(given, realisation, access, workers.n_jobs)
    chunks = _cut(n_games, size, given)

    def tasks() -> Generator[Chunk, None, None]:
        for games in chunks:
            draws = realisation.draws(games)
            faults.keep(Chunk(games, draws))
            yield Chunk(games, [*draws, *realisation.further(games)])

    ahead = fetched_ahead(tasks(), access) if access.fetches_ahead else tasks()
    with closing(ahead) as fetched:
        yield from faults.named(iter(workers.map(job, fetched, len(chunks))))


def _cut(n_games: int, size: int, given: Arguments) -> list[range]:
    """Cut the games into chunks; those solved without folds of validation rows stay apart."""
    edge = min(given.fold_games, n_games)
    # A utility that is not mergeable remembers the fits of one game.
    first = size if given.utility.mergeable else 1
    return [
        range(start, min(start + step, stop))
        for begin, stop, step in ((0, edge, first), (edge, n_games, size))
        for start in range(begin, stop, step)
    ]


def _gains(solution: Solution) -> Solution:
    """Subtract the value of all providers from their value with each further draw."""
    folds = solution.folds
    return replace(
        solution,
        values=_added(solution.values),
        noise=_added(solution.noise),
        folds=None if folds is None else _added(folds),
    )


def _added(values: FloatArray) -> FloatArray:
    n = values.shape[-1] // 2
    return np.asarray(values[..., n:] - values[..., :n])
