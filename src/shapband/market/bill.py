"""bill(): the requests, records and evaluations of a valuation, without asking a source."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.access.budget import Budget
from shapband.engine.arguments import check_arguments
from shapband.market.planning.bill import Bill, foresee
from shapband.market.planning.prices import Prices, check_prices
from shapband.providers import Provider
from shapband.sampling.base import Sampling
from shapband.solvers.base import Solver
from shapband.utilities.base import Utility


def bill(
    providers: Sequence[Provider],
    utility: Utility,
    *,
    sampling: Sampling,
    solver: Solver | None = None,
    n_games: int = 100,
    seed: int | None = None,
    budget: Budget | None = None,
    prices: Prices | None = None,
) -> Bill:
    """Count the requests, records and evaluations of a valuation, without asking a source.

    Parameters
    ----------
    providers, utility, sampling, solver, n_games, seed, budget : as in `value`
    prices : what the sources charge

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> sb.bill(task.providers, task.utility, sampling=sb.Fresh(60), n_games=200)
    <Bill: 120,000 records in 2,000 requests>
    """
    given = check_arguments(
        providers,
        utility,
        sampling=sampling,
        solver=solver,
        n_games=n_games,
        seed=seed,
        budget=budget,
    )
    return foresee(given, check_prices(prices))
