"""Least squares and ridge regression of single coalitions in 32 digits.

This is for coalitions whose features are dependent, or nearly so, or far away from the validation
rows: there 16 digits are not enough. A fit is about as fast as one of 16 digits by LAPACK.

*Rank.* Features that depend on each other are found in the correlation matrix R of the coalition,
with what ridge regression adds to it: eigenvalues below `smallest`, relative to the largest and
to 1, count as zero. A Cholesky factorisation with pivoting usually shows how many they are: what
it leaves is zero but for rounding, and the inverse of what it has factored is so small that no
eigenvalue of it comes near the limit. Otherwise the eigenvalues are computed by Jacobi's method.

*Least norm.* If features depend on each other, the fit is a set of equations E u = c, fewer than
features, for the slopes u of features with deviation 1. Wanted is the solution with the least norm
of u / w, where the deviations w may differ by any factor. Gauss-Jordan elimination that picks the
largest E w as its pivot expresses some slopes by the others, u_B = c - G u_N, so that no entry
of G w_N / w_B is large, and the others follow from a well-conditioned system.
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
from shapband.kernels.compiled.exact_sums import add_multiple, merge

CONSTANT = 1e-13  # range over size of a feature below which it counts as constant
_NOTHING = 1e-25  # what Cholesky's method leaves of a feature that depends on the others
_ROUNDED = 1e-29  # rounding errors of a small matrix of numbers up to 1
_FARTHEST = 70.0 * np.log2(10.0)  # between deviations of features, if one penalty is to choose
_WANTED = 1e-11  # relative accuracy of a pivot
_SWEEPS = 30  # Jacobi's method converges in about ten
_HEAVIEST = 1e151  # a slope with a larger penalty changes no digit of a prediction


@njit(**EXACTLY)
def exact_errors(draws, anchors, inside, alpha, smallest, X_val, y_val):
    """Validation errors of the fits of coalitions of one game: (m,).

    NaN for coalitions with fewer than two records, and if numbers are too small or too large, or
    if rounding errors decide which of dependent features count.

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
    """Add the part of a feature to all predictions."""
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
    order, rank, L = _cholesky(R)
    least = _least_eigenvalue(L, rank)
    if least > 2.0 * smallest * p:  # the largest eigenvalue is at most p
        E, c = _equations_of_factor(R, right, order, rank, L)
    else:
        E, c, least = _equations_of_eigenvectors(R, right, smallest)
    if E.shape[0] == p:
        return _square_solution(E, c)
    if penalised and weight.max() - weight.min() > _FARTHEST:
        return np.full((p, 2), np.nan)
    return _least_norm(E, c, weight, _ROUNDED / least)


@njit(**EXACTLY)
def _cholesky(R):
    """Pivoting order, rank, and the factor L (2, p, p) with R[order, order] = L L'."""
    p = R.shape[1]
    order = np.arange(p)
    rest, column = R.copy(), np.empty((2, p))
    L = np.zeros((2, p, p))
    for k in range(p):
        best = k
        for i in range(k, p):
            if rest[0, i, i] > rest[0, best, best]:
                best = i
        if not rest[0, best, best] > _NOTHING:
            return order, k, L
        if best != k:
            order[k], order[best] = order[best], order[k]
            for part in range(2):
                _swap(L[part], k, best, k)
                _swap(rest[part], k, best, p)
                _swap(rest[part].T, k, best, p)
        L[0, k, k], L[1, k, k] = root((rest[0, k, k], rest[1, k, k]))
        inverse = over((1.0, 0.0), (L[0, k, k], L[1, k, k]))
        for i in range(k + 1, p):
            column[0, i], column[1, i] = times((rest[0, i, k], rest[1, i, k]), inverse)
            L[0, i, k], L[1, i, k] = column[0, i], column[1, i]
        for i in range(k + 1, p):
            own = (-column[0, i], -column[1, i])
            add_multiple(rest[0, i], rest[1, i], own, column[0], column[1], k + 1)
    return order, p, L


@njit(**EXACTLY)
def _swap(matrix, i, j, width):
    """Exchange the first entries of two rows."""
    for k in range(width):
        matrix[i, k], matrix[j, k] = matrix[j, k], matrix[i, k]


@njit(**EXACTLY)
def _least_eigenvalue(L, rank):
    """A lower bound of the smallest eigenvalue of L L': the inverse of the trace of its inverse."""
    trace = 0.0
    column = np.empty(rank)
    for k in range(rank):
        for i in range(k, rank):
            total = 1.0 if i == k else 0.0
            for j in range(k, i):
                total -= L[0, i, j] * column[j]
            column[i] = total / L[0, i, i]
            trace += column[i] ** 2
    return 1.0 / trace


@njit(**EXACTLY)
def _equations_of_factor(R, right, order, rank, L):
    """The equations u_B + (R_BB⁻¹ R_BN) u_N = R_BB⁻¹ r_B, by features in their first order."""
    p = order.size
    E, c = np.zeros((rank, p, 2)), np.empty((rank, 2))
    column = np.empty((rank, 2))
    for j in range(rank, p + 1):
        for i in range(rank):
            if j < p:
                put(column, i, (R[0, order[i], order[j]], R[1, order[i], order[j]]))
            else:
                put(column, i, at(right, order[i]))
        _solve(L, rank, column)
        for i in range(rank):
            if j < p:
                put(E[i], order[j], at(column, i))
            else:
                put(c, i, at(column, i))
    for i in range(rank):
        put(E[i], order[i], (1.0, 0.0))
    return E, c


@njit(**EXACTLY)
def _solve(L, rank, column):
    """Replace a column by the solution of L L' x = column."""
    for i in range(rank):
        total = at(column, i)
        for k in range(i):
            total = minus(total, times((L[0, i, k], L[1, i, k]), at(column, k)))
        put(column, i, over(total, (L[0, i, i], L[1, i, i])))
    for i in range(rank - 1, -1, -1):
        total = at(column, i)
        for k in range(i + 1, rank):
            total = minus(total, times((L[0, k, i], L[1, k, i]), at(column, k)))
        put(column, i, over(total, (L[0, i, i], L[1, i, i])))


@njit(**EXACTLY)
def _equations_of_eigenvectors(R, right, smallest):
    """The equations v'u = v'r / e of all eigenvectors v with an eigenvalue e that counts.

    Also the smallest of these eigenvalues.
    """
    p = R.shape[1]
    values, vectors = _eigen(R)
    largest = 1.0
    for k in range(p):
        largest = max(largest, values[k, 0])
    kept = np.flatnonzero(values[:, 0] > smallest * largest)
    E, c = np.empty((kept.size, p, 2)), np.empty((kept.size, 2))
    least = largest
    for i in range(kept.size):
        k = kept[i]
        total = (0.0, 0.0)
        for j in range(p):
            put(E[i], j, at(vectors[j], k))
            total = plus(total, times(at(vectors[j], k), at(right, j)))
        put(c, i, over(total, at(values, k)))
        least = min(least, values[k, 0])
    return E, c, least


@njit(**EXACTLY)
def _eigen(R):
    """Eigenvalues (p, 2) and eigenvectors (p, p, 2), in columns, by Jacobi's method."""
    p = R.shape[1]
    A = np.empty((p, p, 2))
    A[:, :, 0], A[:, :, 1] = R[0], R[1]
    V = np.zeros((p, p, 2))
    for i in range(p):
        V[i, i, 0] = 1.0
    for _ in range(_SWEEPS):
        off = 0.0
        for i in range(p):
            for j in range(i):
                off = max(off, abs(A[i, j, 0]))
        if off < 1e-34:
            break
        for i in range(1, p):
            for j in range(i):
                if abs(A[i, j, 0]) < 1e-40:
                    A[i, j, :] = 0.0
                    A[j, i, :] = 0.0
                else:
                    _rotate(A, V, i, j)
    values = np.empty((p, 2))
    for i in range(p):
        put(values, i, at(A[i], i))
    return values, V


@njit(**EXACTLY)
def _rotate(A, V, i, j):
    """Rotate i and j so that entry (i, j) of A becomes zero."""
    one = (1.0, 0.0)
    slope = over(minus(at(A[i], i), at(A[j], j)), scaled(at(A[j], i), 2.0))
    size = slope if slope[0] >= 0.0 else scaled(slope, -1.0)
    t = over(one, plus(size, root(plus(times(slope, slope), one))))
    if slope[0] < 0.0:
        t = scaled(t, -1.0)
    c = over(one, root(plus(times(t, t), one)))
    s = times(t, c)
    change = times(t, at(A[j], i))
    put(A[j], j, minus(at(A[j], j), change))
    put(A[i], i, plus(at(A[i], i), change))
    A[i, j, :] = 0.0
    A[j, i, :] = 0.0
    for k in range(A.shape[0]):
        if k not in (i, j):
            x, y = at(A[k], j), at(A[k], i)
            put(A[k], j, minus(times(c, x), times(s, y)))
            put(A[k], i, plus(times(s, x), times(c, y)))
            put(A[j], k, at(A[k], j))
            put(A[i], k, at(A[k], i))
        x, y = at(V[k], j), at(V[k], i)
        put(V[k], j, minus(times(c, x), times(s, y)))
        put(V[k], i, plus(times(s, x), times(c, y)))


@njit(**EXACTLY)
def _square_solution(E, c):
    """U = E'c: the rows of E are unit vectors, or orthonormal."""
    p = E.shape[0]
    found = np.zeros((p, 2))
    for j in range(p):
        total = (0.0, 0.0)
        for i in range(p):
            total = plus(total, times(at(E[i], j), at(c, i)))
        put(found, j, total)
    return found


@njit(**EXACTLY)
def _least_norm(E, c, weight, noise):
    """The solution u (p, 2) of E u = c with the least norm of u / 2**weight.

    Entries of E up to `noise` are rounding errors where zeros belong: weights could make equations
    of them. The solution is NaN if they do.
    """
    rank, p = E.shape[:2]
    basis = _eliminate(E, c, weight, noise)
    if (basis < 0).any():
        return np.full((p, 2), np.nan)
    free = np.array([j for j in range(p) if j not in basis])
    system, right = np.zeros((free.size, free.size, 2)), np.zeros((free.size, 2))
    for k in range(free.size):
        system[k, k, 0] = 1.0
        for i in range(rank):
            ratio = (2.0 ** (weight[free[k]] - weight[basis[i]]), 0.0)
            own = times(times(at(E[i], free[k]), ratio), ratio)
            put(right, k, plus(at(right, k), times(own, at(c, i))))
            for h in range(free.size):
                put(system[k], h, plus(at(system[k], h), times(own, at(E[i], free[h]))))
    _gauss(system, right)
    found = np.zeros((p, 2))
    for i in range(rank):
        total = at(c, i)
        for k in range(free.size):
            total = minus(total, times(at(E[i], free[k]), at(right, k)))
        put(found, basis[i], total)
    for k in range(free.size):
        put(found, free[k], at(right, k))
    return found


@njit(**EXACTLY)
def _eliminate(E, c, weight, noise):
    """Reduce the equations to u_B + G u_N = c; return B, one feature for each equation.

    A feature is -1 if rounding errors would choose it, or keep fewer than eleven digits of it.
    """
    rank, p = E.shape[:2]
    basis, unsure = np.full(rank, -1), np.full(rank, noise)
    for _ in range(rank):
        row, column, largest = -1, -1, -np.inf
        for i in range(rank):
            if basis[i] >= 0:
                continue
            for j in range(p):
                size = abs(E[i, j, 0])
                if size > unsure[i] and np.log2(size) + weight[j] > largest:
                    row, column, largest = i, j, np.log2(size) + weight[j]
        if row < 0 or unsure[row] > _WANTED * abs(E[row, column, 0]):
            return basis
        basis[row] = column
        pivot = at(E[row], column)
        unsure[row] /= abs(pivot[0])
        put(c, row, over(at(c, row), pivot))
        for j in range(p):
            _put_clear(E[row], j, over(at(E[row], j), pivot), unsure[row])
        put(E[row], column, (1.0, 0.0))
        for i in range(rank):
            factor = at(E[i], column)
            if i == row or factor[0] == 0.0:
                continue
            unsure[i] += abs(factor[0]) * unsure[row]
            put(c, i, minus(at(c, i), times(factor, at(c, row))))
            for j in range(p):
                left = minus(at(E[i], j), times(factor, at(E[row], j)))
                _put_clear(E[i], j, left, unsure[i])
            put(E[i], column, (0.0, 0.0))
    return basis


@njit(**EXACTLY)
def _put_clear(row, j, number, noise):
    """Set entry j of a row, to zero if the number is nothing but rounding errors."""
    put(row, j, number if abs(number[0]) > noise else (0.0, 0.0))


@njit(**EXACTLY)
def _gauss(system, right):
    """Replace the right-hand side by the solution.

    No pivoting: the system is I + H'H in other units, and elimination has the same rounding errors
    in all units.
    """
    p = right.shape[0]
    for k in range(p):
        inverse = over((1.0, 0.0), at(system[k], k))
        for i in range(k + 1, p):
            factor = times(at(system[i], k), inverse)
            put(right, i, minus(at(right, i), times(factor, at(right, k))))
            for j in range(k + 1, p):
                number = minus(at(system[i], j), times(factor, at(system[k], j)))
                put(system[i], j, number)
    for k in range(p - 1, -1, -1):
        total = at(right, k)
        for j in range(k + 1, p):
            total = minus(total, times(at(system[k], j), at(right, j)))
        put(right, k, over(total, at(system[k], k)))
