"""The solution of least norm of linear equations whose columns differ by any factor in size.

A singular value decomposition has errors relative to the largest column, so that features 1e12
times smaller keep four digits. Householder's method on the transposed matrix, with its rows sorted
by size and its columns pivoted, has errors relative to the size of each feature alone (A. J. Cox
and N. J. Higham, Stability of Householder QR factorization for weighted least squares problems,
1998).
"""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray

# Parts of a feature's largest number.
_ROUNDING = 1e-13  # what elimination leaves where nothing is left
_DEPENDENT = 1e-10  # if no more than this is left of any feature, the others decide the fit


def scaled_least_norm(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the x of least norm among those with the least |X x - y|: (d,).

    Parameters
    ----------
    X : (m, d) equations
    y : (m,) right-hand sides
    """
    largest = np.abs(X).max(axis=0, initial=0.0)
    order = np.argsort(-largest, kind="stable")
    unit = np.ldexp(1.0, -int(np.frexp(largest.max(initial=0.0))[1]))
    rest = X.T[order] * unit
    reflections, factor, columns = _eliminate(rest, largest[order] * unit)
    rank = len(reflections)
    solution = np.zeros(len(rest))
    if rank:
        # The columns of the factor have the sizes of the features that were eliminated.
        lower = factor[:rank].T
        sizes = np.abs(lower).max(axis=0)
        solution[:rank] = np.linalg.lstsq(lower / sizes, y[columns])[0] / sizes
    for start, direction in reversed(reflections):
        solution[start:] -= 2.0 * direction * (direction @ solution[start:])
    found = np.empty(len(rest))
    found[order] = solution * unit
    return found


def _eliminate(
    rest: FloatArray, largest: FloatArray
) -> tuple[list[tuple[int, FloatArray]], FloatArray, IntArray]:
    """Householder reflections, the triangular factor, and the order of its columns."""
    rest, columns = rest.copy(), np.arange(rest.shape[1])
    reflections: list[tuple[int, FloatArray]] = []
    for k in range(min(rest.shape)):
        left = np.abs(rest[k:, k:])
        if (left <= _DEPENDENT * largest[k:, None]).all():
            break
        rest[k:, k:][left <= _ROUNDING * largest[k:, None]] = 0.0
        best = k + int(_lengths(rest[k:, k:]).argmax())
        rest[:, [k, best]], columns[[k, best]] = rest[:, [best, k]], columns[[best, k]]
        direction = rest[k:, k] / np.abs(rest[k:, k]).max()
        direction[0] += np.copysign(np.linalg.norm(direction), direction[0])
        direction /= np.linalg.norm(direction)
        rest[k:, k:] -= 2.0 * np.outer(direction, direction @ rest[k:, k:])
        rest[k + 1 :, k] = 0.0
        reflections.append((k, direction))
    return reflections, rest, columns


def _lengths(columns: FloatArray) -> FloatArray:
    """Euclidean lengths of columns without underflow or overflow."""
    largest = np.abs(columns).max(axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    return np.asarray(largest * np.sqrt(((columns / safe) ** 2).sum(axis=0)))
