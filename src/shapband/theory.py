"""The paper's closed forms of both moments, its allocation rule and its corrections.

Both moments of the Shapley value follow from those of the utilities (`closed_form`), and for the
additive game from those of the records (`additive_gaussian`). `allocate` is the allocation rule of
Algorithm 4. The two corrections scale the pooled variance of an additive game to a common target:
a bootstrap from a pool of m records has the pool's own variance, whose expectation is (m - 1) / m
times that of the source; and a mean over k records has 1 / k of the variance of one record. Both
factors are exact for additive games only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shapband._typing import FloatArray
from shapband.coalitions import coalition_weights
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY
from shapband.sampling.allocation import allocate

__all__ = [
    "ClosedForm",
    "additive_gaussian",
    "allocate",
    "closed_form",
    "finite_pool_correction",
    "normalise_draw_size",
    "shapley_matrix",
]


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Exact moments of the Shapley values: expectation (n,) and covariance (n, n)."""

    expectation: FloatArray
    covariance: FloatArray

    @property
    def variance(self) -> FloatArray:
        """(n,) variances."""
        return self.covariance.diagonal().copy()


def shapley_matrix(n: int) -> FloatArray:
    """Return the linear map from 2**n utilities to n Shapley values, eq. (1): (n, 2**n).

    Examples
    --------
    >>> import shapband as sb
    >>> (sb.theory.shapley_matrix(2) @ [0.0, 1.0, 2.0, 5.0]).tolist()
    [2.0, 3.0]
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= 20:
        raise InvalidInput(f"shapley_matrix: n must be between 1 and 20; received {n!r}")
    masks = np.arange(2**n)
    sizes = np.bitwise_count(masks).astype(np.int64)
    inside, outside = coalition_weights(SHAPLEY.size_weights(n))
    is_member = (masks[None, :] >> np.arange(n)[:, None]) & 1 == 1
    return np.where(is_member, inside[sizes], -outside[sizes])


def closed_form(means: ArrayLike, covariance: ArrayLike) -> ClosedForm:
    """Return expectation and covariance of φ from those of the utilities (Propositions 1 and 2).

    Parameters
    ----------
    means : (2**n,) expected utilities, indexed by bitmask
    covariance : (2**n, 2**n) covariance of the utilities

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> exact = sb.theory.closed_form([0.0, 1.0, 2.0, 5.0], np.diag([0.0, 4.0, 4.0, 0.0]))
    >>> exact.expectation.tolist(), exact.variance.tolist()
    ([2.0, 3.0], [2.0, 2.0])
    """
    mu = np.asarray(means, dtype=np.float64)
    sigma = np.asarray(covariance, dtype=np.float64)
    n = mu.size.bit_length() - 1
    if mu.shape != (2**n,) or n < 1 or sigma.shape != (2**n, 2**n):
        raise InvalidInput(
            "closed_form: means must be 2**n numbers and covariance 2**n by 2**n; received the "
            f"shapes {mu.shape} and {sigma.shape}"
        )
    if not (np.isfinite(mu).all() and np.isfinite(sigma).all()):
        raise InvalidInput("closed_form: means and covariance must be finite")
    weights = shapley_matrix(n)
    return ClosedForm(weights @ mu, weights @ sigma @ weights.T)


def additive_gaussian(
    means: ArrayLike, deviations: ArrayLike, weights: ArrayLike = 1.0, n_sample: int = 1
) -> ClosedForm:
    """Return both moments of the weighted additive game, Σ weight × mean of `n_sample` records.

    Parameters
    ----------
    means, deviations : (n,) mean and standard deviation of one record of each provider
    weights : (n,) or one number
    n_sample : records in a draw

    Examples
    --------
    >>> import shapband as sb
    >>> exact = sb.theory.additive_gaussian([1.0, 2.0], [3.0, 1.0], weights=[2.0, 1.0])
    >>> exact.expectation.tolist(), exact.variance.tolist()
    ([2.0, 2.0], [36.0, 1.0])
    """
    mu, sd = np.asarray(means, dtype=np.float64), np.asarray(deviations, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    return ClosedForm(w * mu, np.diag((w * sd) ** 2 / n_sample))  # Examples 2 and 3


def finite_pool_correction(variance: ArrayLike, pool_sizes: ArrayLike) -> FloatArray:
    """Remove the bias of the bootstrap variance of an additive game.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.theory.finite_pool_correction([0.99], pool_sizes=[100]).tolist()
    [1.0]
    """
    sizes = np.asarray(pool_sizes, dtype=np.float64)
    return np.asarray(variance, dtype=np.float64) * (sizes / (sizes - 1))


def normalise_draw_size(variance: ArrayLike, draw_sizes: ArrayLike, n_sample: int) -> FloatArray:
    """Scale the variance of an additive game to draws of `n_sample` records.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.theory.normalise_draw_size([0.5], draw_sizes=[256], n_sample=128).tolist()
    [1.0]
    """
    sizes = np.asarray(draw_sizes, dtype=np.float64)
    return np.asarray(variance, dtype=np.float64) * (sizes / n_sample)
