"""Chunks: consecutive games that a worker solves in one task."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar
from weakref import WeakSet

import numpy as np

from shapband._typing import FloatArray
from shapband.access.access import Access
from shapband.checks import check_whole, described, error_line, one_line
from shapband.engine.arguments import Arguments
from shapband.engine.folds import Folds, solve
from shapband.engine.tasks import Chunk, MixedChunk, Replayed, Task
from shapband.engine.workers.local import single_threaded_blas
from shapband.errors import EvaluationError, InvalidInput, SourceError
from shapband.games import Games
from shapband.grouping import Grouping
from shapband.indices import SHAPLEY, Index
from shapband.records.batch import Batch
from shapband.records.draws import Draws
from shapband.sampling.base import Realisation
from shapband.sampling.design import Design
from shapband.sampling.replays import replay_seeds
from shapband.seeds import Seeds
from shapband.solvers.base import Solution, Solver, joined_others
from shapband.solvers.pairs import PairSolution, among_all, pair_count
from shapband.solvers.rounds import no_rounds, rounds_among_all, series_count
from shapband.utilities.base import GameSummaries, Utility

_NEAR_FLOATS = 250_000  # preferred chunk size, in numbers: 2 MB fit into the caches
_MOST_FLOATS = 8_000_000  # largest chunk size, in numbers, unless a single game holds more
_FEW_GAMES = 128  # with fewer games per chunk, the overhead per provider and chunk dominates
_SHARED_GAMES = 64  # fewest games in a chunk for another worker, unless memory limits it
_DISTANT_TURNS = 8  # a chunk takes at most 8 requests one after the other, so that runs stop soon
_Fetched = TypeVar("_Fetched")  # a chunk, or a block of chunks


class _Checked(WeakSet[Batch]):
    """The batches that a job has checked; they are left out when a job is sent to a process."""

    def __reduce__(self) -> tuple[type[_Checked], tuple[()]]:
        return _Checked, ()


# Kinds of utilities and solvers with which this process has solved a game for its workers.
_rehearsed: set[tuple[type[Utility], type[Solver]]] = set()


@dataclass(frozen=True, eq=False)
class Job:
    """The function that a worker applies to a chunk.

    Attributes
    ----------
    summaries_travel : whether summaries are sent to other processes instead of records
    rates : probabilities of being present, if values are averaged over presence; else None
    folds : solves the first `fold_games` games again without folds of the validation rows, or None
    interactions : whether the interactions of pairs of providers are computed as well
    by_round : whether the values after each round of training are computed as well
    checked : batches that were checked and can be used, so that each stock is checked only once
    """

    utility: Utility
    solver: Solver
    names: tuple[str, ...]
    seeds: Seeds
    summaries_travel: bool
    index: Index = SHAPLEY
    grouping: Grouping | None = None
    rates: FloatArray | None = None
    folds: Folds | None = None
    fold_games: int = 0
    interactions: bool = False
    by_round: bool = False
    checked: _Checked = field(default_factory=_Checked, init=False, repr=False)

    @staticmethod
    def of(given: Arguments, design: Design) -> Job:
        """Make the job for the games of a completed design."""
        travel = _summaries_travel(given.utility, design.draw_sizes.tolist())
        return Job(
            given.utility,
            given.solver,
            given.names,
            given.seeds,
            travel,
            given.index,
            given.grouping,
            design.rates,
            Folds(given.rows_kept, by_round=given.by_round) if given.rows_kept else None,
            given.fold_games,
            given.interactions,
            given.by_round,
        )

    def __call__(self, task: Task) -> Solution:
        """Summarise the games, unless they have summaries, and solve them."""
        if isinstance(task, Replayed):
            return self._replayed(task)
        if isinstance(task, Chunk):
            return self._solved(task, self.utility, self.solver)
        return _joined([self._solved_part(part) for part in task.parts])

    def _replayed(self, task: Replayed) -> Solution:
        """Solve games, and solve them again with other random numbers."""
        solution = self(task.first)
        plain = replace(self, folds=None, interactions=False, by_round=False)
        again = [
            replace(plain, seeds=replay_seeds(self.seeds.seed, place))(one)
            for place, one in enumerate(task.again)
        ]
        return replace(
            solution,
            replays=np.stack([one.values for one in again], axis=1),
            evaluations=solution.evaluations + sum(one.evaluations for one in again),
            failures=solution.failures + sum(one.failures for one in again),
        )

    def packed(self, task: Task) -> Task:
        """Reduce a chunk to its summaries, or to the records it uses, before it is sent."""
        if isinstance(task, Replayed):
            again = tuple(self._packed_games(one) for one in task.again)
            return Replayed(self._packed_games(task.first), again)
        return self._packed_games(task)

    def _packed_games(self, task: Chunk | MixedChunk) -> Chunk | MixedChunk:
        if isinstance(task, MixedChunk):
            return MixedChunk(tuple(self._packed(part) for part in task.parts))
        return self._packed(task)

    def rehearse(self, task: Task) -> None:
        """Solve the first game of a task in this process, so that its kernels are compiled here.

        Worker processes with the same cache directory then find the machine code, where otherwise
        every one of them would compile it, and nobody would say why the first task takes long. This
        is done once for a kind of utility and solver; black boxes have no kernels to compile.
        """
        if isinstance(task, Replayed):
            task = task.first
        first = task if isinstance(task, Chunk) else task.parts[0]
        if not self.utility.mergeable or not first.draws:
            return
        kind = type(self.utility), type(self.solver.at(first.indices.start))
        if kind not in _rehearsed:
            draws = [drawn.part(slice(0, 1)) for drawn in first.draws]
            present = None if first.present is None else first.present[:1]
            alone = replace(first, indices=first.indices[:1], draws=draws, present=present)
            self(alone if isinstance(task, Chunk) else MixedChunk((alone,)))
            _rehearsed.add(kind)

    def _packed(self, chunk: Chunk) -> Chunk:
        if self.summaries_travel or chunk.draws is None:
            return self._summarised(chunk)
        return replace(chunk, draws=[drawn.packed() for drawn in chunk.draws])

    def _solved_part(self, part: Chunk) -> Solution:
        """Solve the games among the providers that take part; all others are worth 0."""
        places = list(part.places or ())
        if len(places) == len(self.names):
            return self._solved(part, self.utility, self.solver)
        values, noise = np.zeros((2, len(part.indices), len(self.names)))
        effects = None
        if self.folds is not None and part.indices.stop <= self.fold_games:
            effects = np.zeros((len(part.indices), len(self.folds), len(self.names)))
        if not places:
            pairs = self._no_pairs(effects, len(part.indices)) if self.interactions else None
            rounds = None
            if self.by_round:
                shape = len(part.indices), series_count(self.utility.rounds), len(self.names)
                rounds = no_rounds(shape, None if effects is None else effects.shape[1])
            return Solution(values, noise, 0, folds=effects, pairs=pairs, rounds=rounds)
        utility, solver = self.utility.restricted(places), self.solver.for_size(len(places))
        found = self._solved(part, utility, solver)
        values[:, places], noise[:, places] = found.values, found.noise
        if effects is not None and found.folds is not None:
            effects[:, :, places] = found.folds
        pairs = None if found.pairs is None else among_all(found.pairs, places, len(self.names))
        rounds = found.rounds
        if rounds is not None:
            rounds = rounds_among_all(rounds, places, len(self.names))
        return replace(found, values=values, noise=noise, folds=effects, pairs=pairs, rounds=rounds)

    def _no_pairs(self, effects: FloatArray | None, n_games: int) -> PairSolution:
        """The interactions of games in which nobody takes part."""
        zeros = np.zeros((n_games, pair_count(len(self.names))))
        if effects is None:
            return PairSolution(zeros, zeros)
        return PairSolution(zeros, zeros, np.repeat(zeros[:, None], effects.shape[1], axis=1))

    def _solved(self, chunk: Chunk, utility: Utility, solver: Solver) -> Solution:
        summaries, names = self._summarised(chunk).summaries, self._names(chunk)
        grouping = self.grouping
        # If all groups have one member, Owen values are Shapley values, which any solver gives.
        nested = grouping if grouping is not None and grouping.nested else None
        if chunk.present is not None:
            summaries = utility.with_presence(summaries, chunk.present)
        addresses = names, chunk.indices, self.seeds
        games = Games(
            utility, summaries, *addresses, self.index, nested, self.rates, self.interactions
        )
        before = utility.failures
        if self.folds is not None and chunk.indices.stop <= self.fold_games:
            solution = self.folds.solved(games, solver)
        else:
            solution = solve(games, solver, by_round=self.by_round)
        if grouping is not None and nested is None:
            solution = replace(solution, group_noise=grouping.totals(solution.noise))
        return replace(solution, failures=utility.failures - before)

    def _names(self, chunk: Chunk) -> tuple[str, ...]:
        """The providers that take part in a chunk."""
        if chunk.places is None:
            return self.names
        return tuple(self.names[place] for place in chunk.places)

    def set_up_worker(self) -> None:
        """Limit the linear algebra of a worker process to one thread."""
        single_threaded_blas(mergeable=self.utility.mergeable)

    def _summarised(self, chunk: Chunk) -> Chunk:
        if not chunk.draws:
            return chunk
        for name, drawn in zip(self._names(chunk), chunk.draws, strict=True):
            self._check_batch(name, drawn.batch)
        return replace(chunk, draws=None, summaries=self._summaries(chunk, chunk.draws))

    def _summaries(self, chunk: Chunk, draws: list[Draws]) -> GameSummaries:
        """Let the utility summarise the games, and check that there is a summary for each."""
        owner = type(self.utility).__name__
        try:
            summaries = self.utility.summarise_games(draws)
        except MemoryError:
            raise
        except (Exception, SystemExit) as cause:
            raise EvaluationError(
                f"{owner} could not summarise the draws: {error_line(cause)}"
            ) from cause
        if not hasattr(summaries, "__len__") or len(summaries) != len(chunk.indices):
            raise EvaluationError(
                f"{owner}.summarise_games must return the summaries of each of the "
                f"{len(chunk.indices)} games; received {described(summaries)}"
            )
        return summaries

    def _check_batch(self, name: str, batch: Batch) -> None:
        if batch in self.checked:
            return
        try:
            self.utility.check_batch(batch)
        except InvalidInput as cause:
            raise SourceError(f"provider {name!r}: {one_line(cause)}") from cause
        except (Exception, SystemExit) as cause:
            raise EvaluationError(
                f"{type(self.utility).__name__}.check_batch failed for provider {name!r}: "
                f"{error_line(cause)}"
            ) from cause
        self.checked.add(batch)


def _joined(parts: Sequence[Solution]) -> Solution:
    """Join the solutions of consecutive games."""
    return Solution(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.noise for part in parts]),
        sum(part.evaluations for part in parts),
        sum(part.failures for part in parts),
        folds=_joined_folds([part.folds for part in parts]),
        pairs=joined_others([part.pairs for part in parts]),
        probe_noise=_joined_probes(parts),
        rounds=joined_others([part.rounds for part in parts]),
    )


def _joined_folds(parts: Sequence[FloatArray | None]) -> FloatArray | None:
    """The effects of folds of consecutive games; all of them have some, or none has."""
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if known else None


def _joined_probes(parts: Sequence[Solution]) -> FloatArray | None:
    """The noise of the probe in consecutive games; NaN in games with too few providers for one."""
    if all(part.probe_noise is None for part in parts):
        return None
    return np.concatenate(
        [
            np.full(len(part.values), np.nan) if part.probe_noise is None else part.probe_noise
            for part in parts
        ]
    )


def chunk_size(given: Arguments, realisation: Realisation, access: Access, n_jobs: int) -> int:
    """Number of games in a chunk: few enough for the caches, enough to outweigh the overhead."""
    if given.chunk_size is not None:
        return given.chunk_size
    if not given.utility.mergeable:
        return 1
    summaries = _summary_floats(given.utility, realisation.design.draw_sizes.tolist())
    per_game: int = given.solver.floats_per_game(given.most_present) + summaries
    if given.by_round:  # the scores of all coalitions after each round are remembered
        per_game *= given.utility.rounds
    if given.interactions:
        per_game += 4 * pair_count(len(given.providers))
    near, most = _NEAR_FLOATS // per_game, _MOST_FLOATS // per_game
    size = max(1, near, min(most, _FEW_GAMES))
    if n_jobs > 1:
        # Several chunks per worker, so that no worker waits long for the last chunk.
        size = min(size, max(_SHARED_GAMES, -(-given.n_games // (4 * n_jobs))))
    if access.waits and realisation.cost.requests:
        size = min(size, distant_games(given))
    return size


def distant_games(given: Arguments) -> int:
    """Games that are fetched together from slow sources."""
    return _DISTANT_TURNS * games_at_once(given)


def games_at_once(given: Arguments) -> int:
    """Games whose requests are under way at once: more if all sources answer several at once."""
    sources = [one.source for one in given.providers if one.source.waits]
    calls = -(-given.concurrency // max(len(sources), 1))
    at_once = [min(one.concurrent, calls) * one.together for one in sources]
    return min(at_once, default=1)


def fetched_ahead(parts: Iterator[_Fetched], access: Access) -> Generator[_Fetched, None, None]:
    """Fetch the next chunk, or block of chunks, while this one is being solved.

    When this generator is closed or interrupted, it stops the access and then waits for the
    part that is being fetched.
    """
    with ThreadPoolExecutor(1) as thread, access.stopped_by_errors():
        following = thread.submit(next, parts, None)
        while (part := following.result()) is not None:
            following = thread.submit(next, parts, None)
            yield part


def _summaries_travel(utility: Utility, draw_sizes: list[int]) -> bool:
    """Whether summaries are sent to workers instead of records.

    This needs a utility that allows it, and summaries that are not larger than the records.

    Neighbour lists for many validation rows are larger than the draws, and computing them is
    most of the work, so the workers compute them.
    """
    if not utility.summaries_travel:
        return False
    summaries = _summary_floats(utility, draw_sizes)
    records = sum(Utility.summary_floats(utility, size) for size in draw_sizes)
    return summaries <= records


def _summary_floats(utility: Utility, draw_sizes: list[int]) -> int:
    """Roughly how many numbers the summaries of one game hold."""
    owner = f"the result of {type(utility).__name__}.summary_floats"
    return sum(
        check_whole(owner, utility.summary_floats(size), 0, most=None) for size in draw_sizes
    )
