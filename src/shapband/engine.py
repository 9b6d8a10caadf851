"""Plays games: draws them, has workers solve them, and folds the values in game order.

The engine knows nothing of arguments and defaults, which `value()` settles, nor of files, which
a journal may write. Everything it does is a function of the plan: any number of workers, any
chunk size and any interruption lead to the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from shapband._typing import FloatArray
from shapband.access.access import CONCURRENCY, Access
from shapband.access.budget import Budget
from shapband.access.journal import Forgetful, Journal
from shapband.access.meter import AccessReport
from shapband.draws import Draws
from shapband.errors import BudgetExceeded, InvalidInput, SourceError
from shapband.execution.base import Workers
from shapband.execution.local import calm_blas
from shapband.games import Games
from shapband.moments.accumulate import Fold, Moments
from shapband.moments.stopping import StoppingRule
from shapband.providers import Provider
from shapband.records import Batch
from shapband.sampling.base import Realisation, Sampling
from shapband.seeds import Seeds
from shapband.solvers.base import Solution, Solver, check_solution
from shapband.utilities.base import GameSummaries, Utility
from shapband.valuation import Valuation

_NEAR_FLOATS = 250_000  # numbers that a chunk of games holds at best: 2 MB, near the caches
_MOST_FLOATS = 8_000_000  # and at most, unless a single game holds more
_FEW_GAMES = 128  # a chunk of fewer games spends its time on beginning, provider by provider
_SHARED_GAMES = 64  # handed to another worker at least, unless fewer fill the memory
_DISTANT_GAMES = 8  # games fetched at once from distant sources: small steps to see and to stop at
_KEPT_VALUES = 5_000_000  # per-game values kept unless the user says otherwise: 40 MB
_LOOK = 32  # games between two looks at a stopping rule


@dataclass(frozen=True, eq=False)
class Plan:
    """All that a valuation is, checked and settled."""

    providers: tuple[Provider, ...]
    utility: Utility
    sampling: Sampling
    solver: Solver
    n_games: int
    seeds: Seeds
    budget: Budget
    stop: StoppingRule | None = None
    chunk_size: int | None = None
    keep_games: int | None = None
    concurrency: int = CONCURRENCY

    @property
    def names(self) -> tuple[str, ...]:
        """The providers, in the order of all arrays."""
        return tuple(provider.name for provider in self.providers)

    @property
    def setup(self) -> dict[str, str]:
        """Utility, sampling and solver in words."""
        return {
            "utility": type(self.utility).__name__,
            "sampling": repr(self.sampling),
            "solver": repr(self.solver),
        }


@dataclass(frozen=True, eq=False)
class Standing:
    """How far the games have come, for whoever watches."""

    n_games: int
    fold: Fold
    access: Access

    @property
    def done(self) -> int:
        """Games folded so far."""
        return self.fold.n_games

    @property
    def moments(self) -> Moments:
        """Moments of the games so far."""
        return self.fold.moments()

    @property
    def report(self) -> AccessReport:
        """What was asked of the sources so far."""
        return self.access.report


Watch = Callable[[Standing], None]


def play(plan: Plan, workers: Workers, watch: Watch, journal: Journal | None = None) -> Valuation:
    """Play the plan's games and value the providers.

    Parameters
    ----------
    plan : what to do
    workers : who solves the games
    watch : is shown the standing after every chunk
    journal : remembers purchases and solved games, and gives them back when a run goes on
    """
    memory = journal or Forgetful()
    started = time.perf_counter() - memory.seconds(memory.solved())
    with Access(
        plan.providers, plan.seeds, plan.budget, plan.utility.schema, memory, plan.concurrency
    ) as access:
        realisation = plan.sampling.prepare(access)
        affordable = _affordable_games(access, realisation, plan.n_games)
        table = _Table(plan, realisation, access, memory, affordable, workers, started)
        with calm_blas(mergeable=plan.utility.mergeable):
            stopped = table.play(watch)
    fold = table.fold
    return Valuation(
        names=table.job.names,
        moments=fold.moments(),
        games=table.kept.values(),
        access=access.report,
        evaluations=table.evaluations,
        draw_sizes=realisation.draw_sizes,
        pool_sizes=realisation.pool_sizes,
        target=realisation.target,
        stopped=stopped or _reason(access, affordable, plan.n_games),
        seed=plan.seeds.seed,
        setup=plan.setup,
        seconds=time.perf_counter() - started,
    )


class _Table:
    """The games of one valuation in progress."""

    def __init__(
        self,
        plan: Plan,
        realisation: Realisation,
        access: Access,
        journal: Journal,
        n_games: int,
        workers: Workers,
        started: float,
    ) -> None:
        self.job = Job(
            plan.utility,
            plan.solver,
            plan.names,
            plan.seeds,
            summaries_travel=_summaries_travel(plan.utility, realisation.draw_sizes.tolist()),
        )
        self.fold = Fold(len(plan.providers), realisation.group)
        self.kept = _KeptGames(len(plan.providers), plan.keep_games)
        self.evaluations = 0
        self._plan = plan
        self._realisation = realisation
        self._access = access
        self._journal = journal
        self._n_games = n_games
        self._workers = workers
        self._started = started
        self._stored = journal.solved()
        self._chunk = plan.chunk_size or _chunk_size(self.job, realisation, n_games, workers.n_jobs)
        if plan.chunk_size is None and access.waits and realisation.cost.requests:
            self._chunk = min(self._chunk, _DISTANT_GAMES)

    def play(self, watch: Watch) -> str | None:
        """Play stage by stage; give the reason if a rule ended it before the last game."""
        standing = Standing(self._n_games, self.fold, self._access)
        rule = self._plan.stop
        stage = self._n_games if rule is None else _LOOK
        for start in range(0, self._n_games, stage):
            games = range(start, min(start + stage, self._n_games))
            for _ in self._stage(games):
                watch(standing)
            if rule is None or games.stop == self._n_games:
                break
            if rule.met(self.fold.moments(), self._seconds(games.stop)):
                return f"{rule!r} was met before {self._plan.n_games:,}"
        return None

    def _stage(self, games: range) -> Iterator[None]:
        """Fold the games of one stage: first those of the journal, then new ones."""
        stored = range(games.start, min(games.stop, max(games.start, self._stored)))
        for start in range(stored.start, stored.stop, _LOOK):
            part = range(start, min(start + _LOOK, stored.stop))
            self._take(Solution(*self._journal.solutions(part)))
            yield
        new = range(stored.stop, games.stop)
        at = new.start
        # Closed here and now, so that fetching ahead ends with the stage, also after an error.
        with closing(self._tasks(new)) as tasks:
            for solution in self._workers.map(self.job, tasks, -(-len(new) // self._chunk)):
                played = range(at, at + len(solution.values))
                self._journal.solve(
                    played,
                    solution.values,
                    solution.noise,
                    solution.evaluations,
                    self._seconds(played.stop),
                )
                at = played.stop
                self._take(solution)
                yield

    def _seconds(self, games: int) -> float:
        """Seconds played, over all sessions, when so many games are done.

        For stored games it is what it was then: a limit that came later must not undo them.
        """
        if games <= self._stored:
            return self._journal.seconds(games)
        return time.perf_counter() - self._started

    def _tasks(self, games: range) -> Generator[Chunk, None, None]:
        chunks = self._chunks(games)
        return _one_ahead(chunks, self._access) if self._access.fetches_ahead else chunks

    def _chunks(self, games: range) -> Generator[Chunk, None, None]:
        for start in range(games.start, games.stop, self._chunk):
            indices = range(start, min(start + self._chunk, games.stop))
            yield Chunk(indices, self._realisation.draws(indices))

    def _take(self, solution: Solution) -> None:
        self.fold.add(solution.values, solution.noise)
        self.kept.add(solution.values)
        self.evaluations += solution.evaluations


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive games, drawn but not yet summarised."""

    indices: range
    draws: list[Draws] = field(repr=False)


@dataclass(frozen=True, eq=False)
class SummarisedChunk:
    """Consecutive games of which only the summaries are left."""

    indices: range
    summaries: GameSummaries = field(repr=False)


@dataclass(frozen=True, eq=False)
class Job:
    """What a worker does with a chunk.

    Attributes
    ----------
    summaries_travel : whether summaries are sent to other processes instead of records
    """

    utility: Utility
    solver: Solver
    names: tuple[str, ...]
    seeds: Seeds
    summaries_travel: bool

    def __call__(self, task: Chunk | SummarisedChunk) -> Solution:
        """Summarise the games, unless that is done, and solve them."""
        chunk = self._summarised(task) if isinstance(task, Chunk) else task
        games = Games(self.utility, chunk.summaries, self.names, chunk.indices, self.seeds)
        return check_solution(self.solver.solve(games), self.solver, games)

    def packed(self, chunk: Chunk) -> Chunk | SummarisedChunk:
        """The same games to be sent away: their summaries, or the records that they use."""
        if self.summaries_travel:
            return self._summarised(chunk)
        return Chunk(chunk.indices, [drawn.packed() for drawn in chunk.draws])

    def arrived(self) -> None:
        """Keep the linear algebra of the process to one thread, as it is kept at home."""
        calm_blas(mergeable=self.utility.mergeable)

    def _summarised(self, chunk: Chunk) -> SummarisedChunk:
        for name, drawn in zip(self.names, chunk.draws, strict=True):
            self._check_batch(name, drawn.batch)
        return SummarisedChunk(chunk.indices, self.utility.summarise_games(chunk.draws))

    def _check_batch(self, name: str, batch: Batch) -> None:
        try:
            self.utility.check_batch(batch)
        except InvalidInput as cause:
            raise SourceError(f"provider {name!r}: {cause}") from cause


class _KeptGames:
    """The values of the first games, up to a limit."""

    def __init__(self, n_providers: int, limit: int | None) -> None:
        self._room = _KEPT_VALUES // n_providers if limit is None else limit
        self._parts = [np.empty((0, n_providers))]

    def add(self, values: FloatArray) -> None:
        if self._room > 0:
            self._parts.append(values[: self._room])
            self._room -= len(values)

    def values(self) -> FloatArray:
        return np.concatenate(self._parts)


def _one_ahead(chunks: Iterator[Chunk], access: Access) -> Generator[Chunk, None, None]:
    """Fetch the next chunk's draws while this one is being solved.

    When this is interrupted, or closed because the stage was, the chunk that is being fetched
    is waited for; so the access is stopped first.
    """
    with ThreadPoolExecutor(1) as thread, access.stopped_by_errors():
        following = thread.submit(next, chunks, None)
        while (chunk := following.result()) is not None:
            following = thread.submit(next, chunks, None)
            yield chunk


def _affordable_games(access: Access, realisation: Realisation, n_games: int) -> int:
    """Games that the budget pays for: none is begun that could not be finished."""
    limit = access.affordable_games(realisation.cost)
    games = n_games if limit is None else min(n_games, limit)
    if games < 2:
        raise BudgetExceeded(
            f"the budget of {access.budget} pays for {games} of the games, which take "
            f"{realisation.cost.records:,} records in {realisation.cost.requests:,} requests "
            "each; a variance needs two: raise the budget, or use a pooled sampling"
        )
    return games


def _reason(access: Access, played: int, n_games: int) -> str:
    if played == n_games:
        return "all that were asked for"
    return f"the budget of {access.budget} ended it before {n_games:,}"


def _summaries_travel(utility: Utility, draw_sizes: list[int]) -> bool:
    """Whether games are sent away as summaries: if they are made of them, and these are smaller.

    Neighbour lists for many validation rows are larger than the draws they are made from, and
    making them is most of the work: that is left to the workers.
    """
    summaries = sum(utility.summary_floats(size) for size in draw_sizes)
    records = sum(Utility.summary_floats(utility, size) for size in draw_sizes)
    return utility.summaries_travel and summaries <= records


def _chunk_size(job: Job, realisation: Realisation, n_games: int, n_jobs: int) -> int:
    """Games in a chunk: few enough to stay near the processor, enough to be worth beginning."""
    if not job.utility.mergeable:
        return 1
    summaries = [job.utility.summary_floats(size) for size in realisation.draw_sizes.tolist()]
    per_game: int = job.solver.floats_per_game(len(job.names)) + sum(summaries)
    near, most = _NEAR_FLOATS // per_game, _MOST_FLOATS // per_game
    fits = max(1, near, min(most, _FEW_GAMES))
    # Several chunks a worker, so that none waits long for the last one.
    return fits if n_jobs == 1 else min(fits, max(_SHARED_GAMES, -(-n_games // (4 * n_jobs))))
