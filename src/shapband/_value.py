"""value(): checks and settles the arguments, then has the engine play."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.access.access import CONCURRENCY
from shapband.access.budget import Budget
from shapband.checks import check_whole
from shapband.engine import Plan, play
from shapband.errors import InvalidInput
from shapband.execution.base import Workers
from shapband.execution.local import LocalWorkers
from shapband.moments.stopping import StoppingRule
from shapband.progress import GamesProgress
from shapband.providers import Provider, check_providers
from shapband.sampling.base import Sampling
from shapband.seeds import Seeds
from shapband.solvers.base import Solver
from shapband.solvers.choice import default_solver
from shapband.utilities.base import Utility
from shapband.valuation import Valuation


def value(
    providers: Sequence[Provider],
    utility: Utility,
    *,
    sampling: Sampling,
    solver: Solver | None = None,
    n_games: int = 100,
    seed: int | None = None,
    n_jobs: int = 1,
    workers: Workers | None = None,
    budget: Budget | None = None,
    stop: StoppingRule | None = None,
    chunk_size: int | None = None,
    keep_games: int | None = None,
    concurrency: int = CONCURRENCY,
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
    n_jobs : workers on this machine; the result does not depend on it
    workers : the workers of a cluster, `DaskWorkers` or `RayWorkers`, in place of `n_jobs`; the
        result does not depend on them either
    budget : what may be asked of the sources in all
    stop : ends the valuation before `n_games` when it is met, such as
        ``Precision(absolute=0.01) | Seconds(600)``; looked at every 32 games
    chunk_size : games computed at once, by default as many as fit in memory comfortably; the
        result does not depend on it
    keep_games : how many games' values `valuation.games` holds, from the first on; no estimate
        needs them. By default all of them, up to 40 MB
    concurrency : distant sources asked at once, each for one draw at a time; 1 asks them one
        after another and fetches nothing ahead
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
    plan = settle(
        providers,
        utility,
        sampling=sampling,
        solver=solver,
        n_games=n_games,
        seed=seed,
        budget=budget,
        stop=stop,
        chunk_size=chunk_size,
        keep_games=keep_games,
        concurrency=concurrency,
    )
    chosen = _check_workers(workers) or LocalWorkers(n_jobs, threads=utility.threaded)
    with chosen, GamesProgress(progress) as bar:
        return play(plan, chosen, bar.show)


def settle(
    providers: Sequence[Provider],
    utility: Utility,
    *,
    sampling: Sampling,
    n_games: int,
    seed: int | None,
    solver: Solver | None = None,
    budget: Budget | None = None,
    stop: StoppingRule | None = None,
    chunk_size: int | None = None,
    keep_games: int | None = None,
    concurrency: int = CONCURRENCY,
) -> Plan:
    """Check all arguments of a valuation before any source is asked, and settle its defaults."""
    checked = check_providers(providers)
    chosen = default_solver(len(checked)) if solver is None else solver
    _check_kinds(utility, sampling, chosen, stop)
    check_whole("n_games", n_games, 2, " (a variance needs two games)")
    if chunk_size is not None:
        check_whole("chunk_size", chunk_size, 1, ", or None to let the library choose")
    if keep_games is not None:
        check_whole("keep_games", keep_games, 0, ", or None for as many as fit in 40 MB")
    check_whole("concurrency", concurrency, 1)
    chosen.check(len(checked))
    sampling.check(checked)
    utility.check(checked)
    return Plan(
        providers=checked,
        utility=utility,
        sampling=sampling,
        solver=chosen,
        n_games=int(n_games),
        seeds=_seeds(seed),
        budget=_check_budget(budget),
        stop=stop,
        chunk_size=chunk_size,
        keep_games=keep_games,
        concurrency=concurrency,
    )


def _check_kinds(
    utility: Utility, sampling: Sampling, solver: Solver, stop: StoppingRule | None
) -> None:
    for name, thing, kind in (
        ("utility", utility, Utility),
        ("sampling", sampling, Sampling),
        ("solver", solver, Solver),
    ):
        if not isinstance(thing, kind):
            raise InvalidInput(f"{name} must be a shapband {name}; received {type(thing).__name__}")
    if stop is not None and not isinstance(stop, StoppingRule):
        raise InvalidInput(
            "stop must be a stopping rule, such as Precision(absolute=0.01), or None; "
            f"received {type(stop).__name__}"
        )


def _check_workers(workers: Workers | None) -> Workers | None:
    if workers is not None and not isinstance(workers, Workers):
        raise InvalidInput(
            "workers must be DaskWorkers(...), RayWorkers(...) or None; use n_jobs for workers on "
            f"this machine; received {type(workers).__name__}"
        )
    return workers


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
