"""The interface through which solved games are stored, so that a run can be resumed."""

from __future__ import annotations

from abc import ABC, abstractmethod

from shapband.sampling.design import Design
from shapband.solvers.base import Solution


class GameJournal(ABC):
    """The solved games of a run."""

    @abstractmethod
    def begin(self, design: Design) -> None:
        """Record how the games are made, for readers of the unfinished run."""

    @abstractmethod
    def solved(self) -> int:
        """Number of games, from the first on, that are solved and stored."""

    @abstractmethod
    def solutions(self, games: range) -> Solution:
        """Return the solutions of stored games."""

    @abstractmethod
    def seconds(self, games: int) -> float:
        """Seconds played, over all sessions, when the first `games` games had been stored."""

    @abstractmethod
    def store_games(self, games: range, solution: Solution, seconds: float) -> None:
        """Store the next games and the seconds played so far. Both are on disk on return."""


class NullGames(GameJournal):
    """Stores nothing: the journal of a valuation outside a run."""

    def begin(self, design: Design) -> None:
        """Do nothing."""

    def solved(self) -> int:
        """Return 0: no game is stored."""
        return 0

    def solutions(self, games: range) -> Solution:
        """Raise an error: there are no stored games."""
        raise IndexError(f"games {games} were never stored")

    def seconds(self, games: int) -> float:  # noqa: ARG002
        """Return 0: no time is stored."""
        return 0.0

    def store_games(self, games: range, solution: Solution, seconds: float) -> None:
        """Do nothing."""
