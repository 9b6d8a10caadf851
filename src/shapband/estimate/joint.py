"""Several expectations at once: differences, simultaneous intervals, ranks and shares.

All of them use the covariance of the errors, because the values of one game share a total and
so their errors are correlated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.checks import check_level
from shapband.errors import InvalidInput
from shapband.estimate.estimate import Estimate
from shapband.estimate.intervals import expectation_interval
from shapband.estimate.simulate import (
    critical_value,
    difference_variances,
    pairwise_critical_value,
    sidak_value,
    student_errors,
    usable_freedom,
)

_ROUNDING = 16 * np.finfo(np.float64).eps  # bound on the relative error of a mean of equal numbers


class Statistic(NamedTuple):
    """A number computed from estimates, its standard error and the error's degrees of freedom."""

    estimate: FloatArray
    standard_error: FloatArray
    freedom: FloatArray


def difference(estimate: Estimate, a: int, b: int) -> Statistic:
    """Expectation of provider a minus expectation of provider b, with its error.

    Where covariances are not kept, the sum of both standard errors bounds the error for any
    correlation.
    """
    covariance, error = estimate.errors.covariance, estimate.standard_error
    if a == b:
        apart = np.zeros_like(error[a])
    elif covariance is None or np.isnan(error[[a, b]]).any():
        apart = error[a] + error[b]
    else:
        apart = np.sqrt(difference_variances(covariance[np.ix_([a, b], [a, b])])[0, 1])
    freedom = usable_freedom(estimate.errors.freedom[[a, b]].min())
    return Statistic(estimate.expectation[a] - estimate.expectation[b], apart, freedom)


def student_quantile(freedom: FloatArray, level: float) -> FloatArray:
    """Multiple of the standard error that is the half width of Student's interval."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(usable_freedom(freedom), (1 + check_level(level)) / 2))


def two_sided_p(found: Statistic, scale: FloatArray) -> FloatArray:
    """Two-sided p-value of Student's test for 0.

    `scale` is the size of the numbers whose difference was taken: an error below its rounding is
    replaced by that rounding, so that equal constants do not differ.
    """
    from scipy.special import stdtr

    error = _at_least_rounding(found.standard_error, scale)
    return np.asarray(2 * stdtr(usable_freedom(found.freedom), -np.abs(found.estimate) / error))


def simultaneous_interval(estimate: Estimate, level: float) -> FloatArray:
    """Intervals that contain all expectations together, at this level: (n, 2).

    The critical value is simulated from the covariance of the errors. Where covariances are not
    kept, it is Sidak's.
    """
    check_level(level)
    covariance, freedom = estimate.errors.covariance, _smallest_freedom(estimate)
    if covariance is None:
        multiple = sidak_value(freedom, level, len(estimate.expectation))
    else:
        multiple = critical_value(covariance, freedom, level)
    half = multiple * estimate.standard_error
    low, high = expectation_interval(estimate, level).T  # may be wider for other reasons
    return np.stack(
        [
            np.minimum(estimate.expectation - half, low),
            np.maximum(estimate.expectation + half, high),
        ],
        axis=1,
    )


def ranks(mean: FloatArray) -> IntArray:
    """Rank of each expectation, 1 for the largest; equal ones share the smaller rank: (n,)."""
    ordered = np.sort(-mean)
    return np.asarray(1 + np.searchsorted(ordered, -mean, side="left"))


def rank_intervals(estimate: Estimate, level: float) -> IntArray:
    """Intervals that contain all ranks together, at this level: (n, 2).

    The intervals of all pairwise differences hold together. A provider's rank is at least 1 plus
    the number of providers that are surely above it, and at most n minus the number of those
    surely below it (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91,
    476-518).
    """
    covariance = known_covariance(estimate, "ranks")
    multiple = pairwise_critical_value(covariance, _smallest_freedom(estimate), check_level(level))
    above = _statistics(estimate, covariance) > multiple
    return np.stack([1 + above.sum(axis=0), len(above) - above.sum(axis=1)], axis=1)


def probability_above(estimate: Estimate) -> FloatArray:
    """Probability that the row's expectation is above the column's: (n, n)."""
    from scipy.special import stdtr

    statistics = _statistics(estimate, known_covariance(estimate, "ranks"))
    freedom = usable_freedom(estimate.errors.freedom)
    return np.asarray(stdtr(np.minimum.outer(freedom, freedom), statistics))


def probability_of_top(estimate: Estimate, k: int) -> FloatArray:
    """Probability that each provider's expectation is among the k largest: (n,)."""
    covariance = known_covariance(estimate, "top")
    drawn = estimate.expectation + student_errors(covariance, _smallest_freedom(estimate))
    least = np.partition(drawn, -k, axis=1)[:, -k, None]  # the k-th largest of each draw
    above, tied = drawn > least, drawn == least
    places = k - above.sum(axis=1, keepdims=True)
    return np.asarray((above + tied * places / tied.sum(axis=1, keepdims=True)).mean(axis=0))


def shares(estimate: Estimate, level: float) -> tuple[Statistic, FloatArray]:
    """Shares of the total with standard errors, and their intervals (n, 2).

    The standard errors come from the delta method. The intervals are Fieller's (1954, Journal of
    the Royal Statistical Society B 16, 175-185), which hold for a ratio of correlated normal
    estimates even if the total is uncertain.
    """
    covariance = known_covariance(estimate, "shares")
    freedom = np.asarray(_smallest_freedom(estimate))
    quantile = float(student_quantile(freedom, level))
    mean, total = estimate.expectation, float(estimate.expectation.sum())
    of_total, with_total = max(float(covariance.sum()), 0.0), covariance.sum(axis=1)
    width = total_half_width(estimate, level)
    if not abs(total) > width:
        raise InvalidInput(
            f"shares: the total {total:.4g} ± {width:.2g} may be zero at this level, so shares of "
            "it are not defined: use the expectations, or play more games"
        )
    share = mean / total
    variance = np.diag(covariance) - 2 * share * with_total + share**2 * of_total
    found = Statistic(share, np.sqrt(np.maximum(variance, 0.0)) / abs(total), freedom)
    return found, _fieller(mean, total, covariance, quantile)


def total_half_width(estimate: Estimate, level: float) -> float:
    """Half width of the interval of the total of all expectations; a total within it may be zero.

    Where covariances are not kept, the sum of all standard errors bounds the error of the total
    for any correlation. After a single game, errors are not known and only rounding is counted.
    """
    rounding = float(_ROUNDING * np.abs(estimate.expectation).sum())
    if np.isnan(estimate.raw_variance).any():
        return rounding
    covariance = estimate.errors.covariance
    if covariance is None:
        error = float(estimate.standard_error.sum())
    else:
        error = float(np.sqrt(max(float(covariance.sum()), 0.0)))
    quantile = student_quantile(np.asarray(_smallest_freedom(estimate)), level)
    return max(float(quantile) * error, rounding)


def _fieller(mean: FloatArray, total: float, covariance: FloatArray, quantile: float) -> FloatArray:
    """Solve |mean - s total| ≤ quantile × standard error of (mean - s total) for the share s."""
    a = total**2 - quantile**2 * covariance.sum()
    b = mean * total - quantile**2 * covariance.sum(axis=1)
    c = mean**2 - quantile**2 * np.diag(covariance)
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    return np.asarray(np.stack([b - root, b + root], axis=1) / a)


def known_covariance(estimate: Estimate, question: str) -> FloatArray:
    """Covariance of the expectations' errors; raises `InvalidInput` if it is not known."""
    covariance = estimate.errors.covariance
    if covariance is None:
        raise InvalidInput(
            f"{question}: this needs the covariances of the providers, which are kept for up to "
            "500 providers, and not in results of format 2: use difference() for single pairs"
        )
    if np.isnan(estimate.raw_variance).any():
        raise InvalidInput(f"{question}: this needs the errors of two or more games: play more")
    return covariance


def _statistics(estimate: Estimate, covariance: FloatArray) -> FloatArray:
    """Student's statistic of every row's expectation minus the column's: (n, n)."""
    apart = np.subtract.outer(estimate.expectation, estimate.expectation)
    size = np.abs(estimate.expectation)
    error = np.sqrt(difference_variances(covariance))
    return np.asarray(apart / _at_least_rounding(error, np.maximum.outer(size, size)))


def _at_least_rounding(error: FloatArray, scale: FloatArray) -> FloatArray:
    return np.maximum(error, np.maximum(_ROUNDING * scale, np.finfo(np.float64).tiny))


def _smallest_freedom(estimate: Estimate) -> float:
    return float(usable_freedom(estimate.errors.freedom).min())
