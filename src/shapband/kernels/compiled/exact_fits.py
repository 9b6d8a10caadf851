"""Least squares and ridge regression of single coalitions in 32 digits.

These fits are for coalitions whose features are dependent, nearly dependent, or far away from the
validation rows, where 16 digits are not enough. A fit is about as fast as a fit of 16 digits by
LAPACK.

`exact_equations` finds the number of independent features, and `exact_solutions` finds the slopes
of least norm if features are dependent.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.double_double import (
    EXACTLY,
    at,
    minus,
    over,
    plus,
    put,
    root,
    scaled,
    times,
    two_sum,
)
from shapband.kernels.compiled.exact_equations import independent_equations
from shapband.kernels.compiled.exact_solutions import least_norm, square_solution
from shapband.kernels.compiled.exact_sums import merge

CONSTANT = 1e-13  # a feature counts as constant if its range over its size is below this
_ROUNDED = 1e-29  # rounding errors of a small matrix of numbers up to 1
# With a penalty and dependent features, deviations may differ by at most a factor 1e70 (here as a
# logarithm to base 2); beyond that there is no fit.
_FARTHEST = 70.0 * np.log2(10.0)
_HEAVIEST = 1e151  # penalties are cut here: a slope with a larger one changes no digit


@njit(**EXACTLY)
def exact_errors(draws, anchors, inside, alpha, smallest, X_val, y_val):
    """Validation errors of the fits of coalitions of one game: (m,).

    An error is NaN if the coalition has fewer than two records, if numbers are too small or too
    large, or if rounding errors would decide which of several dependent features are used.

    Parameters
    ----------
    draws, anchors : see `exact_sums.merge`
    inside : (m, n) a coalition in each row, 1 for members
    alpha : penalty
    smallest : (2,) eigenvalues that count as zero with more records than features, and with fewer
    X_val : (d, n_rows) columns of the validation rows, in the features' own units
    y_val : (n_rows,) targets
    """
    m, d = inside.shape[0], anchors.shape[1]
    unit, low, high = np.empty(d), np.empty(d), np.empty(d)
    means, products = np.empty((d, 2)), np.empty((d, 2))
    scatter = np.empty((2, d, d))
    errors = np.full(m, np.nan)
    for row in range(m):
        if not inside[row].any():
            continue
        first = np.argmax(inside[row])
        count, target = merge(
            draws, anchors, inside[row], unit, low, high, means, scatter, products
        )
        if count < 2:
            continue
        vary = np.flatnonzero(high - low > CONSTANT * np.maximum(np.abs(high), np.abs(low)))
        limit = smallest[1] if count <= d and alpha == 0.0 else smallest[0]
        slopes = np.zeros((d, 2))
        if _fit(scatter, products, vary, unit, alpha, limit, slopes):
            errors[row] = _error(X_val, y_val, anchors[first], unit, means, target, vary, slopes)
    return errors


@njit(**EXACTLY)
def _error(X_val, y_val, anchor, unit, means, target, vary, slopes):
    """Mean squared error of slopes of features in their units."""
    high, low = np.empty(y_val.size), np.empty(y_val.size)
    for r in range(y_val.size):
        high[r], low[r] = minus(target, (y_val[r], 0.0))
    for f in vary:
        _add_feature(high, low, X_val[f], anchor[f], 1.0 / unit[f], at(means, f), at(slopes, f))
    total = 0.0
    for r in range(y_val.size):
        total += (high[r] + low[r]) ** 2
    return total / y_val.size


@njit(**EXACTLY)
def _add_feature(high, low, column, anchor, inverse, mean, slope):
    """Add a feature's contribution to all predictions."""
    for r in range(high.size):
        apart = minus(scaled(two_sum(column[r], -anchor), inverse), mean)
        high[r], low[r] = plus((high[r], low[r]), times(apart, slope))


@njit(**EXACTLY)
def _fit(scatter, products, vary, unit, alpha, smallest, slopes):
    """Write the slopes of features in their units; return whether there is a fit."""
    p = vary.size
    if p == 0:
        return True
    R, right, inverse = np.empty((2, p, p)), np.empty((p, 2)), np.empty((p, 2))
    weight = np.empty(p)  # logarithm of the deviation in own units
    for i in range(p):
        f = vary[i]
        penalty = min(alpha / unit[f] / unit[f], _HEAVIEST)
        square = plus((scatter[0, f, f], scatter[1, f, f]), (penalty, 0.0))
        if not square[0] > 0.0:
            return False
        put(inverse, i, over((1.0, 0.0), root(square)))
        weight[i] = 0.5 * np.log2(square[0]) + np.log2(unit[f])
    for i in range(p):
        for j in range(i):
            both = times(at(inverse, i), at(inverse, j))
            own = (scatter[0, vary[i], vary[j]], scatter[1, vary[i], vary[j]])
            R[0, i, j], R[1, i, j] = times(own, both)
            R[:, j, i] = R[:, i, j]
        R[0, i, i], R[1, i, i] = 1.0, 0.0
        put(right, i, times(at(products, vary[i]), at(inverse, i)))
    found = _standard_slopes(R, right, weight, smallest, alpha > 0.0)
    for i in range(p):
        put(slopes, vary[i], times(at(found, i), at(inverse, i)))
    return True


@njit(**EXACTLY)
def _standard_slopes(R, right, weight, smallest, penalised):
    """The slopes u (p, 2) of features with deviation 1; NaN if rounding errors decide them."""
    p = weight.size
    E, c, least = independent_equations(R, right, smallest)
    if E.shape[0] == p:
        return square_solution(E, c)
    if penalised and weight.max() - weight.min() > _FARTHEST:
        return np.full((p, 2), np.nan)
    return least_norm(E, c, weight, _ROUNDED / least)
