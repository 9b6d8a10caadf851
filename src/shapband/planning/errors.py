"""The errors that a method will reach, from what the pilot found.

Let V be the variance of a value over draws from the sources, F the part of it that is a sum over
single records, c / w the variance of the noise of a solver that does the work w, and b the records
in a draw. The squared error of the expectation from G games is

    (V + c / w) / G                                        with fresh draws,
    (V - B + c / w) / G + B                                with draws from pools,
    (V' - F k b / m + c / w) / G + B                       with k disjoint draws a shuffle,

with V' = V + F b / N the variance in an endless population, and B = F b (1 / m - 1 / N) the
variance between pools of m records from stocks of N. A bootstrap has V' in place of V - B.
Most of B is due to the provider's own pool, the rest to the pools of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray
from shapband.moments.intervals import kurtosis
from shapband.planning.pilot import Pilot
from shapband.planning.samplings import Method
from shapband.planning.solvers import Family

_OWN = 7 / 8  # share of a provider's own pool in B: the mean of the prior of `moments.pools`
_LEAST = 0.02  # least variance, as a part of the raw variance across the pilot's games
_FREEDOM = 25.0  # most degrees of freedom where there are pools, as in `moments.pools`
_NORMAL = 1.959964  # the 97.5 % quantile


class Errors(NamedTuple):
    """Errors that are expected, for every provider.

    Attributes
    ----------
    standard_error, half_width : (n,) of the expectation; the latter at 95 %
    variance_standard_error, variance_half_width : (n,) of the variance, likewise
    pools : share of the squared error of the expectation that is due to the pools
    """

    standard_error: FloatArray
    half_width: FloatArray
    variance_standard_error: FloatArray
    variance_half_width: FloatArray
    pools: float


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """Predicts the errors of a method.

    Attributes
    ----------
    n_sample : records in a draw
    stocks : (n,) records of the sources
    variance : (n,) V
    first_order : (n,) F
    kurtosis : (n,) of the values
    square : (n,) relative variance of the variance over the choice of the pools, times their size
    noise : c of every family of solvers
    """

    n_sample: int
    stocks: FloatArray
    variance: FloatArray
    first_order: FloatArray
    kurtosis: FloatArray
    square: FloatArray
    noise: dict[str, FloatArray]

    @staticmethod
    def of(pilot: Pilot, n_sample: int) -> ErrorModel:
        """Estimate everything from the pilot's games."""
        moments = pilot.moments
        raw = moments.raw_variance
        variance = np.maximum(np.nan_to_num(moments.variance), _LEAST * raw)
        drawn = n_sample / pilot.stocks
        # Without pools, as if values were sums over records: their pools have the largest error.
        first_order = variance / np.maximum(1 - drawn, _LEAST)
        square = np.full_like(variance, 2.0)
        if moments.pools is not None and pilot.pool_sizes is not None:
            sizes = pilot.pool_sizes.astype(np.float64)
            reach = _mixed(_reach(n_sample, sizes, pilot.stocks))
            found = moments.pools.variance / np.where(reach > 0, reach, 1.0)
            bound = variance / np.maximum(1 - drawn, _LEAST)
            first_order = np.where(reach > 0, np.minimum(found, bound), bound)
            unseen = np.maximum(1 - sizes / pilot.stocks, _LEAST)
            square = np.maximum(moments.pools.square * sizes / unseen, 2.0)
        noise = {one.family.name: _noise_of(pilot, one.family) for one in pilot.probes}
        shape = np.maximum(kurtosis(moments), 1.0)
        return ErrorModel(
            n_sample, pilot.stocks, variance, first_order, shape, square, noise
        )

    def between(self, sizes: FloatArray) -> FloatArray:
        """Variance between pools of these sizes: B."""
        return self.first_order * _mixed(_reach(self.n_sample, sizes, self.stocks))

    def solver_noise(self, family: Family, work: int) -> FloatArray:
        """Variance of the noise of a solver."""
        return self.noise[family.name] / work if family.noisy else np.zeros_like(self.variance)

    def games_variance(self, method: Method, n_pool: int) -> FloatArray:
        """Variance of the mean of games from given pools, times their number, without noise."""
        if not method.pooled:
            return self.variance
        sizes = method.pool_sizes(n_pool, self.stocks)
        endless = self.variance + self.first_order * self.n_sample / self.stocks
        if method.per_shuffle(n_pool, self.stocks):
            used = method.per_shuffle(n_pool, self.stocks) * self.n_sample / sizes
            left = endless - self.first_order * used
        else:
            left = endless if method.replace else self.variance - self.between(sizes)
        return np.asarray(np.maximum(left, _LEAST * self.variance))

    def errors(
        self, method: Method, n_pool: int, family: Family, work: int, n_games: int
    ) -> Errors:
        """Predict the errors of all providers."""
        from scipy.special import stdtrit

        sizes = method.pool_sizes(n_pool, self.stocks)
        pools = self.between(sizes) if method.pooled else np.zeros_like(self.variance)
        noise = self.solver_noise(family, work)
        games = (self.games_variance(method, n_pool) + noise) / n_games
        error = np.sqrt(games + pools)
        half = stdtrit(self._freedom(method, n_pool, n_games), 0.975) * error
        of_variance = self._variance_error(method, n_pool, noise, n_games)
        share = float(pools.sum() / max(float((games + pools).sum()), 1e-300))
        return Errors(error, half, of_variance, _NORMAL * of_variance, share)

    def _freedom(self, method: Method, n_pool: int, n_games: int) -> FloatArray:
        """Degrees of freedom of Student's quantile, as the valuation will have them."""
        if not method.pooled:
            return np.full_like(self.variance, n_games - 1)
        sizes = method.pool_sizes(n_pool, self.stocks)
        group = method.per_shuffle(n_pool, self.stocks)
        games = n_games - (n_games // group if group else 1)
        pools = np.where(sizes < self.stocks, np.maximum(sizes - 1.0, 1.0), _FREEDOM)
        return np.asarray(np.minimum(pools, max(min(float(games), _FREEDOM), 1.0)))

    def _variance_error(
        self, method: Method, n_pool: int, noise: FloatArray, n_games: int
    ) -> FloatArray:
        """Standard error of the variance: that of independent games, and that of the pools."""
        raw = self.variance + noise
        m = method.per_shuffle(n_pool, self.stocks) or n_games
        games = (self.kurtosis - (m - 3) / (m - 1)) / m if m > 1 else np.full_like(raw, np.inf)
        pools = np.zeros_like(raw)
        if method.pooled:
            sizes = method.pool_sizes(n_pool, self.stocks)
            pools = self.square * np.maximum(1 / sizes - 1 / self.stocks, 0.0)
        return np.asarray(raw * np.sqrt(np.maximum(games, 0.0) + pools))


def _noise_of(pilot: Pilot, family: Family) -> FloatArray:
    """Variance of a family's noise for the work 1: the mean of its probes."""
    found = [one.noise.mean(axis=0) * one.work for one in pilot.probes if one.family == family]
    games = [len(one.noise) for one in pilot.probes if one.family == family]
    return np.asarray(np.average(np.nan_to_num(np.array(found)), axis=0, weights=games))


def _reach(n_sample: int, sizes: FloatArray, stocks: FloatArray) -> FloatArray:
    """What each pool adds, as a fraction of F: b (1 / m - 1 / N)."""
    return np.asarray(n_sample * np.maximum(1 / sizes - 1 / stocks, 0.0))


def _mixed(reach: FloatArray) -> FloatArray:
    """Mean over the pools that move a provider's value: mostly its own."""
    n = len(reach)
    if n == 1:
        return reach
    others = (reach.sum() - reach) / (n - 1)
    return np.asarray(_OWN * reach + (1 - _OWN) * others)
