"""value(): the one file that wires sources, sampling, utilities, solvers and moments."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.access.access import Access
from shapband.access.budget import Budget
from shapband.checks import check_whole
from shapband.draws import Draws
from shapband.errors import BudgetExceeded, InvalidInput, SourceError
from shapband.execution import calm_blas, ordered_map, resolve_n_jobs
from shapband.games import Games
from shapband.moments.accumulate import Fold
from shapband.progress import GamesProgress
from shapband.providers import Provider, check_providers
from shapband.records import Batch
from shapband.sampling.base import Realisation, Sampling
from shapband.seeds import Seeds
from shapband.solvers.base import Solution, Solver
from shapband.solvers.choice import default_solver
from shapband.utilities.base import Utility
from shapband.valuation import Valuation

_NEAR_FLOATS = 500_000  # numbers that a chunk of games holds at best: 4 MB, near the caches
_MOST_FLOATS = 8_000_000  # and at most, unless a single game holds more
_FEW_GAMES = 32  # a chunk of fewer games spends its time on beginning
_KEPT_VALUES = 5_000_000  # per-game values kept unless the user says otherwise: 40 MB


def value(
    providers: Sequence[Provider],
    utility: Utility,
    *,
    sampling: Sampling,
    solver: Solver | None = None,
    n_games: int = 100,
    seed: int | None = None,
    n_jobs: int = 1,
    budget: Budget | None = None,
    chunk_size: int | None = None,
    keep_games: int | None = None,
    progress: bool | None = None,
) -> Valuation:
    """Estimate the expectation and variance of every provider's Shapley value.

    Parameters
    ----------
    providers : who is valued; names must differ
    utility : what a coalition of their draws is worth
    sampling : how games are realised: `Fresh`, `Pooled`, `Stratified` or `Blocks`
    solver : how a game is solved: `Exact`, `Permutation` or `BalancedPermutation`; None picks
        exact values while they cost no more than permutations would
    n_games : games to play, at least 2; a budget may end the valuation sooner
    seed : a whole number that repeats the valuation bit for bit; None takes one from the
        operating system, and the valuation tells it
    n_jobs : workers; the result does not depend on it
    budget : what may be asked of the sources in all
    chunk_size : games computed at once, by default as many as fit in memory comfortably; the
        result does not depend on it
    keep_games : how many games' values `valuation.games` holds, from the first on; no estimate
        needs them. By default all of them, up to 40 MB
    progress : show a progress bar; None shows it on a terminal when the work takes long

    Returns
    -------
    The moments, with the account of access and work.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)); y = X @ [1.0, -1.0] + rng.normal(size=300)
    >>> providers = [sb.Provider("north", sb.ArraySource(X[:100], y[:100])),
    ...              sb.Provider("south", sb.ArraySource(X[100:200], y[100:200]))]
    >>> utility = sb.LinearUtility(X[200:], y[200:])
    >>> valuation = sb.value(providers, utility, sampling=sb.Fresh(20), n_games=50, seed=0)
    >>> valuation.expectation.round(2).tolist()
    [0.31, 0.31]
    """
    started = time.perf_counter()
    checked = check_providers(providers)
    solver = _check(checked, utility, sampling, solver, n_games)
    if chunk_size is not None:
        check_whole("chunk_size", chunk_size, 1, ", or None to let the library choose")
    if keep_games is not None:
        check_whole("keep_games", keep_games, 0, ", or None for as many as fit in 40 MB")
    n_jobs = resolve_n_jobs(n_jobs)
    seeds = _seeds(seed)
    access = Access(checked, seeds, _check_budget(budget), utility.schema)
    realisation = sampling.prepare(access)
    affordable = _affordable_games(access, realisation, n_games)
    job = _Job(utility, solver, tuple(provider.name for provider in checked), seeds)
    chunk = chunk_size or _chunk_size(job, realisation, affordable, n_jobs)
    fold, evaluations = Fold(len(checked), realisation.group), 0
    kept = _KeptGames(len(checked), keep_games)
    tasks = _tasks(realisation, affordable, chunk)
    n_tasks = -(-affordable // chunk)
    with GamesProgress(affordable, progress) as bar, calm_blas(mergeable=utility.mergeable):
        for solution in ordered_map(job, tasks, n_tasks, n_jobs, threads=utility.mergeable):
            fold.add(solution.values, solution.noise)
            kept.add(solution.values)
            evaluations += solution.evaluations
            bar.advance(len(solution.values))
    return Valuation(
        names=job.names,
        moments=fold.moments(),
        games=kept.values(),
        access=access.report,
        evaluations=evaluations,
        draw_sizes=realisation.draw_sizes,
        pool_sizes=realisation.pool_sizes,
        target=realisation.target,
        stopped=_reason(access, affordable, n_games),
        seed=seeds.seed,
        setup={
            "utility": type(utility).__name__,
            "sampling": repr(sampling),
            "solver": repr(solver),
        },
        seconds=time.perf_counter() - started,
    )


class _KeptGames:
    """The values of the first games, up to a limit."""

    def __init__(self, n_providers: int, limit: int | None) -> None:
        self._limit = _KEPT_VALUES // n_providers if limit is None else limit
        self._parts = [np.empty((0, n_providers))]

    def add(self, values: FloatArray) -> None:
        room = self._limit - sum(len(part) for part in self._parts)
        if room > 0:
            self._parts.append(values[:room])

    def values(self) -> FloatArray:
        return np.concatenate(self._parts)


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Consecutive games, drawn but not yet summarised."""

    indices: range
    draws: list[Draws]

    def packed(self) -> _Chunk:
        """The same games with only the records they use."""
        return _Chunk(self.indices, [drawn.packed() for drawn in self.draws])


@dataclass(frozen=True, eq=False)
class _Job:
    """What a worker does with a chunk."""

    utility: Utility
    solver: Solver
    names: tuple[str, ...]
    seeds: Seeds

    def __call__(self, chunk: _Chunk) -> Solution:
        for name, drawn in zip(self.names, chunk.draws, strict=True):
            self._check_batch(name, drawn.batch)
        summaries = self.utility.summarise_games(chunk.draws)
        return self.solver.solve(
            Games(self.utility, summaries, self.names, chunk.indices, self.seeds)
        )

    def _check_batch(self, name: str, batch: Batch) -> None:
        try:
            self.utility.check_batch(batch)
        except InvalidInput as cause:
            raise SourceError(f"provider {name!r}: {cause}") from cause


def _tasks(realisation: Realisation, n_games: int, chunk: int) -> Iterator[_Chunk]:
    for start in range(0, n_games, chunk):
        indices = range(start, min(start + chunk, n_games))
        yield _Chunk(indices, realisation.draws(indices))


def _check(
    providers: tuple[Provider, ...],
    utility: Utility,
    sampling: Sampling,
    solver: Solver | None,
    n_games: int,
) -> Solver:
    """Check everything that can be checked before a source is asked; settle the solver."""
    chosen = default_solver(len(providers)) if solver is None else solver
    for name, thing, kind in (
        ("utility", utility, Utility),
        ("sampling", sampling, Sampling),
        ("solver", chosen, Solver),
    ):
        if not isinstance(thing, kind):
            raise InvalidInput(f"{name} must be a shapband {name}; received {type(thing).__name__}")
    check_whole("n_games", n_games, 2, " (a variance needs two games)")
    chosen.check(len(providers))
    sampling.check(providers)
    utility.check(providers)
    return chosen


def _seeds(seed: int | None) -> Seeds:
    if seed is None:
        return Seeds.fresh()
    return Seeds(check_whole("seed", seed, 0, ", or None for a seed from the operating system"))


def _check_budget(budget: Budget | None) -> Budget:
    if budget is None:
        return Budget()
    if not isinstance(budget, Budget):
        raise InvalidInput(
            f"budget must be a Budget(records=..., requests=...); received {type(budget).__name__}"
        )
    return budget


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


def _chunk_size(job: _Job, realisation: Realisation, n_games: int, n_jobs: int) -> int:
    """Games in a chunk: few enough to stay near the processor, enough to be worth beginning."""
    if not job.utility.mergeable:
        return 1
    summaries = [job.utility.summary_floats(size) for size in realisation.draw_sizes.tolist()]
    per_game: int = job.solver.floats_per_game(len(job.names)) + sum(summaries)
    near, most = _NEAR_FLOATS // per_game, _MOST_FLOATS // per_game
    fits = max(1, near, min(most, _FEW_GAMES))
    # Several chunks a worker, so that none waits long for the last one.
    return fits if n_jobs == 1 else max(1, min(fits, -(-n_games // (4 * n_jobs))))
