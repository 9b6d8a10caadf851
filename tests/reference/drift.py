"""Slopes that drift with the size of a coalition, by a matrix over all pairs of coalitions.

The equations are solved directly instead of by conjugate gradients, so values agree with those of
the compiled kernel only as far as these have converged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray
from tests.reference.listed import LANES, dense


def fit(
    n: int,
    starts: IntArray,
    members: NDArray[np.int32],
    sizes: IntArray,
    values: FloatArray,
    trained: FloatArray,
    edges: IntArray,
    priors: FloatArray,
    level_ratio: float,
    ratios: FloatArray,
    tolerance: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Levels, slopes and predictions of LANES surrogates; see the compiled kernel."""
    all_sizes, n_blocks = np.arange(n + 1), len(ratios)
    level_covariance = priors[0] * level_ratio ** np.abs(all_sizes[:, None] - all_sizes)
    places = np.cumsum(np.log(ratios))
    slope_covariance = priors[1] * np.exp(-np.abs(places[:, None] - places))
    block = np.repeat(np.arange(n_blocks), np.diff(edges))
    centred = dense(starts, members, sizes, n) - sizes[:, None] / n
    covariance = level_covariance[np.ix_(sizes, sizes)]
    covariance = covariance + slope_covariance[np.ix_(block, block)] * (centred @ centred.T)
    levels, slopes = np.zeros((n + 1, LANES)), np.zeros((n_blocks, n, LANES))
    predictions = np.empty((len(sizes), LANES))
    for lane in range(LANES):
        used = np.flatnonzero(trained[:, lane])
        known = values.reshape(-1, LANES)[used, lane]
        coefficients = np.zeros(len(sizes))
        equations = covariance[np.ix_(used, used)] + np.eye(len(used))
        coefficients[used] = np.linalg.solve(equations, known)
        by_size = (all_sizes[:, None] == sizes) * coefficients
        by_block = (np.arange(n_blocks)[:, None] == block) * coefficients
        levels[:, lane] = level_covariance @ by_size.sum(axis=1)
        slopes[:, :, lane] = slope_covariance @ (by_block @ centred)
        predictions[:, lane] = covariance @ coefficients
    return levels, slopes.reshape(n_blocks, -1), predictions.ravel()
