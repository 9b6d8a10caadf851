"""Slopes that drift with the size of a coalition, by a matrix over all pairs of coalitions.

The equations are solved directly instead of by conjugate gradients, so values agree with those of
the compiled kernel only as far as these have converged.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray


def fit(
    inside: FloatArray,
    sizes: IntArray,
    values: FloatArray,
    priors: FloatArray,
    ratios: FloatArray,
    tolerance: float,
) -> tuple[FloatArray, FloatArray]:
    """Levels (n + 1,) and slopes (n + 1, n) that are most likely with noise of a variance of 1."""
    n = inside.shape[1]
    all_sizes = np.arange(n + 1)
    apart = np.abs(all_sizes[:, None] - all_sizes)
    levels, slopes = (prior * ratio**apart for prior, ratio in zip(priors, ratios, strict=True))
    centred = inside - sizes[:, None] / n
    of_pairs = np.ix_(sizes, sizes)
    covariance = levels[of_pairs] + slopes[of_pairs] * (centred @ centred.T)
    coefficients = np.linalg.solve(covariance + np.eye(len(values)), values)
    by_size = (all_sizes[:, None] == sizes) * coefficients
    return levels @ by_size.sum(axis=1), slopes @ (by_size @ centred)
