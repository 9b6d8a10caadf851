"""Least squares for coalitions whose features are linearly dependent, from Gram matrices.

Among all coefficients with the least squared error, take those of least Euclidean norm in the
features' own units, with a free intercept. scikit-learn's `LinearRegression` gives the same.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray

# Relative to a correlation matrix, whose largest eigenvalue is at least 1: smaller eigenvalues
# are rounding residues of Gram matrices, which hold half the digits of the records.
_RANK_TOLERANCE = 1e-10
_FLOATS = 2_000_000  # largest number of entries of the matrices decomposed in one call


def at_once(p: int) -> int:
    """Number of coalitions with p coefficients that are decomposed in one call."""
    return max(1, _FLOATS // p**2)


def minimum_norm_mse(
    merged: FloatArray, A: FloatArray, b: FloatArray, c: float, inv_scale: FloatArray
) -> FloatArray:
    """Return the validation errors of the minimum-norm fits of m coalitions: (m,).

    Parameters
    ----------
    merged : (m, n_sums) packed Gram matrices of [1, scaled features], then the products with the
        targets; those of ridge regression with the penalty on the diagonal
    A, b, c : the same moments of the validation rows, divided by their number
    inv_scale : (d,) scaled feature = (feature - mean) * inv_scale
    """
    p = len(b)
    gram, products = unpack(merged[:, :-p], p), merged[:, -p:]
    n_records = gram[:, 0, 0]
    means = gram[:, 0, 1:] / n_records[:, None]
    centred = gram[:, 1:, 1:] - n_records[:, None, None] * means[:, :, None] * means[:, None, :]
    covariances = products[:, 1:] - means * products[:, :1]
    uncentred = np.einsum("mii->mi", gram)[:, 1:]
    slopes = _least_norm(centred, covariances, uncentred, inv_scale)
    intercepts = products[:, 0] / n_records - (means * slopes).sum(axis=1)
    beta = np.concatenate([intercepts[:, None], slopes], axis=1)
    spread = (beta * (beta @ unpack(A[None], p)[0])).sum(axis=1)
    return np.asarray(spread - 2 * (beta * b).sum(axis=1) + c)


def unpack(packed: FloatArray, p: int) -> FloatArray:
    """Convert packed lower triangles (m, p(p+1)/2) into symmetric matrices (m, p, p)."""
    row, column = np.tril_indices(p)
    full = np.empty((len(packed), p, p))
    full[:, row, column] = packed
    full[:, column, row] = packed
    return full


def _least_norm(
    centred: FloatArray, covariances: FloatArray, uncentred: FloatArray, inv_scale: FloatArray
) -> FloatArray:
    """Slopes (m, d) of least norm in the features' own units, for scaled features."""
    variances = np.einsum("mii->mi", centred)
    varies = variances > _RANK_TOLERANCE * np.maximum(uncentred, 1e-300)
    # A constant feature becomes a zero row and column, so its direction has eigenvalue zero.
    inverse = np.where(varies, 1.0 / np.sqrt(np.where(varies, variances, 1.0)), 0.0)
    correlation = centred * inverse[:, :, None] * inverse[:, None, :]
    eigenvalues, vectors = np.linalg.eigh(correlation)
    kept = eigenvalues > _RANK_TOLERANCE * np.maximum(eigenvalues[:, -1:], 1.0)
    along = np.einsum("mij,mi->mj", vectors, covariances * inverse)
    weights = np.where(kept, along / np.where(kept, eigenvalues, 1.0), 0.0)
    one_solution = np.einsum("mij,mj->mi", vectors, weights)
    # In the features' own units a slope is the scaled slope times inv_scale / spread. Constant
    # features have no slope; they get the largest unit of the others, to limit rounding errors.
    unit = inv_scale * inverse
    unit = np.where(varies, unit, np.maximum(unit.max(axis=1, keepdims=True), 1e-300))
    # Eigenvalues ascend, so the directions that change nothing are the first columns, and the
    # first columns of Q span them.
    free = np.linalg.qr(vectors * unit[:, :, None])[0] * ~kept[:, None, :]
    own = one_solution * unit
    for _ in range(2):  # the second time removes what rounding left
        own -= np.einsum("mij,mj->mi", free, np.einsum("mij,mi->mj", free, own))
    return np.where(varies, own / inv_scale, 0.0)
