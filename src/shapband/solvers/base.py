"""The door every solver has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from shapband._typing import FloatArray
from shapband.games import Games


@dataclass(frozen=True, eq=False)
class Solution:
    """Shapley values of a chunk of games.

    Attributes
    ----------
    values : (n_games, n)
    noise : (n_games, n) estimated variance of the solver's own error in `values`: 0 if the
        values are exact, NaN if it cannot be estimated
    evaluations : distinct coalitions evaluated, over all games
    """

    values: FloatArray
    noise: FloatArray
    evaluations: int


class Solver(ABC):
    """How one game's Shapley values are computed."""

    @abstractmethod
    def check(self, n_providers: int) -> None:
        """Raise InvalidInput if games of this size cannot be solved."""

    @abstractmethod
    def solve(self, games: Games) -> Solution:
        """Solve every game of the chunk; efficiency holds in each of them."""

    @abstractmethod
    def floats_per_game(self, n_providers: int) -> int:
        """Roughly how many numbers solving one game holds, to size chunks."""
