"""Standard errors and confidence intervals of both moments.

The expectation gets Student's interval. The variance gets Bonett's (2006, Computational
Statistics & Data Analysis 50, 775-782), which uses the kurtosis of the values; the chi-square
interval assumes normal values and covers too rarely here. Where solver noise is removed, the
intervals of the raw variance and of the noise are combined by the method of variance estimates
recovery (Zou and Donner 2008, Statistics in Medicine 27, 1693-1702).
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import check_number
from shapband.errors import InvalidInput
from shapband.moments.accumulate import Moments
from shapband.moments.decompose import fourth_moment, variance_of_variance
from shapband.moments.errors import error_freedom, error_parts


def standard_error(moments: Moments) -> FloatArray:
    """Standard error of the expectation, solver noise included: (n,)."""
    return np.asarray(np.sqrt(error_parts(moments).total))


def variance_standard_error(moments: Moments) -> FloatArray:
    """Standard error of the variance: (n,).

    The exact finite-sample variance of the raw variance, plus that of the mean noise, minus
    twice their covariance.
    """
    n = moments.independent_games
    raw = moments.raw_variance
    mu4 = fourth_moment(moments.m4, raw, moments.n_games, moments.n_groups)
    per_game = moments.noise_m2 - 2 * moments.cross_21
    noise_part = per_game / (max(moments.n_games - moments.n_groups, 1) * n)
    pools = 0.0 if moments.pools is None else raw**2 * moments.pools.square
    return np.sqrt(np.maximum(variance_of_variance(mu4, raw, n) + noise_part + pools, 0.0))


def expectation_interval(moments: Moments, level: float) -> FloatArray:
    """Student's interval for the expectation: (n, 2)."""
    from scipy.special import stdtrit

    half = stdtrit(error_freedom(moments), _upper_tail(level)) * standard_error(moments)
    return np.stack([moments.mean - half, moments.mean + half], axis=1)


def variance_interval(moments: Moments, level: float) -> FloatArray:
    """Interval for the variance: (n, 2). Its lower end may be negative where noise is removed."""
    raw = moments.variance + moments.noise
    low, high = (_bonett if moments.pools is None else _with_pools)(moments, level)
    noise_half = _noise_half_width(moments, level)
    down, up = raw - low, high - raw
    tilt = _noise_correlation(moments)
    lower = moments.variance - _combine(down, noise_half, tilt)
    upper = moments.variance + _combine(up, noise_half, tilt)
    return np.stack([lower, upper], axis=1)


def _bonett(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """Bonett's interval for the raw variance: zero to infinity while there are too few games."""
    from scipy.special import ndtri

    n = moments.independent_games
    z = float(ndtri(_upper_tail(level)))
    raw = moments.raw_variance
    if n <= max(z, 1.0):
        return np.zeros_like(raw), np.full_like(raw, np.inf)
    mu4 = fourth_moment(moments.m4, raw, moments.n_games, moments.n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = np.where(raw > 0, mu4 / raw**2, 1.0)
    c = n / (n - z)
    error = c * np.sqrt(np.maximum(kurtosis - (n - 3) / n, 0.0) / (n - 1))
    # With few or heavy-tailed games this may overflow; the upper end is then infinite.
    with np.errstate(over="ignore"):
        factor = np.exp(z * error)
    return c * raw / factor, c * raw * factor


def _with_pools(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """Chi-square interval for the variance of games from pools.

    Its degrees of freedom follow from the kurtosis, and from how much the variance across games
    would differ with other pools; twice the estimate of the latter, because it is uncertain.
    """
    from scipy.special import chdtri

    pools, n = moments.pools, moments.n_games - moments.n_groups + 1
    assert pools is not None  # noqa: S101  for the type checker
    raw = moments.raw_variance
    mu4 = moments.m4 / n
    if moments.group is not None:
        mu4 = fourth_moment(moments.m4, raw, moments.n_games, moments.n_groups)
    kurtosis = np.where(raw > 0, mu4 / np.where(raw > 0, raw, 1.0) ** 2, 1.0)
    games = np.maximum(kurtosis - (n - 3) / n, 0.0) / (n - 1)
    freedom = 2 / np.maximum(games + 2 * pools.square, 1e-12)
    whole = raw + pools.hidden
    tail = _upper_tail(level)
    return whole * freedom / chdtri(freedom, 1 - tail), whole * freedom / chdtri(freedom, tail)


def _noise_half_width(moments: Moments, level: float) -> FloatArray:
    """Student's half width of the mean noise, for the games that count as independent."""
    from scipy.special import stdtrit

    n = moments.independent_games
    freedom = max(moments.n_games - moments.n_groups, 1)
    error = np.sqrt(moments.noise_m2 / freedom / n)
    return np.asarray(stdtrit(max(n - 1, 1), _upper_tail(level)) * error)


def _noise_correlation(moments: Moments) -> FloatArray:
    """Correlation over games of the squared deviation with the noise."""
    spread = np.maximum(moments.m4 - moments.m2**2 / moments.n_games, 0.0)
    scale = np.sqrt(spread * moments.noise_m2)
    safe = np.where(scale > 0, scale, 1.0)
    return np.clip(np.where(scale > 0, moments.cross_21 / safe, 0.0), -1.0, 1.0)


def _combine(one: FloatArray, other: FloatArray, correlation: FloatArray) -> FloatArray:
    """Half width of a difference from the half widths of its terms."""
    with np.errstate(invalid="ignore"):
        square = one**2 + other**2 - 2 * correlation * one * other
    return np.where(np.isinf(one), np.inf, np.sqrt(np.maximum(square, 0.0)))


def check_level(level: float) -> float:
    """Check a confidence level."""
    if not 0 < check_number("level", level) < 1:
        raise InvalidInput(
            f"level must lie strictly between 0 and 1, such as 0.95; received {level!r}"
        )
    return level


def _upper_tail(level: float) -> float:
    return (1 + check_level(level)) / 2
