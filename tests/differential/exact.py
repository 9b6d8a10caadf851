"""The same models in arithmetic of 60 digits, which settles who is wrong.

Numbers are mpf, and matrices are lists of rows. Input floats are taken as exact numbers; a rule
such as "constant in every class" is applied to them exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np

from shapband._typing import AnyArray, FloatArray

DIGITS = 60
SMALLEST = mp.mpf("1e-4")

Matrix = list[list[Any]]


def exact_rows(X: FloatArray, wiggle: AnyArray | None = None) -> Matrix:
    """Return floats as exact numbers, times 1 + `wiggle` x 2**-52 each."""
    if wiggle is None:
        return [[mp.mpf(float(x)) for x in row] for row in X]
    unit = mp.mpf(2) ** -52
    return [
        [mp.mpf(float(x)) * (1 + unit * mp.mpf(float(w))) for x, w in zip(row, by, strict=True)]
        for row, by in zip(X, wiggle, strict=True)
    ]


def _mean(numbers: Sequence[Any]) -> Any:
    return mp.fsum(numbers) / len(numbers)


def _variance(numbers: Sequence[Any]) -> Any:
    if all(x == numbers[0] for x in numbers):
        return mp.mpf(0)
    mean = _mean(numbers)
    return _mean([(x - mean) ** 2 for x in numbers])


def _frequencies(class_of: Sequence[int], n_classes: int) -> list[Any]:
    counts = [list(class_of).count(c) for c in range(n_classes)]
    return [mp.log(count) if count else -mp.inf for count in counts]


def naive_bayes(
    X: Matrix, class_of: Sequence[int], n_classes: int, rows: Matrix, *, var_smoothing: float
) -> Matrix:
    """Logits of Gaussian naive Bayes: logits[row][class]."""
    priors = _frequencies(class_of, n_classes)
    d = len(rows[0])
    extra = mp.mpf(var_smoothing) * max(_variance([x[f] for x in X]) for f in range(d))
    held = sorted(set(class_of))
    priors = [prior - priors[held[0]] for prior in priors]
    if extra == 0:
        return [list(priors) for _ in rows]
    logits = [list(priors) for _ in rows]
    for f in range(d):
        of_class = [[x[f] for x, k in zip(X, class_of, strict=True) if k == c] for c in held]
        means = [_mean(own) if own.count(own[0]) < len(own) else own[0] for own in of_class]
        variances = [_variance(own) + extra for own in of_class]
        if means.count(means[0]) == variances.count(variances[0]) == len(held):
            continue  # the same for all classes, so that logits would only be larger
        for c, mean, variance in zip(held, means, variances, strict=True):
            half = mp.log(variance / variances[0]) / 2  # without units, as the logits of ties
            for r, row in enumerate(rows):
                logits[r][c] -= half + (row[f] - mean) ** 2 / variance / 2
    return logits


def discriminant(X: Matrix, class_of: Sequence[int], n_classes: int, rows: Matrix) -> Matrix:
    """Logits of linear discriminant analysis: logits[row][class]."""
    priors = _frequencies(class_of, n_classes)
    held = sorted(set(class_of))
    d = len(rows[0])
    members = {c: [x for x, k in zip(X, class_of, strict=True) if k == c] for c in held}
    means = {c: [_mean([x[f] for x in members[c]]) for f in range(d)] for c in held}
    variances = [
        mp.fsum(_variance([x[f] for x in members[c]]) * len(members[c]) for c in held) / len(X)
        for f in range(d)
    ]
    vary = [f for f in range(d) if variances[f] > 0]
    if not vary:
        return relative_to_first([list(priors) for _ in rows])
    spread = [mp.sqrt(variances[f]) for f in vary]
    standard = [
        [(x[f] - means[c][f]) / s for f, s in zip(vary, spread, strict=True)]
        for x, c in zip(X, class_of, strict=True)
    ]
    size = len(vary)
    correlation = mp.matrix(size)
    for i in range(size):
        for j in range(size):
            correlation[i, j] = mp.fsum(z[i] * z[j] for z in standard) / len(X)
    eigenvalues, vectors = mp.eigsy(correlation)
    kept = [k for k in range(size) if eigenvalues[k] > SMALLEST**2]

    def projected(row: Sequence[Any]) -> list[Any]:
        z = [(row[f] - means[held[0]][f]) / s for f, s in zip(vary, spread, strict=True)]
        return [
            mp.fsum(z[i] * vectors[i, k] for i in range(size)) / mp.sqrt(eigenvalues[k])
            for k in kept
        ]

    centres = {c: projected(means[c]) for c in held}
    logits: Matrix = [[-mp.inf] * n_classes for _ in rows]
    for r, row in enumerate(rows):
        at = projected(row)
        for c in held:
            to = centres[c]
            inner = mp.fsum(a * b for a, b in zip(at, to, strict=True))
            logits[r][c] = priors[c] + inner - mp.fsum(b * b for b in to) / 2
    return relative_to_first(logits)


def relative_to_first(logits: Matrix) -> Matrix:
    """Logits minus those of the first class that has records, as discriminant analysis has them."""
    first = next(c for c, logit in enumerate(logits[0]) if mp.isfinite(logit))
    return [[logit - row[first] for logit in row] for row in logits]


def as_floats(matrix: Matrix) -> FloatArray:
    return np.array([[float(x) for x in row] for row in matrix])
