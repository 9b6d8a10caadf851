"""The solver that is used if the user does not choose one."""

from __future__ import annotations

from shapband.sampling.base import Sampling
from shapband.sampling.fresh import Fresh
from shapband.solvers.base import Solver
from shapband.solvers.exact import Exact
from shapband.solvers.strata import Strata
from shapband.utilities.base import Utility

# Evaluations a provider and game. With 10 the solver's noise was 1 to 30 % of the variance between
# games in the games of the benchmarks, so that more games lower an error more than more evaluations
# would. With 20 it was 0.1 to 10 %: better if games cost records, or if evaluations cost nothing.
_FEW, _MORE = 10, 20


def default_solver(
    n_providers: int, utility: Utility, sampling: Sampling | None = None
) -> tuple[Solver, str]:
    """Choose a solver by the number of providers and the kinds of utility and sampling.

    Returns
    -------
    The solver, and the reason for it.

    Examples
    --------
    >>> import shapband as sb
    >>> default_solver(10, sb.AdditiveUtility())[0], default_solver(30, sb.AdditiveUtility())[0]
    (Exact(), Strata(n_evaluations=600))
    """
    few = not utility.mergeable and not isinstance(sampling, Fresh)
    wanted = (_FEW if few else _MORE) * n_providers
    if n_providers <= utility.exact_up_to:
        return Exact(), "all coalitions cost no more than a sample of them would"
    return Strata(wanted), f"{wanted:,} of the coalitions of {n_providers:,} providers are enough"
