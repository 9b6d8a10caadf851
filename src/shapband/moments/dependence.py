"""Formulas for games that depend on each other, because providers stay present or absent.

The presence of a provider is a two-state chain whose correlation at a distance of k games is ρ^k,
with ρ its persistence.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray


def variance_of_rate(p: FloatArray, rho: FloatArray, n_games: int) -> FloatArray:
    """Variance of the share of games in which a provider is present.

    It is p (1 - p) / G · (1 + 2 Σ_k (1 - k / G) ρ^k), with the sum over k = 1 .. G - 1.

    Examples
    --------
    >>> variance_of_rate(np.array([0.5]), np.array([0.0]), 100)
    array([0.0025])
    """
    along = rho / (1 - rho) - rho * (1 - rho**n_games) / (n_games * (1 - rho) ** 2)
    return np.asarray(p * (1 - p) / n_games * (1 + 2 * along))


def largest_of_others(rho: FloatArray) -> FloatArray:
    """Largest persistence, in absolute value, of all other providers; 0 for a single one.

    Examples
    --------
    >>> largest_of_others(np.array([0.9, 0.5, -0.1])).tolist()
    [0.5, 0.9, 0.9]
    """
    size = np.abs(rho)
    if len(size) == 1:
        return np.zeros(1)
    order = np.argsort(size)
    others = np.full(len(size), size[order[-1]])
    others[order[-1]] = size[order[-2]]
    return others


def square_factor(
    own: FloatArray, slow: FloatArray, rest: FloatArray, variance: FloatArray
) -> FloatArray:
    """Factor by which dependence raises the variance of a mean of squared deviations.

    Parameters
    ----------
    own : (n,) variance of the squared deviations that is due to the provider's own presence
    slow : (n,) factor by which its persistence raises the variance of a mean
    rest : (n,) the same factor for what is not due to its own presence
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
