"""Least squares of all arcs of some sizes on circles of the providers.

An arc of size s that begins within a stretch of s positions is the end of that stretch and the
beginning of the next. So the sums of the summaries of all arcs take three additions each: of the
ends of a stretch, of the beginnings of the next, and of one of each. Nothing is subtracted, which
would lose digits.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import LANES, OPTIONS
from shapband.kernels.compiled.linear import queue, solve_queued
from shapband.kernels.compiled.linear_blocks import form_weights
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def _sum_ends(summaries, circle, start, count, ends):
    """Row k = the sum of the summaries at positions start + k to start + count - 1."""
    n = circle.size
    for k in range(count - 1, -1, -1):
        own = circle[(start + k) % n]
        for s in range(ends.shape[1]):
            ends[k, s] = summaries[own, s]
            if k + 1 < count:
                ends[k, s] += ends[k + 1, s]


@njit(**OPTIONS)
def linear_arcs(summaries, limits, circles, arcs, A, b, c, penalty, measure):
    """Errors (n_arcs, n) of arcs by the position at which they begin; NaN if they are not unique.

    Parameters
    ----------
    circles : (g, R, n) the providers on each circle
    arcs : (n_arcs, 3) game, circle and size
    """
    n, size = summaries.shape[1:]
    p = b.shape[0]
    forms = form_weights(A, b)
    block, room, errors, beginning, targets, most = queue(size, p)
    result = np.empty((arcs.shape[0], n))
    flat = result.reshape(arcs.shape[0] * n)
    longest = 0
    for a in range(arcs.shape[0]):
        longest = max(longest, arcs[a, 2])
    ends = np.empty((longest, size))
    queued = np.int64(0)  # a literal 0 would compile `solve_queued` twice
    for a in range(arcs.shape[0]):
        g, length = arcs[a, 0], arcs[a, 2]
        circle = circles[g, arcs[a, 1]]
        for at in range(n):
            k = at % length
            if k == 0:
                _sum_ends(summaries[g], circle, at, length, ends)
                for s in range(size):
                    beginning[s] = penalty[s]
            else:
                own = circle[(at + length - 1) % n]
                for s in range(size):
                    beginning[s] += summaries[g, own, s]
            for s in range(size):
                block[s * LANES + queued] = ends[k, s] + beginning[s]
            targets[queued], most[queued] = a * n + at, limits[g]
            queued += 1
            if queued == LANES:
                solve_queued(block, targets, queued, p, forms, c, room, errors, flat, most, measure)
                queued = 0
    solve_queued(block, targets, queued, p, forms, c, room, errors, flat, most, measure)
    return result
