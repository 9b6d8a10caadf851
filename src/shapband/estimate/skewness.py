"""Skewed errors: how far an interval must reach on the side of the longer tail.

Student's interval is too short on one side if the estimate is skewed, because small values of the
estimate then come with small standard errors (Johnson 1978, Journal of the American Statistical
Association 73, 536-544). The first term of Cornish and Fisher's expansion of Student's ratio
lengthens that side by the factor 1 + s q / 3, with q the half width in standard errors and s the
skewness of the estimate's error, such as skewness / √games for a mean. Samples show too little
skewness, so the term is multiplied by 1.5. The other side is not shortened.

The third central moments of independent errors add up. So the skewness of an error follows from the
third moments of its causes: the games, and the pools.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.estimate import Estimate
from shapband.estimate.moments import Moments
from shapband.estimate.simulate import difference_variances


def lengthened(
    half: FloatArray, skewness: FloatArray, quantile: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Half widths below and above an estimate whose error has this skewness.

    Examples
    --------
    >>> down, up = lengthened(np.array([2.0]), np.array([0.5]), np.array([2.0]))
    >>> down.tolist(), up.tolist()
    ([2.0], [3.0])
    """
    longer = skewness * quantile / 2
    return half * (1 + np.maximum(-longer, 0.0)), half * (1 + np.maximum(longer, 0.0))


def shortened_statistic(statistic: FloatArray, skewness: FloatArray) -> FloatArray:
    """Student's statistics for which symmetric intervals exclude 0 if lengthened ones do.

    The end of an interval that faces 0 is at t = q (1 + s q / 2) standard errors from the estimate,
    with s the skewness on that side. This solves the equation for q.

    Examples
    --------
    >>> shortened_statistic(np.array([3.0, -3.0]), np.array([-0.5, -0.5])).tolist()
    [2.0, -3.0]
    """
    facing = np.maximum(-np.sign(statistic) * skewness, 0.0)
    size = np.abs(statistic)
    return np.asarray(np.sign(statistic) * 2 * size / (1 + np.sqrt(1 + 2 * facing * size)))


def error_skewness(estimate: Estimate) -> FloatArray:
    """Skewness of the error of every expectation, all causes together: (n,).

    Values that take only two numbers have an interval of their own, so their games add nothing.
    """
    games = np.where(estimate.shape.two_values.found, 0.0, _games_thirds(estimate))
    return standardised(games + _pools_thirds(estimate.moments), estimate.errors.total)


def lasting_skewness(estimate: Estimate) -> FloatArray:
    """Skewness of the part of every error that any number of games would leave: (n,)."""
    return standardised(_pools_thirds(estimate.moments), estimate.errors.remaining)


def error_thirds(estimate: Estimate) -> FloatArray:
    """Third central moment of the error of every expectation: (n,)."""
    return _games_thirds(estimate) + _pools_thirds(estimate.moments)


def difference_skewness(estimate: Estimate, variances: FloatArray) -> FloatArray:
    """Skewness of the error of the row's expectation minus the column's: (n, n).

    It is 0 if the sums for it are not kept: with more than 500 providers, and in older results.

    Parameters
    ----------
    variances : (n, n) of the errors of the differences
    """
    moments, errors = estimate.moments, estimate.errors
    n_games, correlation = moments.n_games, errors.correlation
    if moments.products_21 is None or moments.products is None or correlation is None:
        return np.zeros_like(variances)
    pools = _pools_thirds(moments)
    third = np.subtract.outer(pools, pools)
    if n_games > 2:
        cross = moments.products_21
        sums = np.subtract.outer(moments.m3, moments.m3) - 3 * (cross - cross.T)
        squares = difference_variances(moments.products)
        root = np.sqrt(errors.shrinking)
        of_games = difference_variances(correlation * np.outer(root, root))
        third = third + _thirds(sums, squares, of_games, n_games)
    return standardised(third, variances)


def standardised(third: FloatArray, variance: FloatArray) -> FloatArray:
    """Skewness from the third central moment and the variance; 0 without variance."""
    safe = np.where(variance > 0, variance, 1.0)
    # Divide twice, because the power 1.5 of a tiny variance might underflow.
    return np.where(variance > 0, third / safe / np.sqrt(safe), 0.0)


def _games_thirds(estimate: Estimate) -> FloatArray:
    """Third central moment of the error that is due to the games: (n,)."""
    shape, shrinking = estimate.shape, estimate.errors.shrinking
    deviation = np.where(shape.deviation > 0, shape.deviation, 1.0)
    # The skewness of a mean of n games is skewness / √n; its error is deviation / √n.
    return np.asarray(shape.skewness * shrinking / deviation * shrinking)


def _pools_thirds(moments: Moments) -> FloatArray:
    """Third central moment of the error that is due to the choice of the pools: (n,)."""
    pools = moments.pools
    if pools is None or pools.skewness is None:
        return np.zeros_like(moments.mean)
    return np.asarray(pools.skewness * pools.variance**1.5)


def _thirds(
    sums: FloatArray, squares: FloatArray, shrinking: FloatArray, n_games: int
) -> FloatArray:
    """Third central moments of errors, from sums of cubes and of squares over the games."""
    variance = squares / (n_games - 1)
    skewness = standardised(sums * n_games / (n_games - 1) / (n_games - 2), variance)
    # No sample has a skewness above √n; rounding of values that cancel may give more.
    most = np.sqrt(n_games)
    deviation = np.sqrt(np.where(variance > 0, variance, 1.0))
    return np.asarray(np.clip(skewness, -most, most) * shrinking / deviation * shrinking)
