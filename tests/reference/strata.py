"""The inner loops of `Strata` in NumPy: random coalitions, the surrogate, and the estimate.

`draw_rows` gives the same rows as the compiled kernel. The surrogate is solved directly instead of
by conjugate gradients, so values agree only as far as those have converged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shapband._typing import BoolArray, FloatArray, IntArray, MemberArray

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


def cross_fit(
    inside: MemberArray,
    sizes: IntArray,
    values: FloatArray,
    weights: FloatArray,
    folds: IntArray,
    n_folds: int,
    ridge: float,
    tolerance: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fit the surrogate without each fold in turn; see the compiled kernel."""
    n = inside.shape[1]
    slopes, means = np.zeros((n_folds, 2, n)), np.zeros((n_folds, n + 1))
    residuals = np.empty(len(values))
    columns = np.concatenate([inside, inside * (2.0 / sizes[:, None])], axis=1)
    for fold in range(n_folds):
        fitted = _fit(columns, sizes, values, weights, folds != fold, ridge)
        slopes[fold], means[fold] = fitted[0].reshape(2, n), fitted[1]
        left_out = (folds == fold) | ((folds < 0) & (fold == 0))
        predicted = means[fold, sizes] + columns @ fitted[0]
        residuals[left_out] = (values - predicted)[left_out]
    return residuals, slopes, means


def _fit(
    columns: FloatArray,
    sizes: IntArray,
    values: FloatArray,
    weights: FloatArray,
    trained: BoolArray,
    ridge: float,
) -> tuple[FloatArray, FloatArray]:
    """Weighted least squares with a mean for each size: slopes (2 n,) and means (n + 1,)."""
    D, y, of_size = columns[trained], values[trained], sizes[trained]
    n = D.shape[1] // 2
    indicator = of_size[:, None] == np.arange(n + 1)
    counts = np.maximum(indicator.sum(axis=0), 1)
    D_means, y_means = (indicator.T @ D) / counts[:, None], (indicator.T @ y) / counts
    D, y = D - D_means[of_size], y - y_means[of_size]
    weighted = D.T * weights[of_size]
    slopes = np.linalg.solve(weighted @ D + ridge * np.eye(2 * n), weighted @ y)
    return slopes, y_means - D_means @ slopes


def estimate(
    inside: MemberArray,
    sizes: IntArray,
    values: FloatArray,
    folds: IntArray,
    mates: IntArray,
    slopes: FloatArray,
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

    def stratum_means(unseen: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Terms, and their means over each size, of surrogates moved towards their mean."""
        own = slopes.mean(0) + unseen[:, None] * (slopes - slopes.mean(0))
        level = means.mean(0) + unseen * (means - means.mean(0))
        terms = _terms(inside, sizes, values, own[folds, sizes], level[folds, sizes], joins, leaves)
        return terms, (indicator.T @ terms) / np.maximum(counts, 1)[:, None]

    phi = stratum_means(unseen)[1].sum(axis=0)
    terms, centres = stratum_means(np.ones(n + 1))
    scales = np.sqrt(unseen * units / np.maximum(units - 1, 1)) / np.maximum(counts, 1)
    deviations = scales[sizes, None] * (terms - centres[sizes])
    both = deviations + np.where(alone[:, None], 0.0, deviations[mates])
    noise = (both[mates >= np.arange(len(mates))] ** 2).sum(axis=0)
    return phi, noise


def _terms(
    inside: MemberArray,
    sizes: IntArray,
    values: FloatArray,
    slopes: FloatArray,
    means: FloatArray,
    joins: FloatArray,
    leaves: FloatArray,
) -> FloatArray:
    """Terms (n_rows, n): weight × residual, plus the mean of weight × surrogate in the size."""
    n, s = inside.shape[1], sizes
    a, b = joins[s], leaves[s]
    residuals = values - means - (inside * slopes).sum(axis=1)
    other = (a * s * (s - 1) - b * (n - s) * s) / (n * (n - 1))
    own = a * s / n - other
    base = means * (a * s - b * (n - s)) / n + other * slopes.sum(axis=1)
    weights = np.where(inside, a[:, None], -b[:, None])
    return np.asarray(weights * residuals[:, None] + base[:, None] + own[:, None] * slopes)
