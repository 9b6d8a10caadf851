"""The solver that is used if the user does not choose one."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.solvers.balanced import BalancedPermutation
from shapband.solvers.base import Solver
from shapband.solvers.exact import MAX_PROVIDERS, Exact
from shapband.solvers.owen import count_coalitions
from shapband.solvers.permutation import Permutation

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


def default_group_solver(sizes: Sequence[int]) -> Solver:
    """Exact if the coalitions that matter are no more than those along permutations.

    Parameters
    ----------
    sizes : number of providers of every player

    Examples
    --------
    >>> default_group_solver([3, 3, 1]), default_group_solver([30, 30])
    (Exact(), Permutation(n_iter=200))
    """
    if count_coalitions(sizes) <= _PERMUTATIONS * sum(sizes):
        return Exact()
    return Permutation(_PERMUTATIONS)
