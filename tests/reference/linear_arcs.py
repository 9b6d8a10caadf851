"""Least squares of all arcs of some sizes on circles, arc by arc."""

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.coalitions import arc_rows
from tests.reference.linear import linear_rows


def linear_arcs(
    summaries: FloatArray,
    limits: FloatArray,
    circles: IntArray,
    arcs: IntArray,
    A: FloatArray,
    b: FloatArray,
    c: float,
    penalty: FloatArray,
    measure: float,
) -> FloatArray:
    """Errors (n_arcs, n) of arcs by the position at which they begin."""
    n = circles.shape[2]
    rows = arc_rows(circles[arcs[:, 0], arcs[:, 1]], arcs[:, 2]).reshape(-1, n)
    of_game = np.repeat(arcs[:, 0], n)
    found = linear_rows(summaries, limits, rows, of_game, A, b, c, penalty, measure)
    return found.reshape(-1, n)
