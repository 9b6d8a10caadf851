"""Regressions and neighbours by their definitions, in NumPy and in 60 digits.

Functions return the mean squared error on the validation rows, or the accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np

from shapband._typing import AnyArray, FloatArray
from tests.differential.exact import Matrix
from tests.differential.scores import TIE

# Documented: eigenvalues of correlations, relative to the largest, below which features count as
# dependent. With no more records than features, the records themselves are fitted, and dependence
# is rounding.
DEPENDENT, DEPENDENT_RECORDS = 1e-10, 1e-20
CONSTANT = 1e-13  # documented: a feature whose range is less, relative to its size, is constant
VANISHING = 1e-154  # documented: smaller differences, in units of the largest number, count as 0


def least_squares_mse(
    X: FloatArray, y: FloatArray, rows: FloatArray, targets: FloatArray, alpha: float
) -> float:
    """Least squares with intercept, of least norm in the features' units, or ridge regression."""
    middle, level = X.mean(axis=0), y.mean()
    largest = np.abs(X - middle).max(axis=0)
    vary = _vary(X)
    fitted = np.full(len(rows), level)
    if vary.any():
        # Columns of length 1, so that squared singular values are eigenvalues of correlations.
        largest = largest[vary]
        unit = largest * np.sqrt(((((X - middle)[:, vary]) / largest) ** 2).sum(axis=0))
        Z, z = (X - middle)[:, vary] / unit, (rows - middle)[:, vary] / unit
        if alpha > 0:
            Z = np.concatenate([Z, np.diag(np.sqrt(alpha) / unit)])
            y = np.concatenate([y - level, np.zeros(len(unit))]) + level
            length = np.sqrt((Z**2).sum(axis=0))
            Z, z, unit = Z / length, z / length, unit * length
        U, singular, Vt = np.linalg.svd(Z, full_matrices=True)
        smallest = dependent(X.shape, alpha) * max(singular[0] ** 2, 1.0)
        kept = int((singular**2 > smallest).sum())
        solution = Vt[:kept].T @ ((U.T @ (y - level))[:kept] / singular[:kept])
        null = Vt[kept:].T
        if null.shape[1]:
            # Of all solutions the one with the least norm of w = solution / unit.
            shift = np.linalg.lstsq(null / unit[:, None], solution / unit)[0]
            solution = solution - null @ shift
        fitted = fitted + z @ solution
    return float(((fitted - targets) ** 2).mean())


def dependent(shape: tuple[int, int], alpha: float) -> float:
    """Eigenvalue of correlations below which features of records (n, d) count as dependent."""
    return DEPENDENT_RECORDS if shape[0] <= shape[1] and alpha == 0 else DEPENDENT


def is_dependent(X: FloatArray, alpha: float) -> bool:
    """Whether features that vary count as dependent."""
    singular = _singular_values(X, alpha)
    fewer = len(singular) < int(_vary(X).sum())
    smallest = DEPENDENT * max(singular.max(initial=1.0) ** 2, 1.0)
    return fewer or bool((singular**2 <= smallest).any())


def weakest_eigenvalue(X: FloatArray, alpha: float, smallest: float) -> float:
    """Smallest eigenvalue above `smallest` of the correlations of records; 1 if there is none."""
    singular = _singular_values(X, alpha)
    kept = singular**2 > max(smallest, 1e-28) * max(singular.max(initial=1.0) ** 2, 1.0)
    return float((singular[kept] ** 2).min(initial=1.0))


def _vary(X: FloatArray) -> AnyArray:
    return np.asarray(np.ptp(X, axis=0) > CONSTANT * np.abs(X).max(axis=0))


def _singular_values(X: FloatArray, alpha: float) -> FloatArray:
    """Of the records with features of deviation 1, and of the penalty."""
    vary = _vary(X)
    if not vary.any():
        return np.empty(0)
    apart = X - X[0]
    apart = apart - apart.mean(axis=0)
    apart = apart[:, vary] / np.abs(apart[:, vary]).max(axis=0)
    lengths = np.abs(X - X.mean(axis=0)).max(axis=0)[vary]
    if alpha > 0:
        apart = np.concatenate([apart, np.diag(np.sqrt(alpha) / lengths)])
    return np.linalg.svd(apart / np.sqrt((apart**2).sum(axis=0)), compute_uv=False)


def exact_least_squares_mse(
    X: Matrix, y: Sequence[Any], rows: Matrix, targets: Sequence[Any], alpha: float
) -> Any:
    """The same from normal equations, with so many digits that they lose nothing."""
    vary = [
        f
        for f in range(len(rows[0]))
        if max(x[f] for x in X) - min(x[f] for x in X) > CONSTANT * max(abs(x[f]) for x in X)
    ]
    size = [max(abs(x[f] - X[0][f]) for x in X) for f in vary] or [mp.mpf(1)]
    # The least norm compares the units of dependent features, and a weak penalty chooses between
    # them, so that the digits of all units must be there.
    digits = 4 * mp.log10(max(size) / min(size))
    if alpha > 0:
        digits = max(digits, mp.log10(max(size) ** 2 / alpha))
    with mp.extradps(int(max(0, digits))):
        level = mp.fsum(y) / len(y)
        fitted = [level] * len(rows)
        if vary:
            middle = [mp.fsum(x[f] for x in X) / len(X) for f in vary]
            unit = [
                mp.sqrt(mp.fsum((x[f] - m) ** 2 for x in X))
                for f, m in zip(vary, middle, strict=True)
            ]
            places = list(zip(vary, middle, unit, strict=True))
            Z = [[(x[f] - m) / u for f, m, u in places] for x in X]
            smallest = dependent((len(X), len(rows[0])), alpha)
            solution = _fit(Z, [t - level for t in y], unit, alpha, smallest)
            fitted = [
                level
                + mp.fsum((x[f] - m) / u * s for (f, m, u), s in zip(places, solution, strict=True))
                for x in rows
            ]
        return mp.fsum((f - t) ** 2 for f, t in zip(fitted, targets, strict=True)) / len(targets)


def _fit(
    Z: Matrix, y: Sequence[Any], unit: Sequence[Any], alpha: float, smallest: float
) -> list[Any]:
    """Coefficients of standardised features."""
    p = len(unit)
    gram, right = mp.matrix(p), [mp.mpf(0)] * p
    for i in range(p):
        right[i] = mp.fsum(row[i] * t for row, t in zip(Z, y, strict=True))
        for j in range(p):
            gram[i, j] = mp.fsum(row[i] * row[j] for row in Z)
        gram[i, i] += mp.mpf(alpha) / unit[i] ** 2
    length = [mp.sqrt(gram[i, i]) for i in range(p)]
    for i in range(p):
        right[i] /= length[i]
        for j in range(p):
            gram[i, j] /= length[i] * length[j]
    units = [u * own for u, own in zip(unit, length, strict=True)]
    found = _least_norm(gram, right, units, smallest)
    return [x / own for x, own in zip(found, length, strict=True)]


def _least_norm(gram: Any, right: Sequence[Any], unit: Sequence[Any], smallest: float) -> list[Any]:
    p = len(right)
    eigenvalues, vectors = mp.eigsy(gram)
    least = smallest * max(1, *eigenvalues)
    kept = [k for k in range(p) if eigenvalues[k] > least]
    null = [k for k in range(p) if k not in kept]
    along = {k: mp.fsum(vectors[i, k] * right[i] for i in range(p)) / eigenvalues[k] for k in kept}
    solution = [mp.fsum(vectors[i, k] * along[k] for k in kept) for i in range(p)]
    if not null:
        return solution
    A, b = mp.matrix(p, len(null)), mp.matrix(p, 1)
    # mpmath compares with absolute numbers, so the largest entry must be about 1.
    relative = [min(unit) / u for u in unit]
    for i in range(p):
        b[i] = solution[i] * relative[i]
        for j, k in enumerate(null):
            A[i, j] = vectors[i, k] * relative[i]
    shift, _ = mp.qr_solve(A, b)
    return [
        solution[i] - mp.fsum(vectors[i, k] * shift[j] for j, k in enumerate(null))
        for i in range(p)
    ]


def neighbours(
    X: Sequence[Sequence[Any]],
    y: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    targets: Sequence[Any],
    *,
    k: int,
    weighted: bool,
    classify: bool,
    root: Any,
) -> Any:
    """Accuracy or mean squared error of the k nearest; equal distances by the smaller target.

    Documented: weighted votes that differ by less than `TIE` of the largest are tied.
    """
    total: Any = 0
    least = VANISHING * max(abs(x) for row in rows for x in row)
    for row, target in zip(rows, targets, strict=True):
        far = [sum(_square(a - b, least) for a, b in zip(x, row, strict=True)) for x in X]
        nearest = sorted(zip(far, y, strict=True))[:k]
        weights: list[Any] = [1] * len(nearest)
        if weighted:
            at = [distance == 0 for distance, _ in nearest]
            weights = [int(here) for here in at]
            if not any(at):
                # Relative to the nearest, so that the inverse of a small distance is finite.
                weights = [root(nearest[0][0] / distance) for distance, _ in nearest]
        if classify:
            votes: dict[Any, Any] = {}
            for weight, (_, label) in zip(weights, nearest, strict=True):
                votes[label] = votes.get(label, 0) + weight
            least_votes = max(votes.values()) * (1 - TIE if weighted else 1)
            total += min(label for label, n in votes.items() if n >= least_votes) == target
        else:
            mean = sum(w * t for w, (_, t) in zip(weights, nearest, strict=True)) / sum(weights)
            total += (mean - target) ** 2
    return total / len(targets) if not classify else total / float(len(targets))


def _square(difference: Any, least: Any) -> Any:
    return difference**2 if abs(difference) >= least else 0 * difference


def sorted_codes(y: AnyArray) -> AnyArray:
    """Labels as they sort: the places among all of them."""
    return np.unique(y, return_inverse=True)[1]
