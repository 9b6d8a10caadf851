"""Moments of the values after each round of training, and of each round.

Every series of values is folded by an estimator of its own, so its errors have the same causes as
the errors of the values themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from shapband.estimate.estimate import Estimate
from shapband.estimate.moments import Moments


class RoundEstimate(NamedTuple):
    """The estimates of the values by round of training.

    Attributes
    ----------
    each : the value of every round
    after : the value after every round; the last one is the value of the game
    """

    each: tuple[Estimate, ...]
    after: tuple[Estimate, ...]

    @property
    def further_moments(self) -> tuple[Moments, ...]:
        """The moments of the series that are not known from others."""
        return tuple(one.moments for one in (*self.after[:-1], *self.each[1:]))


def round_estimate(series: Sequence[Moments], whole: Estimate) -> RoundEstimate:
    """Estimate from the moments of the series, in the order of `shapband.solvers.rounds`.

    `whole` is the estimate of the values of the games.
    """
    half = len(series) // 2
    found = [Estimate.of_moments(one) for one in series]
    after = (*found[:half], whole)
    return RoundEstimate((after[0], *found[half:]), after)


def without_covariances(moments: Moments) -> Moments:
    """Leave out the covariances of providers, which no result by round needs."""
    shuffles, presence = moments.shuffles, moments.presence
    return replace(
        moments,
        products=None,
        products_21=None,
        shuffles=None if shuffles is None else replace(shuffles, products=None),
        presence=None if presence is None else replace(presence, correlation=None),
    )
