"""Which solver to take when the user does not say."""

from __future__ import annotations

from shapband.solvers.balanced import BalancedPermutation
from shapband.solvers.base import Solver
from shapband.solvers.exact import MAX_PROVIDERS, Exact

_PERMUTATIONS = 200  # enough for a small noise; rounded up to whole blocks


def default_solver(n_providers: int) -> Solver:
    """Exact while all coalitions cost no more than the permutations would, balanced beyond.

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
