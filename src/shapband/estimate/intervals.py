"""Confidence intervals of the expectations.

Every expectation gets Student's interval, with Welch's degrees of freedom of all causes of error
together. If a value takes only two numbers, the part of its games is the interval of Clopper and
Pearson (1934) instead, and the other causes are added in quadrature. The whole is extended on the
side of the longer tail if values, or the influences of pooled records, are skewed (`skewness`).
`variance` has the intervals of the variances.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import upper_tail
from shapband.estimate import variance
from shapband.estimate.errors import welch_freedom
from shapband.estimate.estimate import Estimate
from shapband.estimate.pools import FREEDOM
from shapband.estimate.skewness import error_skewness, lasting_skewness, lengthened


def expectation_interval(estimate: Estimate, level: float) -> FloatArray:
    """Interval for the expectation: (n, 2).

    It is unbounded for a value that never changed if there are too few games to call it constant.
    """
    from scipy.special import stdtrit

    mean, errors, shape = estimate.expectation, estimate.errors, estimate.shape
    quantile: FloatArray = np.asarray(stdtrit(errors.freedom, upper_tail(level)))
    halves = _games_half_widths(estimate, quantile * np.sqrt(errors.shrinking), level)
    lasting = quantile * np.sqrt(errors.remaining)
    factors = lengthened(np.ones_like(mean), error_skewness(estimate), quantile)
    ends = []
    for side, half, factor in zip((-1, 1), halves, factors, strict=True):
        whole = np.hypot(half, lasting) * factor
        whole = np.where(shape.maybe_constant(level), np.inf, whole)
        ends.append(mean + side * np.maximum(whole, shape.rounding))
    return np.stack(ends, axis=1)


def variance_interval(estimate: Estimate, level: float) -> FloatArray:
    """Interval for the variance: (n, 2). Its lower end may be negative if noise is removed."""
    return variance.variance_interval(estimate.moments, level)


def lasting_half_widths(estimate: Estimate, level: float) -> FloatArray:
    """Half widths from the causes that more games do not lower: (n,)."""
    return _lasting(estimate, [one.freedom for one in estimate.errors.lasting], level)


def endless_half_widths(estimate: Estimate, level: float) -> FloatArray:
    """Half widths that would remain after any number of games, as means of both sides: (n,).

    Without the errors of games there are fewer degrees of freedom, so the quantile is larger; but
    more games are not said to lengthen an interval.
    """
    from scipy.special import stdtrit

    half = _lasting(estimate, [one.most_freedom for one in estimate.errors.lasting], level)
    quantile: FloatArray = np.asarray(stdtrit(FREEDOM, upper_tail(level)))  # only pools are skewed
    down, up = lengthened(half, lasting_skewness(estimate), quantile)
    return np.fmin((down + up) / 2, half_widths(estimate, level))


def half_widths(estimate: Estimate, level: float) -> FloatArray:
    """Half widths of the intervals of the expectations: (n,)."""
    low, high = expectation_interval(estimate, level).T
    return np.asarray((high - low) / 2)


def _lasting(estimate: Estimate, freedoms: list[FloatArray], level: float) -> FloatArray:
    """Half widths from the lasting causes, with these degrees of freedom of each."""
    from scipy.special import stdtrit

    causes, left = estimate.errors.lasting, estimate.errors.remaining
    if not causes:
        return np.zeros_like(left)
    parts = [(one.variance, freedom) for one, freedom in zip(causes, freedoms, strict=True)]
    return np.asarray(stdtrit(welch_freedom(*parts), upper_tail(level)) * np.sqrt(left))


def _games_half_widths(
    estimate: Estimate, half: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Half widths below and above the mean due to the games, given Student's half width."""
    mean, shape = estimate.expectation, estimate.shape
    two = shape.two_values
    low, high = two.probability(shape.n_games, level)
    below = mean - (two.low + low * two.spread)
    above = two.low + high * two.spread - mean
    return np.where(two.found, below, half), np.where(two.found, above, half)
