"""A surrogate for few evaluations: slopes that drift with the size of a coalition.

The value of a coalition S of s members is c_s + Σ a_i(s) over its members i, plus noise. The levels
c_s and the slopes a_i(s) are random functions of the size with a mean of zero. The nearer two sizes
s and t are, the more alike are their slopes: the correlation is exp(-|s - t| / reach). The
surrogate is the most likely function given the values. It has two advantages over a learning curve.
A slope on which only few values depend stays near zero. And a provider that matters only in large
coalitions, such as one with a veto, has no slope in small ones.

Values are divided by their expected spread in each size. In these units, sizes of one block have
the same slopes, because one slope per size would take memory that grows as n². Apart from the
spreads, the surrogate is linear in the values: it has no parameter of its own that would have to be
estimated from few values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband import kernels
from shapband._typing import BoolArray, FloatArray
from shapband.solvers.listed import LANES, Blocks, Listed

# Prior variances, relative to the noise: of the levels, and of the sum of the members' slopes in a
# coalition of half of the providers. With 4 for the levels, errors were up to 6 % larger; with 0.5
# and 8 for the slopes, they were up to 21 and 11 % larger in voting games.
_LEVELS, _SLOPES = 2.0, 2.0
_LEVEL_REACH, _SLOPE_REACH = 0.3, 0.5  # reach / number of providers
# A block that begins at size s has at most s / 8 sizes, and at most 1 / 64 of all sizes. So each
# size is a block of its own if there are fewer than 128 providers.
_OF_SIZE, _OF_ALL = 8, 64
_TOLERANCE = 1e-3  # a fit ends if (squared residuals of its equations) / (squared values) is below


@dataclass(frozen=True, eq=False)
class Drifts:
    """Surrogates with drifting slopes, each fitted to some of the rows.

    Attributes
    ----------
    slopes : (n_kept, n_blocks, n) of the first surrogates, in units of the spread of a size
    means : (n_surrogates, n + 1)
    predictions : (n_rows, n_surrogates)
    """

    slopes: FloatArray
    means: FloatArray
    predictions: FloatArray


def drift_blocks(n: int) -> Blocks:
    """Sizes that share their slopes, of n providers."""
    return Blocks.of(n, _OF_SIZE, n // _OF_ALL)


def fit_drifts(
    listed: Listed,
    values: FloatArray,
    spreads: FloatArray,
    trained: BoolArray,
    blocks: Blocks,
    n_kept: int,
) -> Drifts:
    """Fit surrogates with drifting slopes, each to some of the rows.

    Parameters
    ----------
    values : (n_rows,)
    spreads : (n + 1,) expected spreads of the values of each size, up to a factor
    trained : (n_rows, n_surrogates) whether each row is in the fit of each surrogate
    blocks : sizes that share their slopes
    n_kept : number of surrogates, the first ones, whose slopes are needed
    """
    n, count = listed.n, trained.shape[1]
    priors = np.array([_LEVELS, 4.0 * _SLOPES / n])
    apart = np.diff(blocks.middles, prepend=blocks.middles[0])
    spread, value = spreads[listed.sizes, None], values[listed.order, None]
    slopes = np.empty((n_kept, len(apart), n))
    means, predictions = np.empty((count, n + 1)), np.empty(trained.shape)
    for part, lanes in listed.lanes(trained):
        # Adding a constant to all values must add the same constant to the surrogate.
        weights = lanes * spread**-2.0
        level = (weights * value).sum(axis=0) / np.maximum(weights.sum(axis=0), 1e-300)
        levels, found, predicted = kernels.load("drift").fit(
            n,
            listed.starts,
            listed.members,
            listed.sizes,
            ((value - level) / spread).ravel(),
            lanes,
            listed.edges(blocks),
            priors,
            float(np.exp(-1.0 / (n * _LEVEL_REACH))),
            np.exp(-apart / (n * _SLOPE_REACH)),
            _TOLERANCE,
        )
        width = part.stop - part.start
        means[part] = (level + spreads[:, None] * levels).T[:width]
        scaled = level + spread * predicted.reshape(-1, LANES)
        predictions[:, part] = listed.restored(scaled, width)
        for lane in range(min(width, n_kept - part.start)):
            slopes[part.start + lane] = found[:, lane::LANES]
    return Drifts(slopes, means, predictions)
