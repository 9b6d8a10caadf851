"""Permutations in which every provider takes every position equally often."""

from __future__ import annotations

from collections.abc import Sequence
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

    A block is a Williams square (Williams 1949) with the providers in random order. Every provider
    comes first equally often, which removes most of the solver's noise if v(∅) is far below the
    other values. Cyclic shifts of one order would also do that, but then each provider would always
    join directly after the same provider. There are at least two blocks, and they are independent,
    so the remaining noise can be estimated.

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
    any_index = True

    def __post_init__(self) -> None:
        check_whole("BalancedPermutation: n_iter", self.n_iter, 1)

    def check(self, n_providers: int) -> None:
        if self.n_iter != _complete(self.n_iter, n_providers):
            raise InvalidInput(
                f"BalancedPermutation: n_iter must be a multiple of the {n_providers} providers "
                f"and at least {2 * n_providers}; received {self.n_iter}: use "
                f"{_complete(self.n_iter, n_providers)}"
            )

    def check_groups(self, sizes: Sequence[int]) -> None:  # noqa: ARG002
        """Refuse groups: the permutations of a square do not keep a group's members together."""
        raise InvalidInput(
            "BalancedPermutation: the permutations of a square do not keep the members of a group "
            "together: use Permutation or Exact, or value the providers without groups"
        )

    def for_size(self, n_providers: int) -> BalancedPermutation:
        """Round `n_iter` up to complete blocks of this many providers."""
        return BalancedPermutation(_complete(self.n_iter, n_providers))

    def solve(self, games: Games) -> Solution:
        """Average the marginal contributions over the permutations of a block, then over blocks."""
        n = games.n_providers
        n_blocks = self.n_iter // n
        # A random order assigns the providers to the numbers in the square of its block.
        names = random_orders(games, n_blocks)
        orders = names[:, :, williams_square(n)].reshape(-1, self.n_iter, n)
        prefix_values, evaluations = games.prefixes(orders)
        marginals = marginal_contributions(orders, prefix_values, games.utility.empty, games.index)
        blocks = marginals.reshape(-1, n_blocks, n, n).mean(axis=2)
        return Solution(blocks.mean(axis=1), variance_of_mean(blocks), evaluations)

    def floats_per_game(self, n_providers: int) -> int:
        """Floats in orders, values, marginal contributions and temporary arrays."""
        return 8 * self.n_iter * n_providers


def _complete(n_iter: int, n_providers: int) -> int:
    """Round a number of permutations up to complete blocks, at least two."""
    return n_providers * max(2, -(-n_iter // n_providers))


def williams_square(n: int) -> IntArray:
    """Permutations of 0 .. n-1 in which every number takes every position once: (n, n).

    The first row is 0, 1, n-1, 2, n-2, ..; row r adds r to it, modulo n. For even n, every ordered
    pair of numbers occurs once as neighbours, and the reverse of every row is a row too. For odd n
    the same holds for two squares together: this one and its reverse. The reverse is the same
    square with every number replaced by its negative, modulo n. So a
    square is balanced on average if its numbers are assigned to providers at random.

    Examples
    --------
    >>> williams_square(4).tolist()
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    """
    position = np.arange(n)
    first = np.where(position % 2, (position + 1) // 2, -(position // 2))
    return np.asarray((first + position[:, None]) % n)
