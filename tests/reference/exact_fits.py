"""Least squares and ridge regression of single coalitions, in decimals of 60 digits and more.

See the compiled twin for the definition of a fit. It gives up where its 32 digits are not enough;
this one has as many digits as the units of features need.
"""

from __future__ import annotations

from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray

CONSTANT = 1e-13  # range over size of a feature below which it counts as constant
_DIGITS = 60
_SWEEPS = 30

Matrix = list[list[Decimal]]


def exact_errors(
    draws: FloatArray,
    anchors: FloatArray,
    inside: MemberArray,
    alpha: float,
    smallest: FloatArray,
    X_val: FloatArray,
    y_val: FloatArray,
) -> FloatArray:
    """Validation errors of the fits of coalitions of one game: (m,); see the compiled twin."""
    d = anchors.shape[1]
    errors = np.full(len(inside), np.nan)
    for place, row in enumerate(inside):
        members = np.flatnonzero(row)
        count = draws[members, 0].sum()
        if count >= 2:
            limit = smallest[1] if count <= d and alpha == 0 else smallest[0]
            errors[place] = _error(draws[members], anchors[members], alpha, limit, X_val, y_val)
    return errors


def _error(
    draws: FloatArray,
    anchors: FloatArray,
    alpha: float,
    smallest: float,
    X_val: FloatArray,
    y_val: FloatArray,
) -> float:
    d = anchors.shape[1]
    low, high = draws[:, 1 + d : 1 + 2 * d].min(axis=0), draws[:, 1 + 2 * d : 1 + 3 * d].max(axis=0)
    vary = np.flatnonzero(high - low > CONSTANT * np.maximum(np.abs(high), np.abs(low)))
    with localcontext() as context:
        context.prec = _DIGITS
        ranges = [_decimal(high[f] - low[f]) for f in vary] or [Decimal(1)]
        context.prec += 4 * int((max(ranges) / min(ranges)).log10())
        means, level, scatter, products = _merged(draws, anchors, vary)
        for i in range(len(vary)):
            scatter[i][i] += _decimal(alpha)
        slopes = _slopes(scatter, products, _decimal(smallest))
        residuals = [
            level
            - _decimal(target)
            + sum(
                (_decimal(X_val[f, r]) - mean) * slope
                for f, mean, slope in zip(vary, means, slopes, strict=True)
            )
            for r, target in enumerate(y_val)
        ]
        return float(sum(one * one for one in residuals) / len(residuals))


def _merged(
    draws: FloatArray, anchors: FloatArray, vary: IntArray
) -> tuple[list[Decimal], Decimal, Matrix, list[Decimal]]:
    """Means of features and of targets, and sums of products, in the features' own units."""
    d = anchors.shape[1]
    triangle = d * (d + 1) // 2
    count = [_decimal(one[0]) for one in draws]
    total = sum(count, Decimal(0))
    units = [[_decimal(one[1 + f]) for f in vary] for one in draws]
    centres = [
        [
            _decimal(anchor[f]) + unit * _pair(one, 1 + 3 * d + 2 * f)
            for f, unit in zip(vary, own, strict=True)
        ]
        for one, anchor, own in zip(draws, anchors, units, strict=True)
    ]
    levels = [_pair(one, 1 + 5 * d) for one in draws]
    share = [n / total for n in count]
    means = [
        sum((s * c[i] for s, c in zip(share, centres, strict=True)), Decimal(0))
        for i in range(len(vary))
    ]
    level = sum((s * one for s, one in zip(share, levels, strict=True)), Decimal(0))
    scatter = [[Decimal(0)] * len(vary) for _ in vary]
    products = [Decimal(0)] * len(vary)
    for n, one, own, centre, target in zip(count, draws, units, centres, levels, strict=True):
        for i, f in enumerate(vary):
            far = n * (centre[i] - means[i])
            products[i] += own[i] * _pair(one, 3 + 5 * d + 2 * f) + far * (target - level)
            for j, g in enumerate(vary):
                place = 3 + 7 * d + max(f, g) * (max(f, g) + 1) // 2 + min(f, g)
                within = _decimal(one[place]) + _decimal(one[place + triangle])
                scatter[i][j] += own[i] * own[j] * within + far * (centre[j] - means[j])
    return means, level, scatter, products


def _decimal(number: float) -> Decimal:
    return Decimal(float(number))


def _pair(sums: FloatArray, place: int) -> Decimal:
    return _decimal(sums[place]) + _decimal(sums[place + 1])


def _slopes(scatter: Matrix, products: list[Decimal], smallest: Decimal) -> list[Decimal]:
    """Slopes of least norm in the features' own units."""
    p = len(products)
    length = [scatter[i][i].sqrt() for i in range(p)]
    R = [[scatter[i][j] / (length[i] * length[j]) for j in range(p)] for i in range(p)]
    values, vectors = _eigen(R)
    limit = smallest * max([Decimal(1), *values])
    kept = [k for k in range(p) if values[k] > limit]
    # The equations E x = c for the slopes x in own units, and x = E'(E E')⁻¹ c.
    E = [[vectors[i][k] * length[i] for i in range(p)] for k in kept]
    c = [sum(vectors[i][k] * products[i] / length[i] for i in range(p)) / values[k] for k in kept]
    square = [
        [sum((a * b for a, b in zip(one, other, strict=True)), Decimal(0)) for other in E]
        for one in E
    ]
    weights = _solved(square, [Decimal(one) for one in c])
    return [sum((E[k][i] * weights[k] for k in range(len(E))), Decimal(0)) for i in range(p)]


def _eigen(R: Matrix) -> tuple[list[Decimal], Matrix]:
    """Eigenvalues, and eigenvectors in columns, by Jacobi's method."""
    p = len(R)
    nothing = Decimal(10) ** -(2 * getcontext().prec)
    A = [list(row) for row in R]
    V = [[Decimal(int(i == j)) for j in range(p)] for i in range(p)]
    for _ in range(_SWEEPS):
        for i in range(1, p):
            for j in range(i):
                if abs(A[i][j]) < nothing:
                    continue
                slope = (A[i][i] - A[j][j]) / (2 * A[i][j])
                t = 1 / (abs(slope) + (slope * slope + 1).sqrt())
                t = t if slope >= 0 else -t
                cosine = 1 / (t * t + 1).sqrt()
                sine = t * cosine
                for row in (*A, *V):
                    row[j], row[i] = (
                        cosine * row[j] - sine * row[i],
                        sine * row[j] + cosine * row[i],
                    )
                A[j], A[i] = (
                    [cosine * x - sine * y for x, y in zip(A[j], A[i], strict=True)],
                    [sine * x + cosine * y for x, y in zip(A[j], A[i], strict=True)],
                )
                A[i][j] = A[j][i] = Decimal(0)
    return [A[i][i] for i in range(p)], V


def _solved(system: Matrix, right: list[Decimal]) -> list[Decimal]:
    """Solve equations by elimination, in fractions, because units may differ by any factor."""
    rows = [[Fraction(x) for x in (*row, t)] for row, t in zip(system, right, strict=True)]
    p = len(rows)
    for k in range(p):
        best = max(range(k, p), key=lambda i: abs(rows[i][k]))
        rows[k], rows[best] = rows[best], rows[k]
        for i in range(p):
            if i != k and rows[i][k]:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    found = [rows[k][p] / rows[k][k] for k in range(p)]
    return [Decimal(one.numerator) / Decimal(one.denominator) for one in found]
