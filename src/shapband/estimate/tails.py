"""The distribution of the values over games: quantiles, tails and correlations with errors.

Nothing here assumes normal values. Intervals of quantiles and of probabilities are exact for
independent games. Below, x is (n_games, n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray

_LEAST_TAIL = 50  # with this many games in the tail, 95 % intervals of its mean hold in 93 to 96 %


class Bounded(NamedTuple):
    """An estimate with its standard error, NaN where there is none, and its interval."""

    estimate: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray


def quantile(x: FloatArray, probability: float, level: float) -> Bounded:
    """Quantile with the interval between two order statistics: (n,) each.

    An end is infinite where there are too few games for it.
    """
    from scipy.special import bdtr

    n = len(x)
    tail = (1 - level) / 2
    unbounded = np.full_like(x[:1], np.inf)
    ordered = np.concatenate([-unbounded, np.sort(x, axis=0), unbounded])
    at_most = bdtr(np.arange(n + 1), n, probability)  # games that fall below the quantile
    first = int(np.searchsorted(at_most, tail))
    last = int(np.searchsorted(at_most, 1 - tail)) + 1
    middle = np.quantile(x, probability, axis=0, method="median_unbiased")
    return Bounded(middle, np.full_like(middle, np.nan), ordered[first], ordered[last])


def probability_below(x: FloatArray, threshold: float, level: float) -> Bounded:
    """Probability of a value below a threshold, with the interval of Clopper and Pearson."""
    from scipy.special import betaincinv

    n = len(x)
    below = (x < threshold).sum(axis=0)
    tail = (1 - level) / 2
    low = betaincinv(np.maximum(below, 1), n - below + 1, tail)
    high = betaincinv(below + 1, np.maximum(n - below, 1), 1 - tail)
    share = below / n
    return Bounded(
        share,
        np.full_like(share, np.nan),
        np.where(below == 0, 0.0, low),
        np.where(below == n, 1.0, high),
    )


def shortfall(x: FloatArray, tail: float, level: float) -> Bounded:
    """Mean of the smallest values, which make up `tail` of all games: (n,) each.

    With q the quantile, the influence of a game is q - (q - x)⁺ / tail - shortfall. The interval
    is Student's, with the games in the tail; it is NaN with fewer than 50 of them, where it would
    hold too rarely.
    """
    from scipy.special import stdtrit

    n = len(x)
    q = np.quantile(x, tail, axis=0, method="median_unbiased")
    influence = q - np.maximum(q - x, 0.0) / tail
    mean = influence.mean(axis=0)
    error = influence.std(axis=0, ddof=1) / np.sqrt(n)
    in_tail = tail * n
    known = stdtrit(in_tail - 1, (1 + level) / 2) if in_tail >= _LEAST_TAIL else np.nan
    return Bounded(mean, error, mean - known * error, mean + known * error)


def correlation(x: FloatArray, level: float) -> Bounded:
    """Correlations of the providers' values: (n, n) each, NaN for constant values.

    The error is the larger of two: the error from the influence function, which is too small with
    few games, and the error of Fisher's z for normal values, which is too small with heavy tails.
    """
    from scipy.special import stdtrit

    n = len(x)
    deviation = x - x.mean(axis=0)
    spread = deviation.std(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(np.ptp(x, axis=0) > 0, deviation / spread, np.nan)
    r = np.clip(z.T @ z / n, -1.0, 1.0)
    np.fill_diagonal(r, np.where(np.isnan(np.diag(r)), np.nan, 1.0))
    unexplained = 1 - r**2
    normal = unexplained / np.sqrt(n - 3)
    error = np.maximum(np.sqrt(_influence_variance(z, r) / (n - 3)), normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = stdtrit(n - 1, (1 + level) / 2) * error / unexplained
        low, high = np.tanh(np.arctanh(r) - half), np.tanh(np.arctanh(r) + half)
    exact = unexplained == 0
    return Bounded(
        r, np.where(exact, 0.0, error), np.where(exact, r, low), np.where(exact, r, high)
    )


def _influence_variance(z: FloatArray, r: FloatArray) -> FloatArray:
    """Variance over games of z_i z_j - r (z_i² + z_j²) / 2, for standardised values z: (n, n)."""
    n = len(z)
    squares, cubes, fourth = (z**2).T @ z**2 / n, (z**3).T @ z / n, (z**4).mean(axis=0)
    both = fourth[:, None] + 2 * squares + fourth
    return np.asarray(np.maximum(squares - r * (cubes + cubes.T) + r**2 / 4 * both, 0.0))
