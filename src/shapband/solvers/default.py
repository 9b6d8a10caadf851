"""The solver that is used if the user does not choose one."""

from __future__ import annotations

from shapband.solvers.balanced import BalancedPermutation
from shapband.solvers.base import Solver
from shapband.solvers.exact import MAX_PROVIDERS, Exact

_PERMUTATIONS = 200  # enough for little noise; rounded up to complete blocks


def default_solver(n_providers: int) -> Solver:
    """Exact if all coalitions are no more than those along permutations, else balanced.

    Examples
    --------
    >>> default_solver(10), default_solver(30)
    (Exact(), BalancedPermutation(n_iter=210))
    """
    blocks = max(2, -(-_PERMUTATIONS // n_providers))
    n_iter = blocks * n_providers
    if n_providers <= MAX_PROVIDERS and 2**n_providers - 1 <= n_iter * n_providers:
        return Exact()
    return BalancedPermutation(n_iter)
