"""What games from pools vary by, which the share of the pools in their error is a part of."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.moments import Moments
from shapband.estimate.pools import Spread


def spread_of(moments: Moments) -> Spread:
    """What games from pools vary by."""
    correlation, n_games = _mean_squared_correlation(moments), moments.n_games
    if moments.group is None:
        raw = moments.raw_variance
        of_mean = moments.games_variance
        return Spread(n_games, raw, moments.noise, of_mean, n_games - 1, correlation)
    k, shuffles = moments.group, max(n_games // moments.group, 2)
    variance = (moments.m2 + moments.group_m2) / (n_games - 1)
    of_mean = _shuffle_variance(moments, shuffles) / shuffles
    effective = k * np.sqrt(shuffles * (shuffles - 1))
    return Spread(effective, variance, moments.noise, of_mean, shuffles * (k - 1), correlation)


def _shuffle_variance(moments: Moments, shuffles: int) -> FloatArray:
    """Variance of the mean of one shuffle, if the pools are given; shrunk over the providers.

    It is found as a share of the variance that the mean would have if the shuffle had other
    records as well.
    """
    whole = moments.raw_variance / (moments.n_games / moments.n_groups)
    if not (whole > 0).any():
        return np.zeros_like(whole)
    between = moments.group_m2 / moments.n_games * shuffles / (shuffles - 1)
    share = np.where(whole > 0, between / np.where(whole > 0, whole, 1.0), 0.0)
    common = between.sum() / whole.sum()
    noise = 2 * np.maximum(share, 0.05) ** 2 / (shuffles - 1)
    spread = max(((share - common) ** 2 - noise).sum() / max(len(share) - 1, 1), 0.0)
    shrunk = common + spread / (spread + noise) * (share - common)
    return np.asarray(np.clip(shrunk, 0.0, 1.0) * whole)


def _mean_squared_correlation(moments: Moments) -> float:
    """Mean over pairs of providers; 0 if covariances are not kept."""
    correlation, n = moments.correlation, len(moments.mean)
    if correlation is None or n < 2:
        return 0.0
    square = correlation**2
    return float((square.sum() - np.trace(square)) / (n * (n - 1)))
