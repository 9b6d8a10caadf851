"""value(): the one function that estimates; it checks the arguments and plays the games."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapband.access.access import CONCURRENCY, TIMEOUT
from shapband.access.budget import Budget
from shapband.checks import check_kind
from shapband.engine.arguments import Arguments, check_arguments, held_out_words
from shapband.engine.leaving import LeftOut, check_none_left, play_leaving_out
from shapband.engine.play import play
from shapband.engine.workers.base import Workers
from shapband.engine.workers.local import LocalWorkers
from shapband.errors import RunError
from shapband.estimate.stopping import StoppingRule
from shapband.indices import Index
from shapband.inputs.convert import convert
from shapband.inputs.draws import chosen_sampling
from shapband.inputs.validation import is_fraction
from shapband.progress import GamesSoFar, progress_display, with_callback
from shapband.providers import Group, Provider
from shapband.sampling.base import Sampling
from shapband.sampling.participation import Participation
from shapband.solvers.base import Solver
from shapband.valuation.valuation import Valuation

if TYPE_CHECKING:
    from shapband.runs.stored import Begun


def value(
    providers: Mapping[str, Any] | Iterable[Provider | Group | tuple[str, Any]],
    utility: Any,
    *,
    target: str | int | None = None,
    validation: Any = None,
    score: Any = None,
    sampling: Sampling | None = None,
    solver: Solver | None = None,
    index: Index | None = None,
    n_games: int = 100,
    seed: int | None = None,
    n_jobs: int = 1,
    workers: Workers | None = None,
    budget: Budget | None = None,
    stop: StoppingRule | None = None,
    participation: Participation | None = None,
    fixed_validation: bool = False,
    validation_groups: Any = None,
    interactions: bool = False,
    by_round: bool = False,
    variance_parts: bool = False,
    chunk_size: int | None = None,
    keep_games: int | None = None,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    progress: bool | None = None,
    callback: Callable[[GamesSoFar], object] | None = None,
    run: str | os.PathLike[str] | None = None,
    ask_again: bool = False,
    leave_out_failing: bool = False,
) -> Valuation:
    """Estimate the expectation and variance of every provider's Shapley value, or another index.

    Parameters
    ----------
    providers : who is valued: a mapping of names to data, or pairs of them. Data are a data frame
        (pandas, polars, or another that narwhals reads), a tuple ``(X, y)``, the path of a .csv or
        .parquet file, or a source. Or a list of `Provider` and `Group`; a `Group` takes part as one
        player, and its members share its value
    utility : what a coalition of their draws is worth: the score of a scikit-learn model or
        pipeline on `validation`, as in `utility_for`, or a utility
    target : the column of outcomes in data frames and files
    validation : rows to score a model on: a data frame, a tuple ``(X, y)``, a path, or a fraction
        such as 0.3. A fraction of every provider's records, at least one, is held out at random
        by the seed and the provider's name, and belongs to no stock. Records that providers
        copied or repeated are held out together with their copies
    score : for a model: the name of a scikit-learn scorer, a function
        ``score(fitted, X_val, y_val)``, or None for the model's own `score`
    sampling : how games are realised: `Fresh`, `Pooled` or `Stratified`. For records in memory,
        None is ``Pooled(replace=False)`` with whole stocks as pools; every provider gives a quarter
        of the smallest stock to a game, at least 10 and at most 500 records, and never more than
        half of the smallest stock. Other sources need a sampling, because requests may cost money
    solver : how a game is solved: `Exact`, `Known`, `Arcs`, `Strata`, `Permutation` or
        `BalancedPermutation`, with groups `Exact` or `Permutation`; None picks the one with the
        least work for the same error, and the valuation says which and why
    index : the weights of coalition sizes in a value: `Banzhaf()`, `Beta(alpha, beta)` or an
        `Index` of your own; None is `Shapley()`. It does not change requests or evaluations
    n_games : games to play, at least 2, or 1 if all games are equal by design; a budget may end the
        valuation sooner
    seed : a whole number that repeats the valuation bit for bit; None takes one from the
        operating system, and the valuation reports it
    n_jobs : workers on this machine; the result does not depend on it
    workers : the workers of a cluster, `DaskWorkers` or `RayWorkers`, instead of `n_jobs`; the
        result does not depend on them either
    budget : limits on the records and requests of the valuation
    stop : ends the valuation before `n_games` when it is met, such as
        ``Precision(absolute=0.01) | Seconds(600)``; checked every 32 games, and `Seconds` after
        every chunk
    participation : who takes part in a game: `Independent`, `Cohort`, `MarkovChain` or `Trace`;
        None is everybody in every game. An absent provider is worth 0, and its source is not asked.
        With ``per="round"``, who is present in each round of training; for utilities with rounds
        With pools, `Independent` and `Exact`, every game is averaged over who takes part
    fixed_validation : by default the errors cover the choice of the validation rows, which are a
        sample like the draws. True is for values that are defined by these very rows, as in a
        contract that names them or on a grid of points
    validation_groups : labels of the validation rows, such as their patients; rows with the same
        label belong together, and count as one choice. So do copies of one row
    interactions : True also estimates the interaction of every pair of providers, which
        `valuation.interactions` has: what two are worth together beyond the sum of both, negative
        if one replaces the other. For up to 500 providers, with `Exact` or `Strata`
    by_round : True also estimates the value of every round of training, which `valuation.by_round`
        has, for utilities with rounds such as `FederatedUtility`. One training serves all rounds
    variance_parts : True splits the variance into parts of the data, of who is present in rounds
        and of random training, which `valuation.variance_parts` has. Every game is played two or
        three times with the same draws; sources are asked as often as otherwise
    chunk_size : games computed at once, by default as many as fit in memory comfortably; the
        result does not depend on it
    keep_games : how many games' values `valuation.games` holds, from the first on; no estimate
        needs them. By default all of them, up to 40 MB
    concurrency : requests to distant sources at the same time; 1 asks the sources one
        after another and fetches nothing ahead
    timeout : seconds that a request to a source with `waits = True` may take; a request to another
        source cannot be given up, so a warning names it
    progress : True shows a progress bar on a terminal or in a notebook and plain lines elsewhere,
        False nothing; None shows a bar when the work takes long
    callback : called with a `GamesSoFar` after every chunk of games, in this process. What it
        returns is ignored; use `stop` to end a valuation early. An exception that it raises ends
        the valuation; with `run`, the games of this chunk are stored before, and the next call
        resumes after them. In a resumed run it is called for the stored games too
    run : a directory that keeps everything that is bought and solved. Called again with the same
        arguments, `value` resumes an interrupted run and returns the result of a finished one.
        Another `n_games`, `stop` or `budget`, or a `Pooled` with larger pools, extends the run,
        with the result of a run that had these arguments from the start; if another argument
        differs, an error names it. `load` and the command line read the directory
    ask_again : with `run`, repeat requests whose answers could not be used. Such answers are paid
        for, so a run does not repeat the requests by itself. It also allows that the code of a
        source was corrected
    leave_out_failing : what happens if the requests to a provider fail for good, after the attempts
        of its `Retry`. False stops with an error that names it. True begins the games anew without
        this provider: the valuation is the one of the other providers, and says so. Records bought
        from them are held in memory, or stored in the run, and not bought again. A resumed run does
        not ask a provider again that it has left out

    Returns
    -------
    The moments of every provider's value, and the records, requests and time they cost. In a
    notebook or a Python shell, Ctrl-C returns the moments over the games so far.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)); y = X @ [1.0, -1.0] + rng.normal(size=300)
    >>> data = {"north": (X[:100], y[:100]), "south": (X[100:200], y[100:200])}
    >>> valuation = sb.value(data, Ridge(), validation=(X[200:], y[200:]), seed=0)
    >>> valuation.setup["sampling"]
    'Pooled(n_pool=100, n_boot=25, replace=False)'

    The same providers, with a utility and a sampling:

    >>> providers = [sb.Provider("north", sb.ArraySource(X[:100], y[:100])),
    ...              sb.Provider("south", sb.ArraySource(X[100:200], y[100:200]))]
    >>> utility = sb.LinearUtility(X[200:], y[200:])
    >>> valuation = sb.value(providers, utility, sampling=sb.Fresh(20), n_games=50, seed=0)
    >>> valuation.expectation.round(2).tolist()
    [0.31, 0.31]
    """
    begun = None if run is None else _begun(validation, Path(run))
    inputs = convert(
        providers,
        utility,
        target=target,
        validation=validation,
        validation_groups=validation_groups,
        score=score,
        seed=begun.seed if begun is not None and is_fraction(validation) else seed,
    )
    draws, why = chosen_sampling(sampling, inputs.providers)
    check = partial(
        check_arguments,
        inputs.providers,
        inputs.utility,
        sampling=draws,
        sampling_reason=why,
        solver=solver,
        index=index,
        n_games=n_games,
        seed=inputs.seed if seed is None else seed,
        budget=budget,
        stop=stop,
        chunk_size=chunk_size,
        keep_games=keep_games,
        concurrency=concurrency,
        timeout=timeout,
        participation=participation,
        fixed_validation=fixed_validation,
        validation_groups=validation_groups,
        interactions=interactions,
        held_out=inputs.held_out,
        by_round=by_round,
        variance_parts=variance_parts,
    )
    check_kind("leave_out_failing", leave_out_failing, bool, "True or False")
    left_out = () if begun is None else begun.left_out
    if not leave_out_failing:
        check_none_left(inputs.providers, left_out)
    given = check(left_out=left_out)

    def without(others: Sequence[LeftOut]) -> Arguments:
        return check(left_out=others, seed=given.seeds.seed)

    known = "DaskWorkers(...), RayWorkers(...) or None"
    check_kind("workers", workers, Workers | None, known, "n_jobs={} for workers on this machine")
    chosen = workers or LocalWorkers(n_jobs, threads=given.utility.threaded)
    with progress_display(progress) as display:
        watch = with_callback(display, callback)
        if run is not None:
            from shapband.runs.run import value_in_run

            return value_in_run(
                Path(run),
                given,
                chosen,
                watch,
                seed_given=seed is not None,
                ask_again=ask_again,
                without=without if leave_out_failing else None,
            )
        with chosen:
            if leave_out_failing:
                return play_leaving_out(
                    without,
                    lambda others, held: play(
                        others, chosen, watch, held, keep_interrupted=_interactive()
                    ),
                )
            return play(given, chosen, watch, keep_interrupted=_interactive())


def _begun(validation: Any, run: Path) -> Begun | None:
    """What an existing run was begun with; None if the directory holds no run yet.

    Another fraction is refused here, because the run would report that the data changed.
    """
    from shapband.runs.stored import begun_with

    begun = begun_with(run)
    if begun is None or begun.held_out is None:
        return begun
    now = held_out_words(float(validation)) if is_fraction(validation) else None
    if begun.held_out != now:
        raise RunError(
            f"validation of the run {run} is {begun.held_out}, held out by the seed; received "
            f"{now or 'validation rows'}: use {begun.held_out.partition(' ')[0]}, or begin a new "
            "run"
        )
    return begun


def _interactive() -> bool:
    """Whether this is a notebook or a Python shell, where Ctrl-C keeps the games so far."""
    notebook = sys.modules.get("IPython")
    return hasattr(sys, "ps1") or (notebook is not None and notebook.get_ipython() is not None)
