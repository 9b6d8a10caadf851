"""Several expectations at once: differences, simultaneous intervals, ranks and shares.

All of them use the covariance of the errors, because the values of one game share a total and
so their errors are correlated. Where covariances are not kept, with more than 500 providers, the
values of the games that were kept take their place (`many`): `games` (K, n), or None if there are
none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.checks import check_level
from shapband.errors import InvalidInput
from shapband.estimate import many
from shapband.estimate.estimate import Estimate
from shapband.estimate.intervals import expectation_interval
from shapband.estimate.kept import kept_errors
from shapband.estimate.many import ROUNDING, TotalErrors, at_least_rounding
from shapband.estimate.simulate import (
    critical_value,
    difference_variances,
    pairwise_critical_value,
    sidak_value,
    smallest_freedom,
    student_errors,
    usable_freedom,
)
from shapband.estimate.skewness import (
    difference_skewness,
    error_skewness,
    lengthened,
    shortened_statistic,
)


class Statistic(NamedTuple):
    """A number computed from estimates, and what is known about its error.

    Attributes
    ----------
    estimate : the number
    standard_error : of its error
    freedom : degrees of freedom of the standard error
    skewness : of its error; 0 if it is not known
    """

    estimate: FloatArray
    standard_error: FloatArray
    freedom: FloatArray
    skewness: FloatArray | float = 0.0


def difference(estimate: Estimate, a: int, b: int, games: FloatArray | None = None) -> Statistic:
    """Expectation of provider a minus expectation of provider b, with its error.

    Where correlations are not known, the sum of both standard errors bounds the error for any
    correlation.
    """
    covariance, error = estimate.errors.covariance, estimate.standard_error
    freedom = usable_freedom(estimate.errors.freedom[[a, b]].min())
    skewness: FloatArray | float = 0.0
    if a == b:
        apart = np.zeros_like(error[a])
    elif np.isnan(error[[a, b]]).any():
        apart = error[a] + error[b]
    elif covariance is not None:
        variances = difference_variances(covariance)
        apart = np.sqrt(variances[a, b])
        freedom = usable_freedom(estimate.errors.difference_freedom(variances)[a, b])
        skewness = difference_skewness(estimate, variances)[a, b]
    elif (kept := kept_errors(estimate, games, np.array([a, b]))) is not None:
        apart = np.sqrt(kept.neighbour_variances()[0])
        freedom = np.minimum(freedom, kept.most_freedom)
    else:
        apart = error[a] + error[b]
    return Statistic(estimate.expectation[a] - estimate.expectation[b], apart, freedom, skewness)


def student_interval(found: Statistic, level: float) -> tuple[FloatArray, FloatArray]:
    """Student's interval, longer on the side of the longer tail if the error is skewed."""
    quantile = student_quantile(found.freedom, level)
    half = quantile * found.standard_error
    down, up = lengthened(half, np.asarray(found.skewness), quantile)
    return found.estimate - down, found.estimate + up


def student_quantile(freedom: FloatArray, level: float) -> FloatArray:
    """Multiple of the standard error that is the half width of Student's interval."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(usable_freedom(freedom), (1 + check_level(level)) / 2))


def two_sided_p(found: Statistic, scale: FloatArray) -> FloatArray:
    """Two-sided p-value of Student's test for 0, which agrees with `student_interval`.

    `scale` is the size of the numbers whose difference was taken: an error below its rounding is
    replaced by that rounding, so that equal constants do not differ.
    """
    from scipy.special import stdtr

    error = at_least_rounding(found.standard_error, scale)
    statistic = shortened_statistic(found.estimate / error, np.asarray(found.skewness))
    return np.asarray(2 * stdtr(usable_freedom(found.freedom), -np.abs(statistic)))


def simultaneous_interval(estimate: Estimate, level: float) -> FloatArray:
    """Intervals that contain all expectations together, at this level: (n, 2).

    The critical value is simulated from the covariance of the errors. Where covariances are not
    kept, it is Sidak's. As single intervals, they are longer on the side of the longer tail.
    """
    check_level(level)
    covariance, freedom = estimate.errors.covariance, _smallest_freedom(estimate)
    if covariance is None:
        multiple = sidak_value(freedom, level, len(estimate.expectation))
    else:
        multiple = critical_value(covariance, freedom, level)
    half, quantile = multiple * estimate.standard_error, np.asarray(multiple)
    down, up = lengthened(half, error_skewness(estimate), quantile)
    low, high = expectation_interval(estimate, level).T  # may be wider for other reasons
    mean = estimate.expectation
    return np.stack([np.minimum(mean - down, low), np.maximum(mean + up, high)], axis=1)


def ranks(mean: FloatArray) -> IntArray:
    """Rank of each expectation, 1 for the largest; equal ones share the smaller rank: (n,)."""
    ordered = np.sort(-mean)
    return np.asarray(1 + np.searchsorted(ordered, -mean, side="left"))


def rank_intervals(estimate: Estimate, level: float, games: FloatArray | None = None) -> IntArray:
    """Intervals that contain all ranks together, at this level: (n, 2).

    The intervals of all pairwise differences hold together. A provider's rank is at least 1 plus
    the number of providers that are surely above it, and at most n minus the number of those
    surely below it (Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91,
    476-518).
    """
    check_level(level)
    covariance = _covariance(estimate, "ranks")
    if covariance is None:
        return many.rank_intervals(estimate, level, games)
    multiple = pairwise_critical_value(covariance, _smallest_freedom(estimate), level)
    above = _statistics(estimate, covariance) > multiple
    return np.stack([1 + above.sum(axis=0), len(above) - above.sum(axis=1)], axis=1)


def probability_above(estimate: Estimate) -> FloatArray | None:
    """Probability that the row's expectation is above the column's: (n, n).

    It is None where covariances are not kept.
    """
    from scipy.special import stdtr

    covariance = _covariance(estimate, "ranks")
    if covariance is None:
        return None
    freedom = estimate.errors.difference_freedom(difference_variances(covariance))
    return np.asarray(stdtr(usable_freedom(freedom), _statistics(estimate, covariance)))


def probability_above_next(estimate: Estimate, games: FloatArray | None = None) -> FloatArray:
    """Probability of being above the next provider in the ranking, NaN for the last one: (n,)."""
    above = probability_above(estimate)
    if above is None:
        return many.probability_above_next(estimate, games)
    order = np.argsort(-estimate.expectation, kind="stable")
    found = np.full(len(order), np.nan)
    found[order[:-1]] = above[order[:-1], order[1:]]
    return found


def probability_of_top(estimate: Estimate, k: int, games: FloatArray | None = None) -> FloatArray:
    """Probability that each provider's expectation is among the k largest: (n,)."""
    covariance = _covariance(estimate, "top")
    if covariance is None:
        return many.probability_of_top(estimate, k, games)
    drawn = estimate.expectation + student_errors(covariance, _smallest_freedom(estimate))
    return np.asarray(many.places(drawn, k).mean(axis=0))


def shares(
    estimate: Estimate, level: float, games: FloatArray | None = None
) -> tuple[Statistic, FloatArray]:
    """Shares of the total with standard errors, and their intervals (n, 2).

    The standard errors come from the delta method. The intervals are Fieller's (1954, Journal of
    the Royal Statistical Society B 16, 175-185), which hold for a ratio of correlated normal
    estimates even if the total is uncertain. If the errors have two estimates, because some games
    were not kept, the larger error and the hull of both intervals are used.
    """
    covariance = _covariance(estimate, "shares")
    errors = _total_errors(estimate, games, covariance)
    if errors is None:
        raise many.unknown_correlations("shares")
    quantile = float(student_quantile(np.asarray(errors.freedom), level))
    mean, total = estimate.expectation, float(estimate.expectation.sum())
    width = total_half_width(estimate, level, games)
    if not abs(total) > width:
        raise InvalidInput(
            f"shares: the total {total:.4g} ± {width:.2g} may be zero at this level, so shares of "
            "it are not defined: use the expectations, or play more games"
        )
    share = mean / total
    variances, intervals = [], []
    for variance, with_total, of_total in zip(*errors[:3], strict=True):
        variances.append(variance - 2 * share * with_total + share**2 * max(of_total, 0.0))
        intervals.append(_fieller(mean, total, (variance, with_total, of_total), quantile))
    low, high = np.min(intervals, axis=0)[:, 0], np.max(intervals, axis=0)[:, 1]
    error = np.sqrt(np.maximum(np.max(variances, axis=0), 0.0)) / abs(total)
    found = Statistic(share, error, np.asarray(errors.freedom))
    return found, np.stack([low, high], axis=1)


def total_half_width(estimate: Estimate, level: float, games: FloatArray | None = None) -> float:
    """Half width of the interval of the total of all expectations; a total within it may be zero.

    Where correlations are not known, the sum of all standard errors bounds the error of the total
    for any correlation. After a single game, errors are not known and only rounding is counted.
    """
    rounding = float(ROUNDING * np.abs(estimate.expectation).sum())
    if np.isnan(estimate.raw_variance).any():
        return rounding
    errors = _total_errors(estimate, games, estimate.errors.covariance)
    if errors is None:
        error, freedom = float(estimate.standard_error.sum()), _smallest_freedom(estimate)
    else:
        error, freedom = float(np.sqrt(max(errors.of_total.max(), 0.0))), errors.freedom
    quantile = student_quantile(np.asarray(freedom), level)
    return max(float(quantile) * error, rounding)


def _total_errors(
    estimate: Estimate, games: FloatArray | None, covariance: FloatArray | None
) -> TotalErrors | None:
    """The errors of the total from covariances, or from kept games; None if not known."""
    if covariance is None:
        return many.total_errors(estimate, games)
    return TotalErrors(
        np.diag(covariance)[None],
        covariance.sum(axis=1)[None],
        np.asarray(covariance.sum())[None],
        _smallest_freedom(estimate),
    )


def _fieller(
    mean: FloatArray,
    total: float,
    errors: tuple[FloatArray, FloatArray, float],
    quantile: float,
) -> FloatArray:
    """Solve |mean - s total| ≤ quantile × standard error of (mean - s total) for the share s.

    `errors` are the variances (n,), the covariances with the total (n,), and its variance.
    """
    variance, with_total, of_total = errors
    a = total**2 - quantile**2 * of_total
    b = mean * total - quantile**2 * with_total
    c = mean**2 - quantile**2 * variance
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    return np.asarray(np.stack([b - root, b + root], axis=1) / a)


def _covariance(estimate: Estimate, question: str) -> FloatArray | None:
    """Covariance of the errors, or None if it is not kept; a single game is refused."""
    if np.isnan(estimate.raw_variance).any():
        raise InvalidInput(f"{question}: this needs the errors of two or more games: play more")
    return estimate.errors.covariance


def _statistics(estimate: Estimate, covariance: FloatArray) -> FloatArray:
    """Student's statistic of every row's expectation minus the column's: (n, n).

    It is shortened if the error of the difference is skewed.
    """
    apart = np.subtract.outer(estimate.expectation, estimate.expectation)
    size, variances = np.abs(estimate.expectation), difference_variances(covariance)
    error = at_least_rounding(np.sqrt(variances), np.maximum.outer(size, size))
    return shortened_statistic(apart / error, difference_skewness(estimate, variances))


def _smallest_freedom(estimate: Estimate) -> float:
    return smallest_freedom(estimate.errors.freedom)
