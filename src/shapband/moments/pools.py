"""Corrections that bring the pooled variance of an additive game to a common target.

A bootstrap from a pool of m records has the pool's own variance, whose expectation is
(m - 1) / m times that of the source; and a provider's mean over k records has 1 / k of the
variance of one record. Both factors are exact for additive games and for no others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shapband._typing import FloatArray


def finite_pool_correction(variance: ArrayLike, pool_sizes: ArrayLike) -> FloatArray:
    """Remove the bias of the bootstrap variance of an additive game.

    Examples
    --------
    >>> finite_pool_correction([0.99], pool_sizes=[100]).tolist()
    [1.0]
    """
    sizes = np.asarray(pool_sizes, dtype=np.float64)
    return np.asarray(variance, dtype=np.float64) * (sizes / (sizes - 1))


def normalise_draw_size(variance: ArrayLike, draw_sizes: ArrayLike, n_sample: int) -> FloatArray:
    """Scale the variance of an additive game to draws of `n_sample` records.

    Examples
    --------
    >>> normalise_draw_size([0.5], draw_sizes=[256], n_sample=128).tolist()
    [1.0]
    """
    sizes = np.asarray(draw_sizes, dtype=np.float64)
    return np.asarray(variance, dtype=np.float64) * (sizes / n_sample)
