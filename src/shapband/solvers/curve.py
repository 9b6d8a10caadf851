"""A surrogate for games of data: a learning curve for each provider.

The value of a coalition S of s members is c_s + Σ (a_i + b_i / s) over its members i, fitted by
weighted least squares with a ridge. Above 200, 1 / s is rounded by up to 0.5 %, so that several
sizes have the same slopes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband import kernels
from shapband._typing import BoolArray, FloatArray
from shapband.solvers.listed import LANES, Blocks, Listed

# A block of about s / 100 sizes shares the same 1 / s. With s / 8, for 1 / s and for all slopes,
# the noise was 1.8 times as large in a game of 1,000 providers, v(S) = √(sum of weights).
_OF_SIZE = 100


@dataclass(frozen=True, eq=False)
class Curves:
    """Learning curves, each fitted to some of the rows.

    Attributes
    ----------
    ends : (n_curves, 2, n) the slopes of each provider: a_i and b_i / 2
    scales : (n + 1,) 2 / s
    means : (n_curves, n + 1) c_s
    predictions : (n_rows, n_curves)
    """

    ends: FloatArray
    scales: FloatArray
    means: FloatArray
    predictions: FloatArray


def fit_curves(
    listed: Listed,
    values: FloatArray,
    weights: FloatArray,
    trained: BoolArray,
    ridge: float,
    tolerances: FloatArray,
) -> Curves:
    """Fit learning curves, each to some of the rows.

    Parameters
    ----------
    values : (n_rows,)
    weights : (n + 1,) weight of a squared residual of each size
    trained : (n_rows, n_curves) whether each row is in the fit of each curve
    ridge : weight of the squared slopes
    tolerances : (n_curves,) accuracy of each fit, see the kernel
    """
    n, n_curves = listed.n, trained.shape[1]
    blocks = Blocks.of(n, _OF_SIZE, n)
    scales = 2.0 / np.maximum(blocks.middles, 1)
    ends, means = np.empty((n_curves, 2, n)), np.empty((n_curves, n + 1))
    predictions = np.empty(trained.shape)
    for part, lanes in listed.lanes(trained):
        count = part.stop - part.start
        accuracy = np.ones(LANES)
        accuracy[:count] = tolerances[part]
        slopes, levels, found = kernels.load("curves").fit(
            listed.starts,
            listed.members,
            listed.sizes,
            values[listed.order],
            weights,
            lanes,
            listed.edges(blocks),
            scales,
            ridge,
            accuracy,
        )
        ends[part] = np.moveaxis(slopes.reshape(2, n, LANES), 2, 0)[:count]
        means[part] = levels.T[:count]
        predictions[:, part] = listed.restored(found, count)
    return Curves(ends, scales[blocks.of_size], means, predictions)
