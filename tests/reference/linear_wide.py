"""Least squares of coalitions of one game, coalition by coalition."""

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.kernels.walks import Walk
from tests.reference.linear import _solve
from tests.reference.walks import coalitions_of


def wide_errors(
    summaries: FloatArray,
    limit: float,
    sizes: IntArray,
    joins: IntArray,
    rows: IntArray,
    n_rows: int,
    A: FloatArray,
    b: FloatArray,
    c: float,
    penalty: FloatArray,
    measure: float,
) -> FloatArray:
    """Errors (n_rows,) of the coalitions of a walk; NaN where they are not certain."""
    errors = np.full(n_rows, np.nan)
    for row, members in coalitions_of(Walk(sizes, joins, rows)):
        sums = penalty + summaries[members].sum(axis=0)
        if sums[0] >= 2:
            errors[row] = _solve(sums[:, None], np.array([limit]), A, b, c, measure)[0]
    errors[~np.isfinite(errors)] = np.nan
    return errors
