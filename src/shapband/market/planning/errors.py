"""Predictions of the errors of a method, from the estimates of the pilot.

`parts` splits the variance of a value by the number of records that cause it together. From the
parts follow V, the variance of fresh draws, and B, the variance between pools. Given the pools,
games have the variance W if their draws are dealt from shuffles, which lowers the variance of their
mean, and E with a bootstrap. The squared error of the expectation from G games with solver noise C
is

    (V + C) / G             with fresh draws,
    (W + C) / G + B         with dealt draws,
    (E + C) / G + B         with a bootstrap.

If games draw who takes part, P is added to V, W and E. P is the variance given the records, of
which dealing cancels nothing. Games that are averages over who takes part have no such variance,
but each of them gives it. If the pilot's games draw who takes part, their draws are solved a second
time with others present. The covariance of the two values is the variance due to the records, and P
is the rest. If games depend on each other, because providers stay away for several games, P is
their long-run variance.

The error due to the choice of the validation rows is the same for all methods, and is added.

C is measured for some amounts of the solver's work, and interpolated as a power of the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.pools import FREEDOM
from shapband.estimate.validation import ValidationErrors
from shapband.market.planning.parts import (
    ORDERS,
    likely_parts,
    shuffled,
    variance_between,
    variance_of_dealt,
    variance_of_draws,
)
from shapband.market.planning.pilot import Pilot
from shapband.market.planning.presence import may_average
from shapband.market.planning.solvers import Family
from shapband.market.planning.ways import Way

_LEAST = 0.02  # a variance counts as at least this share of the raw variance of the pilot's games
_NORMAL = 1.959964  # 97.5 % quantile of the normal distribution, for intervals of 95 %


class Errors(NamedTuple):
    """The predicted errors of every provider.

    Attributes
    ----------
    standard_error, half_width : (n,) of the expectation; the latter at 95 %
    variance_standard_error, variance_half_width : (n,) of the variance, likewise
    pools : share of the squared error of the expectation that is due to the pools
    validation : share that is due to the choice of the validation rows
    """

    standard_error: FloatArray
    half_width: FloatArray
    variance_standard_error: FloatArray
    variance_half_width: FloatArray
    pools: float
    validation: float


@dataclass(frozen=True, eq=False)
class ErrorModel:
    """Predicts the errors of a method.

    Attributes
    ----------
    draws : records in a draw: (n,), or one number for all providers
    stocks : (n,) records of the sources
    variance : (n,) V, without P
    parts : (3, n) of the variance, due to single records, pairs and triples
    kurtosis : (n,) of the values
    square : (n,) relative variance of the variance over the choice of the pools, times their size
    rows : what the choice of the validation rows adds to the errors, or None
    noise : for every family of solvers, the amounts of work of its probes and their noise
    presence : (n,) P; 0 if everybody takes part
    averages : whether games with pools and exact values are averages over who takes part
    """

    draws: FloatArray | int
    stocks: FloatArray
    variance: FloatArray
    parts: FloatArray
    kurtosis: FloatArray
    square: FloatArray
    rows: ValidationErrors | None
    noise: dict[str, tuple[FloatArray, FloatArray]]
    presence: FloatArray | float = 0.0
    averages: bool = False

    @staticmethod
    def of(pilot: Pilot, draws: FloatArray | int) -> ErrorModel:
        """Estimate everything from the pilot's games."""
        estimate = pilot.estimate
        raw = estimate.raw_variance
        within, presence = _of_records(pilot)
        least, square = draws / pilot.stocks, np.full_like(raw, 2.0)
        if pilot.pool_sizes is None:
            # Attribute all variance to single records, which gives the largest error of pools.
            parts = np.zeros((len(ORDERS), len(raw)))
            parts[0] = within / np.maximum(1 - least, _LEAST)
        else:
            sizes = pilot.pool_sizes.astype(np.float64)
            influence = estimate.errors.by_cause["pools"]
            parts = likely_parts(within, influence, draws / sizes, least, shuffled(estimate))
            unseen = np.maximum(1 - sizes / pilot.stocks, _LEAST)
            square = np.maximum(estimate.pools_square * sizes / unseen, 2.0)
        variance = variance_of_draws(parts, least)
        noise = {one.family.name: _noise_of(pilot, one.family) for one in pilot.probes}
        shape = np.maximum(estimate.kurtosis, 1.0)
        rows, averages = estimate.moments.validation, may_average(pilot.arguments)
        return ErrorModel(
            draws, pilot.stocks, variance, parts, shape, square, rows, noise, presence, averages
        )

    def between(self, sizes: FloatArray) -> FloatArray:
        """Variance between pools of these sizes: B."""
        return variance_between(self.parts, self.draws / sizes, self.draws / self.stocks)

    def solver_noise(self, family: Family, work: int) -> FloatArray:
        """Variance of the noise of a solver.

        Between two probes it is a power of the work; beyond them it falls like 1 / work.
        """
        if not family.noisy:
            return np.zeros_like(self.variance)
        works, noises = self.noise[family.name]
        low = int(np.clip(np.searchsorted(works, work) - 1, 0, len(works) - 1))
        if work <= works[0] or low == len(works) - 1:
            return np.asarray(noises[low] * works[low] / work)
        place = np.log(work / works[low]) / np.log(works[low + 1] / works[low])
        before, after = np.log(np.maximum(noises[low : low + 2], 1e-300))
        return np.asarray(np.exp(before * (1 - place) + after * place))

    def pools_variance(self, way: Way) -> FloatArray:
        """Variance between the pools of a way: B, or 0 without pools."""
        return self.between(way.pool_sizes) if way.method.pooled else np.zeros_like(self.variance)

    def games_variance(self, way: Way, n_games: float = inf) -> FloatArray:
        """Variance of the mean of games from given pools, times their number, noise included."""
        drawn = self._draws_variance(way, n_games) + self._presence_variance(way)
        return drawn + self.solver_noise(way.family, way.work)

    def _presence_variance(self, way: Way) -> FloatArray | float:
        """The part of the variance of games that is due to who takes part: P."""
        averaged = self.averages and way.method.pooled and not way.family.noisy
        return 0.0 if averaged else self.presence

    def _draws_variance(self, way: Way, n_games: float) -> FloatArray:
        """The part of the variance of games that is due to their records."""
        if not way.method.pooled:
            return self.variance
        if way.method.replace:
            left = self.parts.sum(axis=0)
        else:
            size = min(way.per_shuffle, n_games)
            left = variance_of_dealt(self.parts, self.draws / way.pool_sizes, size)
        return np.asarray(np.maximum(left, _LEAST * self.variance))

    def errors(self, way: Way, n_games: int) -> Errors:
        """Predict the errors of all providers."""
        pools, games = self.pools_variance(way), self.games_variance(way, n_games) / n_games
        drawn, rows = np.sqrt(games + pools), self.rows_variance
        error = np.sqrt(games + pools + rows)
        half = np.hypot(self.quantile(way, n_games) * drawn, self.rows_half_width)
        of_variance = self._variance_error(way, n_games)
        total = max(float((error**2).sum()), 1e-300)
        shares = float(pools.sum() / total), float(rows.sum() / total)
        return Errors(error, half, of_variance, _NORMAL * of_variance, *shares)

    def quantile(self, way: Way, n_games: int) -> FloatArray:
        """(n,) Student's quantile at 95 % of the errors due to games and pools.

        The valuation has one quantile for all causes together, which is smaller the more causes
        there are. A choice by its half widths could prefer more noise, so the promised half widths
        are those of both parts, added as independent errors are.
        """
        from scipy.special import stdtrit

        return np.asarray(stdtrit(self._drawn_freedom(way, n_games), 0.975))

    @property
    def rows_variance(self) -> FloatArray:
        """(n,) variance of the expectations over the choice of the validation rows."""
        return np.zeros_like(self.variance) if self.rows is None else self.rows.variance

    @property
    def rows_half_width(self) -> FloatArray:
        """(n,) half width at 95 % that the choice of the validation rows leaves."""
        from scipy.special import stdtrit

        if self.rows is None:
            return np.zeros_like(self.variance)
        return np.asarray(stdtrit(self.rows.freedom, 0.975) * np.sqrt(self.rows.variance))

    def _drawn_freedom(self, way: Way, n_games: int) -> FloatArray:
        """Degrees of freedom of the errors due to games and pools."""
        if not way.method.pooled:
            return np.full_like(self.variance, n_games - 1)
        sizes = way.pool_sizes
        pools = np.where(sizes < self.stocks, np.maximum(sizes - 1.0, 1.0), FREEDOM)
        return np.asarray(np.minimum(pools, max(min(n_games - 1.0, FREEDOM), 1.0)))

    def _variance_error(self, way: Way, n_games: int) -> FloatArray:
        """Standard error of the variance, from independent games and from the pools."""
        raw = self.variance + self.presence + self.solver_noise(way.family, way.work)
        m = n_games
        games = (self.kurtosis - (m - 3) / (m - 1)) / m if m > 1 else np.full_like(raw, np.inf)
        pools = np.zeros_like(raw)
        if way.method.pooled:
            pools = self.square * np.maximum(1 / way.pool_sizes - 1 / self.stocks, 0.0)
        return np.asarray(raw * np.sqrt(np.maximum(games, 0.0) + pools))


def _of_records(pilot: Pilot) -> tuple[FloatArray, FloatArray]:
    """The variance of games that is due to the records, and P: (n,) each."""
    estimate = pilot.estimate
    raw, noise = estimate.raw_variance, np.nan_to_num(estimate.solver_variance)
    found = np.maximum(raw - noise, _LEAST * raw)
    averaged, present = estimate.moments.averaged, estimate.moments.presence
    if averaged is not None:
        # The error of the variance covers the variance over who takes part, which is no part of it.
        errors = _variance_errors(raw, estimate.kurtosis, estimate.n_games)
        return _shrunk(found, errors), averaged.mean
    if present is None:
        return _shrunk(found, estimate.variance_standard_error), np.zeros_like(raw)
    if pilot.twins is None:
        # Without pools it is not known how much of the variance if present is due to the records.
        share = (present.count / estimate.n_games) ** 2
        within = np.clip(share * np.nan_to_num(present.variance), _LEAST * raw, found)
    else:
        values = pilot.probes[-1].values[: len(pilot.twins)]  # of the main solver
        product = (values - values.mean(axis=0)) * (pilot.twins - pilot.twins.mean(axis=0))
        within = np.clip(product.sum(axis=0) / max(len(product) - 1, 1), _LEAST * raw, found)
        within = _shrunk(within, product.std(axis=0) / np.sqrt(len(product)))
    whole = found
    if present.of_mean is not None:
        whole = np.maximum(present.of_mean * estimate.n_games - noise, _LEAST * raw)
    return within, np.maximum(whole - within, 0.0)


def _variance_errors(variance: FloatArray, kurtosis: FloatArray, n_games: int) -> FloatArray:
    """Standard errors of variances of independent values."""
    return np.asarray(variance * np.sqrt(np.maximum(kurtosis - 1, 0.0) / n_games))


def _shrunk(variances: FloatArray, errors: FloatArray) -> FloatArray:
    """Shrink the variances of single providers to their mean, by how uncertain they are.

    A plan reports the worst provider, and the largest of several uncertain numbers is biased
    upwards.
    """
    n, mean = len(variances), variances.mean()
    noise = float(np.nan_to_num(errors**2).mean())
    if n == 1 or noise == 0:
        return variances
    spread = max(float(variances.var(ddof=1)) - noise, 0.0)
    return np.asarray(mean + spread / (spread + noise) * (variances - mean))


def _noise_of(pilot: Pilot, family: Family) -> tuple[FloatArray, FloatArray]:
    """Amounts of work of a family's probes, ascending (k,), and their noise variances (k, n).

    A probe has few games, so only the mean over the providers is estimated from it; the shares of
    single providers are estimated from all probes together.
    """
    probes = sorted((o for o in pilot.probes if o.family == family), key=lambda one: one.work)
    found = np.nan_to_num(np.array([one.noise.mean(axis=0) for one in probes]))
    means = np.maximum(found.mean(axis=1, keepdims=True), 1e-300)
    shares = np.average(found / means, axis=0, weights=[len(one.noise) for one in probes])
    return np.array([float(one.work) for one in probes]), means * shares
