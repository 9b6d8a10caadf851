"""Least squares of coalitions with no more records than features, from the records themselves.

Such a coalition is fitted exactly, with the coefficients of least norm. Its rows, with a constant
feature added, are written as L Q with orthonormal rows of Q: each new row is made orthogonal to the
rows before it, twice, so that no digits are lost. A provider that joins a coalition only appends
its rows. The bits of a result depend on the order in which its members join, and on nothing else.

With f = L⁻¹ y and g = L⁻¹ 1, which is the last column of Q up to a factor, the fit is Q'(f - b g),
where the intercept b makes the coefficient of the added feature zero. A row that depends on the
rows before it, such as a record drawn twice, is left out if its target is the one that they
predict; otherwise the error is NaN.

*Doubts.* Rows are rounded relative to their lengths, so the fit passes through targets that are off
by some e_i, of up to `ROUNDED` times the length of row i times the length of the coefficients. To
see what this does to predictions, a second fit is made along with the first, to irregular numbers
times the rows' lengths as targets. If e_i of this pattern would change the error by more than
`WANTED`, or if the quadratic form loses as much by cancellation, the error is NaN.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.linear_doubts import ROUNDED, SAFETY, WANTED, irregular

# Sums may be regrouped into vector lanes, in the same way at every call.
_OPTIONS = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
}
_GROUP = 4  # new rows that are made orthogonal together
# The length that remains of a row after the projection, relative to its length, decides: a row
# below the first limit is dependent, a row above the second keeps ten digits, and between the two
# there is no fit.
DEPENDENT_TOL = 1e-10
CLEAR_TOL = 1e-6


@njit(**_OPTIONS)
def least_norm_errors(records, edges, sizes, joins, rows, n_rows, scale, A, b, c, measure):
    """Errors (n_rows,) of coalitions.

    Parameters
    ----------
    records : (N, d + 1) standardised features and targets
    edges : (n + 1,) provider i holds the records edges[i]:edges[i + 1]
    sizes, joins, rows : the coalitions, see `shapband.kernels.walks.Walk`
    scale : (d,) feature in its own units = standardised feature * scale
    A, b, c : moments of the validation rows, A packed
    measure : the error that counts as 1 in the score: 1, or the variance for R²
    """
    d = records.shape[1] - 1
    own, target = _own_units(records, scale)
    basis = np.zeros((d + _GROUP, d + 1))
    f, probe, left = np.zeros(d + _GROUP), np.zeros(d + _GROUP), np.zeros((2, d + _GROUP))
    products, slopes = np.empty((_GROUP, d + _GROUP)), np.empty(d + 1)
    ends = np.zeros(edges.size, np.int64)  # records of the latest coalition of each size
    errors, nothing = np.empty(n_rows), np.zeros(b.size)
    for step in range(sizes.size):
        size, provider, at = sizes[step], joins[step], rows[step]
        first, last = edges[provider], edges[provider + 1]
        ends[size + 1] = ends[size] + last - first
        for row in range(first, last, _GROUP):
            stop = min(row + _GROUP, last)
            place = ends[size] + row - first
            _append(own[row:stop], target[row:stop], basis, place, products, f, probe, left)
        if at < 0:
            continue
        m = ends[size + 1]
        level = own[0, d]
        moved = _fit(basis, m, probe, level, slopes)
        spread = _form(moved, slopes, scale, A, nothing, 0.0)
        intercept = _fit(basis, m, f, level, slopes)
        error = _form(intercept, slopes, scale, A, b, c)
        length, terms = _sizes(intercept, slopes, level, scale, A)
        off = SAFETY * ROUNDED * length + _deviation(m, left, intercept) / level
        off *= np.sqrt(max(spread, 0.0))
        off = off * (2.0 * np.sqrt(max(error, 0.0)) + off) + ROUNDED * (c + b.size * terms)
        errors[at] = error if off <= WANTED * max(measure, error) else np.nan
    return errors


@njit(**_OPTIONS)
def _own_units(records, scale):
    """Rows in the features' own units with a constant feature, and targets."""
    d = scale.size
    total = 0.0
    for i in range(d):
        total += scale[i] ** 2
    level = np.sqrt(total)  # the constant feature gets the root mean square of the validation rows
    own = np.empty((records.shape[0], d + 1))
    for r in range(records.shape[0]):
        for i in range(d):
            own[r, i] = records[r, i] * scale[i]
        own[r, d] = level
    return own, records[:, d].copy()


@njit(**_OPTIONS)
def _append(own, y, basis, m, products, f, probe, left):
    """Append some rows to the basis, which has m rows, and extend f and the probe.

    Rows 0 and 1 of `left` hold what remains of y and of the constant 1 in dependent rows.
    """
    count = y.size
    level = own[0, -1]
    new = basis[m : m + _GROUP]
    new[:count] = own
    new[count:] = 0.0
    shares = np.ones(_GROUP)  # remaining lengths of the rows, relative to their lengths
    for again in range(2):
        _project(basis, m, new, products)
        for i in range(count):
            row = new[i]
            for k in range(i):
                _remove(new[k], _dot(new[k], row), row)
            length = np.sqrt(_dot(row, row))
            shares[i] *= length if again else length / np.sqrt(_dot(own[i], own[i]))
            inverse = 1.0 / length if shares[i] > DEPENDENT_TOL else 0.0
            for column in range(row.size):
                row[column] *= inverse
    for i in range(count):
        at = m + i
        remaining, constant = y[i], 1.0
        irregularly = irregular(at) * np.sqrt(_dot(own[i], own[i]))
        for k in range(at):
            product = _dot(basis[k], own[i])
            remaining -= product * f[k]
            irregularly -= product * probe[k]
            constant -= product * basis[k, -1] / level
        dependent = not shares[i] > DEPENDENT_TOL
        diagonal = 1.0 if dependent else _dot(new[i], own[i])
        f[at] = 0.0 if dependent else remaining / diagonal
        probe[at] = 0.0 if dependent else irregularly / diagonal
        left[0, at] = remaining if dependent else 0.0
        if not dependent and shares[i] < CLEAR_TOL:
            left[0, at] = np.inf  # no fit: larger than any deviation that is allowed
        left[1, at] = constant if dependent else 0.0


@njit(**_OPTIONS)
def _project(basis, m, new, products):
    """Make the new rows orthogonal to the first m rows of the basis."""
    for k in range(m):
        _products(basis[k], new, products, k)
    for k in range(0, m - 1, 2):
        _remove_two(basis[k], basis[k + 1], new, products, k)
    if m % 2:
        _remove_one(basis[m - 1], new, products, m - 1)


@njit(**_OPTIONS)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(**_OPTIONS)
def _products(old, new, products, k):
    """Products of an old row with the new ones."""
    a, b, c, d = new[0], new[1], new[2], new[3]
    s, t, u, v = 0.0, 0.0, 0.0, 0.0
    for i in range(old.size):
        x = old[i]
        s += x * a[i]
        t += x * b[i]
        u += x * c[i]
        v += x * d[i]
    products[0, k], products[1, k], products[2, k], products[3, k] = s, t, u, v


@njit(**_OPTIONS)
def _remove_two(one, two, new, products, k):
    """Subtract two old rows from the new ones, in proportion to the products."""
    for i in range(_GROUP):
        s, t, row = products[i, k], products[i, k + 1], new[i]
        for column in range(row.size):
            row[column] -= s * one[column] + t * two[column]


@njit(**_OPTIONS)
def _remove_one(one, new, products, k):
    for i in range(_GROUP):
        _remove(one, products[i, k], new[i])


@njit(**_OPTIONS)
def _remove(one, product, row):
    for column in range(row.size):
        row[column] -= product * one[column]


@njit(**_OPTIONS)
def _fit(basis, m, f, level, slopes):
    """Write the slopes in the features' own units; return the intercept."""
    product, square = 0.0, 0.0
    for k in range(m):
        g = basis[k, -1] / level
        product += f[k] * g
        square += g * g
    intercept = product / square
    slopes[:] = 0.0
    for k in range(m):
        _remove(basis[k], intercept * basis[k, -1] / level - f[k], slopes)
    return intercept


@njit(**_OPTIONS)
def _deviation(m, left, intercept):
    """Largest difference between a dependent row's target and what the other rows predict."""
    largest = 0.0
    for k in range(m):
        largest = max(largest, abs(left[0, k] - intercept * left[1, k]))
    return largest


@njit(**_OPTIONS)
def _sizes(intercept, slopes, level, scale, A):
    """Length of the coefficients in the features' own units, and the sum of A_ff beta_f²."""
    square, terms = (intercept / level) ** 2, intercept**2 * A[0]
    for i in range(scale.size):
        square += slopes[i] ** 2
        terms += A[(i + 2) * (i + 3) // 2 - 1] * (slopes[i] * scale[i]) ** 2
    return np.sqrt(square), terms


@njit(**_OPTIONS)
def _form(intercept, slopes, scale, A, b, c):
    """Validation error of a fit: beta'A beta - 2 b'beta + c, A packed."""
    p = b.size
    beta = np.empty(p)
    beta[0] = intercept
    for i in range(1, p):
        beta[i] = slopes[i - 1] * scale[i - 1]
    error = c
    for i in range(p):
        start = i * (i + 1) // 2
        term = 2.0 * _dot(A[start : start + i], beta[:i]) + A[start + i] * beta[i] - 2.0 * b[i]
        error += term * beta[i]
    return error
