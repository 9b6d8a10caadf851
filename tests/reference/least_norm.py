"""Least squares of coalitions with no more records than features, from the records themselves.

Every coalition is fitted anew, by the singular values of its centred rows. The compiled twin also
leaves fits open that rounding may change.
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.kernels.walks import Walk
from tests.reference.walks import coalitions_of

RESIDUAL_TOL = 1e-11  # how well a fit must meet the targets, relative to what scores measure


def least_norm_errors(
    records: FloatArray,
    edges: IntArray,
    sizes: IntArray,
    joins: IntArray,
    rows: IntArray,
    n_rows: int,
    scale: FloatArray,
    A: FloatArray,
    b: FloatArray,
    c: float,
    measure: float,
) -> FloatArray:
    """Errors (n_rows,) of coalitions.

    NaN for coalitions whose targets no coefficients meet. See the compiled twin for the arguments.
    """
    errors = np.empty(n_rows)
    for row, members in coalitions_of(Walk(sizes, joins, rows)):
        own = np.concatenate([records[edges[i] : edges[i + 1]] for i in members])
        beta = least_norm(own, scale)
        off = np.abs(beta[0] + own[:, :-1] @ beta[1:] - own[:, -1]).max()
        error = error_of(beta, A, b, c)
        sure = off <= RESIDUAL_TOL * np.sqrt(max(measure, error))
        errors[row] = error if sure else float("nan")
    return errors


def least_norm(rows: FloatArray, scale: FloatArray) -> FloatArray:
    """Intercept and slopes (d + 1,) of the least-squares fit to rows of features and targets.

    Among several, the slopes of least norm in the features' own units.
    """
    mean = rows.mean(axis=0)
    # The computed mean of equal numbers may differ from them, but their range is zero.
    centred = (rows - mean) * (np.ptp(rows, axis=0) > 0)
    own = np.linalg.lstsq(centred[:, :-1] * scale, centred[:, -1])[0]
    slopes = own * scale
    return np.concatenate([[mean[-1] - mean[:-1] @ slopes], slopes])


def error_of(beta: FloatArray, A: FloatArray, b: FloatArray, c: float) -> float:
    """Validation error of a fit: beta'A beta - 2 b'beta + c, A packed."""
    i, j = np.tril_indices(len(b))
    doubled = np.where(i == j, 1.0, 2.0)
    return float((doubled * A * beta[i] * beta[j]).sum() - 2 * b @ beta + c)
