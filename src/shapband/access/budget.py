"""Limits on the records and requests of a valuation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shapband.checks import check_kind, check_whole


@dataclass(frozen=True)
class Cost:
    """A number of requests and a number of records.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.extend.Cost(requests=1, records=60) + sb.extend.Cost(requests=1, records=40)
    Cost(requests=2, records=100)
    """

    requests: int = 0
    records: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.requests + other.requests, self.records + other.records)


@dataclass(frozen=True)
class Budget:
    """A limit on records, on requests, or on both; None means no limit.

    Examples
    --------
    >>> budget = Budget(records=2500)
    >>> budget.games_within(spent=Cost(), per_game=Cost(requests=10, records=600))
    4
    """

    records: int | None = None
    requests: int | None = None

    def __post_init__(self) -> None:
        for name, limit in (("records", self.records), ("requests", self.requests)):
            if limit is not None:
                check_whole(f"Budget: {name}", limit, 1, ", or None for no limit")

    def allows(self, spent: Cost, more: Cost) -> bool:
        """Whether `spent` plus `more` is within the budget."""
        return (self.records is None or spent.records + more.records <= self.records) and (
            self.requests is None or spent.requests + more.requests <= self.requests
        )

    def games_within(self, spent: Cost, per_game: Cost) -> int | None:
        """Number of games that the rest of the budget covers; None if there is no limit."""
        counts = [
            max(0, limit - used) // each
            for limit, used, each in (
                (self.records, spent.records, per_game.records),
                (self.requests, spent.requests, per_game.requests),
            )
            if limit is not None and each > 0
        ]
        return min(counts) if counts else None

    def games_of(self, spent: Cost, costs: Iterable[Cost]) -> int | None:
        """Number of games, in their order, that the rest covers; None if there is no limit."""
        if self == Budget():
            return None
        games = 0
        for cost in costs:
            if not self.allows(spent, cost):
                break
            spent, games = spent + cost, games + 1
        return games

    def __str__(self) -> str:
        limits = [
            f"{limit:,} {unit}"
            for limit, unit in ((self.records, "records"), (self.requests, "requests"))
            if limit is not None
        ]
        return " and ".join(limits) or "no limit"


def check_budget(budget: Budget | None) -> Budget:
    """Check that an argument is a budget, and return one without limits for None."""
    if budget is None:
        return Budget()
    wanted = "a Budget(records=..., requests=...)"
    return check_kind("budget", budget, Budget, wanted, "sb.Budget(records={})")
