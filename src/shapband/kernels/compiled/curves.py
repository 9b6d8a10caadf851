"""Learning curves v(S) ≈ c_s + Σ (a_i + scale b_i) over the members, by weighted least squares.

The scale is about 2 / s; it is the same for all sizes of a block. LANES curves are fitted at once,
each to its own part of the coalitions, so that every coalition is read once for all of them. See
`listed` for the form of the coalitions.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import LANES, OPTIONS
from shapband.kernels.compiled.listed import add_to_lists, side, sum_lists
from shapband.kernels.compiled.parts import PART

# Steps of conjugate gradients. More steps fit the surrogate better, but any surrogate leaves the
# estimate unbiased.
_MOST_STEPS = 40


@njit(**PART)
def _size_means(first, last, sizes, numbers, trained, counts, means):
    """Write the means of the numbers over the trained rows to the sizes of these rows."""
    for s in range(sizes[first], sizes[last - 1] + 1):
        for k in range(LANES):
            means[s, k] = 0.0
    for r in range(first, last):
        for k in range(LANES):
            means[sizes[r], k] += numbers[r * LANES + k] * trained[r, k]
    for s in range(sizes[first], sizes[last - 1] + 1):
        for k in range(LANES):
            means[s, k] /= max(counts[s, k], 1.0)


@njit(**PART)
def _weigh(first, last, sizes, weights, trained, means, numbers):
    """Subtract the means of the sizes, and multiply by the weights; 0 for rows not in a fit."""
    for r in range(first, last):
        s = sizes[r]
        for k in range(LANES):
            around = numbers[r * LANES + k] - means[s, k]
            numbers[r * LANES + k] = weights[s] * trained[r, k] * around


@njit(**PART)
def _block_slopes(slopes, scale, out):
    for j in range(out.size):
        out[j] = slopes[0, j] + scale * slopes[1, j]


@njit(**PART)
def _add_block(first, last, starts, members, numbers, scale, spare, out):
    """Add the products of a block's rows with the columns of both slopes to `out`."""
    spare[:] = 0.0
    add_to_lists(first, last, starts, members, numbers, spare)
    for j in range(spare.size):
        out[0, j] += spare[j]
        out[1, j] += scale * spare[j]


@njit(**PART)
def _block_inverses(sizes, weights, trained, edges, scales, ridge):
    """Inverses of a provider's 2 × 2 block of the equations, expected for random coalitions."""
    n = weights.size - 1
    sums, found = np.zeros((3, LANES)), np.empty((3, LANES))
    for block in range(scales.size):
        scale = scales[block]
        for r in range(edges[block], edges[block + 1]):
            share = sizes[r] / n
            for k in range(LANES):
                spread = weights[sizes[r]] * share * (1.0 - share) * trained[r, k]
                sums[0, k] += spread
                sums[1, k] += spread * scale
                sums[2, k] += spread * scale * scale
    for k in range(LANES):
        a, b, c = sums[0, k] + ridge, sums[1, k], sums[2, k] + ridge
        det = a * c - b * b
        found[0, k], found[1, k], found[2, k] = 1.0 / a, 0.0, 1.0 / c
        if det > 1e-10 * a * c:
            found[0, k], found[1, k], found[2, k] = c / det, -b / det, a / det
    return found


@njit(**PART)
def _improve(residual, inverses, out):
    """Multiply by the inverses of the blocks, and return the products with the residual."""
    products = np.zeros(LANES)
    for i in range(0, residual.shape[1], LANES):
        for k in range(LANES):
            u, v = residual[0, i + k], residual[1, i + k]
            out[0, i + k] = inverses[0, k] * u + inverses[1, k] * v
            out[1, i + k] = inverses[1, k] * u + inverses[2, k] * v
            products[k] += u * out[0, i + k] + v * out[1, i + k]
    return products


@njit(**PART)
def _lane_products(one, other):
    products = np.zeros(LANES)
    for half in range(2):
        for i in range(0, one.shape[1], LANES):
            for k in range(LANES):
                products[k] += one[half, i + k] * other[half, i + k]
    return products


@njit(**PART)
def _predict(starts, members, sizes, edges, scales, slopes, out):
    """Write for every row the sum of its members' slopes to `out`."""
    n = slopes.shape[1] // LANES
    own, total = np.empty(slopes.shape[1]), np.empty(LANES)
    for block in range(scales.size):
        first, last = edges[block], edges[block + 1]
        _block_slopes(slopes, scales[block], own)
        total[:] = 0.0
        for j in range(own.size):
            total[j % LANES] += own[j]
        sum_lists(first, last, starts, members, own, out)
        for r in range(first, last):
            if side(sizes[r], n) < 0:
                for k in range(LANES):
                    out[r * LANES + k] = total[k] - out[r * LANES + k]


@njit(**OPTIONS)
def fit(starts, members, sizes, values, weights, trained, edges, scales, ridge, tolerances):
    """Fit LANES curves, each to its trained rows.

    They are solved by conjugate gradients, because computing the matrix of the equations would take
    longer than the evaluations. The preconditioner is the expectation of the matrix's diagonal
    blocks over random coalitions. The means of the sizes are eliminated: within a size, values and
    predictions are centred over the trained rows. So it does not matter for the equations that
    large coalitions are listed by their non-members, except for the sign of their values.

    Parameters
    ----------
    starts, members, sizes : the coalitions, sorted by size
    values : (n_rows,) their values
    weights : (n + 1,) weight of a squared residual of each size
    trained : (n_rows, LANES) 1 for the rows that a curve is fitted to, else 0
    edges, scales : first row of each block and the number of rows, and the scale of each block
    ridge : weight of the squares of all slopes
    tolerances : (LANES,) a fit ends when its weighted squared distance from the best fit, per row,
        is below this

    Returns
    -------
    slopes (2, n × LANES), means of the sizes (n + 1, LANES), and predictions (n_rows × LANES)
    """
    rows, n, blocks = sizes.size, weights.size - 1, scales.size
    counts, means = np.zeros((n + 1, LANES)), np.zeros((n + 1, LANES))
    numbers = np.empty(rows * LANES)
    for r in range(rows):
        for k in range(LANES):
            counts[sizes[r], k] += trained[r, k]
            numbers[r * LANES + k] = side(sizes[r], n) * values[r]
    shape = (2, n * LANES)
    slopes, residual, image = np.zeros(shape), np.zeros(shape), np.empty(shape)
    search, improved = np.zeros(shape), np.empty(shape)
    own, spare = np.empty(n * LANES), np.empty(n * LANES)
    for block in range(blocks):
        first, last = edges[block], edges[block + 1]
        if last > first:
            _size_means(first, last, sizes, numbers, trained, counts, means)
            _weigh(first, last, sizes, weights, trained, means, numbers)
            _add_block(first, last, starts, members, numbers, scales[block], spare, residual)
    inverses = _block_inverses(sizes, weights, trained, edges, scales, ridge)
    ratios, lengths, old = np.zeros(LANES), np.empty(LANES), np.ones(LANES)
    for _ in range(min(_MOST_STEPS, 2 * n)):
        new = _improve(residual, inverses, improved)
        # A curve that is good enough stays as it is until all are.
        running = new > tolerances * rows
        if not running.any():
            break
        for k in range(LANES):
            ratios[k] = new[k] / old[k] if running[k] else 0.0
        for half in range(2):
            for i in range(0, n * LANES, LANES):
                for k in range(LANES):
                    search[half, i + k] = improved[half, i + k] + ratios[k] * search[half, i + k]
        image[:] = 0.0
        for block in range(blocks):
            first, last = edges[block], edges[block + 1]
            if last > first:
                _block_slopes(search, scales[block], own)
                sum_lists(first, last, starts, members, own, numbers)
                _size_means(first, last, sizes, numbers, trained, counts, means)
                _weigh(first, last, sizes, weights, trained, means, numbers)
                _add_block(first, last, starts, members, numbers, scales[block], spare, image)
        curved, squares = _lane_products(search, image), _lane_products(search, search)
        for k in range(LANES):
            lengths[k] = new[k] / (curved[k] + ridge * squares[k]) if running[k] else 0.0
        for half in range(2):
            for i in range(0, n * LANES, LANES):
                for k in range(LANES):
                    step = lengths[k] * search[half, i + k]
                    slopes[half, i + k] += step
                    residual[half, i + k] -= lengths[k] * image[half, i + k] + ridge * step
        old = new
    _predict(starts, members, sizes, edges, scales, slopes, numbers)
    for r in range(rows):
        for k in range(LANES):
            numbers[r * LANES + k] -= values[r]
    means[:] = 0.0
    _size_means(0, rows, sizes, numbers, trained, counts, means)
    for r in range(rows):
        for k in range(LANES):
            numbers[r * LANES + k] += values[r] - means[sizes[r], k]
    return slopes, -means, numbers
