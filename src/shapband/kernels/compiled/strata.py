"""The inner loops of `Strata`: random coalitions, the surrogate, and the estimate with its noise.

A coalition is a row of n bytes, 1 for members. Random numbers come from SplitMix64, started for
every game and size from a seed of the game, so a game's coalitions do not depend on other games.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.products import dot

# Steps of conjugate gradients. More steps fit the surrogate better, but any surrogate leaves the
# estimate unbiased.
_MOST_STEPS = 40


@njit(**OPTIONS)
def _mixed(state):
    """The output of SplitMix64 at a state."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(**OPTIONS)
def _random_members(places, size, state):
    """Move `size` random providers to the front of `places`; return the next state."""
    n = places.size
    for step in range(size):
        state += np.uint64(0x9E3779B97F4A7C15)
        uniform = (_mixed(state) >> np.uint64(11)) * 2.0**-53
        other = step + int(uniform * (n - step))
        places[step], places[other] = places[other], places[step]
    return state


@njit(**OPTIONS)
def _remember(table, key):
    """Enter a key in a hash table, where 0 means free; return False if it was already there."""
    at = np.int64(_mixed(key) % np.uint64(table.size))
    while table[at] != 0:
        if table[at] == key:
            return False
        at = at + 1 if at + 1 < table.size else 0
    table[at] = key
    return True


@njit(**OPTIONS)
def _key(row, marks, inside):
    """The sum of the marks of a row's members, or of its non-members if `inside` is 0.

    It is never 0 for a proper coalition, which is neither empty nor complete.
    """
    total = np.uint64(0)
    for i in range(row.size):
        if row[i] == inside:
            total += marks[i]
    return total


@njit(**OPTIONS)
def draw_rows(rows, start, size, paired, seed, marks):
    """Fill rows[start:] with random coalitions of a size, all distinct from each other.

    Paired rows come in pairs: a coalition, then its complement.
    """
    count, n = rows.shape
    table = np.zeros(3 * count + 8, np.uint64)
    for r in range(start):
        _remember(table, _key(rows[r], marks, 1))
    places = np.arange(n)
    state = _mixed(seed + np.uint64(size) * np.uint64(0xD1342543DE82EF95) + np.uint64(start))
    r = start
    while r < count:
        state = _random_members(places, size, state)
        for i in range(n):
            rows[r, i] = 0
        for step in range(size):
            rows[r, places[step]] = 1
        if not _remember(table, _key(rows[r], marks, 1)):
            continue
        r += 1
        if paired:
            for i in range(n):
                rows[r, i] = 1 - rows[r - 1, i]
            _remember(table, _key(rows[r], marks, 1))
            r += 1


@njit(**OPTIONS)
def _predict(inside, sizes, slopes, out):
    """Write for every row the sum over its members of slope + 2 / size × second slope to `out`."""
    for r in range(inside.shape[0]):
        first, second = dot(inside[r], slopes[0]), dot(inside[r], slopes[1])
        out[r] = first + 2.0 / sizes[r] * second


@njit(**OPTIONS)
def _centre(values, sizes, trained, counts, means):
    """Subtract from the values their means over the trained rows of each size."""
    means[:] = 0.0
    for r in range(values.size):
        means[sizes[r]] += values[r] * trained[r]
    for s in range(means.size):
        means[s] /= max(counts[s], 1.0)
    for r in range(values.size):
        values[r] -= means[sizes[r]]


@njit(**OPTIONS)
def _transposed(inside, sizes, weights, trained, values, out):
    """Write Dᵀ W values over the trained rows to `out`; values are centred within each size."""
    out[:] = 0.0
    for r in range(inside.shape[0]):
        if trained[r]:
            first = weights[sizes[r]] * values[r]
            second = first * 2.0 / sizes[r]
            for i in range(inside.shape[1]):
                out[0, i] += inside[r, i] * first
                out[1, i] += inside[r, i] * second


@njit(**OPTIONS)
def _block_inverse(sizes, weights, trained, n, ridge):
    """Inverse of a provider's 2 × 2 block of Dᵀ W D, in expectation over random coalitions."""
    a = b = c = 0.0
    for r in range(sizes.size):
        if trained[r]:
            share = sizes[r] / n
            spread = weights[sizes[r]] * share * (1.0 - share)
            scale = 2.0 / sizes[r]
            a += spread
            b += spread * scale
            c += spread * scale * scale
    a, c = a + ridge, c + ridge
    det = a * c - b * b
    if det > 1e-10 * a * c:
        return c / det, -b / det, a / det
    return 1.0 / a, 0.0, 1.0 / c


@njit(**OPTIONS)
def _fit(inside, sizes, values, weights, trained, ridge, tolerance, slopes, means):
    """Fit v ≈ means[size] + Σ over members (a_i + 2 b_i / size) by weighted least squares.

    It is solved by conjugate gradients, because computing the matrix Dᵀ W D would take longer than
    the evaluations. The preconditioner is the expectation of that matrix's diagonal blocks over
    random coalitions.
    """
    rows, n = inside.shape
    counts, spare = np.zeros(n + 1), np.empty(n + 1)
    for r in range(rows):
        counts[sizes[r]] += trained[r]
    fitted = values.copy()
    _centre(fitted, sizes, trained, counts, means)
    residual, search, image = np.empty((2, n)), np.zeros((2, n)), np.empty((2, n))
    _transposed(inside, sizes, weights, trained, fitted, residual)
    p, q, t = _block_inverse(sizes, weights, trained, n, ridge)
    old = 0.0
    for step in range(min(_MOST_STEPS, 2 * n)):
        new = 0.0
        for i in range(n):
            u, v = residual[0, i], residual[1, i]
            new += u * (p * u + q * v) + v * (q * u + t * v)
        if new <= tolerance * rows:
            break
        for i in range(n):
            u, v = residual[0, i], residual[1, i]
            search[0, i] = p * u + q * v + (new / old * search[0, i] if step else 0.0)
            search[1, i] = q * u + t * v + (new / old * search[1, i] if step else 0.0)
        _predict(inside, sizes, search, fitted)
        _centre(fitted, sizes, trained, counts, spare)
        _transposed(inside, sizes, weights, trained, fitted, image)
        length = new / ((search * image).sum() + ridge * (search**2).sum())
        for half in range(2):
            for i in range(n):
                slopes[half, i] += length * search[half, i]
                residual[half, i] -= length * (image[half, i] + ridge * search[half, i])
        old = new
    # So far the means include the means of the slopes' predictions: subtract these.
    _predict(inside, sizes, slopes, fitted)
    _centre(fitted, sizes, trained, counts, spare)
    for s in range(n + 1):
        means[s] -= spare[s]


@njit(**OPTIONS)
def cross_fit(inside, sizes, values, weights, folds, n_folds, ridge, tolerance):
    """Fit the surrogate without each fold in turn.

    Returns the residuals of every row from the fit without its fold, and the fits: slopes
    (n_folds, 2, n) and means (n_folds, n + 1). Rows with fold -1 are in every fit, and their
    residuals come from the first fit. A fit ends when its weighted squared distance from the best
    fit, per row, is below `tolerance`.
    """
    rows, n = inside.shape
    # Twice as fast as bytes, which the processor would convert in every pass.
    inside = inside.astype(np.float64)
    slopes, means = np.zeros((n_folds, 2, n)), np.zeros((n_folds, n + 1))
    residuals = np.empty(rows)
    trained = np.empty(rows, np.bool_)
    fitted = np.empty(rows)
    for fold in range(n_folds):
        for r in range(rows):
            trained[r] = folds[r] != fold
        fit_to = slopes[fold], means[fold]
        _fit(inside, sizes, values, weights, trained, ridge, tolerance, *fit_to)
        _predict(inside, sizes, slopes[fold], fitted)
        for r in range(rows):
            if folds[r] == fold or (folds[r] < 0 and fold == 0):
                residuals[r] = values[r] - means[fold, sizes[r]] - fitted[r]
    return residuals, slopes, means


@njit(**OPTIONS)
def estimate(inside, sizes, values, folds, mates, slopes, means, joins, leaves, capacities):
    """Sum over the sampled sizes of the stratum means, and the estimated variance of this sum.

    Parameters
    ----------
    mates : for each row the index of its complement's row, or its own index if there is none
    slopes, means : (n_folds, n + 1, n) and (n_folds, n + 1), the surrogates by size
    joins, leaves : by size, number of coalitions × weight of v(S) in the value of a member, and
        of -v(S) in the value of a non-member
    capacities : number of coalitions of each size
    """
    rows, n = inside.shape
    counts, units = np.zeros(n + 1), np.zeros(n + 1)
    for r in range(rows):
        counts[sizes[r]] += 1.0
        same = mates[r] != r and sizes[mates[r]] == sizes[r]
        units[sizes[r]] += 0.5 if same else 1.0
    unseen = np.maximum(0.0, 1.0 - counts / capacities)
    terms = np.empty((rows, n))
    _fill_terms(
        inside, sizes, values, folds, *_between(slopes, means, unseen), joins, leaves, terms
    )
    phi = _stratum_means(sizes, terms, counts).sum(axis=0)
    # A row's residual comes from the surrogate that was fitted without the row, since residuals of
    # fitted rows are too small.
    _fill_terms(inside, sizes, values, folds, slopes, means, joins, leaves, terms)
    centres = _stratum_means(sizes, terms, counts)
    noise = np.zeros(n)
    scales = np.sqrt(unseen * units / np.maximum(units - 1.0, 1.0)) / np.maximum(counts, 1.0)
    for r in range(rows):
        mate = mates[r]
        if mate < r:
            continue  # counted with its mate
        s, t = sizes[r], sizes[mate]
        for i in range(n):
            deviation = scales[s] * (terms[r, i] - centres[s, i])
            if mate != r:
                deviation += scales[t] * (terms[mate, i] - centres[t, i])
            noise[i] += deviation * deviation
    return phi, noise


@njit(**OPTIONS)
def _stratum_means(sizes, terms, counts):
    """Means of the terms over the rows of each size: (n + 1, n)."""
    rows, n = terms.shape
    means = np.zeros((n + 1, n))
    for r in range(rows):
        for i in range(n):
            means[sizes[r], i] += terms[r, i] / counts[sizes[r]]
    return means


@njit(**OPTIONS)
def _between(slopes, means, unseen):
    """Move the folds' surrogates of each size towards their mean.

    They move further, the more of the size's coalitions were evaluated. Different surrogates for
    the folds make the values independent of the fit; but if all coalitions of a size are known, one
    common surrogate is needed for its mean to be exact.
    """
    blended, centred = np.empty_like(slopes), np.empty_like(means)
    for s in range(means.shape[1]):
        level = means[:, s].mean()
        centred[:, s] = level + unseen[s] * (means[:, s] - level)
        for i in range(slopes.shape[2]):
            mean = slopes[:, s, i].mean()
            blended[:, s, i] = mean + unseen[s] * (slopes[:, s, i] - mean)
    return blended, centred


@njit(**OPTIONS)
def _fill_terms(inside, sizes, values, folds, slopes, means, joins, leaves, terms):
    """Terms (n_rows, n) whose means over the rows of each size estimate its part of the values.

    A term is (weight of the provider in S) × (value - surrogate), plus the mean over all
    coalitions of the size of (weight) × (surrogate).
    """
    rows, n = inside.shape
    totals = slopes.sum(axis=2)
    for r in range(rows):
        s, fold = sizes[r], folds[r]
        a, b = joins[s], leaves[s]
        residual = values[r] - means[fold, s]
        for i in range(n):
            residual -= inside[r, i] * slopes[fold, s, i]
        other = (a * s * (s - 1) - b * (n - s) * s) / (n * (n - 1))
        own = a * s / n - other
        base = means[fold, s] * (a * s - b * (n - s)) / n + other * totals[fold, s]
        for i in range(n):
            weight = a if inside[r, i] else -b
            terms[r, i] = weight * residual + base + own * slopes[fold, s, i]
