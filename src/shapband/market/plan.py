"""plan(): what a budget will buy by each method, and which method to take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from shapband.access.access import CONCURRENCY, TIMEOUT
from shapband.access.budget import Budget, Cost, check_budget
from shapband.checks import check_number
from shapband.engine.arguments import Arguments, check_arguments
from shapband.engine.workers.local import resolve_n_jobs
from shapband.errors import BudgetExceeded, InvalidInput
from shapband.indices import Index
from shapband.inputs.convert import convert
from shapband.inputs.draws import Wanted, default_draw
from shapband.market.planning.errors import ErrorModel
from shapband.market.planning.pilot import Pilot, larger_sampling, pilot_design, run_pilot
from shapband.market.planning.presence import arguments_with
from shapband.market.planning.proposals import OutOfReach, Proposal, Proposals
from shapband.market.planning.search import Candidate, Limits, Search
from shapband.market.planning.seconds import TimeModel
from shapband.market.planning.solvers import Family, families_for
from shapband.market.planning.ways import Method, methods_for
from shapband.market.prices import Amount, Prices, check_amount, check_prices
from shapband.progress import progress_display
from shapband.providers import Group, Provider, check_providers
from shapband.sampling.participation import Participation
from shapband.sampling.sizes import DrawSize, check_draw_size, check_stocks
from shapband.solvers.base import Solver

_MINUTES = 10.0  # wall time if neither a time nor an error is asked for
_TOO_SLOW = "it was too slow to be tried in the pilot"
_NO_AVERAGES = "it averages over who takes part, and no game of the pilot does"
_N_SAMPLE = Wanted("n_sample", "n_sample=60 for 60 records per game", "n_sample=1")


def plan(
    providers: Mapping[str, Any] | Iterable[Provider | Group | tuple[str, Any]],
    utility: Any,
    *,
    target: str | int | None = None,
    validation: Any = None,
    score: Any = None,
    n_sample: DrawSize | None = None,
    index: Index | None = None,
    participation: Participation | None = None,
    budget: Budget | None = None,
    minutes: float | None = None,
    prices: Prices | None = None,
    money: Amount | None = None,
    error: float | None = None,
    fixed_validation: bool = False,
    validation_groups: Any = None,
    seed: int | None = None,
    n_jobs: int = 1,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    progress: bool | None = None,
) -> Proposals:
    """Predict what a budget buys: the errors and bills of all methods, and recommend one of them.

    A pilot buys a few records, plays some games, and measures variances and times. Its records are
    part of every bill. They are the first records of the pools of any method with pools, so
    `Proposals.value` does not buy them again.

    Parameters
    ----------
    providers, utility, target, validation, score : as in `value`
    n_sample : records that a provider gives to a game: a number, a fraction of each stock, or
        numbers by provider name. It defines what is estimated, so it is the same for all methods.
        Pools hold the same number of draws of all providers, as far as the stocks allow. For
        records in memory, None is the number that `value` takes without a sampling
    index, participation : as in `value`
    budget : records and requests that may be asked for, the pilot included
    minutes : wall time, the pilot included; 10 by default, and no limit if `error` is given
    prices : what the sources charge
    money : largest amount that may be paid; needs prices
    error : the half width that the 95 % interval of every expectation must reach. The table then
        shows what this costs with each method, and the cheapest method is recommended, by money, or
        by records if there are no prices. Without `error`, the method with the smallest error
        within the limits is recommended
    fixed_validation, validation_groups : as in `value`
    seed, n_jobs, concurrency, timeout, progress : as in `value`

    Returns
    -------
    A table of methods, one of them recommended; `Proposals.value` plays one.

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> found = sb.plan(task.providers, task.utility, n_sample=60, minutes=1,
    ...                 budget=sb.Budget(records=2500), seed=0)
    >>> valuation = found.value()
    >>> valuation.access.records <= 2500
    True
    """
    wanted = None if n_sample is None else check_draw_size("plan", "n_sample", n_sample)
    limits = _limits(budget, prices, money, minutes, error)
    jobs = resolve_n_jobs(n_jobs)
    inputs = convert(
        providers,
        utility,
        target=target,
        validation=validation,
        validation_groups=validation_groups,
        score=score,
        seed=seed,
    )
    checked, _ = check_providers(inputs.providers)
    size, why = wanted, ""
    if size is None:
        size, _, why = default_draw(inputs.providers, _N_SAMPLE)
        why = f"{size:,} records per game, because {why}"
    draws = check_stocks("plan", "n_sample", size, checked)
    sampling, n_games = pilot_design(checked, size, limits.allows)
    given = check_arguments(
        inputs.providers,
        inputs.utility,
        sampling=sampling,
        index=index,
        participation=participation,
        n_games=n_games,
        seed=inputs.seed,
        budget=limits.budget,
        concurrency=concurrency,
        timeout=timeout,
        fixed_validation=fixed_validation,
        validation_groups=validation_groups,
        held_out=inputs.held_out,
    )
    if given.rounds:
        raise InvalidInput(
            f"participation: a plan does not know how errors depend on {participation!r}: leave it "
            'out, or use per="game"'
        )
    families = _families(given)
    pilot_plan = arguments_with(given, solver=_first(families, given), reason="")
    methods = methods_for(size, None if isinstance(size, int) else draws.tolist())
    with progress_display(progress) as watch:
        pilot = run_pilot(pilot_plan, families, limits.minutes, watch)
        found = _propose(pilot, limits, families, methods, jobs)
        row = found.recommended
        larger = larger_sampling(pilot, row.sampling)
        if larger is not None and limits.allows(Cost(row.requests + len(checked), row.records)):
            second = replace(pilot_plan, sampling=larger)
            pilot = run_pilot(second, families, limits.minutes, watch, before=pilot)
            found = _propose(pilot, limits, families, methods, jobs)
    return replace(found, draws_reason=why)


def _families(given: Arguments) -> list[Family]:
    """The solvers to choose from."""
    players: list[int] = []
    if given.grouping is not None and given.grouping.nested:
        players = [len(places) for places in given.grouping.players(given.names).values()]
    return families_for(given.most_present, given.index, players)


def _first(families: Sequence[Family], given: Arguments) -> Solver:
    return families[0].make(families[0].works(given.most_present)[0])


def _limits(
    budget: Budget | None,
    prices: Prices | None,
    money: Amount | None,
    minutes: float | None,
    error: float | None,
) -> Limits:
    """Check the limits, and fill in the time."""
    allowed = check_budget(budget)
    if money is not None and prices is None:
        raise InvalidInput(
            "money needs prices: pass prices=Prices(record=..., request=...), or write [prices] in "
            "the configuration"
        )
    for name, number, example in (("minutes", minutes, 10), ("error", error, 0.01)):
        if number is not None:
            check_number(name, number, f", such as {example}", above=0)
    amount = None if money is None else check_amount("money", money)
    if minutes is None and error is None:
        minutes = _MINUTES
    return Limits(allowed, check_prices(prices), amount, minutes, error)


def _propose(
    pilot: Pilot, limits: Limits, families: Sequence[Family], methods: Sequence[Method], n_jobs: int
) -> Proposals:
    """Find the best of every sampling with every family of solvers, and choose among them."""
    draws = methods[0].sizes
    model, times = ErrorModel.of(pilot, draws), TimeModel(pilot, draws, n_jobs)
    search = Search(pilot, model, times, limits)
    tried = {one.family for one in pilot.probes}
    found: list[Candidate] = []
    refused: list[tuple[str, str, str]] = []
    for method in methods:
        for family in families:
            known = family in tried or not family.noisy
            best = search.best(method, family) if known else _TOO_SLOW
            if _shows_no_averages(pilot, model, method, family):
                best = _NO_AVERAGES
            if isinstance(best, str):
                refused.append((method.name, family.name, best))
            else:
                found.append(best)
    if not found:
        raise _nothing_serves(refused, limits)
    found.sort(key=search.order)
    rows = {one: _row(one, search) for one in found}
    # A bootstrap is recommended only if there is no other row.
    chosen = search.pick([one for one in found if not one.way.method.replace] or found)
    return Proposals(
        rows=tuple(rows.values()),
        recommended=rows[chosen],
        reason=_reason(search.endless(chosen), limits),
        out_of_reach=merged(refused),
        limits=limits,
        pilot=pilot,
        n_jobs=n_jobs,
    )


def _shows_no_averages(pilot: Pilot, model: ErrorModel, method: Method, family: Family) -> bool:
    """Whether games would be averages over who takes part, of which the pilot has none."""
    averages = model.averages and method.pooled and not family.noisy
    return averages and pilot.estimate.shows_single_games


def _row(one: Candidate, search: Search) -> Proposal:
    way, prices, given = one.way, search.limits.prices, search.pilot.arguments
    return Proposal(
        names=given.names,
        sampling=way.sampling(given.providers),
        solver=way.family.make(way.work),
        n_games=one.n_games,
        **one.errors._asdict(),
        records=one.cost.records,
        requests=one.cost.requests,
        money=None if prices is None else prices.of(one.cost),
        seconds=one.seconds,
        evaluations=round(search.times.evaluations(way) * one.n_games),
        seed=given.seeds.seed,
        index=given.index,
        participation=given.participation,
    )


def merged(refused: Sequence[tuple[str, str, str]]) -> tuple[OutOfReach, ...]:
    """Join refusals of one sampling that have the same reason: (sampling, solver, reason)."""
    solvers: dict[tuple[str, str], list[str]] = {}
    for sampling, solver, reason in refused:
        solvers.setdefault((sampling, reason), []).append(solver)
    return tuple(
        OutOfReach(f"{sampling} with {' or '.join(names)}", reason)
        for (sampling, reason), names in solvers.items()
    )


def _reason(endless: float, limits: Limits) -> str:
    """Why a row is recommended, and what more games from its pools would bring."""
    if limits.error is not None:
        bill = "records" if limits.prices is None else "money"
        return f"it reaches ±{limits.error:g} for the least {bill}"
    said = f"it has the smallest error within {limits}"
    if endless > 0:
        return f"{said}; more games alone reach ±{endless:.2g} at best"
    return f"{said}; more games would lower it"


def _nothing_serves(refused: Sequence[tuple[str, str, str]], limits: Limits) -> BudgetExceeded:
    sampling, solver, reason = refused[0]
    remedy = "raise the limits" if limits.error is None else "raise the error or the limits"
    return BudgetExceeded(
        f"no method serves within {limits}; {sampling} with {solver}: {reason}: {remedy}"
    )
