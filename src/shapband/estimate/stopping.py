"""Stopping rules, which decide when enough games were played; combine them with `&` and `|`.

Rules are checked after fixed numbers of games, in game order. So every rule except `Seconds`
stops at the same game for any number of workers. Looking often does not make a rule less
reliable: the half widths belong to a confidence sequence (`sequences`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import check_level, check_number
from shapband.errors import InvalidInput
from shapband.estimate.estimate import Estimate
from shapband.estimate.intervals import half_widths, lasting_half_widths
from shapband.estimate.sequences import difference_half_widths, sequence_half_widths

_JUDGED_FROM = 200  # games after which lasting errors are known well enough to give up a rule
_LASTING_SHARE = 0.9  # lasting errors may use this share of the half width, games need the rest


class StoppingRule(ABC):
    """Decides whether the games played so far are enough.

    Examples
    --------
    >>> import shapband as sb
    >>> class Hundred(sb.StoppingRule):
    ...     def met(self, estimate, seconds):
    ...         return estimate.n_games >= 100
    >>> (Hundred() | sb.Seconds(10)).met(sb.Estimate.of([[1.0], [2.0]]), seconds=11.0)
    True
    """

    @abstractmethod
    def met(self, estimate: Estimate, seconds: float) -> bool:
        """Whether to stop after these games and this time."""

    def out_of_reach(self, estimate: Estimate) -> float | None:  # noqa: ARG002
        """Whether no number of games can meet this rule, because of errors that do not shrink.

        Returns
        -------
        factor by which the variance of these errors would have to be lower, or None if more games
        may meet the rule
        """
        return None

    @property
    def time_limit(self) -> float:
        """Seconds after which the rule is met for any games; infinite without a limit."""
        return float("inf")

    def __and__(self, other: StoppingRule) -> StoppingRule:
        return _Both(self, other) if isinstance(other, StoppingRule) else NotImplemented

    def __or__(self, other: StoppingRule) -> StoppingRule:
        return _Either(self, other) if isinstance(other, StoppingRule) else NotImplemented


@dataclass(frozen=True)
class Precision(StoppingRule):
    """Stop when every expectation is known well enough.

    The rule uses intervals that may be checked after every game: with probability `level`, each of
    them holds the expectation at all checks together. They are about 1.6 times as wide as the
    interval of the valuation, which holds at a number of games chosen beforehand.

    Parameters
    ----------
    absolute : largest half width of an interval
    relative : the same as a fraction of the expectation; meeting either limit is enough
    level : confidence level of the intervals

    Examples
    --------
    >>> import shapband as sb
    >>> rule = sb.Precision(absolute=0.01) | sb.Seconds(3600)
    >>> rule.met(sb.Estimate.of([[1.0], [1.0], [1.0]]), seconds=2.0)
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
            check_number("Precision: absolute and relative", limit)
            check_number("Precision: a limit", limit, above=0)

    def met(self, estimate: Estimate, seconds: float) -> bool:  # noqa: ARG002
        """Whether every interval is narrow enough."""
        half = sequence_half_widths(estimate, self.level)
        return bool((half <= self._allowed(estimate)).all())

    def out_of_reach(self, estimate: Estimate) -> float | None:
        """Return the factor by which the lasting errors are too large, from 200 games on."""
        if estimate.n_games < _JUDGED_FROM:
            return None
        allowed, lasting = self._allowed(estimate), lasting_half_widths(estimate, self.level)
        # Other errors lower the quantile, so the whole interval may be a little shorter.
        half = np.fmin(lasting, half_widths(estimate, self.level))
        if (half <= allowed).all():
            return None
        with np.errstate(divide="ignore"):
            excess = np.where(half > 0, half / (_LASTING_SHARE * allowed), 0.0)
        return float(np.max(excess) ** 2)

    def _allowed(self, estimate: Estimate) -> FloatArray:
        """Largest half width of every interval: (n,)."""
        return np.maximum(
            0.0 if self.absolute is None else self.absolute,
            (0.0 if self.relative is None else self.relative) * np.abs(estimate.expectation),
        )


@dataclass(frozen=True)
class StableRanking(StoppingRule):
    """Stop when every two neighbours in the ranking are known to differ.

    A pair is decided when the interval of the difference of its expectations excludes zero.
    The interval uses the covariance of the two values across games, and may be checked after every
    game. With more than 500 providers there are no covariances, and the intervals of the two
    expectations must not overlap.

    If two providers tie, the rule is met in error with a probability of at most 1 - `level`, with
    no correction for the number of pairs. The rule needs all neighbours in the ranking to be
    decided. Then every other pair is decided as well, because the error of a difference is at most
    the sum of the errors along the ranking. So the rule can only be met if the interval of the two
    that tie excludes zero, whoever their neighbours are.

    Parameters
    ----------
    tolerance : providers closer than this may stay undecided
    level : confidence level, for all checks together

    Examples
    --------
    >>> import shapband as sb
    >>> games = [[0.0, 1.0], [0.1, 1.2], [-0.1, 0.9]] * 12
    >>> sb.StableRanking().met(sb.Estimate.of(games), seconds=0.0)
    True
    """

    tolerance: float = 0.0
    level: float = 0.95

    def __post_init__(self) -> None:
        check_level(self.level)
        check_number("StableRanking: tolerance", self.tolerance, least=0)

    def met(self, estimate: Estimate, seconds: float) -> bool:  # noqa: ARG002
        """Whether every adjacent pair is decided, or closer than `tolerance`."""
        order = np.argsort(estimate.expectation, kind="stable")
        half = difference_half_widths(estimate, order[1:], order[:-1], self.level)
        gap = np.diff(estimate.expectation[order])
        blur = 2 * estimate.shape.rounding
        decided = gap > np.maximum(half, blur)
        close = gap + half <= self.tolerance + blur
        return bool((decided | close).all())


@dataclass(frozen=True)
class Seconds(StoppingRule):
    """Stop after a time limit. Only this rule depends on the speed of the machine.

    The time of a run is the sum over its sessions, without the pauses between them. The clock is
    checked after every chunk of games. When the time is up no further request is made, and
    requests to sources that wait are given up after one more second.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Seconds(10).met(sb.Estimate.of([[1.0], [2.0]]), seconds=11.0)
    True
    """

    limit: float

    def __post_init__(self) -> None:
        check_number("Seconds: limit", self.limit, above=0)

    def met(self, estimate: Estimate, seconds: float) -> bool:  # noqa: ARG002
        """Whether the time limit is reached."""
        return seconds >= self.limit

    @property
    def time_limit(self) -> float:
        """The limit."""
        return self.limit


@dataclass(frozen=True)
class _Both(StoppingRule):
    one: StoppingRule
    other: StoppingRule

    def met(self, estimate: Estimate, seconds: float) -> bool:
        return self.one.met(estimate, seconds) and self.other.met(estimate, seconds)

    def out_of_reach(self, estimate: Estimate) -> float | None:
        factors = [rule.out_of_reach(estimate) for rule in (self.one, self.other)]
        return max((factor for factor in factors if factor is not None), default=None)

    @property
    def time_limit(self) -> float:
        return max(self.one.time_limit, self.other.time_limit)

    def __repr__(self) -> str:
        return f"({self.one!r} & {self.other!r})"


@dataclass(frozen=True)
class _Either(StoppingRule):
    one: StoppingRule
    other: StoppingRule

    def met(self, estimate: Estimate, seconds: float) -> bool:
        return self.one.met(estimate, seconds) or self.other.met(estimate, seconds)

    def out_of_reach(self, estimate: Estimate) -> float | None:
        # A time limit is ignored here: a run that can no longer meet its other rule may stop.
        rules = [one for one in (self.one, self.other) if not isinstance(one, Seconds)]
        factors = [rule.out_of_reach(estimate) for rule in rules]
        known = [factor for factor in factors if factor is not None]
        return min(known) if known and len(known) == len(factors) else None

    @property
    def time_limit(self) -> float:
        return min(self.one.time_limit, self.other.time_limit)

    def __repr__(self) -> str:
        return f"({self.one!r} | {self.other!r})"
