"""Purchases held in memory, such as a pilot's, so that a valuation need not buy them again.

Held records are the first draws of the valuation, or the first records of its pools.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from shapband.access.budget import Cost
from shapband.access.journal import Asked, Event, GameNumbers, PurchaseJournal, Received
from shapband.access.meter import Usage
from shapband.records.batch import Batch


class _Taken(NamedTuple):
    """Draws from records in memory, which are not kept: they can be taken again."""

    names: tuple[str, ...]
    purpose: str
    games: GameNumbers
    size: int


class HeldPurchases(PurchaseJournal):
    """A journal that keeps purchases in memory, in the order in which they were made.

    Examples
    --------
    >>> held = HeldPurchases()
    >>> held.taken(["north"], "draw", range(2), 30)
    >>> held.unpaid(["north"], "draw", range(3)), held.usage()["north"].records
    ([(2,)], 60)
    """

    def __init__(self) -> None:
        self._bought: list[Received | _Taken] = []
        self._games: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._batches: dict[tuple[str, str, int], Batch] = {}
        self._pool_parts: defaultdict[str, list[int]] = defaultdict(list)
        self._usage: defaultdict[str, Usage] = defaultdict(Usage)
        self._closed = False

    def close(self) -> None:
        """Keep what is held, but add no further purchases."""
        self._closed = True

    def reopened(self) -> HeldPurchases:
        """The same purchases in a new journal, to which purchases can be added."""
        other = HeldPurchases()
        self.copy_to(other)
        return other

    def copy_to(self, journal: PurchaseJournal) -> None:
        """Enter all purchases in another journal, as if they had been made there."""
        for one in self._bought:
            if isinstance(one, _Taken):
                journal.taken(*one)
            else:
                journal.record([Asked(one.name, one.purpose, one.game, len(one.batch))])
                journal.record([one])

    def usage(self) -> Mapping[str, Usage]:
        """What was received so far, by provider."""
        return dict(self._usage)

    def sunk_cost(self, names: Collection[str]) -> Cost:
        """Requests and records of other providers, which were left out since."""
        others = [used for name, used in self._usage.items() if name not in names]
        return Cost(sum(used.requests for used in others), sum(used.records for used in others))

    def unpaid(self, names: Sequence[str], purpose: str, games: range) -> list[GameNumbers]:
        """For each provider, the games whose draws are not held."""
        held = [self._games[name, purpose] for name in names]
        return [tuple(g for g in games if g not in some) if some else games for some in held]

    def pool_parts(self, name: str) -> list[int]:
        """Number of records in each request for a provider's pool so far."""
        return list(self._pool_parts[name])

    def recall(self, name: str, purpose: str, game: int) -> Batch | None:
        """Return records that are held of a source that is not in memory, or None."""
        return self._batches.get((name, purpose, game))

    def record(self, events: Sequence[Event]) -> None:
        """Keep the answers among the events, unless this is closed."""
        for event in events:
            if isinstance(event, Received) and not self._closed:
                self._bought.append(event)
                self._batches[event.name, event.purpose, event.game] = event.batch
                used = Usage(1, len(event.batch), event.seconds)
                self._count(event.name, event.purpose, (event.game,), used)
            elif isinstance(event, Asked) and event.attempt > 1 and not self._closed:
                self._usage[event.name] += Usage(retries=1)

    def taken(self, names: Sequence[str], purpose: str, games: GameNumbers, size: int) -> None:
        """Note draws from records in memory, unless this is closed."""
        if self._closed:
            return
        self._bought.append(_Taken(tuple(names), purpose, games, size))
        for name in names:
            self._count(name, purpose, games, Usage(len(games), len(games) * size))

    def _count(self, name: str, purpose: str, games: GameNumbers, used: Usage) -> None:
        self._games[name, purpose].update(games)
        self._usage[name] += used
        if purpose == "pool":
            self._pool_parts[name] += [used.records // used.requests] * used.requests
