"""The triangular factor of a matrix by Householder reflections.

L L' = A A' for a matrix A with a feature in each row, without the products of A A', which would
hold half of the digits of nearly dependent features.
"""

import math

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS


@njit(**OPTIONS)
def reduce_to_triangle(A):
    """Replace A (d, m) by its factor L, in the lower triangle of the first d columns.

    The diagonal of L is not negative. A row of zeros stays a row of zeros.
    """
    d, m = A.shape
    for j in range(min(d, m)):
        largest = np.abs(A[j, j:]).max()
        if largest == 0.0:
            continue
        # In units of the largest entry, so that squares neither overflow nor vanish.
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
