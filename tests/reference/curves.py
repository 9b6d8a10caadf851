"""Learning curves by a matrix of all columns.

The equations are solved directly instead of by conjugate gradients, so values agree with those of
the compiled kernel only as far as these have converged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray
from tests.reference.listed import LANES, dense


def fit(
    starts: IntArray,
    members: NDArray[np.int32],
    sizes: IntArray,
    values: FloatArray,
    weights: FloatArray,
    trained: FloatArray,
    edges: IntArray,
    scales: FloatArray,
    ridge: float,
    tolerances: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fit LANES curves, each to its trained rows; see the compiled kernel."""
    n = len(weights) - 1
    inside = dense(starts, members, sizes, n)
    scale = np.repeat(scales, np.diff(edges))
    columns = np.concatenate([inside, inside * scale[:, None]], axis=1)
    slopes, means = np.zeros((2, n, LANES)), np.zeros((n + 1, LANES))
    predictions = np.empty((len(sizes), LANES))
    for lane in range(LANES):
        used = trained[:, lane] > 0
        found, means[:, lane] = _fit(columns[used], sizes[used], values[used], weights, ridge)
        slopes[:, :, lane] = found.reshape(2, n)
        predictions[:, lane] = means[sizes, lane] + columns @ found
    return slopes.reshape(2, -1), means, predictions.ravel()


def _fit(
    columns: FloatArray, sizes: IntArray, values: FloatArray, weights: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Weighted least squares with a mean for each size: slopes (2 n,) and means (n + 1,)."""
    indicator = sizes[:, None] == np.arange(len(weights))
    counts = np.maximum(indicator.sum(axis=0), 1)
    column_means, value_means = (indicator.T @ columns) / counts[:, None], indicator.T @ values
    value_means = value_means / counts
    centred = columns - column_means[sizes]
    weighted = centred.T * weights[sizes]
    equations = weighted @ centred + ridge * np.eye(columns.shape[1])
    slopes = np.linalg.solve(equations, weighted @ (values - value_means[sizes]))
    return slopes, value_means - column_means @ slopes
