"""The inner loops of `Strata`: random coalitions, and the estimate with its noise.

A coalition is a row of n bytes, 1 for members. Random numbers come from SplitMix64, started for
every game and size from a seed of the game, so a game's coalitions do not depend on other games.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS
from shapband.kernels.compiled.parts import PART


@njit(**PART)
def _mixed(state):
    """The output of SplitMix64 at a state."""
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(**PART)
def _random_members(places, size, state):
    """Move `size` random providers to the front of `places`; return the next state."""
    n = places.size
    for step in range(size):
        state += np.uint64(0x9E3779B97F4A7C15)
        uniform = (_mixed(state) >> np.uint64(11)) * 2.0**-53
        other = step + int(uniform * (n - step))
        places[step], places[other] = places[other], places[step]
    return state


@njit(**PART)
def _remember(table, key):
    """Enter a key in a hash table, where 0 means free; return False if it was already there."""
    at = np.int64(_mixed(key) % np.uint64(table.size))
    while table[at] != 0:
        if table[at] == key:
            return False
        at = at + 1 if at + 1 < table.size else 0
    table[at] = key
    return True


@njit(**PART)
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
def list_members(inside, places, starts, members):
    """Write the list of row r to `members`, at place places[r]; see `listed` for its form."""
    n = inside.shape[1]
    for r in range(places.size):
        count = 0
        for i in range(n):
            count += inside[r, i]
        wanted = 1 if 2 * count <= n else 0
        at, stop = starts[places[r]], starts[places[r] + 1]
        for i in range(n):
            if at == stop:
                break
            # A provider that is not on the list is overwritten by the next one, which is faster
            # than a branch that is taken at random.
            members[at] = i
            at += inside[r, i] == wanted


@njit(**OPTIONS)
def estimate(
    inside,
    sizes,
    residuals,
    noise_residuals,
    folds,
    mates,
    ends,
    scales,
    slopes,
    spreads,
    blocks,
    means,
    joins,
    leaves,
    capacities,
):
    """Sum over the sampled sizes of the stratum means, and the estimated variance of this sum.

    The part of a size is the mean over its rows of (weight of the provider in S) × (residual), plus
    the mean over all coalitions of the size of (weight) × (surrogate). Rows of different folds have
    different surrogates, which makes the values independent of the fit. But if all coalitions of a
    size are known, one common surrogate is needed for its mean to be exact. So the surrogates of a
    size are moved towards their mean, the further the more of its coalitions were evaluated.

    Parameters
    ----------
    residuals : (n_rows,) around the surrogate without the row's fold, moved towards the mean
    noise_residuals : (n_rows,) around the surrogate without the row's fold itself, since residuals
        of fitted rows are too small
    mates : for each row the index of its complement's row, or its own index if there is none
    ends, slopes, means : (n_folds, 2, n), (n_folds, n_blocks, n) and (n_folds, n + 1), the
        surrogates: the slopes of size s are ends[:, 0] + scales[s] ends[:, 1] + spreads[s]
        slopes[:, blocks[s]]
    joins, leaves : by size, number of coalitions × weight of v(S) in the value of a member, and
        of -v(S) in the value of a non-member
    capacities : number of coalitions of each size
    """
    n, n_folds = inside.shape[1], len(means)
    counts, units = np.zeros((n + 1, n_folds)), np.zeros(n + 1)
    for r in range(sizes.size):
        counts[sizes[r], folds[r]] += 1.0
        same = mates[r] != r and sizes[mates[r]] == sizes[r]
        units[sizes[r]] += 0.5 if same else 1.0
    order = np.argsort(sizes, kind="mergesort")
    edges = np.searchsorted(sizes[order], np.arange(n + 2))
    phi, noise = np.zeros(n), np.zeros(n)
    parts, factors = np.empty((2, n_folds, n)), np.zeros(2)
    for small in range(n // 2 + 1):
        # Sizes of complements together, because the noise of a pair is that of its sum.
        for half in range(1 if 2 * small == n else 2):
            s = n - small if half else small
            rows, count = order[edges[s] : edges[s + 1]], counts[s].sum()
            if count == 0:
                continue
            unseen = max(0.0, 1.0 - count / capacities[s])
            own, a, b = parts[half], joins[s], leaves[s]
            for fold in range(n_folds):
                first, second, third = ends[fold, 0], ends[fold, 1], slopes[fold, blocks[s]]
                for i in range(n):
                    own[fold, i] = first[i] + scales[s] * second[i] + spreads[s] * third[i]
                _surrogate_part(s, means[fold, s], a, b, own[fold])
            shares = counts[s] / count
            for i in range(n):
                mean = own[:, i].mean()
                for fold in range(n_folds):
                    phi[i] += shares[fold] * (mean + unseen * (own[fold, i] - mean))
            _add_residuals(inside, rows, residuals, a, b, phi)
            _subtract_means(inside, rows, noise_residuals, shares, a, b, own)
            factors[half] = np.sqrt(unseen * units[s] / max(units[s] - 1.0, 1.0)) / count
        for half in range(1 if 2 * small == n else 2):
            s = n - small if half else small
            for r in order[edges[s] : edges[s + 1]]:
                mate = mates[r]
                if mate < r:
                    continue  # counted with its mate
                other = half if sizes[mate] == s else 1 - half
                t = sizes[mate]
                own, with_mate = parts[half, folds[r]], parts[other, folds[mate]]
                for i in range(n):
                    weight = joins[s] if inside[r, i] else -leaves[s]
                    deviation = factors[half] * (weight * noise_residuals[r] + own[i])
                    if mate != r:
                        weight = joins[t] if inside[mate, i] else -leaves[t]
                        term = weight * noise_residuals[mate] + with_mate[i]
                        deviation += factors[other] * term
                    noise[i] += deviation * deviation
    return phi, noise


@njit(**PART)
def _surrogate_part(s, mean, join, leave, slopes):
    """Replace slopes by the means over all coalitions of size s of (weight) × (surrogate)."""
    n, total = slopes.size, slopes.sum()
    other = (join * s * (s - 1) - leave * (n - s) * s) / (n * (n - 1))
    own = join * s / n - other
    base = mean * (join * s - leave * (n - s)) / n + other * total
    for i in range(n):
        slopes[i] = base + own * slopes[i]


@njit(**PART)
def _add_residuals(inside, rows, residuals, join, leave, out):
    """Add the mean over some rows of (weight) × (residual) to `out`."""
    for r in rows:
        gain, loss = join * residuals[r] / rows.size, -leave * residuals[r] / rows.size
        for i in range(out.size):
            out[i] += gain if inside[r, i] else loss


@njit(**PART)
def _subtract_means(inside, rows, residuals, shares, join, leave, parts):
    """Subtract the mean of all terms of a size from the surrogates' parts (n_folds, n) of it."""
    n_folds, n = parts.shape
    centre = np.zeros(n)
    _add_residuals(inside, rows, residuals, join, leave, centre)
    for i in range(n):
        for fold in range(n_folds):
            centre[i] += shares[fold] * parts[fold, i]
        for fold in range(n_folds):
            parts[fold, i] -= centre[i]
