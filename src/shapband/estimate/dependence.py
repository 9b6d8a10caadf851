"""Formulas for games that depend on each other, because providers stay present or absent.

The presence of a provider is a two-state chain whose correlation at a distance of k games is ρ^k,
with ρ its persistence.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray

_NEAR = 1e-4  # if games × (1 - ρ) is at most this, ρ counts as 1, because the formula would cancel


def variance_of_rate(p: FloatArray, rho: FloatArray, n_games: int) -> FloatArray:
    """Variance of the share of games in which a provider is present.

    It is p (1 - p) / G · (1 + 2 Σ_k (1 - k / G) ρ^k), with the sum over k = 1 .. G - 1.

    Examples
    --------
    >>> variance_of_rate(np.array([0.5]), np.array([0.0]), 100)
    array([0.0025])
    """
    return np.asarray(p * (1 - p) / n_games * (1 + 2 * rho * _continued(rho, n_games)))


def _continued(rho: FloatArray, n_games: int) -> FloatArray:
    """Return Σ_k (1 - k / G) ρ^(k - 1), with the sum over k = 1 .. G - 1."""
    apart = np.where(n_games * (1 - rho) > _NEAR, 1 - rho, 1.0)
    found = 1 / apart - (1 - rho**n_games) / (n_games * apart**2)
    return np.where(n_games * (1 - rho) > _NEAR, found, (n_games - 1) / 2)


def long_run_variance(
    variance: FloatArray, after: FloatArray, rho: FloatArray, n_games: int
) -> FloatArray:
    """Bound on n_games × the variance of the mean, if it depends on others' presence: (n,).

    The covariance of two games at a distance of k games is Σ c λ^k, with c ≥ 0 and every λ a
    product of providers' persistences. If all λ are positive, the sum over k is at most `after`
    times the sum of ρ'^(k - 1), with ρ' the largest persistence of the other providers. Negative λ
    may cancel positive ones in `after`, by at most the variance times the size of the most negative
    λ, so that much is added.

    Parameters
    ----------
    variance : (n,) of single games
    after : (n,) covariance of two consecutive games
    rho : (n,) persistence of each provider
    n_games : games of the mean

    Examples
    --------
    >>> one, rho = np.ones(2), np.array([0.5, 0.5])
    >>> long_run_variance(one, 0.5 * one, rho, 10**6).round(3).tolist()
    [3.0, 3.0]
    """
    high = np.maximum(_largest_of_others(rho), 0.0)
    low = np.minimum(-_largest_of_others(-rho), rho * high)
    hidden = np.where(high > 0, np.maximum(-low, 0.0), 0.0) * variance
    raised = (np.maximum(after, 0.0) + hidden) * _continued(high, n_games)
    return np.asarray(variance + 2 * raised)


def _largest_of_others(numbers: FloatArray) -> FloatArray:
    """Largest number of all other providers; 0 for a single one: (n,)."""
    if len(numbers) == 1:
        return np.zeros(1)
    order = np.argsort(numbers)
    others = np.full(len(numbers), numbers[order[-1]])
    others[order[-1]] = numbers[order[-2]]
    return others


def square_factor(
    own: FloatArray, slow: FloatArray, rest: FloatArray, variance: FloatArray
) -> FloatArray:
    """Factor by which dependence raises the variance of a mean of squared deviations.

    Parameters
    ----------
    own : (n,) variance of the squared deviations that is due to the provider's own presence
    slow : (n,) factor by which its persistence raises the variance of a mean
    rest : (n,) the same factor for the part that is not due to its own presence
    variance : (n,) variance of the squared deviations
    """
    own = np.minimum(own, variance)
    raised = own * slow + (variance - own) * rest
    safe = np.where(variance > 0, variance, 1.0)
    return np.asarray(np.where(variance > 0, np.maximum(raised / safe, 1.0), 1.0))


def correlation_of(covariance: FloatArray) -> FloatArray:
    """Correlations of a matrix that may not quite be a covariance: (n, n)."""
    square = np.maximum(np.diag(covariance), 0.0)
    scale = np.sqrt(np.outer(square, square))
    found = np.where(scale > 0, covariance / np.where(scale > 0, scale, 1.0), 0.0)
    found = np.clip((found + found.T) / 2, -1.0, 1.0)
    np.fill_diagonal(found, np.where(square > 0, 1.0, 0.0))
    return np.asarray(found)
