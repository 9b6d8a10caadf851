"""Triangular factors of small matrices: Cholesky's method, and Householder reflections.

Cholesky's method needs the products A A', which keep only half the digits of nearly dependent
features. Reflections find L with L L' = A A', for a matrix A with one feature per row, without
these products.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.parts import PART


@njit(**PART)
def cholesky(matrix):
    """Factor the lower triangle in place; return the smallest ratio of pivot to diagonal entry.

    The factorisation stops at a pivot that is not positive.
    """
    d = matrix.shape[0]
    smallest = 1.0
    for j in range(d):
        whole = matrix[j, j]
        for i in range(j, d):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                if not total > 0.0:
                    return 0.0
                smallest = min(smallest, total / whole)
                matrix[j, j] = math.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
    return smallest


@njit(**PART)
def solve(factor, x):
    """Solve with a Cholesky factor, in place."""
    d = x.size
    for i in range(d):
        for k in range(i):
            x[i] -= factor[i, k] * x[k]
        x[i] /= factor[i, i]
    for i in range(d - 1, -1, -1):
        x[i] /= factor[i, i]
        for k in range(i):
            x[k] -= factor[i, k] * x[i]


@njit(**PART)
def reduce_to_triangle(A):
    """Replace A (d, m) by its factor L, in the lower triangle of the first d columns.

    The diagonal of L is not negative. A row of zeros stays a row of zeros.
    """
    d, m = A.shape
    for j in range(min(d, m)):
        largest = np.abs(A[j, j:]).max()
        if largest == 0.0:
            continue
        # In units of the largest entry, so that squares neither overflow nor underflow.
        mirror = A[j, j:] / largest
        length = math.sqrt((mirror * mirror).sum())
        # The reflection maps the row to its length, with the sign that avoids a cancellation.
        mirror[0] += math.copysign(length, mirror[0])
        half = abs(length * mirror[0])
        for f in range(j + 1, d):
            share = 0.0
            for k in range(mirror.size):
                share += mirror[k] * A[f, j + k]
            share /= half
            for k in range(mirror.size):
                A[f, j + k] -= share * mirror[k]
            if mirror[0] > 0.0:
                A[f, j] = -A[f, j]
        A[j, j] = largest * length
        A[j, j + 1 :] = 0.0
