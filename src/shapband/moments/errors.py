"""The error of the expectation, by cause: the number of games, the solver, and the pools."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.moments.accumulate import Moments


@dataclass(frozen=True, eq=False)
class ErrorParts:
    """The variance of every expectation's error, split by cause; the parts add up.

    Attributes
    ----------
    games : (n,) from the spread of the values over a finite number of games
    solver : (n,) from the solver's noise in these games
    pools : (n,) from the choice of the pools, which more games do not lower
    """

    games: FloatArray
    solver: FloatArray
    pools: FloatArray

    @property
    def total(self) -> FloatArray:
        """(n,) the square of the standard error."""
        return self.games + self.solver + self.pools


def error_parts(moments: Moments) -> ErrorParts:
    """Split the error of the expectation by its causes."""
    whole = moments.raw_variance / moments.independent_games  # Eq. (9)
    solver = np.minimum(moments.noise / moments.independent_games, whole)
    pools = np.zeros_like(whole) if moments.pools is None else moments.pools.variance
    return ErrorParts(whole - solver, solver, pools)


def error_freedom(moments: Moments) -> FloatArray:
    """Degrees of freedom of Student's quantile for the error of the expectation: (n,)."""
    if moments.pools is not None:
        return moments.pools.freedom
    return np.full_like(moments.mean, moments.independent_games - 1)


def error_covariance(moments: Moments) -> FloatArray | None:
    """Covariance of the errors of all expectations: (n, n), or None if it was not kept.

    The errors from the pools are given the correlations of the values: a pool moves the values
    of two providers together to the same degree as a single draw does.
    """
    if moments.products is None:
        return None
    freedom = max(moments.n_games - moments.n_groups, 1)
    across = moments.products / freedom
    if moments.pools is None:
        return across / moments.independent_games
    spread = np.sqrt(np.diag(across))
    scale = np.sqrt(moments.pools.variance) / np.where(spread > 0, spread, 1.0)
    return across / moments.independent_games + across * np.outer(scale, scale)
