"""Sums of the summaries of all arcs of some sizes on circles of the providers.

An arc of size s that begins within a stretch of s positions is the end of that stretch and the
beginning of the next. So the sums of all arcs take three additions each: of the ends of a stretch,
of the beginnings of the next, and of one of each. Nothing is subtracted, which would lose digits.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS


@njit(**OPTIONS)
def arc_sums(summaries, rows, columns, circles, arcs):
    """Sums (n_arcs * n, rows, columns) of arcs, by the position at which they begin.

    Parameters
    ----------
    summaries : (g, n, ..) matrices, of which the first rows and columns are added
    circles : (g, R, n) the providers on each circle
    arcs : (n_arcs, 3) game, circle and size
    """
    n = summaries.shape[1]
    sums = np.empty((arcs.shape[0] * n, rows, columns))
    ends, beginning = np.empty((n + 1, rows, columns)), np.empty((rows, columns))
    for a in range(arcs.shape[0]):
        game, length = summaries[arcs[a, 0]], arcs[a, 2]
        circle = circles[arcs[a, 0], arcs[a, 1]]
        for at in range(n):
            k = at % length
            if k == 0:
                ends[length] = 0.0
                for back in range(length - 1, -1, -1):
                    _add(ends[back + 1], game[circle[(at + back) % n]], ends[back])
                beginning[:] = 0.0
            else:
                _add(beginning, game[circle[(at + length - 1) % n]], beginning)
            _add(ends[k], beginning, sums[a * n + at])
    return sums


@njit(**OPTIONS)
def _add(one, other, out):
    """Write the sum of two matrices; the second one may be larger."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = one[i, j] + other[i, j]
