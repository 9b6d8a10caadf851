"""Least squares for coalitions whose features are linearly dependent, from Gram matrices.

Among all coefficients with the least squared error, take those of least Euclidean norm in the
features' own units, with a free intercept. scikit-learn's `LinearRegression` gives the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray
from shapband.utilities.gram import Spread, ValidationRows
from shapband.utilities.scaled_norm import scaled_least_norm

# Relative to a correlation matrix, whose largest eigenvalue is at least 1: smaller eigenvalues
# are rounding residues of Gram matrices, which hold half the digits of the records.
_RANK_TOLERANCE = 1e-10
# Entries of eigenvectors that rounding leaves where zeros belong. Multiplied by the units of
# features, which may differ by any factor, they would be equations of their own.
_NOISE = 1e-11
# Eigenvalues of correlations: below the first, rounding errors of exactly dependent features; above
# the second, fits keep ten digits.
_EXACTLY_DEPENDENT, _INDEPENDENT = 1e-14, 1e-6
_ROUNDED = 2.0**-52  # of sums of products, relative to the deviations of both features
_FLOATS = 2_000_000  # largest number of entries of the matrices decomposed in one call


def at_once(p: int, n: int, n_rows: int) -> int:
    """Number of coalitions of n providers, with p coefficients, that are merged in one call."""
    return max(1, _FLOATS // max(p * max(p, n), n_rows))


def minimum_norm_mse(
    spread: Spread, validation: ValidationRows, ridge: FloatArray, scale: FloatArray
) -> FloatArray:
    """Return the validation errors of the minimum-norm fits of m coalitions: (m,).

    Parameters
    ----------
    spread : the records of the coalitions
    ridge : (d,) what ridge regression adds to the diagonal of their scatter
    scale : (d,) feature in its own units = scaled feature * scale
    """
    d = len(scale)
    scatter = spread.scatter.copy()
    scatter[:, range(d), range(d)] += ridge
    slopes = _least_norm(scatter, spread.products, spread.varies, scale)
    intercepts = spread.target - (spread.means * slopes).sum(axis=1)
    return validation.errors_of(intercepts, slopes)


def with_rounding(spread: Spread) -> Spread:
    """The same coalitions, with sums of products that are rounded in another way."""
    deviations = np.sqrt(np.einsum("mii->mi", spread.scatter))
    noise = np.random.default_rng(0).uniform(-_ROUNDED, _ROUNDED, size=(deviations.shape[1],) * 2)
    noise += noise.T
    moved = spread.scatter + noise * deviations[:, :, None] * deviations[:, None, :]
    return spread._replace(scatter=moved)


def nearly_dependent(spread: Spread) -> NDArray[np.bool_]:
    """Whether features of coalitions (m,) are neither independent nor exactly dependent."""
    varies = spread.varies
    variances = np.einsum("mii->mi", spread.scatter)
    inverse = np.where(varies, 1.0 / np.sqrt(np.where(varies, variances, 1.0)), 0.0)
    correlation = spread.scatter * inverse[:, :, None] * inverse[:, None, :]
    eigenvalues = np.linalg.eigvalsh(correlation)
    between = (eigenvalues > _EXACTLY_DEPENDENT) & (eigenvalues < _INDEPENDENT)
    return np.asarray(between.any(axis=1))


def _least_norm(
    scatter: FloatArray, products: FloatArray, varies: NDArray[np.bool_], scale: FloatArray
) -> FloatArray:
    """Slopes (m, d) of least norm in the features' own units, for scaled features."""
    # A constant feature becomes a zero row and column, so its direction has eigenvalue zero.
    variances = np.einsum("mii->mi", scatter)
    inverse = np.where(varies, 1.0 / np.sqrt(np.where(varies, variances, 1.0)), 0.0)
    correlation = scatter * inverse[:, :, None] * inverse[:, None, :]
    eigenvalues, vectors = np.linalg.eigh(correlation)
    kept = eigenvalues > _RANK_TOLERANCE * np.maximum(eigenvalues[:, -1:], 1.0)
    along = np.einsum("mij,mi->mj", vectors, products * inverse)
    weights = np.where(kept, along / np.where(kept, eigenvalues, 1.0), 0.0)
    slopes = np.einsum("mij,mj->mi", vectors, weights) * inverse
    for at in np.flatnonzero(varies.sum(axis=1) > kept.sum(axis=1)):
        slopes[at] = _among_many(vectors[at], kept[at], weights[at], varies[at], inverse[at], scale)
    return np.asarray(slopes)


def _among_many(
    vectors: FloatArray,
    kept: NDArray[np.bool_],
    weights: FloatArray,
    varies: NDArray[np.bool_],
    inverse: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """Slopes (d,) of least norm in the features' own units, if features depend on each other.

    The kept eigenvectors say what the slopes must be; the others are free.
    """
    equations = np.where(np.abs(vectors) > _NOISE, vectors, 0.0)[varies][:, kept].T
    # A slope in own units is the slope of the unit-variance feature, times inverse / scale.
    deviation = scale[varies] / inverse[varies]
    slopes = np.zeros(len(scale))
    own = scaled_least_norm(equations * deviation, weights[kept])
    slopes[varies] = own * scale[varies]
    return slopes
