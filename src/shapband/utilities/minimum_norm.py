"""Least squares for a coalition whose features are linearly dependent.

Among all coefficients with the least squared error, take those of least Euclidean norm in the
features' own units, the intercept free: what scikit-learn's `LinearRegression` gives.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray

# Relative to a correlation matrix, whose largest eigenvalue is about 1: smaller eigenvalues are
# rounding residues of Gram matrices, which hold half the digits of the records.
_RANK_TOLERANCE = 1e-10


def minimum_norm_mse(
    merged: FloatArray, A: FloatArray, b: FloatArray, c: float, inv_scale: FloatArray
) -> float:
    """Give the validation error of the minimum-norm fit.

    Parameters
    ----------
    merged : packed Gram matrix of [1, scaled features], then the products with the targets
    A, b, c : the same moments of the validation rows, divided by their number
    inv_scale : (d,) scaled feature = (feature - mean) * inv_scale
    """
    p = len(b)
    gram, products = unpack(merged[:-p]), merged[-p:]
    n_records = gram[0, 0]
    means = gram[0, 1:] / n_records
    centred = gram[1:, 1:] - n_records * np.outer(means, means)
    covariances = products[1:] - means * products[0]
    slopes = _least_norm(centred, covariances, gram.diagonal()[1:], inv_scale)
    beta = np.concatenate([[products[0] / n_records - means @ slopes], slopes])
    return float(beta @ unpack(A) @ beta - 2 * b @ beta + c)


def unpack(packed: FloatArray) -> FloatArray:
    """Turn a packed lower triangle into the symmetric matrix."""
    p = int((np.sqrt(8 * len(packed) + 1) - 1) / 2)
    full = np.zeros((p, p))
    full[np.tril_indices(p)] = packed
    return full + np.tril(full, -1).T


def _least_norm(
    centred: FloatArray, covariances: FloatArray, uncentred: FloatArray, inv_scale: FloatArray
) -> FloatArray:
    variances = centred.diagonal()
    varies = variances > _RANK_TOLERANCE * np.maximum(uncentred, 1e-300)
    slopes = np.zeros(len(variances))
    if not varies.any():
        return slopes
    spread = np.sqrt(variances[varies])
    correlation = centred[np.ix_(varies, varies)] / np.outer(spread, spread)
    eigenvalues, vectors = np.linalg.eigh(correlation)
    kept = eigenvalues > _RANK_TOLERANCE * eigenvalues[-1]
    basis = vectors[:, kept]
    one_solution = basis @ ((basis.T @ (covariances[varies] / spread)) / eigenvalues[kept])
    # In the features' own units a slope is the scaled slope times inv_scale / spread.
    unit = inv_scale[varies] / spread
    free = vectors[:, ~kept] * unit[:, None]
    own = one_solution * unit
    if free.shape[1]:
        own = own - free @ np.linalg.lstsq(free, own, rcond=None)[0]
    slopes[varies] = own / inv_scale[varies]
    return slopes
