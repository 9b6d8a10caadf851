"""The equations of a fit in 32 digits: as many equations as there are independent features.

The number of independent features is the rank of the correlation matrix R of a coalition, including
the penalty of ridge regression: eigenvalues below a limit, relative to the largest and to 1, count
as zero. A Cholesky factorisation with pivoting usually shows the rank. It is certain if the
remaining matrix is zero up to rounding, and if the inverse of the factored part is so small that
none of its eigenvalues is near the limit. Otherwise Jacobi's method computes the eigenvalues.
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
)
from shapband.kernels.compiled.exact_sums import add_multiple

_NOTHING = 1e-25  # a feature depends on others if Cholesky's method leaves at most this of it
_SWEEPS = 30  # Jacobi's method converges in about ten


@njit(**EXACTLY)
def independent_equations(R, right, smallest):
    """Equations E u = c, (rank, p, 2) and (rank, 2), and a lower bound of the eigenvalues kept.

    If there are p equations, the rows of E are orthonormal.
    """
    order, rank, L = _cholesky(R)
    least = _least_eigenvalue(L, rank)
    if least > 2.0 * smallest * R.shape[1]:  # the largest eigenvalue is at most p
        E, c = _equations_of_factor(R, right, order, rank, L)
    else:
        E, c, least = _equations_of_eigenvectors(R, right, smallest)
    return E, c, least


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
    """The equations u_B + (R_BB⁻¹ R_BN) u_N = R_BB⁻¹ r_B, with features in their original order."""
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
    """The equations v'u = v'r / e of all eigenvectors v whose eigenvalue e does not count as zero.

    Also returns the smallest of these eigenvalues.
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
