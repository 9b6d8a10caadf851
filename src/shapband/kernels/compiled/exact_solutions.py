"""Solutions of equations in 32 digits; with fewer equations than features, the one of least norm.

The equations E u = c are for the slopes u of features with deviation 1. The solution sought has the
least norm of u / w, where the deviations w may differ by any factor. Gauss-Jordan elimination, with
the largest entry of E w as the pivot, expresses some slopes by the others: u_B = c - G u_N. Then no
entry of G w_N / w_B is large, so u_N follows from a well-conditioned system.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.double_double import EXACTLY, at, minus, over, plus, put, times

_WANTED = 1e-11  # relative accuracy of a pivot


@njit(**EXACTLY)
def square_solution(E, c):
    """Return u = E'c, which solves E u = c because the rows of E are orthonormal."""
    p = E.shape[0]
    found = np.zeros((p, 2))
    for j in range(p):
        total = (0.0, 0.0)
        for i in range(p):
            total = plus(total, times(at(E[i], j), at(c, i)))
        put(found, j, total)
    return found


@njit(**EXACTLY)
def least_norm(E, c, weight, noise):
    """The solution u (p, 2) of E u = c with the least norm of u / 2**weight.

    Entries of E up to `noise` are rounding errors in the place of zeros. If large weights would
    make one of them a pivot, the solution is NaN.
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

    An entry of B is -1 if rounding errors would choose the feature, or leave fewer than eleven
    digits of its pivot.
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
    """Set entry j of a row, to zero if the number is no larger than the rounding errors."""
    put(row, j, number if abs(number[0]) > noise else (0.0, 0.0))


@njit(**EXACTLY)
def _gauss(system, right):
    """Replace the right-hand side by the solution.

    No pivoting is needed: the system is I + H'H in other units, and the relative rounding errors of
    elimination do not depend on the units.
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
