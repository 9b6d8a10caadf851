"""The solver that is used if the user does not choose one."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.sampling.base import Sampling
from shapband.sampling.fresh import Fresh
from shapband.solvers.base import Solver
from shapband.solvers.exact import Exact
from shapband.solvers.owen import count_coalitions
from shapband.solvers.permutation import Permutation
from shapband.solvers.strata import Strata
from shapband.utilities.base import Utility

# Evaluations per provider and game. With 10, the solver's noise was 1 to 30 % of the variance
# between games in the benchmarks, so time is better spent on more games than on more evaluations.
# With 20 it was 0.1 to 10 %, which is better if games cost records or evaluations are cheap.
_FEW, _MORE = 10, 20
_PERMUTATIONS = 200  # permutations per game, if groups have too many coalitions for `Exact`
_ALL = "enumerating all coalitions costs no more than sampling"


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
    if n_providers <= max(utility.exact_up_to, wanted.bit_length() - 1):
        return Exact(), _ALL
    return Strata(wanted), f"sampling {wanted:,} coalitions costs less than enumerating all"


def default_group_solver(sizes: Sequence[int]) -> tuple[Solver, str]:
    """Choose a solver for groups: exact if few coalitions are needed, else permutations.

    Parameters
    ----------
    sizes : number of providers of every player

    Examples
    --------
    >>> default_group_solver([3, 3, 1])[0], default_group_solver([30, 30])[0]
    (Exact(), Permutation(n_iter=200))
    """
    if count_coalitions(sizes) <= _PERMUTATIONS * sum(sizes):
        return Exact(), _ALL
    return Permutation(_PERMUTATIONS), "groups have too many coalitions to enumerate all of them"
