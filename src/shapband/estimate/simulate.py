"""Simulated errors of all expectations together, and critical values computed from them.

The random numbers have a fixed address, so the same moments always give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from shapband._typing import FloatArray
from shapband.seeds import Seeds

_DRAWS = 20_000  # with this many draws the level of an interval is off by about 0.0015
_LEAST_DRAWS = 2_000  # draws for many comparisons, where `_WORK` would allow fewer
_DRAWS_OF_SPREAD = 4_000  # with this many draws a standard deviation is off by about 1 %
_WORK = 20_000_000  # at most this many numbers are drawn for one critical value: about a second
_BLOCK = 2_000_000  # numbers that are drawn at once for many providers: 16 MB
_DEGENERATE = 1e-10  # if Var(a - b) is below this share of Var(a) + Var(b), it is only rounding
_MOST_FREEDOM = 1e9  # stands for infinite degrees of freedom, which quantiles cannot use
_RARE = 1e-3  # share of variance estimates that are so small that they get a separate treatment

# Draws this many normal errors of n providers: (count, n).
Draw = Callable[[int, np.random.Generator], FloatArray]


def student_errors(covariance: FloatArray, freedom: float) -> FloatArray:
    """Errors from a multivariate Student distribution: (draws, n)."""
    rng = _rng("student")
    normal = _normal(covariance, _DRAWS, rng)
    scale = np.sqrt(rng.chisquare(freedom, (_DRAWS, 1)) / freedom)
    return np.asarray(normal / scale)


def student_blocks(normal: Draw, freedom: float, n: int) -> Iterator[FloatArray]:
    """As many errors as `student_errors`, some draws at a time: (draws, n) each."""
    rng = _rng("student blocks")
    for count in _counts(_DRAWS, n):
        scale = np.sqrt(rng.chisquare(freedom, (count, 1)) / freedom)
        yield normal(count, rng) / scale


def smallest_freedom(freedom: FloatArray) -> float:
    """The smallest degrees of freedom of several providers, which hold for all of them."""
    return float(usable_freedom(freedom).min())


def normal_errors(covariance: FloatArray) -> FloatArray:
    """Errors from a multivariate normal distribution: (draws, n)."""
    return _normal(covariance, _DRAWS_OF_SPREAD, _rng("normal"))


def normal_blocks(normal: Draw, n: int) -> Iterator[FloatArray]:
    """As many normal errors as `normal_errors`, some draws at a time: (draws, n) each."""
    rng = _rng("normal blocks")
    for count in _counts(_DRAWS_OF_SPREAD, n):
        yield normal(count, rng)


def critical_value(covariance: FloatArray, freedom: float, level: float) -> float:
    """Multiple of the standard errors that covers all n errors together at this level."""
    n = len(covariance)
    rng = _rng("each")
    errors = _normal(covariance, _draws(n), rng)
    scale = np.sqrt(np.diag(covariance))
    largest = _largest(errors, np.where(scale > 0, scale, np.inf), freedom, rng)
    return _between_bounds(largest, freedom, level, n)


def pairwise_critical_value(covariance: FloatArray, freedom: float, level: float) -> float:
    """Multiple of the standard errors that covers the errors of all differences together."""
    n = len(covariance)
    pairs = n * (n - 1) // 2
    rng = _rng("pairs")
    errors = _normal(covariance, _draws(max(pairs, 1)), rng)
    square = difference_variances(covariance)
    variance = np.diag(covariance)
    usable = square > _DEGENERATE * (variance[:, None] + variance)
    scale = np.where(usable, np.sqrt(square), np.inf)
    if len(errors) * pairs > _WORK:
        largest = _largest_of_many(errors, scale, freedom, level, rng)
    else:
        largest = np.zeros(len(errors))
        for i in range(n - 1):
            apart = errors[:, i, None] - errors[:, i + 1 :]
            np.maximum(largest, _largest(apart, scale[i, i + 1 :], freedom, rng), out=largest)
    return _between_bounds(largest, freedom, level, max(pairs, 1))


def difference_variances(covariance: FloatArray) -> FloatArray:
    """Variance of the difference of every two errors: (n, n)."""
    variance = np.diag(covariance)
    return np.maximum(variance[:, None] + variance - 2 * covariance, 0.0)


def sidak_value(freedom: float, level: float, comparisons: int) -> float:
    """Critical value that covers this many independent comparisons together.

    It is an upper bound for any correlation (Sidak 1967, Journal of the American Statistical
    Association 62, 626-633).

    Examples
    --------
    >>> round(sidak_value(1e9, 0.95, 1), 3), round(sidak_value(1e9, 0.95, 10), 3)
    (1.96, 2.8)
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level ** (1 / comparisons)) / 2))


def usable_freedom(freedom: FloatArray) -> FloatArray:
    """Degrees of freedom in the range that the quantiles and the simulation can use."""
    return np.clip(freedom, 1.0, _MOST_FREEDOM)


def _largest(
    errors: FloatArray, scale: FloatArray, freedom: float, rng: np.random.Generator
) -> FloatArray:
    """Largest absolute Student statistic of each draw: (draws,).

    Every comparison is divided by an estimate of its own variance. With one estimate for all of
    them, intervals from ten games hold all pairs of ten providers in 82 to 90 % instead of 95 %.
    """
    half = freedom / 2
    estimated = rng.standard_gamma(half, errors.shape, dtype=np.float32)
    return np.asarray(np.sqrt(((errors / scale) ** 2 / estimated).max(axis=1) * half))


def _largest_of_many(
    errors: FloatArray, scale: FloatArray, freedom: float, level: float, rng: np.random.Generator
) -> FloatArray:
    """Largest Student statistic of all differences of each draw, if above the quantile: (draws,).

    Drawing random variance estimates takes most of the time, so only differences that may be the
    largest get one. The quantile of the maxima found so far is a lower bound of the final quantile,
    and statistics below it need not be known. A statistic above it comes from a large difference
    or, rarely, from a small variance estimate, which may belong to any difference. Both cases are
    drawn with the same probabilities as if every difference got an estimate.
    """
    from scipy.special import gammaincinv

    half = freedom / 2
    small = gammaincinv(half, -np.expm1(-_RARE)) / half
    # Both are squares. `least` is not 0, because some scales are infinite.
    largest, least = np.zeros(len(errors)), float(np.finfo(np.float64).tiny)
    by_provider = np.ascontiguousarray(errors.T)
    room = np.empty_like(by_provider)
    for i, one in enumerate(by_provider[:-1]):
        apart = np.subtract(by_provider[i + 1 :], one, out=room[i + 1 :])
        across = scale[i, i + 1 :, None]
        large = np.abs(apart, out=apart) > np.sqrt(least * small) * across
        rare = rng.integers(apart.size, size=rng.poisson(_RARE * apart.size))
        rare = rare[~large.ravel()[rare]]
        chosen = np.concatenate([np.flatnonzero(large), rare])
        estimated = np.concatenate(
            [
                rng.standard_gamma(half, len(chosen) - len(rare)),
                gammaincinv(half, -np.expm1(-_RARE * rng.random(len(rare)))),
            ]
        )
        row, draw = np.divmod(chosen, len(errors))
        statistics = (apart[row, draw] / across[row, 0]) ** 2 / (estimated / half)
        np.maximum.at(largest, draw, statistics)
        least = max(least, float(np.quantile(largest, level, method="lower")))
    return np.sqrt(largest)


def _between_bounds(largest: FloatArray, freedom: float, level: float, comparisons: int) -> float:
    """Quantile of the maxima, clipped to the values for one and for independent comparisons."""
    bounds = sidak_value(freedom, level, 1), sidak_value(freedom, level, comparisons)
    return float(np.clip(np.quantile(largest, level), *bounds))


def _normal(covariance: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw normal errors; the covariance may be singular: (count, n).

    The correlation matrix is decomposed instead of the covariance matrix, so that rounding in the
    large errors does not swamp the small ones.
    """
    scale = np.sqrt(np.diag(covariance))
    safe = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(safe, safe))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(rng.standard_normal((count, len(covariance))) @ root.T * scale)


def _counts(draws: int, n: int) -> list[int]:
    """Cut a number of draws of n numbers into blocks of bounded size."""
    size = max(_BLOCK // n, 1)
    return [min(size, draws - start) for start in range(0, draws, size)]


def _draws(comparisons: int) -> int:
    return int(np.clip(_WORK // comparisons, _LEAST_DRAWS, _DRAWS))


def _rng(purpose: str) -> np.random.Generator:
    return Seeds(0).generator("simulate", purpose, 0)
