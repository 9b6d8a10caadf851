"""Ranks, places and shares of many providers, in memory that grows linearly with their number.

With few providers `joint` simulates the largest of all pairwise statistics from the covariance of
the errors. With many providers, covariances are not kept and the pairs are too many to simulate.
Here the errors of differences come from kept games (`kept`) in blocks, and the critical value is
Bonferroni's, which holds for any dependence of the comparisons. For independent providers with
equal errors it is 2 % larger than the quantile of the largest statistic. If no games were kept, the
sum of both errors bounds the error of a difference for any correlation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.errors import InvalidInput
from shapband.estimate.estimate import Estimate
from shapband.estimate.kept import KeptErrors, kept_errors
from shapband.estimate.simulate import smallest_freedom, student_blocks, usable_freedom

_BLOCK = 1_000_000  # pairs that are compared at once; a few arrays of 8 MB
_LEADING = 20  # at least so many providers with large expectations give a bound on the k-th largest
ROUNDING = 16 * np.finfo(np.float64).eps  # bound on the relative error of a mean of equal numbers


class TotalErrors(NamedTuple):
    """What the errors of shares need; each has one row for each estimate of the errors.

    Attributes
    ----------
    variance : (estimates, n) of every expectation's error
    with_total : (estimates, n) covariance of every error with the error of the total
    of_total : (estimates,) variance of the total's error
    freedom : degrees of freedom of all of them
    """

    variance: FloatArray
    with_total: FloatArray
    of_total: FloatArray
    freedom: float


def bonferroni_value(freedom: float, level: float, comparisons: int) -> float:
    """Critical value that covers this many comparisons together, however they depend.

    Examples
    --------
    >>> round(bonferroni_value(1e9, 0.95, 1), 3), round(bonferroni_value(1e9, 0.95, 10), 3)
    (1.96, 2.807)
    """
    from scipy.special import stdtrit

    return float(-stdtrit(freedom, (1 - level) / 2 / comparisons))


def at_least_rounding(error: FloatArray, scale: FloatArray) -> FloatArray:
    """Raise errors that are smaller than the rounding of numbers of this size."""
    return np.maximum(error, np.maximum(ROUNDING * scale, np.finfo(np.float64).tiny))


def rank_intervals(estimate: Estimate, level: float, games: FloatArray | None) -> IntArray:
    """Intervals that contain all ranks together, at this level: (n, 2).

    Providers are sorted by expectation, and blocks of them are compared with all that follow. Those
    that follow at a distance of more than the sum of both errors, times the critical value, are
    decided without a comparison.
    """
    n = len(estimate.expectation)
    order = np.argsort(-estimate.expectation, kind="stable")
    errors = _DifferenceErrors.of(estimate, games, order)
    freedom = min(smallest_freedom(estimate.errors.freedom), errors.most_freedom)
    multiple = bonferroni_value(freedom, level, max(n * (n - 1) // 2, 1))
    mean, reach = errors.mean, multiple * errors.largest
    farthest = np.maximum.accumulate(reach[::-1])[::-1]  # largest reach of this one and all after
    above, below = np.zeros((2, n), dtype=np.int64)
    size = max(_BLOCK // n, 1)
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        near = rows.stop + np.count_nonzero(
            ~(mean[rows.stop - 1] - mean[rows.stop :] > reach[rows].max() + farthest[rows.stop :])
        )
        columns = slice(start, near)
        surely = mean[rows, None] - mean[columns] > multiple * errors.of_pairs(rows, columns)
        below[rows] += surely.sum(axis=1) + n - near
        above[columns] += surely.sum(axis=0)
        above[near:] += rows.stop - rows.start
    intervals = np.empty((n, 2), dtype=np.int64)
    intervals[order] = np.stack([1 + above, n - below], axis=1)
    return intervals


def probability_above_next(estimate: Estimate, games: FloatArray | None) -> FloatArray:
    """Probability of being above the next provider in the ranking, NaN for the last one: (n,)."""
    from scipy.special import stdtr

    order = np.argsort(-estimate.expectation, kind="stable")
    errors = _DifferenceErrors.of(estimate, games, order)
    freedom = np.minimum(usable_freedom(estimate.errors.freedom[order]), errors.most_freedom)
    statistic = -np.diff(errors.mean) / errors.of_neighbours()
    found = np.full(len(order), np.nan)
    found[order[:-1]] = stdtr(np.minimum(freedom[:-1], freedom[1:]), statistic)
    return found


def probability_of_top(estimate: Estimate, k: int, games: FloatArray | None) -> FloatArray:
    """Probability that each provider's expectation is among the k largest: (n,).

    The k-th largest of some providers is at most the k-th largest of all. So in each block of draws
    only providers that reach it, for the providers with the largest expectations, are compared.
    """
    errors, mean = known_errors(estimate, games, "top"), estimate.expectation
    freedom = min(smallest_freedom(estimate.errors.freedom), errors.most_freedom)
    leading = np.argsort(-mean, kind="stable")[: 2 * k + _LEADING]
    chance, draws = np.zeros(len(mean)), 0
    for block in student_blocks(errors.normal, freedom, len(mean)):
        drawn = mean + block
        least = np.partition(drawn[:, leading], -k, axis=1)[:, -k, None]
        possible = np.flatnonzero((drawn >= least).any(axis=0))
        chance[possible] += places(drawn[:, possible], k).sum(axis=0)
        draws += len(block)
    return chance / draws


def places(drawn: FloatArray, k: int) -> FloatArray:
    """Whether each number is among the k largest of its row; ties share a place: (draws, n)."""
    least = np.partition(drawn, -k, axis=1)[:, -k, None]  # the k-th largest of each draw
    above, tied = drawn > least, drawn == least
    free = k - above.sum(axis=1, keepdims=True)
    return np.asarray(above + tied * free / tied.sum(axis=1, keepdims=True))


def total_errors(estimate: Estimate, games: FloatArray | None) -> TotalErrors | None:
    """The errors of the total and their covariances with all others; None if they are not known."""
    errors = kept_errors(estimate, games)
    if errors is None:
        return None
    freedom = min(smallest_freedom(estimate.errors.freedom), errors.most_freedom)
    return TotalErrors(errors.variances, *errors.totals(), freedom)


def known_errors(estimate: Estimate, games: FloatArray | None, question: str) -> KeptErrors:
    """The errors from kept games; raises `InvalidInput` if they are not known."""
    errors = kept_errors(estimate, games)
    if errors is None:
        raise unknown_correlations(question)
    return errors


def unknown_correlations(question: str) -> InvalidInput:
    """The error to raise if neither covariances nor kept games show the correlations."""
    return InvalidInput(
        f"{question}: this needs the correlations of the providers' errors; with more than 500 "
        "providers, and in results of format 2, they are computed from the values of independent "
        "games: raise keep_games to 2 or more, and use Independent instead of MarkovChain or Trace"
    )


class _DifferenceErrors(NamedTuple):
    """Errors of the differences of sorted providers.

    Attributes
    ----------
    mean : (n,) expectations, the largest first
    largest : (n,) the sum of two of them is at least the error of a difference
    most_freedom : degrees of freedom that the kept games allow
    kept : the errors from kept games, or None if only the bound is known
    """

    mean: FloatArray
    largest: FloatArray
    most_freedom: float
    kept: KeptErrors | None

    @staticmethod
    def of(estimate: Estimate, games: FloatArray | None, order: IntArray) -> _DifferenceErrors:
        mean, kept = estimate.expectation[order], kept_errors(estimate, games, order)
        largest, most_freedom = estimate.standard_error[order], np.inf
        if kept is not None:
            largest, most_freedom = np.sqrt(kept.variances.max(axis=0)), kept.most_freedom
        largest = largest + at_least_rounding(np.zeros_like(mean), np.abs(mean))
        return _DifferenceErrors(mean, largest, most_freedom, kept)

    def of_pairs(self, rows: slice, columns: slice) -> FloatArray:
        """Standard error of the row's expectation minus the column's: (rows, columns)."""
        if self.kept is None:
            return np.add.outer(self.largest[rows], self.largest[columns])
        size = np.abs(self.mean)
        error = np.sqrt(self.kept.difference_variances(rows, columns))
        return at_least_rounding(error, np.maximum.outer(size[rows], size[columns]))

    def of_neighbours(self) -> FloatArray:
        """Standard error of every expectation minus the next one: (n - 1,)."""
        if self.kept is None:
            return self.largest[:-1] + self.largest[1:]
        size = np.abs(self.mean)
        error = np.sqrt(self.kept.neighbour_variances())
        return at_least_rounding(error, np.maximum(size[:-1], size[1:]))
