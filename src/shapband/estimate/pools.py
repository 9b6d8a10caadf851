"""What the choice of the pools adds to the error of the expectation.

The variance of a mean over the choice of the pools is a share of the variance across games, times
the fraction of the pool that a game uses. The shares found by `influence` are unbiased but noisy,
so they are combined over providers, in two steps. The first step estimates the level that all
providers have in common, by a posterior over the share of a provider's own pool and the share of
all other pools. The posterior lives on a grid of possible shares: neither is negative, and their
sum cannot exceed a bound. The second step adds the deviations of single providers from the level,
shrunk according to their noise.

The prior, the limits and the degrees of freedom were chosen on simulated and real games and
confirmed on others; docs/coverage.md has the measured levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.influence import Influence, largest_shares, scales
from shapband.sampling.design import Design

FREEDOM = 25.0  # bounds the degrees of freedom, because the share of the pools is itself uncertain
_LEAST_SHARE = 0.02  # a pool is assumed to cause at least this share, because 0 is never certain
_NOISE_SHARE = 0.05  # in the formula for the noise of a share, smaller shares are raised to this
_CORRELATION_FLOOR, _CORRELATION_SPREAD = 0.02, 0.5
_LEAST_FACTOR = 0.05  # dealing is never assumed to remove more than all but this of a variance
# The skewness of pools, as a part of the skewness that games would explain if values were sums over
# records; intervals needed 0.5 to 1 on six tasks with little evidence from single records.
_PART_OF_GAMES = 0.6
_MOST_SKEWNESS = 2.0  # of pools, as found from games: few games cannot show more
# More shuffles count no more, because then the influence of records is known, and more providers
# count no more, because their correlations may not be known.
_MOST_SHUFFLES, _MOST_PROVIDERS = 5, 10


@dataclass(frozen=True, eq=False)
class PoolErrors:
    """The variance that the pools add, estimated from the games of one valuation.

    Attributes
    ----------
    games : (n,) variance of the expectation over the choice of games from the same pools
    variance : (n,) variance of the expectation over the choice of the pools
    freedom : (n,) degrees of freedom of Student's quantile for the whole error
    hidden : (n,) part of the variance that games from one pool do not show
    square : (n,) relative variance of the variance across games over the choice of the pools
    skewness : (n,) of the expectation over the choice of the pools, or None in older results
    square_skewness : (n,) of the variance across games over the choice of the pools, or None
    """

    games: FloatArray
    variance: FloatArray
    freedom: FloatArray
    hidden: FloatArray
    square: FloatArray
    skewness: FloatArray | None = None
    square_skewness: FloatArray | None = None


class Spread(NamedTuple):
    """Variances of games from pools, from the moments of the games.

    Attributes
    ----------
    n_games : games played
    variance : (n,) raw variance across games, about one mean
    noise : (n,) part of it that is solver noise
    of_mean : (n,) variance of the mean of these games, given the pools
    freedom : degrees of freedom of `of_mean`
    correlation : mean squared correlation of the values of two providers
    skewness : (n,) of the values across games
    dealt : what the shuffles show, or None if games were not dealt from complete shuffles
    """

    n_games: float
    variance: FloatArray
    noise: FloatArray
    of_mean: FloatArray
    freedom: float
    correlation: float
    skewness: FloatArray
    dealt: DealtSpread | None = None


class DealtSpread(NamedTuple):
    """How the means of complete shuffles vary, beside the variance of single games.

    Attributes
    ----------
    size : games of a shuffle
    seen : complete shuffles, less one
    factor : mean over providers of F, the variance of the mean of a shuffle times its size over
        the variance of single games; 1 for independent games
    """

    size: int
    seen: int
    factor: float


def pool_errors(spread: Spread, influence: Influence, design: Design) -> PoolErrors:
    """Estimate what the pools add to the errors of both moments."""
    n = len(spread.variance)
    sizes = _Sizes.of(design, spread.n_games)
    influence, base, sizes = _without_noise(spread, influence, sizes)
    level = _level(influence, spread, sizes)
    share = _shares(influence, level, sizes, spread)
    reach = _reach(influence, level, sizes, spread.n_games)
    between = base * reach * share
    # A draw without replacement from a random pool is distributed like a draw from the source. So
    # its variance is the variance within one pool plus the variance between pools, and the games
    # show only the first. A bootstrap has no such relation.
    shows_all = design.repeats
    pools, unseen = np.asarray(design.pool_sizes), np.asarray(design.unseen)
    # It is at least the relative variance that the sample variance of m normal records has, 2 / m.
    square = np.maximum(_square(influence, level, sizes, reach, spread.n_games), 2 * unseen / pools)
    freedom = np.where(unseen > 0, np.maximum(pools - 1.0, 1.0), FREEDOM)
    return PoolErrors(
        games=spread.of_mean,
        variance=between,
        freedom=np.minimum(freedom, min(float(spread.freedom), FREEDOM)),
        hidden=np.zeros(n) if shows_all else between,
        square=square,
        skewness=_of_pools(_record_skewness(influence.skewness, spread, design), design),
        square_skewness=_square_skewness(influence, square, design, spread.n_games),
    )


def _square(
    influence: Influence, level: _Level, sizes: _Sizes, reach: FloatArray, n_games: float
) -> FloatArray:
    """Relative variance of the variance across games over the choice of the pools: (n,).

    The share that all providers have in common is used for everybody, and a provider's own share,
    shrunk to the mean according to its noise, if it gives more. One standard error is added to
    both: an interval that is too narrow is worse than one that is too wide. For the same reason the
    squared deviations count with the mean over providers of their variance, if it is larger.
    """
    found, n = influence.square, len(influence.square)
    common = found.mean() + np.sqrt(sizes.noise.mean() / n)
    share = np.clip(common / level.own, 0.0, sizes.top)
    noise = _own_noise(found, sizes, n_games)
    own, error = _shrunk(found, noise, sizes.top**2)
    own = np.clip(own + error, 0.0, sizes.top)
    return np.asarray(
        np.maximum(
            share * reach * np.maximum(influence.square_variance.mean(), influence.square_variance),
            own * sizes.reach * influence.square_variance,
        )
    )


def _own_noise(found: FloatArray, sizes: _Sizes, n_games: float) -> FloatArray:
    """Variance of the share of every provider's own pool: (n,)."""
    return np.asarray(sizes.noise + 4 * np.clip(found, _NOISE_SHARE, sizes.top) / n_games)


def _shrunk(found: FloatArray, noise: FloatArray, most: float) -> tuple[FloatArray, FloatArray]:
    """Shares of single providers, shrunk to their mean, and the standard errors that are left.

    Parameters
    ----------
    found, noise : (n,) estimated shares and their variances
    most : largest variance that the shares themselves can have
    """
    n, deviation = len(found), found - found.mean()
    spread = 0.0
    if n > 1:
        spread = float((deviation**2 - noise * (1 - 1 / n)).sum()) / (n - 1)
    spread = float(np.clip(spread, 0.0, most))
    weight = spread / (spread + noise)
    return found.mean() + weight * deviation, np.sqrt(weight * noise)


def _record_skewness(of_records: FloatArray, spread: Spread, design: Design) -> FloatArray:
    """Skewness over records that explains the skewness across games, if it is larger: (n,).

    A mean of b independent effects of records has their skewness divided by √b. The skewness across
    games shows what single records do not: that the records of several pools matter together.
    """
    noise = np.full_like(of_records, 6 / spread.n_games)  # of the skewness of normal values
    of_games, _ = _shrunk(spread.skewness, noise, np.inf)
    explained = _PART_OF_GAMES * of_games * np.sqrt(design.draw_sizes)
    most = _MOST_SKEWNESS * np.sqrt(np.asarray(design.pool_sizes))
    explained = np.clip(explained, -most, most)
    return np.where(np.abs(explained) > np.abs(of_records), explained, of_records)


def _of_pools(of_records: FloatArray, design: Design) -> FloatArray:
    """Skewness of a mean over pools, from the skewness γ over records: (n,).

    It is the skewness that intervals are lengthened by, a half of 3 c - s, with s the skewness of
    the mean and c its covariance with its own squared error, both standardised. For m of endlessly
    many records both are γ / √m. For m of N records, with u = 1 - m / N, s has the factor
    (2 u - 1) / √u and c the factor √u, which makes (1 + u) / (2 √u) together.
    """
    m, unseen = np.asarray(design.pool_sizes), np.asarray(design.unseen)
    finite = np.where(unseen > 0, (1 + unseen) / 2 / np.sqrt(np.where(unseen > 0, unseen, 1.0)), 0)
    return np.asarray(finite * of_records / np.sqrt(m))


def _square_skewness(
    influence: Influence, square: FloatArray, design: Design, n_games: float
) -> FloatArray:
    """Skewness of the error of the variance, which is due to games and pools together: (n,)."""
    games = influence.square_variance / n_games
    third = games**1.5 * influence.games_skewness / np.sqrt(n_games)
    third = third + square**1.5 * _of_pools(influence.square_skewness, design)
    return np.asarray(third / np.maximum(games + square, 1e-12) ** 1.5)


def bound_errors(spread: Spread, design: Design) -> PoolErrors:
    """Bound what the pools add, where there are too few games to estimate it."""
    sizes = _Sizes.of(design, spread.n_games)
    # Games of one shuffle show the whole variance, of which a pool causes at most a draw's share.
    most = sizes.top if design.per_shuffle is None else 1.0
    between = spread.variance * sizes.reach.max() * most
    n = len(between)
    hidden = np.zeros(n) if design.repeats else between
    freedom = np.full(n, float(spread.freedom))
    return PoolErrors(spread.of_mean, between, freedom, hidden, np.ones(n))


def _without_noise(
    spread: Spread, influence: Influence, sizes: _Sizes
) -> tuple[Influence, FloatArray, _Sizes]:
    """Convert shares of the raw variance to shares of the variance without solver noise.

    No pool can cause solver noise. At least a fifth of the raw variance is taken as the variance
    without noise, because the difference is too uncertain where it is smaller.
    """
    raw = spread.variance
    base = np.maximum(raw - np.nan_to_num(spread.noise), raw / 5)
    ratio = np.where(base > 0, raw / np.where(base > 0, base, 1.0), 1.0)
    if (ratio == 1).all():
        return influence, base, sizes
    shares = replace(
        influence,
        own=influence.own * ratio,
        rest=influence.rest * ratio,
        pairs=None if influence.pairs is None else influence.pairs * ratio,
    )
    noise, used = sizes.noise * np.mean(ratio**2), sizes.used * float(np.mean(1 / ratio))
    return shares, base, sizes._replace(noise=noise, used=used)


def _reach(influence: Influence, level: _Level, sizes: _Sizes, n_games: float) -> FloatArray:
    """What a share of 1 adds, as a fraction of the variance, for every provider: (n,).

    It is a mean over the pools, weighted by what each causes. The weights matter only if the pools
    differ in the fraction that a game uses of them, or in the fraction that they are of the stock.
    """
    n, reach = len(sizes.reach), sizes.reach
    if np.ptp(reach) == 0 or n == 1:
        return reach
    if influence.pairs is None:
        others = (reach.sum() - reach) / (n - 1)
        return np.asarray(level.own * reach + (1 - level.own) * others)
    noise = _pair_noise(influence.pairs, sizes, n_games)
    weight = np.empty((n, n))
    own = np.eye(n, dtype=bool)
    for which, common in (
        (own, level.own * level.mean),
        (~own, (1 - level.own) * level.mean / (n - 1)),
    ):
        found = influence.pairs[which]
        spread = max(float(np.mean((found - common) ** 2 - noise[which])), 0.0)
        weight[which] = common + spread / (spread + noise[which]) * (found - common)
    weight = np.maximum(weight, 1e-6)
    return np.asarray((weight * reach[:, None]).sum(axis=0) / weight.sum(axis=0))


def _pair_noise(pairs: FloatArray, sizes: _Sizes, n_games: float) -> FloatArray:
    """Variance of the share that one pool has in one value."""
    return np.asarray(sizes.noise[:, None] + 4 * np.clip(pairs, _NOISE_SHARE, sizes.top) / n_games)


def _shares(influence: Influence, level: _Level, sizes: _Sizes, spread: Spread) -> FloatArray:
    """Shares of single providers: the level, plus their shrunk deviations from it: (n,).

    The share of a provider's own pool has much less noise than the share of all others together,
    so the two are shrunk one by one.
    """
    n, share = len(influence.own), np.full(len(influence.own), level.mean)
    left = np.full(n, level.variance)
    for found, pools in ((influence.own, sizes.noise), (influence.rest, _of_others(sizes.noise))):
        noise = pools + 4 * np.clip(found, _NOISE_SHARE, sizes.top) / spread.n_games
        most = level.mean * (sizes.top - level.mean) / 3
        own, error = _shrunk(found, noise, most)
        share = share + own - found.mean()
        left = left + error**2
    share = np.clip(share, _LEAST_SHARE, sizes.top)
    # A part of the standard error is added, because too narrow an interval is the worse mistake. It
    # is doubled with shuffles: without them, the prior makes most levels of few games too high.
    part = 1 / n if spread.dealt is None else min(2 / n, 1.0)
    return np.asarray(np.minimum(share + part * np.sqrt(left), sizes.top))


def _of_others(noise: FloatArray) -> FloatArray:
    """Noise of the share of all other pools together: (n,)."""
    return np.asarray(noise.sum() - noise)


class _Sizes(NamedTuple):
    """Numbers that follow from the sizes of draws and pools alone.

    Attributes
    ----------
    reach : (n,) what a share of 1 would add, as a fraction of the variance across games
    noise : (n,) variance that the estimated share of a pool has if its true share is 0
    top : largest possible share
    used : what a share of 1 would add if every stock were endless, averaged over providers
    """

    reach: FloatArray
    noise: FloatArray
    top: float
    used: float

    @staticmethod
    def of(design: Design, n_games: float) -> _Sizes:
        m, b = np.asarray(design.pool_sizes), design.draw_sizes
        h = b / m
        used = design.chances
        idle = np.maximum(1 - used, 1e-9)
        scale = scales(design)
        noise = 2 * m * (used / (idle * h)) ** 2 / n_games**2 / scale**2
        top = float(np.mean(largest_shares(design)))
        reach = h * np.asarray(design.unseen) * scale
        return _Sizes(reach, noise, top, float((h * scale).mean()))


class _Level(NamedTuple):
    """The share that all providers have in common: mean, variance, and the own pool's part."""

    mean: float
    variance: float
    own: float


# A grid over the total share, as a fraction of the largest possible, and over the part of the total
# that is due to the provider's own pool.
_TOTAL = ((np.arange(64) + 0.5) / 64)[:, None]
_PART = (np.arange(16) + 0.5) / 16
_OWN, _REST = (_TOTAL * _PART).ravel(), (_TOTAL * (1 - _PART)).ravel()
# Prior: with a probability of 0.6 values are nearly sums over the provider's own records, so the
# total share has the distribution Beta(61, 1), near 1, and the own pool's part of it Beta(13, 1).
# Else they are Beta(0.4, 1) and Beta(7, 1), because most of the share is due to the own pool.
_PRIOR = np.log(
    0.6 * 61 * _TOTAL**60 * 13 * _PART**12 + 0.4 * 0.4 * _TOTAL**-0.6 * 7 * _PART**6
).ravel()


def _level(influence: Influence, spread: Spread, sizes: _Sizes) -> _Level:
    n, correlation, n_games = len(influence.own), spread.correlation, spread.n_games
    if n == 1:
        part = np.where(_OWN / len(_PART) > _REST, _PRIOR, -np.inf)  # there are no other pools
        log = part + _fit(influence.own, sizes.top * _OWN, sizes, 1.0, n_games)
    else:
        log = _PRIOR + _fit(influence.own, sizes.top * _OWN, sizes, 1.0, n_games)
        alike = 1 + (n - 2) * correlation if influence.per_group == 1 else influence.per_group
        log += _fit(influence.rest, sizes.top * _REST, sizes, (n - 1) * alike, n_games)
        log += _fit_correlation(correlation, n, n_games)
    if spread.dealt is not None:
        log += _fit_shuffles(spread, sizes, n)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    total = sizes.top * (_OWN + _REST)
    mean = float(weight @ total)
    variance = max(float(weight @ total**2) - mean**2, 0.0)
    return _Level(mean, variance, float(weight @ (sizes.top * _OWN)) / mean if n > 1 else 1.0)


def _fit(
    found: FloatArray, share: FloatArray, sizes: _Sizes, pools: float, n_games: float
) -> FloatArray:
    """Log likelihood of the mean of the shares found, for every share of the grid."""
    mean = found.mean()
    noise = sizes.noise.mean() * pools + 4 * np.clip(mean, _NOISE_SHARE, sizes.top) / n_games
    return np.asarray(-0.5 * (share - mean) ** 2 / (noise / len(found)))


def _fit_correlation(correlation: float, n: int, n_games: float) -> FloatArray:
    """Log likelihood of the correlation of the values, for every share of the grid.

    Values are correlated if a pool moves two of them. Shares `own` and `rest` can explain a mean
    squared correlation of at most 4 · own · rest / (n - 1), so a larger one makes these shares
    unlikely. A smaller one says nothing.
    """
    seen = max(correlation - 1 / (n_games - 1), 0.0) + _CORRELATION_FLOOR
    ratio = np.log(seen) - np.log(4 * _OWN * _REST / (n - 1) + _CORRELATION_FLOOR)
    return np.asarray(-0.5 * (np.maximum(ratio, 0.0) / _CORRELATION_SPREAD) ** 2)


def _fit_shuffles(spread: Spread, sizes: _Sizes, n: int) -> FloatArray:
    """Log likelihood of the variance of the means of shuffles, for every share of the grid.

    Given the pools, two games of one shuffle have the covariance -V h a, with V the variance of a
    game without solver noise, h the part of the pool that it uses and a the share of all pools
    together. So F, the mean over providers, is 1 - (k - 1) h a without noise. Its estimate has a
    chi-square distribution; correlated providers count as fewer.
    """
    dealt = spread.dealt
    assert dealt is not None  # noqa: S101  for the type checker
    total = sizes.top * (_OWN + _REST)
    factor = np.maximum(1 - (dealt.size - 1) * sizes.used * total, _LEAST_FACTOR)
    independent = min(n / (1 + (n - 1) * spread.correlation), _MOST_PROVIDERS)
    freedom = min(dealt.seen, _MOST_SHUFFLES) * independent
    return np.asarray(-freedom / 2 * (np.log(factor) + dealt.factor / factor))
