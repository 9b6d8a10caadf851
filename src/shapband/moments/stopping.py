"""Stopping rules, which decide when enough games were played; combine them with `&` and `|`.

Rules are checked after fixed numbers of games, in game order. So every rule except `Seconds`
stops at the same game for any number of workers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from shapband.checks import check_number
from shapband.errors import InvalidInput
from shapband.moments.accumulate import Moments
from shapband.moments.intervals import check_level, expectation_interval


class StoppingRule(ABC):
    """Decides whether the games played so far are enough.

    Examples
    --------
    >>> import shapband as sb
    >>> class Hundred(sb.StoppingRule):
    ...     def met(self, moments, seconds):
    ...         return moments.n_games >= 100
    >>> (Hundred() | sb.Seconds(10)).met(sb.Moments.of([[1.0], [2.0]]), seconds=11.0)
    True
    """

    @abstractmethod
    def met(self, moments: Moments, seconds: float) -> bool:
        """Whether to stop after these games and this time."""

    def __and__(self, other: StoppingRule) -> StoppingRule:
        return _Both(self, other)

    def __or__(self, other: StoppingRule) -> StoppingRule:
        return _Either(self, other)


@dataclass(frozen=True)
class Precision(StoppingRule):
    """Stop when the confidence interval of every expectation is narrow enough.

    Parameters
    ----------
    absolute : largest half width of an interval
    relative : the same as a fraction of the expectation; meeting either limit is enough
    level : confidence level of the intervals

    Examples
    --------
    >>> import shapband as sb
    >>> rule = sb.Precision(absolute=0.01) | sb.Seconds(3600)
    >>> rule.met(sb.Moments.of([[1.0], [1.0], [1.0]]), seconds=2.0)
    True
    """

    absolute: float | None = None
    relative: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)
        limits = [limit for limit in (self.absolute, self.relative) if limit is not None]
        if not limits:
            raise InvalidInput("Precision: pass absolute=, relative= or both")
        for limit in limits:
            if check_number("Precision: absolute and relative", limit) <= 0:
                raise InvalidInput(f"Precision: a limit must be above 0; received {limit!r}")

    def met(self, moments: Moments, seconds: float) -> bool:  # noqa: ARG002
        """Whether every interval is narrow enough."""
        low, high = expectation_interval(moments, self.level).T
        half = (high - low) / 2
        allowed = np.maximum(
            0.0 if self.absolute is None else self.absolute,
            (0.0 if self.relative is None else self.relative) * np.abs(moments.expectation),
        )
        return bool((half <= allowed).all())


@dataclass(frozen=True)
class StableRanking(StoppingRule):
    """Stop when the intervals of adjacent providers in the ranking do not overlap.

    The values of one game share a total, so the errors of two providers may add up. Two
    intervals that do not overlap decide a pair for any correlation.

    Parameters
    ----------
    tolerance : providers closer than this may stay undecided
    level : confidence level of the intervals, at each check

    Examples
    --------
    >>> import shapband as sb
    >>> games = [[0.0, 1.0], [0.1, 1.1], [-0.1, 0.9]]
    >>> sb.StableRanking().met(sb.Moments.of(games), seconds=0.0)
    True
    """

    tolerance: float = 0.0
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)
        if check_number("StableRanking: tolerance", self.tolerance) < 0:
            raise InvalidInput(
                f"StableRanking: tolerance must be at least 0; received {self.tolerance!r}"
            )

    def met(self, moments: Moments, seconds: float) -> bool:  # noqa: ARG002
        """Whether every adjacent pair is decided, or closer than `tolerance`."""
        order = np.argsort(moments.expectation)
        low, high = expectation_interval(moments, self.level)[order].T
        half = (high - low) / 2
        gap = np.diff(moments.expectation[order])
        undecided = half[1:] + half[:-1]
        return bool(((gap > undecided) | (gap + undecided <= self.tolerance)).all())


@dataclass(frozen=True)
class Seconds(StoppingRule):
    """Stop after a time limit. Only this rule depends on the speed of the machine.

    The time of a run is the sum over its sessions, without the pauses between them.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Seconds(10).met(sb.Moments.of([[1.0], [2.0]]), seconds=11.0)
    True
    """

    limit: float

    def __post_init__(self) -> None:
        if check_number("Seconds: limit", self.limit) <= 0:
            raise InvalidInput(f"Seconds: limit must be above 0; received {self.limit!r}")

    def met(self, moments: Moments, seconds: float) -> bool:  # noqa: ARG002
        """Whether the time limit is reached."""
        return seconds >= self.limit


@dataclass(frozen=True)
class _Both(StoppingRule):
    one: StoppingRule
    other: StoppingRule

    def met(self, moments: Moments, seconds: float) -> bool:
        return self.one.met(moments, seconds) and self.other.met(moments, seconds)

    def __repr__(self) -> str:
        return f"({self.one!r} & {self.other!r})"


@dataclass(frozen=True)
class _Either(StoppingRule):
    one: StoppingRule
    other: StoppingRule

    def met(self, moments: Moments, seconds: float) -> bool:
        return self.one.met(moments, seconds) or self.other.met(moments, seconds)

    def __repr__(self) -> str:
        return f"({self.one!r} | {self.other!r})"
