"""Least squares and ridge regression in hundreds of digits: slow, and right at any scale."""

import mpmath as mp
import numpy as np

DIGITS = 700  # columns of 1e150 and 1e-150, squared, and what cancels between them


def exact_mse(X, y, X_val, y_val, alpha=0.0):
    """Validation error of the fit of least norm, with a free intercept, as a number of mpmath."""
    with mp.workdps(DIGITS):
        rows = [[mp.mpf(float(x)) for x in row] for row in X]
        n, d = X.shape
        means = [mp.fsum(column) / n for column in zip(*rows, strict=True)]
        centred = mp.matrix([[x - m for x, m in zip(row, means, strict=True)] for row in rows])
        targets = [mp.mpf(float(t)) for t in y]
        level = mp.fsum(targets) / n
        left = mp.matrix([t - level for t in targets])
        if alpha:
            system = centred.T * centred + mp.mpf(alpha) * mp.eye(d)
            slopes = mp.lu_solve(system, centred.T * left)
        else:
            slopes = _least_norm(centred, left)
        errors = [
            level + mp.fsum(slopes[j] * (mp.mpf(float(row[j])) - means[j]) for j in range(d)) - t
            for row, t in zip(X_val, y_val.tolist(), strict=True)
        ]
        return mp.fsum(e * e for e in errors) / len(y_val)


def _least_norm(X, y):
    """With an orthonormal basis B of the columns of X, x = W'(W W')⁻¹ B'y and W = B'X."""
    n, d = X.rows, X.cols
    basis = []
    for j in range(d):
        column = [X[i, j] for i in range(n)]
        size = mp.sqrt(mp.fdot(column, column))
        if size == 0:
            continue
        rest = [x / size for x in column]
        for _ in range(2):
            for one in basis:
                along = mp.fdot(one, rest)
                rest = [x - along * b for x, b in zip(rest, one, strict=True)]
        length = mp.sqrt(mp.fdot(rest, rest))
        if length > mp.mpf(10) ** (-DIGITS // 10):
            basis.append([x / length for x in rest])
    if not basis:
        return mp.zeros(d, 1)
    B = mp.matrix(basis)
    W = B * X
    return W.T * mp.lu_solve(W * W.T, B * y)


def relative_error(found, exact):
    """Distance of a float from a number of mpmath, relative to it."""
    return float(abs(mp.mpf(float(found)) - exact) / exact) if np.isfinite(found) else np.inf
