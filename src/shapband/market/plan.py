"""plan(): the errors and bills of all methods within a budget, from a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shapband.access.access import CONCURRENCY, TIMEOUT
from shapband.access.budget import Budget, Cost
from shapband.checks import check_number, check_whole
from shapband.engine.arguments import check_arguments
from shapband.engine.workers.local import resolve_n_jobs
from shapband.errors import InvalidInput
from shapband.market.planning.pilot import larger_sampling, pilot_design, run_pilot
from shapband.market.planning.prices import Amount, Prices, check_amount, check_prices
from shapband.market.planning.proposals import Proposal, Proposals
from shapband.market.planning.propose import propose
from shapband.market.planning.search import Limits
from shapband.market.planning.solvers import families_for
from shapband.progress import progress_display
from shapband.providers import Provider, check_providers
from shapband.utilities.base import Utility

_MINUTES = 10.0


def plan(
    providers: Sequence[Provider],
    utility: Utility,
    *,
    n_sample: int,
    budget: Budget | None = None,
    minutes: float | None = None,
    prices: Prices | None = None,
    money: Amount | None = None,
    error: float | None = None,
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
    providers, utility : as in `value`
    n_sample : records that a provider gives to a game. It defines what is estimated, so it is the
        same for all methods
    budget : records and requests that may be asked for, the pilot included
    minutes : wall time, the pilot included; 10 by default, and no limit if `error` is given
    prices : what the sources charge
    money : largest amount that may be paid; needs prices
    error : the half width that the 95 % interval of every expectation must reach. The table then
        shows what this costs with each method, and the cheapest method is recommended, by money, or
        by records if there are no prices. Without `error`, the method with the smallest error
        within the limits is recommended
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
    checked, grouping = check_providers(providers)
    if grouping is not None:
        raise InvalidInput("plan: groups cannot be planned for yet: pass their providers alone")
    check_whole("n_sample", n_sample, 1)
    limits = _limits(budget, prices, money, minutes, error)
    jobs = resolve_n_jobs(n_jobs)
    families = families_for(len(checked))
    sampling, n_games = pilot_design(checked, n_sample, limits.allows)
    pilot_plan = check_arguments(
        checked,
        utility,
        sampling=sampling,
        solver=families[0].make(families[0].works(len(checked))[0]),
        n_games=n_games,
        seed=seed,
        budget=limits.budget,
        concurrency=concurrency,
        timeout=timeout,
    )
    with progress_display(progress) as watch:
        pilot = run_pilot(pilot_plan, families, limits.minutes, watch)
        found = propose(pilot, limits, families, n_sample, jobs)
        larger = larger_sampling(pilot, getattr(found.recommended.sampling, "n_pool", 0))
        if larger is not None and limits.allows(_with_requests(found.recommended, len(checked))):
            second = replace(pilot_plan, sampling=larger)
            pilot = run_pilot(second, families, limits.minutes, watch, before=pilot)
            found = propose(pilot, limits, families, n_sample, jobs)
    return found


def _with_requests(row: Proposal, requests: int) -> Cost:
    """The bill of a row with some more requests."""
    return Cost(row.requests + requests, row.records)


def _limits(
    budget: Budget | None,
    prices: Prices | None,
    money: Amount | None,
    minutes: float | None,
    error: float | None,
) -> Limits:
    """Check the limits, and fill in the time."""
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidInput(
            f"budget must be a Budget(records=..., requests=...); received {type(budget).__name__}"
        )
    if money is not None and prices is None:
        raise InvalidInput("money needs prices: pass prices=Prices(record=..., request=...)")
    for name, number in (("minutes", minutes), ("error", error)):
        if number is not None and check_number(name, number) <= 0:
            raise InvalidInput(f"{name} must be above 0; received {number!r}")
    amount = None if money is None else check_amount("money", money)
    if minutes is None and error is None:
        minutes = _MINUTES
    return Limits(budget or Budget(), check_prices(prices), amount, minutes, error)
