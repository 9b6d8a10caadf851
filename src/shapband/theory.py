"""The paper's closed forms of both moments, its allocation rule and its corrections.

Both moments of the Shapley value follow from the moments of the utilities (`closed_form`), and for
the additive game from the moments of the records (`additive_gaussian`). `allocate` is the
allocation rule of Algorithm 4. The two corrections scale the pooled variance of an additive game to
a common target: a bootstrap from a pool of m records has the pool's own variance, whose expectation
is (m - 1) / m times the variance of the source; and a mean over k records has 1 / k of the variance
of one record. Both factors are exact for additive games only. `participation_matrix` and
`random_participation` are for providers that take part independently with known probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shapband._typing import FloatArray
from shapband.checks import check_row
from shapband.coalitions import coalition_weights
from shapband.errors import InvalidInput
from shapband.indices import SHAPLEY
from shapband.sampling.allocation import allocate
from shapband.solvers.presence import presence_chances, values_of_all_sets

__all__ = [
    "ClosedForm",
    "additive_gaussian",
    "allocate",
    "closed_form",
    "finite_pool_correction",
    "normalise_draw_size",
    "participation_matrix",
    "random_participation",
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
    """Return expectation and covariance of φ from moments of utilities (Propositions 1 and 2).

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


def participation_matrix(probabilities: ArrayLike) -> FloatArray:
    """Return the linear map from 2**n utilities to expected Shapley values: (n, 2**n).

    The expectation is over who takes part: provider i does with probability p_i, independently of
    all others, and is worth 0 if not. Let every provider that takes part arrive at a random time
    between 0 and 1; a Shapley value is the expected gain when the provider arrives. At time t
    another provider j takes part and has arrived with probability t p_j, so

        E φ_i = p_i ∫ Σ_{S∌i} Π_{j∈S} t p_j Π_{j∉S∪i} (1 - t p_j) (v(S ∪ i) - v(S)) dt,

    over t from 0 to 1: a polynomial of t, which Gauss's quadrature integrates exactly.

    Parameters
    ----------
    probabilities : (n,) of each provider to take part, for up to 20 providers

    Examples
    --------
    >>> import shapband as sb
    >>> (sb.theory.participation_matrix([0.5, 1.0]) @ [0.0, 1.0, 2.0, 5.0]).tolist()
    [1.0, 2.5]
    """
    p = check_row("participation_matrix: probabilities", probabilities)
    if not 1 <= len(p) <= 20 or (p < 0).any() or (p > 1).any():
        raise InvalidInput(
            "participation_matrix: probabilities must be 1 to 20 numbers between 0 and 1; received "
            f"{p.tolist()}"
        )
    nodes, weights = np.polynomial.legendre.leggauss(len(p) // 2 + 1)
    matrix = np.zeros((len(p), 2 ** len(p)))
    for t, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        for i in range(len(p)):
            matrix[i] += weight * p[i] * _gain_weights(t * p, i)
    return matrix


def _gain_weights(arrived: FloatArray, i: int) -> FloatArray:
    """Weights of v(S) in the expected gain when provider i arrives.

    Parameters
    ----------
    arrived : (n,) probability that each of the others has arrived before

    Returns
    -------
    (2**n,) positive for coalitions with i, negative for coalitions without i.
    """
    weights = np.ones(1)
    for j, chance in enumerate(arrived.tolist()):
        without, inside = (-1.0, 1.0) if j == i else (1 - chance, chance)
        weights = np.concatenate([weights * without, weights * inside])
    return weights


def random_participation(values: ArrayLike, probabilities: ArrayLike) -> ClosedForm:
    """Return both moments of the Shapley values of a game whose providers take part at random.

    Both follow from all 2**n sets of those who take part, with the code that valuations use to
    average over them. `participation_matrix` gives the same expectation.

    Parameters
    ----------
    values : (2**n,) utilities, indexed by bitmask, for up to 12 providers
    probabilities : (n,) of each provider to take part, independently of all others

    Examples
    --------
    >>> import shapband as sb
    >>> exact = sb.theory.random_participation([0.0, 1.0, 2.0, 5.0], [0.5, 1.0])
    >>> exact.expectation.tolist(), exact.variance.tolist()
    ([1.0, 2.5], [1.0, 0.25])
    """
    v = check_row("random_participation: values", values)
    p = check_row("random_participation: probabilities", probabilities)
    n = len(p)
    if not 1 <= n <= 12 or v.shape != (2**n,):
        raise InvalidInput(
            "random_participation: values must be 2**n numbers for n = 1 to 12 probabilities; "
            f"received the shapes {v.shape} and {p.shape}"
        )
    if (p < 0).any() or (p > 1).any():
        raise InvalidInput(
            f"random_participation: probabilities must lie between 0 and 1; received {p.tolist()}"
        )
    phi, chances = values_of_all_sets(v), presence_chances(p)
    expectation = chances @ phi
    apart = phi - expectation
    return ClosedForm(expectation, apart.T @ (chances[:, None] * apart))


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
