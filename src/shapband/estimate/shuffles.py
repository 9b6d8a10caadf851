"""Games dealt from shuffled pools: how their dependence changes the variance of their mean.

A shuffle of the pools is cut into k games, which share no record. So, given the pools, the values
of two games of one shuffle have a covariance C, which is negative unless the values are nearly
symmetric about the pools' means. Let V be the variance of single games, given the pools, and s² the
sample variance of G games, of which shuffle j has c_j. With P = Σ c_j (c_j - 1), the number of
ordered pairs of games that share a shuffle,

    E s² = V - C P / (G (G - 1)),
    variance of the mean of all games, given the pools = (V + C P / G) / G.

The complete shuffles show C: the variance of the mean of a complete shuffle is F V / k with
F = 1 + (k - 1) C / V, the factor by which dealing changes the variance of the mean.

Over the choice of the pools from an endless population, games of one shuffle are independent. So
-C is also the variance between such pools, and the squared error of the mean of a single shuffle,
complete or not, is s² / G whatever C is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.codec import lock_arrays

# The factor F that is assumed before the shuffles show it counts like the evidence of two shuffles
# for one provider, and of two thirds of a shuffle if three providers or more have it in common.
_PRIOR = 2.0
_IN_COMMON = 3
_BLOCK = 32  # shuffles folded at once; fixed, so that results do not depend on chunk sizes
_ALIKE = 10.0  # shuffles whose correlations count as much as the correlations of all games


@dataclass(frozen=True, eq=False)
class Shuffles:
    """The means of complete shuffles.

    Attributes
    ----------
    size : games of one shuffle, k
    count : complete shuffles
    square : (n,) k times the sum of the squared deviations of their means from the common mean
    products : (n, n) the same for the products of two deviations, or None with many providers
    """

    size: int
    count: int
    square: FloatArray
    products: FloatArray | None = None

    def __post_init__(self) -> None:
        lock_arrays(self)

    @property
    def correlation(self) -> FloatArray | None:
        """(n, n) correlation of the means of shuffles; 0 for a value whose mean never changes."""
        if self.products is None:
            return None
        scale = np.sqrt(np.diag(self.products))
        safe = np.where(scale > 0, scale, 1.0)
        return np.asarray(self.products / np.outer(safe, safe))

    @property
    def evidence(self) -> float:
        """Weight, from 0 to 1, of the correlations of shuffles beside the correlations of games."""
        seen = max(self.count - 1, 0)
        return seen / (seen + _ALIKE)


def shuffle_means(values: FloatArray, size: int) -> FloatArray:
    """Mean over the games of every complete shuffle: (n_shuffles, n)."""
    count, n = len(values) // size, values.shape[1]
    return np.asarray(values[: count * size].reshape(count, size, n).mean(axis=1))


class ShuffleFold:
    """Folds games in order into the means of complete shuffles, in blocks of a fixed size.

    Parameters
    ----------
    n_values : values of a game
    size : games of a shuffle
    covariances : whether to keep the products of two deviations
    """

    def __init__(self, n_values: int, size: int, *, covariances: bool) -> None:
        self._size = size
        self._games = np.empty((0, n_values))  # games of the last shuffle, if it is incomplete
        self._means = np.empty((0, n_values))  # shuffles that do not fill a block yet
        self._sums = _Sums.of(self._means, covariances=covariances)

    def add(self, values: FloatArray) -> None:
        """Add the next games: (n_games, n)."""
        rows = np.concatenate([self._games, values])
        means = shuffle_means(rows, self._size)
        self._games = rows[len(means) * self._size :]
        self._means = np.concatenate([self._means, means])
        while len(self._means) >= _BLOCK:
            self._sums = self._sums.merge(self._means[:_BLOCK])
            self._means = self._means[_BLOCK:]

    def shuffles(self) -> Shuffles:
        """The record of all complete shuffles added so far."""
        found = self._sums.merge(self._means)
        products = None if found.products is None else self._size * found.products
        return Shuffles(self._size, found.n_shuffles, self._size * found.square, products)


class _Sums(NamedTuple):
    """Number and mean of some shuffles, and sums of squares and products about the mean."""

    n_shuffles: int
    mean: FloatArray
    square: FloatArray
    products: FloatArray | None

    @staticmethod
    def of(means: FloatArray, *, covariances: bool) -> _Sums:
        mean = means.mean(axis=0) if len(means) > 0 else np.zeros(means.shape[1])
        apart = means - mean
        products = apart.T @ apart if covariances else None
        return _Sums(len(means), mean, (apart * apart).sum(axis=0), products)

    def merge(self, means: FloatArray) -> _Sums:
        """The sums with some more shuffles."""
        if len(means) == 0:
            return self
        other = _Sums.of(means, covariances=self.products is not None)
        both = self.n_shuffles + other.n_shuffles
        step = other.mean - self.mean
        weight = self.n_shuffles * other.n_shuffles / both  # of the squared step between both means
        products = None
        if self.products is not None and other.products is not None:
            products = self.products + other.products + weight * np.outer(step, step)
        square = self.square + other.square + weight * step**2
        return _Sums(both, self.mean + step * (other.n_shuffles / both), square, products)


def apart(n_games: int, size: int) -> float:
    """Ordered pairs of games from different shuffles.

    Examples
    --------
    >>> apart(5, 3)  # 3 games of the first shuffle with 2 of the second, in both orders
    12.0
    """
    return float(n_games**2 - _sum_of_squares(n_games, size))


def _sum_of_squares(n_games: int, size: int) -> int:
    """Sum over shuffles of the squared number of their games; the last one may be incomplete."""
    whole, rest = divmod(n_games, size)
    return whole * size**2 + rest**2


class Dealt(NamedTuple):
    """What the dependence of dealt games does to their variances.

    Attributes
    ----------
    of_mean : (n,) variance of the mean of all games, given the pools
    single : (n,) variance of single games, given the pools
    """

    of_mean: FloatArray
    single: FloatArray


def dealt(
    raw: FloatArray,
    n_games: int,
    shuffles: Shuffles,
    between: FloatArray,
    n_common: int | None = None,
) -> Dealt:
    """Estimate the variance of the mean of dealt games, and of single games.

    Parameters
    ----------
    raw : (n,) sample variance of at least two games, s²
    n_games : G
    shuffles : the means of the complete shuffles
    between : (n,) variance between pools that is counted as a part of the error beside the games.
        It is assumed for -C before the shuffles show C; 0 assumes independent games
    n_common : the first so many values show what all have in common; None takes all values
    """
    k = shuffles.size
    together = _sum_of_squares(n_games, k) - n_games  # P
    among_all = together / (n_games * (n_games - 1))
    assumed = 1 - (k - 1) * quotient(between, np.maximum(raw - between * among_all, 0.0))
    factor, seen = np.maximum(assumed, 0.0), shuffles.count - 1
    if seen > 0:
        common = slice(n_common)
        ratio = _shrunk(quotient(shuffles.square / seen, raw), seen, (raw > 0)[common])
        found = factor_of(ratio, n_games, k)
        prior = _PRIOR / min(len(raw[common]), _IN_COMMON)
        factor = (prior * factor + seen * found) / (prior + seen)
    share = (factor - 1) / (k - 1)  # C / V
    single = raw / (1 - share * among_all)
    of_mean = single / n_games * np.maximum(1 + share * together / n_games, 0.0)
    return Dealt(np.asarray(of_mean), np.asarray(single))


def factor_of(ratio: FloatArray, n_games: int, size: int) -> FloatArray:
    """The factor F, from the ratio of the variance of shuffles' means, times k, to s²."""
    together = _sum_of_squares(n_games, size) - n_games
    lost = together / (n_games * (n_games - 1)) / (size - 1)
    return ratio * (1 + lost) / (1 + ratio * lost)  # because s² is not V


def _shrunk(ratio: FloatArray, seen: int, varies: BoolArray) -> FloatArray:
    """Shrink the ratios of single values to the mean of the first ones that vary: (n,).

    The weight of the mean follows from how uncertain the ratios are.
    """
    known = ratio[: len(varies)][varies]
    if len(known) < 2:
        return ratio
    common = float(known.mean())
    noise = 2 * common**2 / seen  # of a ratio of two variances, the first from few shuffles
    spread = max(float(known.var(ddof=1)) - noise, 0.0)
    weight = spread / (spread + noise) if common > 0 else 0.0
    return np.asarray(common + weight * (ratio - common))


def quotient(above: FloatArray | float, below: FloatArray | float) -> FloatArray:
    """Quotient; 0 where the denominator is 0, because nothing varies."""
    positive = np.asarray(below) > 0
    return np.asarray(np.where(positive, above / np.where(positive, below, 1.0), 0.0))
