"""Sums of the summaries of all arcs of some sizes on circles, arc by arc."""

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.coalitions import arc_rows


def arc_sums(
    summaries: FloatArray, rows: int, columns: int, circles: IntArray, arcs: IntArray
) -> FloatArray:
    """Sums (n_arcs * n, rows, columns) of arcs, by the position at which they begin."""
    inside = arc_rows(circles[arcs[:, 0], arcs[:, 1]], arcs[:, 2])
    used = summaries[arcs[:, 0], :, :rows, :columns]
    return np.einsum("apn,anij->apij", inside.astype(float), used).reshape(-1, rows, columns)
