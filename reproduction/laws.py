"""Exact values and distributions of the metrics, for the additive game with 128-record draws.

A provider's value is the mean of its draw, so the distribution of every metric is known: sample
means are taken as normal, and sample variances as gamma with the same variance. Providers are
independent, which gives the sampling error of each metric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from reproduction.metrics import FloatArray, Measured, variance_of_variance
from reproduction.paper import MAE_E, MAE_VAR, VAR_E, VAR_VAR

TARGET, POOL, FRESH_GAMES, LOCAL_GAMES, BLOCK_GAMES = 128, 512, 4, 50, 48


@dataclass(frozen=True, eq=False)
class Source:
    """Moments of the fixed empirical sources, (n,) each."""

    mean: FloatArray
    variance: FloatArray
    fourth: FloatArray

    @property
    def value_variance(self) -> FloatArray:
        """Exact variance of the value of a 128-record draw."""
        return self.variance / TARGET


def spread_of_estimates(
    source: Source, method: str, sizes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Variances across replications of both estimates, (n,) each, for draws of `sizes`."""
    if method == "baseline":
        return source.value_variance / FRESH_GAMES, _variance_of(source, FRESH_GAMES)
    of_pool = variance_of_variance(source.fourth, source.variance, POOL) / TARGET**2
    if method == "blocks":
        one_shuffle = _variance_of(source, POOL // TARGET)
        shuffles = BLOCK_GAMES // (POOL // TARGET)
        return source.variance / POOL, of_pool + (one_shuffle - of_pool) / shuffles
    kept = (POOL - 1) / POOL
    expectation = source.variance * (1 / POOL + kept / (sizes * LOCAL_GAMES))
    square = kept**2 * (source.variance**2 + of_pool * TARGET**2)  # E[pool variance squared]
    fourth = (source.fourth + 3 * (sizes - 1) * square) / sizes**3
    given_pool = (fourth - (LOCAL_GAMES - 3) / (LOCAL_GAMES - 1) * square / sizes**2) / LOCAL_GAMES
    return expectation, of_pool + (sizes / TARGET / kept) ** 2 * given_pool


def predicted(
    source: Source, method: str, sizes: FloatArray, replications: int
) -> dict[str, Measured]:
    """Predict all four metrics, with their errors for this number of replications."""
    of_mean, of_variance = spread_of_estimates(source, method, sizes)
    shape = source.value_variance**2 / of_variance  # of the gamma distribution
    kurtosis = 3 + 6 / shape
    deviation = _gamma_deviation(shape) * source.value_variance / shape
    r = replications
    return {
        VAR_E: _average(of_mean, 2 * of_mean**2 / (r - 1)),
        VAR_VAR: _average(of_variance, of_variance**2 * (kurtosis - (r - 3) / (r - 1)) / r),
        MAE_E: _average(np.sqrt(2 / np.pi * of_mean), (1 - 2 / np.pi) * of_mean / r),
        MAE_VAR: _average(deviation, (of_variance - deviation**2) / r),
    }


def _variance_of(source: Source, games: int) -> FloatArray:
    """Variance of the sample variance over independent 128-record games, Eq. (11)."""
    fourth = (source.fourth + 3 * (TARGET - 1) * source.variance**2) / TARGET**3
    return variance_of_variance(fourth, source.value_variance, games)


def _gamma_deviation(shape: FloatArray) -> FloatArray:
    """Mean absolute deviation of a gamma variable of unit scale: 2 aᵃ e⁻ᵃ / Γ(a)."""
    return np.asarray(2 * np.exp(shape * np.log(shape) - shape - gammaln(shape)))


def _average(values: FloatArray, variances: FloatArray) -> Measured:
    """Average over independent providers."""
    return Measured(float(values.mean()), float(np.sqrt(variances.sum()) / len(values)))
