"""The variance of every value: its standard error and its confidence interval.

Independent games get Bonett's interval (2006, Computational Statistics & Data Analysis 50,
775-782), which uses the kurtosis of the values. The chi-square interval assumes normal values and
would cover too rarely. Games from pools get a chi-square interval whose degrees of freedom follow
from the kurtosis.
Where solver noise is removed, the intervals of the raw variance and of the noise are combined by
the method of variance estimates recovery (Zou and Donner 2008, Statistics in Medicine 27,
1693-1702). If values are averages over who is present, the mean variance over who is present is
added.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import upper_tail
from shapband.estimate.averaged import Averaged, games_part, pools_part
from shapband.estimate.errors import Errors
from shapband.estimate.moments import Moments
from shapband.estimate.shapes import Shape, skewness_of_squares


def variance_standard_error(moments: Moments) -> FloatArray:
    """Standard error of the variance: (n,).

    Its square is the exact finite-sample variance of the raw variance, plus the variance of the
    mean noise, minus twice their covariance. If values are averages over who is present, the
    variance of the mean variance over who is present, and twice its covariance with the raw
    variance, are added. With pools, the variance over the choice of the pools is added too.
    """
    if moments.certain and moments.n_games == 1:
        return np.zeros_like(moments.mean)
    n = moments.n_games
    raw = moments.raw_variance
    mu4 = fourth_moment(moments.m4, raw, n)
    per_game = moments.noise_m2 - 2 * moments.cross_21
    noise_part = per_game / (max(n - 1, 1) * n)
    pools = 0.0 if moments.pools is None else raw**2 * moments.pools.square
    games = (variance_of_variance(mu4, raw, n) + noise_part) * _slow(moments)
    if moments.averaged is not None:
        averaged, tilt = moments.averaged, _presence_correlation(moments, moments.averaged)
        together = 2 * averaged.cross_21 / (max(moments.n_games - 1, 1) * n)
        games = games + games_part(averaged, moments.n_games) + together
        pools = _combine(np.sqrt(pools), np.sqrt(pools_part(averaged, moments)), -tilt) ** 2
    return np.sqrt(np.maximum(games + pools, 0.0))


def _slow(moments: Moments) -> FloatArray | float:
    """Factor by which games that depend on each other raise the variance of the variance."""
    if moments.presence is None or moments.presence.square is None:
        return 1.0
    return moments.presence.square


def variance_interval(moments: Moments, level: float) -> FloatArray:
    """Interval for the variance: (n, 2). Its lower end may be negative if noise is removed."""
    if moments.certain and moments.n_games == 1:
        return np.zeros((len(moments.mean), 2))
    if moments.averaged is not None:
        return _averaged_interval(moments, moments.averaged, level)
    raw = moments.variance + moments.noise
    low, high = _ends(moments, level)
    noise_half = _noise_half_width(moments, level)
    down, up = raw - low, high - raw
    tilt = _noise_correlation(moments)
    lower = moments.variance - _combine(down, noise_half, tilt)
    upper = moments.variance + _combine(up, noise_half, tilt)
    return np.stack([lower, upper], axis=1)


def _averaged_interval(moments: Moments, averaged: Averaged, level: float) -> FloatArray:
    """Interval for the variance if values are averages over who is present.

    The errors of both parts are assumed to have the correlation that squared deviations and the
    variance over who is present have across games.
    """
    from scipy.special import stdtrit

    low, high = _ends(moments, level)
    middle = moments.variance - averaged.mean
    error = np.sqrt(games_part(averaged, moments.n_games) + pools_part(averaged, moments))
    quantile: FloatArray = np.asarray(stdtrit(Errors.of(moments).freedom, upper_tail(level)))
    tilt = _presence_correlation(moments, averaged)
    down, up = (_combine(part, quantile * error, -tilt) for part in (middle - low, high - middle))
    return np.stack([np.maximum(moments.variance - down, 0.0), moments.variance + up], axis=1)


def _ends(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval for the variance with solver noise, also for odd values."""
    low, high = (_bonett if moments.pools is None else _with_pools)(moments, level)
    shape = Shape.of(moments)
    two = shape.two_values
    ends = np.stack(two.probability(moments.n_games, level))
    at_ends = ends * (1 - ends)
    most = np.where((ends[0] < 0.5) & (ends[1] > 0.5), 0.25, at_ends.max(axis=0))
    raw = moments.raw_variance  # n / (n - 1) times the variance of the two numbers
    two_low = np.minimum(two.spread**2 * at_ends.min(axis=0), raw)
    two_high = np.maximum(two.spread**2 * most, raw)
    if moments.pools is not None:  # other pools may have other numbers, or more of them
        two_low, two_high = np.minimum(two_low, low), np.maximum(two_high, high)
    low, high = np.where(two.found, two_low, low), np.where(two.found, two_high, high)
    same = shape.never_changed
    rounding = shape.rounding**2
    high = np.where(same, rounding if moments.certain else np.maximum(high, rounding), high)
    return np.where(same, 0.0, low), np.where(shape.maybe_constant(level), np.inf, high)


def _bonett(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """Bonett's interval for the raw variance: zero to infinity while there are too few games."""
    from scipy.special import ndtri

    n = moments.n_games
    z = float(ndtri(upper_tail(level)))
    raw = moments.raw_variance
    if n <= max(z, 1.0):
        return np.zeros_like(raw), np.full_like(raw, np.inf)
    c = n / (n - z)
    spread = np.maximum(kurtosis(moments) - (n - 3) / n, 0.0) * _slow(moments)
    error = c * np.sqrt(spread / (n - 1))
    # The variance is a mean of squared deviations, so its upper end is too low if these are skewed,
    # as the end of Student's interval is. Samples show too little of it: hence the exponential of
    # the term by which an expectation's interval is lengthened.
    longer = np.exp(np.maximum(skewness_of_squares(moments), 0.0) * z / (2 * np.sqrt(n)))
    # With few or heavy-tailed games this may overflow; the upper end is then infinite.
    with np.errstate(over="ignore"):
        return c * raw * np.exp(-z * error), c * raw * np.exp(z * error * longer)


def _with_pools(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """Chi-square interval for the variance of games from pools.

    Its degrees of freedom follow from the kurtosis, and from how much the variance across games
    would differ with other pools. The estimate of the latter is doubled, because it is uncertain.
    """
    from scipy.special import chdtri, ndtri

    pools, n = moments.pools, moments.n_games
    assert pools is not None  # noqa: S101  for the type checker
    raw = moments.raw_variance
    games = np.maximum(kurtosis(moments) - (n - 3) / n, 0.0) * _slow(moments) / (n - 1)
    freedom = 2 / np.maximum(games + 2 * pools.square, 1e-12)
    whole = raw + pools.hidden
    tail = upper_tail(level)
    skewness = np.zeros_like(raw) if pools.square_skewness is None else pools.square_skewness
    longer = 1 + np.maximum(skewness, 0.0) * ndtri(tail) / 2
    # With degrees of freedom near 0 the quantile is 0 and the upper end is infinite.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low, high = freedom / chdtri(freedom, 1 - tail), freedom / chdtri(freedom, tail)
        return whole * low, whole * (1 + (high - 1) * longer)


def kurtosis(moments: Moments) -> FloatArray:
    """Kurtosis of the values.

    The plain kurtosis is too small with few games, but the interval holds its level with it. A
    correction would add noise to the width, which costs more coverage than the bias.
    """
    square = np.where(moments.m2 > 0, moments.m2, 1.0)
    return np.where(moments.m2 > 0, moments.n_games * moments.m4 / square**2, 1.0)


def _noise_half_width(moments: Moments, level: float) -> FloatArray:
    """Student's half width of the mean noise, for the games that count as independent."""
    from scipy.special import stdtrit

    n = moments.n_games
    freedom = max(n - 1, 1)
    error = np.sqrt(moments.noise_m2 / freedom / n)
    return np.asarray(stdtrit(max(n - 1, 1), upper_tail(level)) * error)


def _noise_correlation(moments: Moments) -> FloatArray:
    """Correlation over games of the squared deviation with the noise."""
    # Take roots first, because the product of the two sums might overflow.
    size = np.sqrt(_square_spread(moments)) * np.sqrt(moments.noise_m2)
    return _correlation(moments.cross_21, size)


def _presence_correlation(moments: Moments, averaged: Averaged) -> FloatArray:
    """Correlation over games of the squared deviation with the variance over who is present."""
    # Take roots first: the product of two sums of fourth powers might overflow.
    scale = np.sqrt(_square_spread(moments)) * np.sqrt(averaged.m2)
    return _correlation(averaged.cross_21, scale)


def _square_spread(moments: Moments) -> FloatArray:
    """Sum over games of the squared differences of squared deviations from their mean."""
    return np.maximum(moments.m4 - moments.m2**2 / moments.n_games, 0.0)


def _correlation(products: FloatArray, scale: FloatArray) -> FloatArray:
    safe = np.where(scale > 0, scale, 1.0)
    return np.clip(np.where(scale > 0, products / safe, 0.0), -1.0, 1.0)


def _combine(one: FloatArray, other: FloatArray, correlation: FloatArray) -> FloatArray:
    """Half width of a difference from the half widths of its terms."""
    with np.errstate(invalid="ignore"):
        square = one**2 + other**2 - 2 * correlation * one * other
    return np.where(np.isinf(one), np.inf, np.sqrt(np.maximum(square, 0.0)))


def fourth_moment(m4: FloatArray, variance: FloatArray, m: int) -> FloatArray:
    """Fourth central moment, corrected for the bias of deviations from the mean.

    For m games E[Σ(x - x̄)⁴] = (m-1)/m² · ((m² - 3m + 3) μ4 + 3(2m - 3) σ⁴). The
    estimate is kept at or above σ⁴, as every fourth moment is.
    """
    if m <= 1:
        return np.full_like(variance, np.nan)
    plain = m4 / m
    unbiased = (plain * m**3 / (m - 1) - 3 * (2 * m - 3) * variance**2) / (m**2 - 3 * m + 3)
    return np.maximum(unbiased, variance**2)


def variance_of_variance(mu4: FloatArray, variance: FloatArray, m: int) -> FloatArray:
    """Exact variance of the sample variance of m independent games; NaN for a single one."""
    if m < 2:
        return np.full_like(variance, np.nan)
    return (mu4 - (m - 3) / (m - 1) * variance**2) / m  # Eq. (11)
