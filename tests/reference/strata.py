"""The inner loops of `Strata` in NumPy: random coalitions, their lists, and the estimate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import FloatArray, IntArray, MemberArray

_WORD = (1 << 64) - 1


def _mixed(state: int) -> int:
    """The output of SplitMix64 at a state."""
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


def draw_rows(
    rows: MemberArray,
    start: int,
    size: int,
    paired: bool,
    seed: np.uint64,
    marks: NDArray[np.uint64],
) -> None:
    """Fill rows[start:] with random coalitions of a size, all distinct from each other.

    Paired rows come in twos: a coalition, then its complement.
    """
    count, n = rows.shape
    known = {row.tobytes() for row in rows[:start]}
    places = list(range(n))
    state = _mixed((int(seed) + size * 0xD1342543DE82EF95 + start) & _WORD)
    r = start
    while r < count:
        for step in range(size):
            state = (state + 0x9E3779B97F4A7C15) & _WORD
            other = step + int((_mixed(state) >> 11) * 2.0**-53 * (n - step))
            places[step], places[other] = places[other], places[step]
        rows[r] = 0
        rows[r, places[:size]] = 1
        if rows[r].tobytes() in known:
            continue
        known.add(rows[r].tobytes())
        r += 1
        if paired:
            rows[r] = 1 - rows[r - 1]
            known.add(rows[r].tobytes())
            r += 1


def list_members(
    inside: MemberArray, places: IntArray, starts: IntArray, members: NDArray[np.int32]
) -> None:
    """Write the list of row r to `members`, at place places[r]."""
    for row, place in zip(inside, places, strict=True):
        listed = row if 2 * row.sum(dtype=int) <= len(row) else 1 - row
        members[starts[place] : starts[place + 1]] = np.flatnonzero(listed)


def estimate(
    inside: MemberArray,
    sizes: IntArray,
    residuals: FloatArray,
    noise_residuals: FloatArray,
    folds: IntArray,
    mates: IntArray,
    ends: FloatArray,
    scales: FloatArray,
    slopes: FloatArray,
    spreads: FloatArray,
    blocks: IntArray,
    means: FloatArray,
    joins: FloatArray,
    leaves: FloatArray,
    capacities: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Sum over the sampled sizes of the stratum means, and the estimated variance of this sum."""
    n = inside.shape[1]
    counts = np.bincount(sizes, minlength=n + 1).astype(float)
    alone = mates == np.arange(len(mates))
    halves = np.where(~alone & (sizes[mates] == sizes), 0.5, 1.0)
    units = np.bincount(sizes, weights=halves, minlength=n + 1)
    unseen = np.maximum(0.0, 1.0 - counts / capacities)
    indicator = sizes[:, None] == np.arange(n + 1)
    by_size = ends[:, None, 0] + scales[:, None] * ends[:, None, 1]
    by_size = by_size + spreads[:, None] * slopes[:, blocks]

    def stratum_means(residuals: FloatArray, unseen: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Terms, and their means over each size, of surrogates moved towards their mean."""
        own = by_size.mean(0) + unseen[:, None] * (by_size - by_size.mean(0))
        level = means.mean(0) + unseen * (means - means.mean(0))
        terms = _terms(
            inside, sizes, residuals, own[folds, sizes], level[folds, sizes], joins, leaves
        )
        return terms, (indicator.T @ terms) / np.maximum(counts, 1)[:, None]

    phi = stratum_means(residuals, unseen)[1].sum(axis=0)
    terms, centres = stratum_means(noise_residuals, np.ones(n + 1))
    scale = np.sqrt(unseen * units / np.maximum(units - 1, 1)) / np.maximum(counts, 1)
    deviations = scale[sizes, None] * (terms - centres[sizes])
    both = deviations + np.where(alone[:, None], 0.0, deviations[mates])
    noise = (both[mates >= np.arange(len(mates))] ** 2).sum(axis=0)
    return phi, noise


def _terms(
    inside: MemberArray,
    sizes: IntArray,
    residuals: FloatArray,
    slopes: FloatArray,
    means: FloatArray,
    joins: FloatArray,
    leaves: FloatArray,
) -> FloatArray:
    """Terms (n_rows, n): weight × residual, plus the mean of weight × surrogate in the size."""
    n, s = inside.shape[1], sizes
    a, b = joins[s], leaves[s]
    other = (a * s * (s - 1) - b * (n - s) * s) / (n * (n - 1))
    own = a * s / n - other
    base = means * (a * s - b * (n - s)) / n + other * slopes.sum(axis=1)
    weights = np.where(inside, a[:, None], -b[:, None])
    return np.asarray(weights * residuals[:, None] + base[:, None] + own[:, None] * slopes)
