"""What a run remembers of its purchases and results, so that it can stop and go on.

`Access` tells the journal of every request before it is made and of every answer before it is
used; the engine tells it of every solved game. `Forgetful` remembers nothing and is what
`value()` uses outside of a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from shapband.access.meter import Usage
from shapband.records import Batch

if TYPE_CHECKING:
    from shapband._typing import FloatArray

Games: TypeAlias = range | tuple[int, ...]  # rising numbers


class Journal(ABC):
    """The memory of a run. Its methods may be called from several threads."""

    @abstractmethod
    def usage(self) -> Mapping[str, Usage]:
        """What was received so far, by provider."""

    @abstractmethod
    def unpaid(self, names: Sequence[str], purpose: str, games: range) -> list[Games]:
        """Those of the games whose draws each provider has not yet given for this purpose."""

    @abstractmethod
    def recall(self, name: str, purpose: str, game: int) -> Batch | None:
        """Records that were bought from a distant source, if they were."""

    @abstractmethod
    def asking(self, name: str, purpose: str, game: int, size: int) -> None:
        """A distant source is about to be asked for one draw."""

    @abstractmethod
    def received(self, name: str, purpose: str, game: int, batch: Batch, seconds: float) -> None:
        """It answered; the records must be safe when this returns."""

    @abstractmethod
    def failed(self, name: str, purpose: str, game: int, reason: str) -> None:
        """It did not."""

    @abstractmethod
    def taken(self, names: Sequence[str], purpose: str, games: Games, size: int) -> None:
        """Draws are taken from records in memory: one request a provider and game."""

    @abstractmethod
    def solved(self) -> int:
        """How many games, from the first on, are solved and stored."""

    @abstractmethod
    def solutions(self, games: range) -> tuple[FloatArray, FloatArray, int]:
        """Values and noise of stored games, (n_games, n) each, and their evaluations."""

    @abstractmethod
    def seconds(self, games: int) -> float:
        """Seconds played, over all sessions, when the first `games` games were stored."""

    @abstractmethod
    def solve(
        self,
        games: range,
        values: FloatArray,
        noise: FloatArray,
        evaluations: int,
        seconds: float,
    ) -> None:
        """Store the next games, and the seconds played so far; safe when this returns."""


class Forgetful(Journal):
    """Remembers nothing."""

    def usage(self) -> Mapping[str, Usage]:
        """Nothing."""
        return {}

    def unpaid(self, names: Sequence[str], purpose: str, games: range) -> list[Games]:  # noqa: ARG002
        """All of them."""
        return [games for _ in names]

    def recall(self, name: str, purpose: str, game: int) -> None:
        """Nothing."""

    def asking(self, name: str, purpose: str, game: int, size: int) -> None:
        """Nothing to remember."""

    def received(self, name: str, purpose: str, game: int, batch: Batch, seconds: float) -> None:
        """Nothing to remember."""

    def failed(self, name: str, purpose: str, game: int, reason: str) -> None:
        """Nothing to remember."""

    def taken(self, names: Sequence[str], purpose: str, games: Games, size: int) -> None:
        """Nothing to remember."""

    def solved(self) -> int:
        """None."""
        return 0

    def solutions(self, games: range) -> tuple[FloatArray, FloatArray, int]:
        """There are none to give."""
        raise IndexError(f"games {games} were never stored")

    def seconds(self, games: int) -> float:  # noqa: ARG002
        """None."""
        return 0.0

    def solve(
        self,
        games: range,
        values: FloatArray,
        noise: FloatArray,
        evaluations: int,
        seconds: float,
    ) -> None:
        """Nothing to remember."""
