"""Standard errors and confidence intervals of both moments.

The expectation gets Student's interval, which is longer on the side of the longer tail of skewed
values. Values that take two numbers get the interval of Clopper and Pearson (1934) in its place.
The variance gets Bonett's (2006, Computational Statistics & Data Analysis 50, 775-782), which uses
the kurtosis of the values; the chi-square interval assumes normal values and covers too rarely
here, except with degrees of freedom that follow from the kurtosis, as games from pools have.
Where solver noise is removed, the intervals of the raw variance and of the noise are combined by
the method of variance estimates recovery (Zou and Donner 2008, Statistics in Medicine 27,
1693-1702).
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import check_number
from shapband.errors import InvalidInput
from shapband.estimate.accumulate import Moments
from shapband.estimate.averaged import Averaged, games_part, pools_part
from shapband.estimate.decompose import fourth_moment, variance_of_variance
from shapband.estimate.errors import error_freedom, error_parts
from shapband.estimate.pools import FREEDOM
from shapband.estimate.shapes import (
    maybe_constant,
    never_changed,
    rounding_error,
    skewness,
    two_values,
)


def standard_error(moments: Moments) -> FloatArray:
    """Standard error of the expectation, solver noise included: (n,)."""
    return np.asarray(np.sqrt(error_parts(moments).total))


def variance_standard_error(moments: Moments) -> FloatArray:
    """Standard error of the variance: (n,).

    The exact finite-sample variance of the raw variance, plus that of the mean noise, minus
    twice their covariance; and plus those of the mean variance over who is present, if values
    are averages over that.
    """
    if moments.certain and moments.n_games == 1:
        return np.zeros_like(moments.mean)
    n = moments.independent_games
    raw = moments.raw_variance
    mu4 = fourth_moment(moments.m4, raw, moments.n_games, moments.n_groups)
    per_game = moments.noise_m2 - 2 * moments.cross_21
    noise_part = per_game / (max(moments.n_games - moments.n_groups, 1) * n)
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


def expectation_interval(moments: Moments, level: float) -> FloatArray:
    """Interval for the expectation: (n, 2).

    It is unbounded for a value that never changed, in too few games to call it constant.
    """
    from scipy.special import stdtrit

    quantile: FloatArray = np.asarray(stdtrit(error_freedom(moments), _upper_tail(level)))
    parts = error_parts(moments)
    down, up = _games_half_widths(moments, quantile * np.sqrt(parts.total - parts.pools), level)
    ends = []
    for side, half in ((-1, down), (1, up)):
        whole = np.hypot(half, quantile * np.sqrt(parts.pools))
        whole = np.where(maybe_constant(moments, level), np.inf, whole)
        ends.append(moments.mean + side * np.maximum(whole, rounding_error(moments)))
    return np.stack(ends, axis=1)


def endless_half_widths(moments: Moments, level: float) -> FloatArray:
    """Half widths that any number of games from the same pools would leave: (n,).

    The degrees of freedom of a few games are those of the games; more games raise them to the
    most that pools have, unless the pools are smaller still.
    """
    from scipy.special import stdtrit

    if moments.pools is None:
        return np.zeros_like(moments.mean)
    few = moments.n_games - moments.n_groups
    freedom = np.where(moments.pools.freedom < few, moments.pools.freedom, FREEDOM)
    return np.asarray(stdtrit(freedom, _upper_tail(level)) * np.sqrt(moments.pools.variance))


def _games_half_widths(
    moments: Moments, half: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Half widths below and above the mean from the games, given Student's."""
    n = moments.n_games
    # The first term of Cornish and Fisher's expansion for Student's ratio is skewness * half
    # / (3 sqrt(n)), relative to `half` in standard errors. Samples show too little skewness, so
    # it is taken 1.5 times, and never shortens the other side.
    spread = np.sqrt(moments.m2 / max(n - 1, 1))
    errors = half / np.where(spread > 0, spread, 1.0)
    longer = skewness(moments) * errors / 2
    down, up = half * (1 + np.maximum(-longer, 0)), half * (1 + np.maximum(longer, 0))
    two = two_values(moments)
    low, high = two.probability(n, level)
    below = moments.mean - (two.low + low * two.spread)
    above = two.low + high * two.spread - moments.mean
    return np.where(two.found, below, down), np.where(two.found, above, up)


def variance_interval(moments: Moments, level: float) -> FloatArray:
    """Interval for the variance: (n, 2). Its lower end may be negative where noise is removed."""
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
    """Interval for the variance of averages over who is present, plus the mean variance over that.

    The errors of both parts are taken to be correlated as squared deviations are with the
    variance over who is present, from game to game.
    """
    from scipy.special import stdtrit

    low, high = _ends(moments, level)
    middle = moments.variance - averaged.mean
    error = np.sqrt(games_part(averaged, moments.n_games) + pools_part(averaged, moments))
    quantile: FloatArray = np.asarray(stdtrit(error_freedom(moments), _upper_tail(level)))
    tilt = _presence_correlation(moments, averaged)
    down, up = (_combine(part, quantile * error, -tilt) for part in (middle - low, high - middle))
    return np.stack([np.maximum(moments.variance - down, 0.0), moments.variance + up], axis=1)


def _ends(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """Ends of the interval for the variance with solver noise, also for odd values."""
    low, high = (_bonett if moments.pools is None else _with_pools)(moments, level)
    two = two_values(moments)
    ends = np.stack(two.probability(moments.n_games, level))
    at_ends = ends * (1 - ends)
    most = np.where((ends[0] < 0.5) & (ends[1] > 0.5), 0.25, at_ends.max(axis=0))
    raw = moments.raw_variance  # it is n / (n - 1) of the variance of the two numbers
    low = np.where(two.found, np.minimum(two.spread**2 * at_ends.min(axis=0), raw), low)
    high = np.where(two.found, np.maximum(two.spread**2 * most, raw), high)
    same = never_changed(moments)
    rounding = rounding_error(moments) ** 2
    high = np.where(same, rounding if moments.certain else np.maximum(high, rounding), high)
    return np.where(same, 0.0, low), np.where(maybe_constant(moments, level), np.inf, high)


def _bonett(moments: Moments, level: float) -> tuple[FloatArray, FloatArray]:
    """Bonett's interval for the raw variance: zero to infinity while there are too few games."""
    from scipy.special import ndtri

    n = moments.independent_games
    z = float(ndtri(_upper_tail(level)))
    raw = moments.raw_variance
    if n <= max(z, 1.0):
        return np.zeros_like(raw), np.full_like(raw, np.inf)
    c = n / (n - z)
    spread = np.maximum(kurtosis(moments) - (n - 3) / n, 0.0) * _slow(moments)
    error = c * np.sqrt(spread / (n - 1))
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
    games = np.maximum(kurtosis(moments) - (n - 3) / n, 0.0) * _slow(moments) / (n - 1)
    freedom = 2 / np.maximum(games + 2 * pools.square, 1e-12)
    whole = raw + pools.hidden
    tail = _upper_tail(level)
    # With hardly any degree of freedom the upper end is infinite.
    with np.errstate(divide="ignore", invalid="ignore"):
        return whole * freedom / chdtri(freedom, 1 - tail), whole * freedom / chdtri(freedom, tail)


def kurtosis(moments: Moments) -> FloatArray:
    """Kurtosis of the values: the plain one, or with groups that of the corrected moments.

    The plain kurtosis is too small in few games, and the interval holds its level with it: the
    correction adds noise to the width, which costs more coverage than the bias.
    """
    if moments.group is None:
        square = np.where(moments.m2 > 0, moments.m2, 1.0)
        return np.where(moments.m2 > 0, moments.n_games * moments.m4 / square**2, 1.0)
    raw = moments.raw_variance
    mu4 = fourth_moment(moments.m4, raw, moments.n_games, moments.n_groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(raw > 0, mu4 / raw**2, 1.0)


def _noise_half_width(moments: Moments, level: float) -> FloatArray:
    """Student's half width of the mean noise, for the games that count as independent."""
    from scipy.special import stdtrit

    n = moments.independent_games
    freedom = max(moments.n_games - moments.n_groups, 1)
    error = np.sqrt(moments.noise_m2 / freedom / n)
    return np.asarray(stdtrit(max(n - 1, 1), _upper_tail(level)) * error)


def _noise_correlation(moments: Moments) -> FloatArray:
    """Correlation over games of the squared deviation with the noise."""
    # The product of the two could overflow.
    size = np.sqrt(_square_spread(moments)) * np.sqrt(moments.noise_m2)
    return _correlation(moments.cross_21, size)


def _presence_correlation(moments: Moments, averaged: Averaged) -> FloatArray:
    """Correlation over games of the squared deviation with the variance over who is present."""
    # Both are squares, so the product of their sums of squares might overflow.
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


def check_level(level: float) -> float:
    """Check a confidence level."""
    if not 0 < check_number("level", level) < 1:
        raise InvalidInput(
            f"level must lie strictly between 0 and 1, such as 0.95; received {level!r}"
        )
    return level


def _upper_tail(level: float) -> float:
    return (1 + check_level(level)) / 2
