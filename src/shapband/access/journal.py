"""The interface through which a run stores its purchases, so that nothing is bought twice.

`Access` reports every request to the journal before making it, and every answer before using it.
`NullPurchases` stores nothing; `value()` uses it outside a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from shapband.access.meter import Usage
from shapband.records import Batch

GameNumbers: TypeAlias = range | tuple[int, ...]  # in ascending order


class PurchaseJournal(ABC):
    """The purchases of a run. Its methods may be called from several threads."""

    @abstractmethod
    def usage(self) -> Mapping[str, Usage]:
        """Requests, records and seconds so far, by provider."""

    @abstractmethod
    def unpaid(self, names: Sequence[str], purpose: str, games: range) -> list[GameNumbers]:
        """For each provider, the games whose draws it has not yet given for this purpose."""

    @abstractmethod
    def recall(self, name: str, purpose: str, game: int) -> Batch | None:
        """Return records bought before from a source that is not in memory, or None."""

    @abstractmethod
    def asking(self, name: str, purpose: str, game: int, size: int) -> None:
        """Record that a request for one draw is about to be made to a source."""

    @abstractmethod
    def received(self, name: str, purpose: str, game: int, batch: Batch, seconds: float) -> None:
        """Store the records of an answered request. They are on disk when this returns."""

    @abstractmethod
    def failed(self, name: str, purpose: str, game: int, reason: str) -> None:
        """Record that the request failed."""

    @abstractmethod
    def taken(self, names: Sequence[str], purpose: str, games: GameNumbers, size: int) -> None:
        """Record draws from records in memory: one request per provider and game."""


class NullPurchases(PurchaseJournal):
    """Stores nothing: the journal of a valuation outside a run."""

    def usage(self) -> Mapping[str, Usage]:
        """Return an empty mapping: nothing was received before."""
        return {}

    def unpaid(self, names: Sequence[str], purpose: str, games: range) -> list[GameNumbers]:  # noqa: ARG002
        """Return all games for every provider."""
        return [games for _ in names]

    def recall(self, name: str, purpose: str, game: int) -> None:
        """Return None: nothing was bought before."""

    def asking(self, name: str, purpose: str, game: int, size: int) -> None:
        """Do nothing."""

    def received(self, name: str, purpose: str, game: int, batch: Batch, seconds: float) -> None:
        """Do nothing."""

    def failed(self, name: str, purpose: str, game: int, reason: str) -> None:
        """Do nothing."""

    def taken(self, names: Sequence[str], purpose: str, games: GameNumbers, size: int) -> None:
        """Do nothing."""
