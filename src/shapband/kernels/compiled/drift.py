"""Inner loops of the surrogate whose slopes drift with coalition size: see `solvers/drift.py`.

LANES surrogates are fitted at once, each to its own part of the coalitions; see `listed` for the
form of the coalitions.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import LANES, OPTIONS
from shapband.kernels.compiled.listed import add_to_lists, side, sum_lists
from shapband.kernels.compiled.parts import PART

# Steps of conjugate gradients. More steps fit the surrogate better, but any surrogate leaves the
# estimate unbiased.
_MOST_STEPS = 60


@njit(**PART)
def _decay_backwards(later, ratio, own):
    """Complete the sums over all places, given sums over the places up to this one.

    With F(k) the sum over t ≤ k of ratio^|k - t| × x(t), and G(k) the same sum over all t, G(k) is
    (1 - ratio²) F(k) + ratio G(k + 1).
    """
    for j in range(own.size):
        own[j] = (1.0 - ratio * ratio) * own[j] + ratio * later[j]


@njit(**PART)
def _levels(sizes, coefficients, prior, ratio, levels):
    """Levels (n + 1, LANES) of the function with these coefficients."""
    levels[:] = 0.0
    for r in range(sizes.size):
        for k in range(LANES):
            levels[sizes[r], k] += prior * coefficients[r * LANES + k]
    for s in range(1, len(levels)):
        for k in range(LANES):
            levels[s, k] += ratio * levels[s - 1, k]
    for s in range(len(levels) - 2, -1, -1):
        _decay_backwards(levels[s + 1], ratio, levels[s])


@njit(**PART)
def _function(
    starts, members, sizes, edges, coefficients, priors, level_ratio, ratios, levels, slopes, out
):
    """Levels, slopes (n_blocks, n × LANES) and predictions with these coefficients of the rows."""
    n, blocks = len(levels) - 1, len(slopes)
    _levels(sizes, coefficients, priors[0], level_ratio, levels)
    centre = np.empty(LANES)
    for block in range(blocks):
        first, last = edges[block], edges[block + 1]
        own = slopes[block]
        own[:] = 0.0
        centre[:] = 0.0
        for r in range(first, last):
            factor = side(sizes[r], n) * priors[1]
            for k in range(LANES):
                out[r * LANES + k] = factor * coefficients[r * LANES + k]
                centre[k] += out[r * LANES + k] * (starts[r + 1] - starts[r]) / n
        add_to_lists(first, last, starts, members, out, own)
        # The slopes add up to zero, so that they say nothing about the level of a size.
        for i in range(0, own.size, LANES):
            for k in range(LANES):
                own[i + k] -= centre[k]
        if block > 0:
            before = slopes[block - 1]
            for j in range(own.size):
                own[j] += ratios[block] * before[j]
    for block in range(blocks - 1, -1, -1):
        first, last = edges[block], edges[block + 1]
        if block < blocks - 1:
            _decay_backwards(slopes[block + 1], ratios[block + 1], slopes[block])
        sum_lists(first, last, starts, members, slopes[block], out)
        for r in range(first, last):
            for k in range(LANES):
                at = r * LANES + k
                out[at] = levels[sizes[r], k] + side(sizes[r], n) * out[at]


@njit(**PART)
def _without_levels(sizes, trained, counts, prior, ratio, left, out):
    """Precondition the equations, by solving them for a function of the size alone.

    Writes `left` to `out`, minus the level of each size that is most likely if there are no slopes.
    The inverse of the covariance of the levels is tridiagonal, so elimination takes one pass.
    """
    n = len(counts) - 1
    scale = 1.0 / (prior * (1.0 - ratio * ratio))
    levels, beside = np.zeros((n + 1, LANES)), np.zeros((n + 1, LANES))
    for r in range(sizes.size):
        for k in range(LANES):
            levels[sizes[r], k] += left[r * LANES + k]
    for s in range(n + 1):
        own = scale * (1.0 if s == 0 or s == n else 1.0 + ratio * ratio)
        for k in range(LANES):
            diagonal = counts[s, k] + own
            if s > 0:
                diagonal += scale * ratio * beside[s - 1, k]
                levels[s, k] += scale * ratio * levels[s - 1, k]
            levels[s, k] /= diagonal
            beside[s, k] = -scale * ratio / diagonal
    for s in range(n - 1, -1, -1):
        for k in range(LANES):
            levels[s, k] -= beside[s, k] * levels[s + 1, k]
    for r in range(sizes.size):
        for k in range(LANES):
            out[r * LANES + k] = trained[r, k] * (left[r * LANES + k] - levels[sizes[r], k])


@njit(**PART)
def _products(one, other):
    """Sums over the rows of the products of two arrays, in each lane."""
    products = np.zeros(LANES)
    for i in range(0, one.size, LANES):
        for k in range(LANES):
            products[k] += one[i + k] * other[i + k]
    return products


@njit(**OPTIONS)
def fit(n, starts, members, sizes, values, trained, edges, priors, level_ratio, ratios, tolerance):
    """Most likely levels and slopes of LANES surrogates, given noise with variance 1.

    They are found by conjugate gradients in the coefficients of the rows, preconditioned by the
    levels. Without that, rounding errors in the common level of all values, which is much larger
    than their differences, would grow until they change the fifth digit. A fit ends when the sum
    of the squared residuals of the equations is below `tolerance` times the sum of squared values.

    Parameters
    ----------
    n : number of providers
    starts, members, sizes : the coalitions, sorted by size
    values : (n_rows × LANES) their values
    trained : (n_rows, LANES) 1 for the rows that a surrogate is fitted to, else 0
    edges : first row of each block of sizes, and the number of rows
    priors : variance of a level, and of a slope
    level_ratio : correlation of the levels of two sizes that differ by one
    ratios : (n_blocks,) correlation of the slopes of each block and of the block before it

    Returns
    -------
    levels (n + 1, LANES), slopes (n_blocks, n × LANES), and predictions (n_rows × LANES)
    """
    rows, blocks = sizes.size, ratios.size
    levels, slopes = np.zeros((n + 1, LANES)), np.empty((blocks, n * LANES))
    counts = np.zeros((n + 1, LANES))
    left = np.empty(rows * LANES)
    for r in range(rows):
        for k in range(LANES):
            counts[sizes[r], k] += trained[r, k]
            left[r * LANES + k] = trained[r, k] * values[r * LANES + k]
    coefficients, image = np.zeros(rows * LANES), np.empty(rows * LANES)
    improved = np.empty(rows * LANES)
    _without_levels(sizes, trained, counts, priors[0], level_ratio, left, improved)
    search = improved.copy()
    old = _products(left, improved)
    enough = tolerance * old
    lengths, further = np.empty(LANES), np.empty(LANES)
    for _ in range(_MOST_STEPS):
        # A surrogate that is good enough stays as it is until all are.
        running = old > enough
        if not running.any():
            break
        _function(
            starts,
            members,
            sizes,
            edges,
            search,
            priors,
            level_ratio,
            ratios,
            levels,
            slopes,
            image,
        )
        for r in range(rows):
            for k in range(LANES):
                at = r * LANES + k
                image[at] = trained[r, k] * (search[at] + image[at])
        curved = _products(search, image)
        for k in range(LANES):
            lengths[k] = old[k] / curved[k] if running[k] else 0.0
        for i in range(0, rows * LANES, LANES):
            for k in range(LANES):
                coefficients[i + k] += lengths[k] * search[i + k]
                left[i + k] -= lengths[k] * image[i + k]
        _without_levels(sizes, trained, counts, priors[0], level_ratio, left, improved)
        new = _products(left, improved)
        for k in range(LANES):
            further[k] = new[k] / old[k] if running[k] else 0.0
        for i in range(0, rows * LANES, LANES):
            for k in range(LANES):
                search[i + k] = improved[i + k] + further[k] * search[i + k]
        old = new
    _function(
        starts,
        members,
        sizes,
        edges,
        coefficients,
        priors,
        level_ratio,
        ratios,
        levels,
        slopes,
        image,
    )
    return levels, slopes, image
