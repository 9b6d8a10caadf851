"""Sums of products of the records of a draw in 32 digits, by exact fractions.

See the compiled twin for the layout of the sums.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shapband._typing import FloatArray, IntArray

_LEAST_UNIT = 2.0**-960


def size_of(d: int) -> int:
    """Length of the sums of a draw with d features."""
    return 3 + 7 * d + d * (d + 1)


def all_draw_sums(X: FloatArray, y: FloatArray, rows: IntArray) -> FloatArray:
    """The sums of the records rows (g, size): (g, size_of(d))."""
    return np.array([_draw_sums(X[of_game], y[of_game]) for of_game in rows])


def _draw_sums(X: FloatArray, y: FloatArray) -> list[float]:
    count, d = X.shape
    low, high = X.min(axis=0).tolist(), X.max(axis=0).tolist()
    units = [_unit_of(b - a) for a, b in zip(low, high, strict=True)]
    columns = [
        [(Fraction(x) - Fraction(column[0])) / Fraction(unit) for x in column]
        for column, unit in zip(X.T.tolist(), units, strict=True)
    ]
    means = [sum(column) / count for column in columns]
    targets = [Fraction(t) for t in y.tolist()]
    level = sum(targets) / count
    apart = [[x - m for x in column] for column, m in zip(columns, means, strict=True)]
    own = [t - level for t in targets]
    scatter = [_pair(_product(apart[f], apart[g])) for f in range(d) for g in range(f + 1)]
    pairs = [_pair(number) for number in (*means, level, *(_product(one, own) for one in apart))]
    return [
        float(count), *units, *low, *high, *(part for pair in pairs for part in pair),
        *(pair[0] for pair in scatter), *(pair[1] for pair in scatter),
    ]  # fmt: skip


def _unit_of(x: float) -> float:
    """The power of two above |x|; 1 for 0."""
    return max(2.0 ** float(np.ceil(np.log2(abs(x)))), _LEAST_UNIT) if x else 1.0


def _product(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def _pair(number: Fraction) -> tuple[float, float]:
    """The float next to a number, and the float next to the rest."""
    high = float(number)
    return high, float(number - Fraction(high))
