"""The error of the expectation, by cause: the number of games, the solver, and the pools."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.accumulate import Moments


@dataclass(frozen=True, eq=False)
class ErrorParts:
    """The variance of every expectation's error, split by cause; the parts add up.

    Attributes
    ----------
    games : (n,) from the spread of the values over a finite number of games
    solver : (n,) from the solver's noise in these games
    pools : (n,) from the choice of the pools, which more games do not lower
    total : (n,) the square of the standard error; known even if the solver's noise is not
    """

    games: FloatArray
    solver: FloatArray
    pools: FloatArray
    total: FloatArray


def error_parts(moments: Moments) -> ErrorParts:
    """Split the error of the expectation by its causes."""
    if moments.pools is None:
        whole = games_variance(moments)
        pools = np.zeros_like(whole)
    else:
        whole, pools = moments.pools.games, moments.pools.variance
    solver = np.minimum(moments.noise / moments.n_games, whole)
    return ErrorParts(whole - solver, solver, pools, whole + pools)


def games_variance(moments: Moments) -> FloatArray:
    """Variance of every expectation over the choice of games, solver noise included: (n,)."""
    if moments.presence is not None and moments.presence.of_mean is not None:
        return moments.presence.of_mean
    return np.asarray(moments.raw_variance / moments.independent_games)  # Eq. (9)


def error_correlation(moments: Moments) -> FloatArray | None:
    """Correlation of the errors of all expectations: (n, n), or None if it was not kept.

    It is that of the values, unless games depend on each other or their presence was recorded.
    """
    if moments.presence is not None and moments.presence.of_mean is not None:
        return moments.presence.correlation
    return moments.correlation


def error_freedom(moments: Moments) -> FloatArray:
    """Degrees of freedom of Student's quantile for the error of the expectation: (n,)."""
    if moments.pools is not None:
        return moments.pools.freedom
    if moments.presence is not None and moments.presence.freedom is not None:
        return moments.presence.freedom
    games = moments.independent_games - 1
    return np.full_like(moments.mean, max(games, 1) if moments.certain else games)


def error_covariance(moments: Moments) -> FloatArray | None:
    """Covariance of the errors of all expectations: (n, n), or None if it was not kept.

    The errors from the pools are given the correlations of the values: a pool moves the values
    of two providers together to the same degree as a single draw does. One game gives zeros.
    """
    correlation = error_correlation(moments)
    if correlation is None:
        return None
    if moments.n_games < 2:
        return np.zeros_like(correlation)
    parts = error_parts(moments)
    games, pools = np.sqrt(parts.total - parts.pools), np.sqrt(parts.pools)
    return np.asarray(correlation * (np.outer(games, games) + np.outer(pools, pools)))
