"""The loop: plays the games of a valuation, folds them in order and makes the valuation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from shapband._typing import FloatArray
from shapband.access.access import Access
from shapband.access.exchange import OutOfTime
from shapband.access.journal import PurchaseJournal
from shapband.access.meter import AccessReport
from shapband.checks import steady_repr
from shapband.engine.arguments import Arguments
from shapband.engine.blocks import fetched_blocks
from shapband.engine.chunks import Job, chunk_size, fetched_ahead
from shapband.engine.copies import find_copies, known_stocks, warn_of_held_rows
from shapband.engine.ending import affordable_games, what_would_help
from shapband.engine.faults import FaultFinder
from shapband.engine.folds import cut_at
from shapband.engine.journal import GameJournal, NullGames
from shapband.engine.logs import log_end, logged
from shapband.engine.rare import find_lacking
from shapband.engine.tasks import Chunk, Task, task_of
from shapband.engine.workers.base import Workers
from shapband.engine.workers.local import LocalWorkers, single_threaded_blas
from shapband.errors import EvaluationError, RepeatedRecords, SourceError, UnseenLabels
from shapband.estimate.estimate import Estimate
from shapband.estimate.estimator import Estimator
from shapband.estimate.stopping import StoppingRule
from shapband.kernels.ahead import SOLVED, compile_ahead
from shapband.records.batch import Batch
from shapband.sampling.base import Realisation
from shapband.sampling.design import Design
from shapband.sampling.distinct import REMEDY, format_repeats
from shapband.sampling.rare import LOG_LOSS_REMEDY, RareLabel, format_unseen
from shapband.sampling.targets import odd_labels, one_label
from shapband.solvers.base import Solution
from shapband.solvers.trial import GAMES, Trial
from shapband.valuation.valuation import Stopped, Valuation

_KEPT_VALUES = 5_000_000  # values of games that are kept by default: 40 MB
_LOOK = 32  # a stopping rule is checked after every 32 games
_CHUNK_SECONDS = 0.25  # with a time limit, a chunk should take at most this many seconds
_ALL_FAILED = 100  # a valuation ends if all of its first 100 or more evaluations have failed


@dataclass(frozen=True, eq=False)
class Progress:
    """The number of games done, their estimate, and their records and requests so far."""

    n_games: int
    estimator: Estimator
    access: Access

    @property
    def done(self) -> int:
        """Games folded so far."""
        return self.estimator.n_games

    @property
    def estimate(self) -> Estimate:
        """The estimate from the games so far."""
        return self.estimator.estimate()

    @property
    def report(self) -> AccessReport:
        """Requests, records and waiting time so far."""
        return self.access.report


Watch = Callable[[Progress], None]


def play(
    given: Arguments,
    workers: Workers,
    watch: Watch,
    purchases: PurchaseJournal | None = None,
    games: GameJournal | None = None,
    *,
    keep_interrupted: bool = False,
) -> Valuation:
    """Play the games and value the providers.

    Parameters
    ----------
    given : the checked arguments of the valuation
    workers : solve the games
    watch : called with the progress after every chunk
    purchases, games : store bought records and solved games, which a resumed run reads
    keep_interrupted : whether Ctrl-C ends the valuation with the games so far
    """
    journal = games or NullGames()
    watch = logged(watch, given, journal.solved())
    before = journal.seconds(journal.solved())
    started = time.perf_counter() - before
    limit = float("inf") if given.stop is None else given.stop.time_limit
    with Access(
        given.providers,
        given.seeds,
        given.budget,
        given.utility.schema,
        purchases,
        given.concurrency,
        given.timeout,
        limit - before,
        given.present,
        given.utility.check_batch,
    ) as access:
        with access.preparing():
            realisation = given.sampling.prepare(access)
        _warn_of_repeats(realisation.design)
        stocks = known_stocks(given, realisation)
        copies = find_copies(given, realisation.design, stocks)
        warn_of_held_rows(given, copies.held)
        lacking = find_lacking(given, realisation, stocks)
        _warn_of_unseen(lacking.unseen)
        design = given.completed(
            realisation.design,
            shared_records=copies.shared,
            held_rows=copies.held,
            one_label=one_label(given.names, stocks),
            odd_labels=odd_labels(given.names, stocks, given.utility.labels),
            rare_labels=lacking.rare,
            unseen_labels=lacking.unseen,
        )
        if isinstance(workers, LocalWorkers) and journal.solved() < given.n_games:
            _compile_kernels(given, design)
        prepared = realisation, design, stocks
        session = _Session(given, prepared, access, journal, workers, started)
        journal.begin(session.design)
        with single_threaded_blas(mergeable=given.utility.mergeable):
            stopped = _played(session, watch, keep_interrupted=keep_interrupted)
    valuation = Valuation(
        design=session.design,
        estimate=session.estimator.estimate(),
        games=session.kept.values(),
        access=access.report,
        evaluations=session.evaluations,
        failures=session.failures,
        stopped=stopped.reason,
        stopped_code=stopped.code,
        seconds=time.perf_counter() - started,
        group_estimate=session.estimator.group_estimate(),
        pair_estimate=session.estimator.pair_estimate(),
        round_estimate=session.estimator.round_estimate(),
        variance_split=session.estimator.variance_split(),
    )
    return log_end(valuation)


def _compile_kernels(given: Arguments, design: Design) -> None:
    """Compile the kernels that the games will need, as far as they are known."""
    name = type(given.solver.at(0)).__name__
    needed = given.utility.kernels_ahead(name, int(design.draw_sizes.min()))
    if needed:
        compile_ahead(("shuffle.first_of_shuffle", *needed, *SOLVED.get(name, ())))


def _played(session: _Session, watch: Watch, *, keep_interrupted: bool) -> Stopped:
    try:
        return session.play(watch)
    except KeyboardInterrupt:
        if not (keep_interrupted and session.usable):
            raise
        return Stopped("interrupted", "interrupted before the end")


def _warn_of_repeats(design: Design) -> None:
    sizes = design.draw_sizes, design.pool_sizes
    repeats = format_repeats(design.names, design.distinct_records, *sizes)
    if repeats:
        warnings.warn(f"{repeats}; {REMEDY}", RepeatedRecords, stacklevel=4)


def _warn_of_unseen(unseen: Sequence[RareLabel]) -> None:
    if unseen:
        warnings.warn(f"{format_unseen(unseen)}; {LOG_LOSS_REMEDY}", UnseenLabels, stacklevel=4)


class _Session:
    """The games of one valuation in progress."""

    def __init__(
        self,
        given: Arguments,
        prepared: tuple[Realisation, Design, list[Batch | None]],
        access: Access,
        journal: GameJournal,
        workers: Workers,
        started: float,
    ) -> None:
        self._realisation, self.design, stocks = prepared
        self.estimator = Estimator(self.design)
        self.kept = _KeptGames(len(given.providers), given.keep_games)
        self.evaluations = 0
        self.failures = 0
        self._given = given
        self._access = access
        self._journal = journal
        self._workers = workers
        self._started = started
        self._began = time.perf_counter()
        self._late: OutOfTime | None = None
        self._taking = False
        self._faults = FaultFinder(given, stocks, self.design.draw_sizes)
        self._job = Job.of(given, self.design)
        self._stored = journal.solved()
        self._n_games = affordable_games(access, self.design, self._realisation.cost, given)
        self._chunk = chunk_size(given, self._realisation, access, workers.n_jobs)
        self._trial = given.solver if isinstance(given.solver, Trial) else None
        self._tried: list[Solution] = []
        if self._trial is not None and self._n_games > GAMES and self._stored >= GAMES:
            self._decide(self._trial, [journal.solutions(range(GAMES))])

    def play(self, watch: Watch) -> Stopped:
        """Play stage by stage, and return why no further games were played."""
        progress = Progress(self._n_games, self.estimator, self._access)
        rule = self._given.stop
        stage = self._n_games if rule is None else _LOOK
        for start in range(0, self._n_games, stage):
            games = range(start, min(start + stage, self._n_games))
            with closing(self._stage(games)) as chunks:
                for _ in chunks:
                    watch(progress)
                    if rule is not None and self._time_is_up(rule):
                        return self._met(rule)
            if rule is None or self.estimator.n_games == self._n_games:
                break
            if self._late is not None:
                return self._out_of_time(rule, self._late)
            estimate = self.estimator.estimate()
            if rule.met(estimate, self._seconds(games.stop)):
                return self._met(rule)
            if (factor := rule.out_of_reach(estimate)) is not None:
                return what_would_help(rule, self.design, estimate, factor)
        self._check_failures(least=1)
        if self._n_games == self._given.n_games:
            return Stopped("n_games", "n_games reached")
        budget = self._access.budget
        return Stopped("budget", f"the budget of {budget} ended it before {self._given.n_games:,}")

    def _met(self, rule: StoppingRule) -> Stopped:
        return Stopped("rule", f"{rule!r} was met before {self._given.n_games:,}")

    def _time_is_up(self, rule: StoppingRule) -> bool:
        """Whether the time limit ends the valuation, with enough games for a variance."""
        done = self.estimator.n_games
        return (
            self.design.least_games <= done < self._n_games
            and self._seconds(done) >= rule.time_limit
        )

    def _out_of_time(self, rule: StoppingRule, late: OutOfTime) -> Stopped:
        """End with the games that are done, because records of the others have not arrived."""
        if self.estimator.n_games >= self.design.least_games:
            return self._met(rule)
        raise SourceError(
            f"{late}, with {self.estimator.n_games} of the two games that a variance needs: allow "
            f"more than {rule.time_limit:g} seconds"
        ) from late

    def _stage(self, games: range) -> Generator[None, None, None]:
        """Fold the games of one stage: first the stored ones, then new ones."""
        stored = range(games.start, min(games.stop, max(games.start, self._stored)))
        for start in range(stored.start, stored.stop, _LOOK):
            part = range(start, min(start + _LOOK, stored.stop))
            self._take(self._journal.solutions(part))
            yield
        new = range(stored.stop, games.stop)
        parts = [new] if self._trial is None else self._trial.parts(new)
        edge = self._given.fold_games
        for cut in [cut for part in parts for cut in cut_at(part, edge)]:
            if cut and self._late is None:
                yield from self._solve(cut)

    def _solve(self, new: range) -> Generator[None, None, None]:
        """Fold new games, all by the same solver."""
        if self._trial is not None and new.start >= GAMES:
            self._decide(self._trial, self._tried)
            self._journal.begin(self.design)
        at, size = new.start, self._chunk_now()
        if new.stop <= self._given.fold_games and not self._given.utility.mergeable:
            size = 1  # a utility remembers the fits of one game
        # Close the generator, so that fetching ahead ends with the stage, even after an error.
        with closing(self._tasks(new, size)) as tasks:
            answers = self._workers.map(self._job, tasks, -(-len(new) // size))
            for solution in self._faults.named(iter(answers)):
                self._check_answer(solution, min(size, new.stop - at))
                played = range(at, at + len(solution.values))
                self._journal.store_games(played, solution, self._seconds(played.stop))
                at = played.stop
                self._take(solution)
                yield
        if at < new.stop and self._late is None:
            raise self._wrong_answers(f"gave {at} of {new.stop} games")

    def _decide(self, trial: Trial, tried: Sequence[Solution]) -> None:
        """Have the best solver of a trial solve the other games, and say so in the design."""
        solver, reason = trial.decided_by(tried)
        said = {**self.design.setup, "solver": steady_repr(solver), "chosen": reason}
        self.design = replace(self.design, setup=said)
        self._job = replace(self._job, solver=solver)
        given = replace(self._given, solver=solver)
        self._chunk = chunk_size(given, self._realisation, self._access, self._workers.n_jobs)
        self._trial = None

    def _check_answer(self, solution: Solution, expected: int) -> None:
        """Refuse an answer, from workers of the user, that cannot belong to the next chunk."""
        if not isinstance(solution, Solution) or len(solution.values) != expected:
            raise self._wrong_answers("gave answers that do not belong to the next games")

    def _wrong_answers(self, what: str) -> EvaluationError:
        return EvaluationError(
            f"{type(self._workers).__name__}.map must yield the answer of every task, in the order "
            f"of the tasks; it {what}"
        )

    def _seconds(self, games: int) -> float:
        """Seconds played, over all sessions, when this many games are done.

        For stored games this is the stored time, so that a resumed run checks its stopping rule
        with the same times as before.
        """
        if games <= self._stored:
            return self._journal.seconds(games)
        return time.perf_counter() - self._started

    def _chunk_now(self) -> int:
        """Games in a chunk of the next stage: fewer if games are slow and there is a time limit."""
        rule, given = self._given.stop, self._given
        chosen = given.chunk_size is not None or self._access.waits
        if rule is None or rule.time_limit == float("inf") or chosen:
            return self._chunk
        played = self.estimator.n_games - self._stored
        if played <= 0:
            return 1
        pace = (time.perf_counter() - self._began) / played
        return max(1, min(self._chunk, int(_CHUNK_SECONDS / max(pace, 1e-9))))

    def _tasks(self, games: range, size: int) -> Generator[Task, None, None]:
        """The chunks of a stage. They end early if the time is up before all records arrived."""
        blocks = fetched_blocks(self._given, self._realisation, self._access, games, size)
        if self._access.fetches_ahead:
            blocks = fetched_ahead(blocks, self._access)
        with closing(blocks):
            try:
                for block in blocks:
                    yield from map(self._task, block)
            except OutOfTime as late:
                self._late = late

    def _task(self, chunk: Chunk) -> Task:
        self._faults.keep(chunk)
        return task_of(chunk, self.design)

    @property
    def usable(self) -> bool:
        """Whether there are enough games for a variance, and no game is only partly added."""
        return self.estimator.n_games >= self.design.least_games and not self._taking

    def _take(self, solution: Solution) -> None:
        self._taking = True
        if self._trial is not None:
            self._tried.append(solution)
        self.estimator.add(solution)
        self.kept.add(solution.values)
        self.evaluations += solution.evaluations
        self.failures += solution.failures
        self._taking = False
        self._check_failures(least=_ALL_FAILED)

    def _check_failures(self, least: int) -> None:
        """Raise an error if all evaluations failed and there are at least `least` of them."""
        if self.failures == self.evaluations >= least:
            raise EvaluationError(
                f"all {self.evaluations:,} coalitions so far could not be evaluated: leave out "
                "failed= to see the cause"
            )


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
