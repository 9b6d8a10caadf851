"""How many games the budget pays for, and what to change if no number of games is enough."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.engine.arguments import Arguments
from shapband.errors import BudgetExceeded
from shapband.estimate.estimate import Estimate
from shapband.estimate.stopping import StoppingRule
from shapband.sampling.design import Design
from shapband.valuation.valuation import StopCode, Stopped

_COUNTED = 1024  # the cost of this many games is counted in one array, to limit its size


def what_would_help(
    rule: StoppingRule, design: Design, estimate: Estimate, factor: float
) -> Stopped:
    """Say what would meet a rule that no number of games meets: larger pools, or more rows.

    Parameters
    ----------
    factor : by which the variance of the errors that last must be lower
    """
    parts = {cause: float(np.nansum(estimate.errors.by_cause[cause])) for cause in _REMEDIES}
    largest = max(parts, key=lambda cause: parts[cause])
    helps = [
        remedy(design, factor)
        for cause, remedy in _REMEDIES.items()
        if parts[cause] > _SMALL * parts[largest]
    ]
    code: StopCode = "validation" if largest == "validation" else "pools"
    return Stopped(code, f"{rule!r} cannot be met by more games: {', and '.join(helps)}")


def _larger_pools(design: Design, factor: float) -> str:
    """Say how large the pools must be to lower the variance that they cause by a factor.

    The variance that a pool of m records of a stock of S causes is proportional to 1/m - 1/S. So
    a pool of m / (u / factor + 1 - u) records lowers it by the factor, with u = 1 - m/S unseen.
    """
    said = "the pools are too small; buy more records"
    if design.unseen is None:
        return said
    sizes, unseen = np.asarray(design.pool_sizes, dtype=float), design.unseen
    with np.errstate(divide="ignore"):
        needed = float(np.max(sizes / (unseen / factor + 1 - unseen)))
    return f"{said}: pools of about {_rounded(needed):,}" if np.isfinite(needed) else said


def _more_rows(design: Design, factor: float) -> str:
    """Say how many validation rows lower the variance that their choice causes by a factor."""
    rows = 0 if design.validation is None else design.validation.rows
    return f"validate on about {_rounded(rows * factor):,} rows instead of {rows:,}"


_REMEDIES = {"pools": _larger_pools, "validation": _more_rows}
_SMALL = 0.1  # a cause with less than this part of the largest one need not be lowered


def _rounded(number: float) -> int:
    """Round up to two significant digits."""
    unit: int = 10 ** max(int(np.floor(np.log10(number))) - 1, 0)
    return int(np.ceil(number / unit - 1e-9)) * unit


def affordable_games(access: Access, design: Design, cost: Cost, given: Arguments) -> int:
    """Number of games that the budget covers; only games that can be finished are started."""
    one_each = Cost(len(design.names), int(design.draw_sizes.sum()))
    if design.draws_presence and cost == one_each:
        limit = access.affordable_of(_real_costs(design, given.n_games))
    else:
        # A sampling of the user may make other requests: then every game counts at its full cost.
        limit = access.affordable_games(cost)
    games = given.n_games if limit is None else min(given.n_games, limit)
    if games < design.least_games:
        raise BudgetExceeded(
            f"the budget of {access.budget} pays for {games} of the games, which take "
            f"{cost.records:,} records in {cost.requests:,} requests each"
            f"{' if everybody takes part' if design.draws_presence else ''}; a variance needs "
            "two: raise the budget, or use a pooled sampling"
        )
    return games


def _real_costs(design: Design, n_games: int) -> Iterator[Cost]:
    """The cost of each game: one request to every provider that takes part."""
    for start in range(0, n_games, _COUNTED):
        present = design.present(range(start, min(start + _COUNTED, n_games)))
        requests, records = present.sum(axis=1), present @ design.draw_sizes
        for asked, taken in zip(requests.tolist(), records.tolist(), strict=True):
            yield Cost(asked, taken)
