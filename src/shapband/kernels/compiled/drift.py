"""Inner loops of the surrogate whose slopes drift with coalition size: see `solvers/drift.py`."""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.products import dot

# Steps of conjugate gradients. More steps fit the surrogate better, but any surrogate leaves the
# estimate unbiased.
_MOST_STEPS = 60


@njit(**OPTIONS)
def _decay_along_sizes(array, ratio):
    """Replace array[s] by the sum over t of ratio^|s - t| × array[t], in two passes."""
    sizes, n = array.shape
    after = np.zeros(n)
    before = np.zeros((sizes, n))
    for s in range(1, sizes):
        for i in range(n):
            before[s, i] = ratio * (before[s - 1, i] + array[s - 1, i])
    for s in range(sizes - 1, -1, -1):
        for i in range(n):
            own = array[s, i]
            array[s, i] = own + before[s, i] + after[i]
            after[i] = ratio * (after[i] + own)


@njit(**OPTIONS)
def _curves(inside, sizes, coefficients, priors, ratios, levels, slopes):
    """Levels (n + 1, 1) and slopes (n + 1, n) of the function with these coefficients."""
    rows, n = inside.shape
    levels[:] = 0.0
    slopes[:] = 0.0
    for r in range(rows):
        s = sizes[r]
        levels[s, 0] += coefficients[r]
        for i in range(n):
            slopes[s, i] += inside[r, i] * coefficients[r]
    for s in range(n + 1):
        for i in range(n):
            slopes[s, i] = priors[1] * (slopes[s, i] - levels[s, 0] * s / n)
        levels[s, 0] *= priors[0]
    _decay_along_sizes(levels, ratios[0])
    _decay_along_sizes(slopes, ratios[1])


@njit(**OPTIONS)
def _without_levels(sizes, counts, prior, ratio, left, out):
    """Precondition the equations, by solving them for a function of the size alone.

    Writes `left` to `out`, minus the level of each size that is most likely if there are no slopes.
    The inverse of the covariance of the levels is tridiagonal, so elimination takes one pass.
    """
    n = counts.size - 1
    scale = 1.0 / (prior * (1.0 - ratio * ratio))
    levels, beside = np.zeros(n + 1), np.zeros(n + 1)
    for r in range(left.size):
        levels[sizes[r]] += left[r]
    for s in range(n + 1):
        diagonal = counts[s] + scale * (1.0 if s == 0 or s == n else 1.0 + ratio * ratio)
        if s > 0:
            diagonal += scale * ratio * beside[s - 1]
            levels[s] += scale * ratio * levels[s - 1]
        levels[s] /= diagonal
        beside[s] = -scale * ratio / diagonal
    for s in range(n - 1, -1, -1):
        levels[s] -= beside[s] * levels[s + 1]
    for r in range(left.size):
        out[r] = left[r] - levels[sizes[r]]


@njit(**OPTIONS)
def fit(inside, sizes, values, priors, ratios, tolerance):
    """Most likely levels (n + 1,) and slopes (n + 1, n), given noise with variance 1.

    They are found by conjugate gradients in the coefficients of the rows, preconditioned by the
    levels. Without that, rounding errors in the common level of all values, which is much larger
    than their differences, would grow until they change the fifth digit. A fit ends when the sum
    of the squared residuals of the equations is below `tolerance` times the sum of squared values.

    Parameters
    ----------
    inside : (n_rows, n) coalitions as floats
    priors : variance of a level, and of a slope
    ratios : correlations of the levels and of the slopes of two sizes that differ by one
    """
    rows, n = inside.shape
    levels, slopes = np.zeros((n + 1, 1)), np.zeros((n + 1, n))
    counts = np.zeros(n + 1)
    for r in range(rows):
        counts[sizes[r]] += 1.0
    coefficients, left, image = np.zeros(rows), values.copy(), np.empty(rows)
    improved = np.empty(rows)
    _without_levels(sizes, counts, priors[0], ratios[0], left, improved)
    search = improved.copy()
    old = dot(left, improved)
    enough = tolerance * old
    for _ in range(_MOST_STEPS):
        if old <= enough:
            break
        _curves(inside, sizes, search, priors, ratios, levels, slopes)
        for r in range(rows):
            image[r] = search[r] + levels[sizes[r], 0] + dot(inside[r], slopes[sizes[r]])
        length = old / dot(search, image)
        for r in range(rows):
            coefficients[r] += length * search[r]
            left[r] -= length * image[r]
        _without_levels(sizes, counts, priors[0], ratios[0], left, improved)
        new = dot(left, improved)
        for r in range(rows):
            search[r] = improved[r] + new / old * search[r]
        old = new
    _curves(inside, sizes, coefficients, priors, ratios, levels, slopes)
    return levels[:, 0].copy(), slopes
