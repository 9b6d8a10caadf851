"""Permutations in which every provider takes every position equally often."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import IntArray
from shapband.checks import check_whole
from shapband.errors import InvalidInput
from shapband.games import Games
from shapband.solvers.base import Solution, Solver
from shapband.solvers.permutation import marginal_contributions, random_orders, variance_of_mean


@dataclass(frozen=True)
class BalancedPermutation(Solver):
    """`n_iter` permutations in blocks of n, in which every provider takes every position once.

    A block is the n cyclic shifts of one random order. Every provider comes first equally
    often, which removes most of the solver's noise if v(∅) is far below the other values. There
    are at least two blocks, and they are independent, so the remaining noise can be estimated.

    Parameters
    ----------
    n_iter : a multiple of the number of providers, at least twice that number; rounded up in
        games in which not all providers take part

    Examples
    --------
    >>> import shapband as sb
    >>> sb.BalancedPermutation(n_iter=100)
    BalancedPermutation(n_iter=100)
    """

    n_iter: int

    def __post_init__(self) -> None:
        check_whole("BalancedPermutation: n_iter", self.n_iter, 1)

    def check(self, n_providers: int) -> None:
        if self.n_iter != _complete(self.n_iter, n_providers):
            raise InvalidInput(
                f"BalancedPermutation: n_iter must be a multiple of the {n_providers} providers "
                f"and at least {2 * n_providers}; received {self.n_iter}: use "
                f"{_complete(self.n_iter, n_providers)}"
            )

    def for_size(self, n_providers: int) -> BalancedPermutation:
        """Round `n_iter` up to complete blocks of so many providers."""
        return BalancedPermutation(_complete(self.n_iter, n_providers))

    def solve(self, games: Games) -> Solution:
        """Average the marginal contributions over the shifts of each block, then over blocks."""
        n = games.n_providers
        n_blocks = self.n_iter // n
        orders = _shifts(random_orders(games, n_blocks))
        prefix_values, evaluations = games.prefixes(orders)
        marginals = marginal_contributions(orders, prefix_values, games.utility.empty)
        blocks = marginals.reshape(-1, n_blocks, n, n).mean(axis=2)
        return Solution(blocks.mean(axis=1), variance_of_mean(blocks), evaluations)

    def floats_per_game(self, n_providers: int) -> int:
        """Floats in orders, values, marginal contributions and temporary arrays."""
        return 8 * self.n_iter * n_providers


def _complete(n_iter: int, n_providers: int) -> int:
    """Round a number of permutations up to complete blocks, at least two."""
    return n_providers * max(2, -(-n_iter // n_providers))


def _shifts(orders: IntArray) -> IntArray:
    """All cyclic shifts of each order: (n_games, n_blocks, n) to (n_games, n_blocks * n, n)."""
    n_games, n_blocks, n = orders.shape
    place = (np.arange(n)[:, None] + np.arange(n)[None, :]) % n
    return orders[:, :, place].reshape(n_games, n_blocks * n, n)
