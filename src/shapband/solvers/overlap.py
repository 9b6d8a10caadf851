"""A surrogate for the residuals of the learning curve, based on the overlap of coalitions.

It is kernel ridge regression over coalitions, and the kernel is their Jaccard similarity
|S ∩ T| / |S ∪ T|. This is the covariance of v(S) and v(T) if v is a sum of nearest-neighbour games
with random orders of the providers: the probability that S and T have the same first member. So
coalitions are alike if they have the same members, and interactions of all orders can be learned.

The kernel depends only on the two sizes and the number of common members. So the linear function of
the members that is nearest to the surrogate within a size is known in closed form. Only this linear
part contributes to the providers' values: weighted as in a value, the rest has a mean of zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from shapband import kernels
from shapband._typing import BoolArray, FloatArray, IntArray, MemberArray

# With fewer providers, most coalitions are in the fit, and the few left out differ from them. More
# providers do not fit into a mask of 64 bits.
FEWEST_PROVIDERS, MOST_PROVIDERS = 8, 64
_PART = 750  # coalitions in one regression, whose time grows with the cube of this number
_MOST_PARTS = 3  # the surrogate is the mean of at most this many regressions
# The trial regression, which decides whether the surrogate is used, has max(_LEAST_TRIAL, _TRIAL ×
# cube root of the number of coalitions) coalitions. The time of a regression grows with the cube of
# this number, so the trial takes a fixed share of the evaluations' time.
_LEAST_TRIAL, _TRIAL = 400, 25.0
_TESTED = 1000  # the trial regression is tested on at most this many coalitions
_WORTH = 0.8  # the surrogate is used if at most this share of the squared residuals is left
_NOISE = 0.03  # noise variance that is added to the diagonal of the kernel


@dataclass(frozen=True, eq=False)
class Explained:
    """Coalitions, and the residuals of their values around the first two surrogates.

    Attributes
    ----------
    inside : (n_rows, n) coalitions
    sizes : (n_rows,) their sizes
    folds : (n_rows,) their folds; -1 for those that all surrogates are fitted to
    residuals : (n_rows, n_folds) around the surrogates without each fold
    spreads : (n + 1,) expected spreads of the values of each size, up to a factor; they come from
        coalitions outside the folds, because values in folds correct the surrogate and so must not
        change it
    """

    inside: MemberArray
    sizes: IntArray
    folds: IntArray
    residuals: FloatArray
    spreads: FloatArray


@dataclass(frozen=True, eq=False)
class Correction:
    """The correction that the surrogates, one per fold, add to the first two.

    Attributes
    ----------
    slopes : (n_folds, n + 1, n) of the linear part by size, in units of the spread of a size
    means : (n_folds, n + 1) of the linear part
    own : (n_rows,) predictions of the surrogate without the fold of each row
    shared : (n_rows,) mean of the predictions over all folds, at rows for which it was requested;
        `own` at the others
    """

    slopes: FloatArray
    means: FloatArray
    own: FloatArray
    shared: FloatArray


@dataclass(frozen=True, eq=False)
class _Regression:
    used: IntArray  # the rows that the regression was fitted to
    coefficients: FloatArray


def operations(n_rows: int, n: int, n_folds: int) -> float:
    """Arithmetic operations of the surrogates of one game; infinite if none can be fitted.

    A similarity of two coalitions counts as much as 8 operations, and the factorisation of m
    equations as m³ / 6, since two are done at a time.
    """
    if not FEWEST_PROVIDERS <= n <= MOST_PROVIDERS:
        return float("inf")
    trained = n_rows - n_rows // n_folds
    parts, used = _count_parts(trained), 2 * n + min(trained, _PART)
    return n_folds * parts * used**3 / 6 + 8.0 * n_rows * parts * used


class Overlap:
    """The surrogates of one game."""

    def __init__(self, explained: Explained) -> None:
        self._explained = explained
        self._n = explained.inside.shape[1]
        self._masks = _masks(explained.inside)
        self._always = np.flatnonzero(explained.folds < 0)
        self._by_size = np.argsort(explained.sizes, kind="stable")

    def is_worth_it(self, weights: FloatArray) -> bool:
        """Whether a trial regression lowers the squared residuals of the first fold enough.

        Parameters
        ----------
        weights : (n_rows,) of the squared residuals
        """
        folds = self._explained.folds[self._by_size]
        size = max(_LEAST_TRIAL, round(_TRIAL * len(folds) ** (1 / 3)))
        tested = _evenly(self._by_size[folds == 0], _TESTED)
        regression = self._regression(0, _evenly(self._by_size[folds > 0], size))
        before = self._explained.residuals[tested, 0]
        after = before - self._predict(regression, tested)
        return bool(weights[tested] @ after**2 < _WORTH * (weights[tested] @ before**2))

    def correction(self, shared: BoolArray) -> Correction:
        """Fit the surrogates; `shared` are rows at which their mean is needed."""
        rows, n_folds = self._explained, self._explained.residuals.shape[1]
        slopes, means = np.zeros((n_folds, self._n + 1, self._n)), np.zeros((n_folds, self._n + 1))
        own, mean = np.zeros(len(rows.sizes)), np.zeros(len(rows.sizes))
        folds = rows.folds[self._by_size]
        for fold in range(n_folds):
            trained = self._by_size[(folds >= 0) & (folds != fold)]
            regressions = [self._regression(fold, part) for part in _parts(trained)]
            linear = [self._linear(regression) for regression in regressions]
            slopes[fold] = np.mean([slope for slope, _ in linear], axis=0)
            means[fold] = np.mean([level for _, level in linear], axis=0)
            at = np.flatnonzero(shared | (rows.folds == fold))
            found = np.mean([self._predict(regression, at) for regression in regressions], axis=0)
            mean[at] += found / n_folds
            left_out = rows.folds[at] == fold
            own[at[left_out]] = found[left_out]
        return Correction(slopes, means, own, np.where(shared, mean, own))

    def _regression(self, fold: int, used: IntArray) -> _Regression:
        rows, used = self._explained, np.concatenate([self._always, used])
        scaled = rows.residuals[used, fold] / rows.spreads[rows.sizes[used]]
        found = kernels.load("overlap").fit(self._masks[used], rows.sizes[used], scaled, _NOISE)
        return _Regression(used, found)

    def _predict(self, regression: _Regression, at: IntArray) -> FloatArray:
        used, sizes = regression.used, self._explained.sizes
        scaled = kernels.load("overlap").predict(
            self._masks[at], sizes[at], self._masks[used], sizes[used], regression.coefficients
        )
        return np.asarray(scaled * self._explained.spreads[sizes[at]])

    def _linear(self, regression: _Regression) -> tuple[FloatArray, FloatArray]:
        """Slopes (n + 1, n), in units of the spreads, and means (n + 1,) of the linear part."""
        rows, used = self._explained, regression.used
        of_size = rows.sizes[used][:, None] == np.arange(self._n + 1)
        weighted = of_size * regression.coefficients[:, None]
        means, slopes = linear_part(self._n)
        by_size = slopes @ (weighted.T @ rows.inside[used])
        return by_size, rows.spreads * (means @ weighted.sum(axis=0))


def _masks(inside: MemberArray) -> NDArray[np.uint64]:
    """Coalitions as the bits of a number."""
    padded = np.zeros((len(inside), MOST_PROVIDERS // 8), dtype=np.uint8)
    packed = np.packbits(inside, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return padded.view("<u8")[:, 0].astype(np.uint64)


def _evenly(rows: IntArray, size: int, shift: float = 0.0) -> IntArray:
    """Up to `size` evenly spaced rows, so that all coalition sizes occur among them."""
    places = np.arange(min(size, len(rows))) + shift
    return rows[(places * (len(rows) / len(places))).astype(np.int64)]


def _parts(rows: IntArray) -> list[IntArray]:
    """The rows of each regression: one regression with all rows, or several if there are many."""
    count = _count_parts(len(rows))
    return [_evenly(rows, _PART, part / count) for part in range(count)]


def _count_parts(n_rows: int) -> int:
    return min(-(-n_rows // _PART), _MOST_PARTS)


@cache
def linear_part(n: int) -> tuple[FloatArray, FloatArray]:
    """The linear functions that are nearest to the similarity of two coalitions, of n providers.

    Returns
    -------
    means and slopes, (n + 1, n + 1) each, by the size t of S and the size s of a fixed T: the
    similarity is about mean + slope × |S ∩ T|, by least squares over all S of size t

    Examples
    --------
    >>> means, slopes = linear_part(4)  # two and three of four have one or two in common
    >>> (means[2, 3] + np.array([1, 2]) * slopes[2, 3]).round(12).tolist()
    [0.25, 0.666666666667]
    """
    sizes = np.arange(n + 1.0)
    t, s, common = np.meshgrid(sizes, sizes, sizes, indexing="ij")
    similarity = common / np.maximum(s + t - common, 1)
    shares = _shares(n)
    centre = sizes[:, None] * sizes / n
    around = common - centre[:, :, None]
    spread = (shares * around**2).sum(axis=2)
    slopes = (shares * around * similarity).sum(axis=2) / np.where(spread > 0, spread, 1.0)
    return (shares * similarity).sum(axis=2) - slopes * centre, slopes


def _shares(n: int) -> FloatArray:
    """By t, s and k: share of the coalitions of size t that contain exactly k of s providers."""
    ways = np.zeros((n + 1, n + 1))  # binomial coefficients
    ways[:, 0] = 1.0
    for row in range(1, n + 1):
        ways[row, 1:] = ways[row - 1, 1:] + ways[row - 1, :-1]
    t, s, k = np.ogrid[: n + 1, : n + 1, : n + 1]
    possible = (k <= s) & (k <= t) & (t - k <= n - s)
    others = ways[n - s, np.where(possible, t - k, 0)]
    return np.asarray(np.where(possible, ways[s, np.minimum(k, s)] * others / ways[n, t], 0.0))
