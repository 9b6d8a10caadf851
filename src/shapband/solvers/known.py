"""Values that the utility knows without evaluating coalitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband.games import Games
from shapband.solvers.base import Solution, Solver


@dataclass(frozen=True)
class Known(Solver):
    """The Shapley values that a utility knows from its form, for any number of providers.

    A utility knows them if it has the method `exact_values`, as `AdditiveUtility` does.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Known()
    Known()
    """

    def check(self, n_providers: int) -> None:
        """Accept any number of providers."""

    def solve(self, games: Games) -> Solution:
        values = games.known_values()
        return Solution(values, np.zeros_like(values), 0)

    def floats_per_game(self, n_providers: int) -> int:
        """One value each."""
        return n_providers
