"""Makes the table of proposals from the estimates of the pilot, and recommends one of them."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.errors import BudgetExceeded
from shapband.market.planning.errors import ErrorModel
from shapband.market.planning.pilot import Pilot
from shapband.market.planning.proposals import Proposal, Proposals, merged
from shapband.market.planning.samplings import methods_for
from shapband.market.planning.search import Candidate, Limits, Search
from shapband.market.planning.seconds import TimeModel
from shapband.market.planning.solvers import Family

_TOO_SLOW = "it was too slow to be tried in the pilot"


def propose(
    pilot: Pilot, limits: Limits, families: Sequence[Family], n_sample: int, n_jobs: int
) -> Proposals:
    """Find the best settings of every sampling with every family of solvers, and choose one."""
    times = TimeModel(pilot, n_sample, n_jobs)
    search = Search(pilot, ErrorModel.of(pilot, n_sample), times, limits)
    tried = {one.family for one in pilot.probes}
    found: list[Candidate] = []
    refused: list[tuple[str, str, str]] = []
    for method in methods_for(n_sample):
        for family in families:
            known = family in tried or not family.noisy
            best = search.best(method, family) if known else _TOO_SLOW
            if isinstance(best, str):
                refused.append((method.name, family.name, best))
            else:
                found.append(best)
    if not found:
        raise _nothing_serves(refused, limits)
    found.sort(key=search.order)
    seed = pilot.arguments.seeds.seed
    rows = {
        one: Proposal.of(one, times.evaluations(one.family, one.work), limits, seed)
        for one in found
    }
    chosen = choose(found, search)
    return Proposals(
        rows=tuple(rows.values()),
        recommended=rows[chosen],
        reason=_reason(search.endless(chosen), limits),
        out_of_reach=merged(refused),
        limits=limits,
        pilot=pilot,
        n_jobs=n_jobs,
    )


def choose(found: Sequence[Candidate], search: Search) -> Candidate:
    """The best row without a bootstrap; a bootstrap only if there is no other row."""
    return search.pick([one for one in found if not one.method.replace] or found)


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
