"""Where solved games are kept, so that an interrupted run can be resumed."""

from __future__ import annotations

from abc import ABC, abstractmethod

from shapband.sampling.base import Realisation
from shapband.sampling.participation import Participation
from shapband.sampling.shared import Shared
from shapband.sampling.targets import OddLabel
from shapband.solvers.base import Solution


class GameJournal(ABC):
    """The solved games of a run."""

    @abstractmethod
    def begin(
        self,
        realisation: Realisation,
        target: str,
        participation: Participation | None,
        shared: tuple[Shared, ...],
        one_target: tuple[str, ...],
        odd_labels: tuple[OddLabel, ...],
    ) -> None:
        """Record what the games are, for readers of the unfinished run.

        Parameters
        ----------
        realisation : gives the draws
        target : what the moments estimate
        participation : who takes part, or None for everybody
        shared : providers with many records in common
        one_target : providers whose records all have the same target
        odd_labels : providers with a label of their own instead of one that all others have
        """

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

    def begin(
        self,
        realisation: Realisation,
        target: str,
        participation: Participation | None,
        shared: tuple[Shared, ...],
        one_target: tuple[str, ...],
        odd_labels: tuple[OddLabel, ...],
    ) -> None:
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
