"""The interface through which a run stores its purchases, so that nothing is bought twice.

`Access` records every request in the journal before making it, and every answer before using it.
`NullPurchases` stores nothing; `value()` uses it outside a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from shapband.access.answers import Refusal
from shapband.access.budget import Cost
from shapband.access.meter import Usage
from shapband.records.batch import Batch

GameNumbers: TypeAlias = range | tuple[int, ...]  # in ascending order


class Asked(NamedTuple):
    """A request for the draw of one game is about to be made to a source.

    `attempt` is above 1 if the request failed before, and is made again by itself.
    """

    name: str
    purpose: str
    game: int
    size: int
    attempt: int = 1


class Received(NamedTuple):
    """A request was answered."""

    name: str
    purpose: str
    game: int
    batch: Batch
    seconds: float


class Failed(NamedTuple):
    """An attempt to make a request failed."""

    name: str
    purpose: str
    game: int
    reason: str


class Refused(NamedTuple):
    """A request was answered with records that cannot be used, but must be paid for."""

    name: str
    purpose: str
    game: int
    refusal: Refusal
    seconds: float


Event: TypeAlias = Asked | Received | Failed | Refused


class PurchaseJournal(ABC):
    """The purchases of a run."""

    @abstractmethod
    def usage(self) -> Mapping[str, Usage]:
        """Requests, records and seconds so far, by provider, including refused answers."""

    def sunk_cost(self, names: Collection[str]) -> Cost:  # noqa: ARG002
        """Requests and records so far of which games of these providers cannot make use."""
        return Cost()

    @abstractmethod
    def unpaid(self, names: Sequence[str], purpose: str, games: range) -> list[GameNumbers]:
        """For each provider, the games whose draws it has not yet given for this purpose."""

    @abstractmethod
    def pool_parts(self, name: str) -> list[int]:
        """Number of records in each request for a provider's pool so far."""

    @abstractmethod
    def recall(self, name: str, purpose: str, game: int) -> Batch | None:
        """Return records bought before from a source that is not in memory, or None."""

    @abstractmethod
    def record(self, events: Sequence[Event]) -> None:
        """Record requests and answers. Records that were received are on disk when this returns."""

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

    def pool_parts(self, name: str) -> list[int]:  # noqa: ARG002
        """Return an empty list: nothing was bought before."""
        return []

    def recall(self, name: str, purpose: str, game: int) -> None:
        """Return None: nothing was bought before."""

    def record(self, events: Sequence[Event]) -> None:
        """Do nothing."""

    def taken(self, names: Sequence[str], purpose: str, games: GameNumbers, size: int) -> None:
        """Do nothing."""
