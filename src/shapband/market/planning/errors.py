"""Predictions of the errors of a method, from the estimates of the pilot.

The variance of a value over draws from an endless population is a sum of parts: F is due to single
records, S to pairs of records, and H to larger sets of records. Two draws from one pool have few of
the larger sets in common. Draws of b records from the same m records have the variance

    F (1 - x) + S (1 - x²) + H        with x = b / m.

The rest of the variance, F x + S x², is the variance between such sets of m records. So draws from
a stock of N have the variance V with x = b / N, and pools of m records of it have the variance
between pools

    B = F (b / m - b / N) + S (b² / m² - b² / N²).

The squared error of the expectation from G games with solver noise C is

    (V + C) / G                            with fresh draws,
    (F + S + H - F k b / m + C) / G + B    with k draws dealt from every shuffle of the pools,
    (F + S + H + C) / G + B                with a bootstrap.

A pilot whose pools are whole stocks does not separate F, S and H. The share of V that dealing
cancels is then estimated from its shuffles.

If games draw who takes part, P is added to V and to F + S + H. P is the variance given the records,
of which dealing cancels nothing. Games that are averages over who takes part have no such variance,
but each of them gives it. If the pilot's games draw who takes part, their draws are solved a second
time with others present. The covariance of the two values is the variance due to the records, and P
is the rest. If games depend on each other, because providers stay away for several games, P is
their long-run variance.

The error due to the choice of the validation rows is the same for all methods, and is added.

Most of B is due to the provider's own pool, the rest to the pools of the others. C is measured for
some amounts of the solver's work, and interpolated as a power of the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.errors import welch_freedom
from shapband.estimate.pools import FREEDOM
from shapband.estimate.validation import ValidationErrors
from shapband.market.planning.pilot import Pilot
from shapband.market.planning.presence import may_average
from shapband.market.planning.solvers import Family
from shapband.market.planning.ways import Way

_OWN = 7 / 8  # share of a provider's own pool in B: the mean of the prior of `estimate.pools`
_LEAST = 0.02  # a variance counts as at least this share of the raw variance of the pilot's games
_LEAST_SINGLE = 0.1  # single records are assumed to cause at least this share of the influence
_FAR_MORE = 1.75  # two standard errors of the logarithm of the influence
_SHARES = 50  # shares of single records in the variance that are weighed by their likelihood
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
    single, pairs, rest : (n,) F, S and H
    shared : (n,) F, or 0 where the pilot's pools do not separate it from S and H
    saved : (n,) share of V that dealing all records of a pool cancels, as the pilot's games show it
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
    single: FloatArray
    pairs: FloatArray
    rest: FloatArray
    shared: FloatArray
    saved: FloatArray
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
        saved = np.zeros_like(raw)
        if pilot.pool_sizes is None:
            # Attribute all variance to single records, which gives the largest error of pools.
            single = within / np.maximum(1 - least, _LEAST)
            pairs = rest = shared = np.zeros_like(raw)
        else:
            sizes = pilot.pool_sizes.astype(np.float64)
            single, pairs, rest = _likely_parts(
                within, estimate.errors.by_cause["pools"], draws / sizes, least
            )
            shared = np.where(_mixed(draws / sizes - least) > 0, single, 0.0)
            left = estimate.errors.shrinking * estimate.n_games
            saved = np.where(raw > 0, 1 - left / np.where(raw > 0, raw, 1.0), 0.0)
            if pilot.twins is not None:  # dealing cancels nothing of the variance over presence
                saved = np.minimum(saved * raw / np.where(within > 0, within, 1.0), 1.0)
            unseen = np.maximum(1 - sizes / pilot.stocks, _LEAST)
            square = np.maximum(estimate.pools_square * sizes / unseen, 2.0)
        variance = single * (1 - least) + pairs * (1 - least**2) + rest
        noise = {one.family.name: _noise_of(pilot, one.family) for one in pilot.probes}
        shape = np.maximum(estimate.kurtosis, 1.0)
        parts = variance, single, pairs, rest, shared, np.maximum(saved, 0.0), shape, square
        rows, averages = estimate.moments.validation, may_average(pilot.arguments)
        return ErrorModel(draws, pilot.stocks, *parts, rows, noise, presence, averages)

    def between(self, sizes: FloatArray) -> FloatArray:
        """Variance between pools of these sizes: B."""
        x, least = self.draws / sizes, self.draws / self.stocks
        once, twice = np.maximum(x - least, 0.0), np.maximum(x**2 - least**2, 0.0)
        return np.asarray(self.single * _mixed(once) + self.pairs * _mixed(twice))

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
        endless = self.single + self.pairs + self.rest
        if way.method.replace:
            left = endless
        else:
            used = min(way.per_shuffle, n_games) * self.draws / way.pool_sizes
            alone = self.variance * (1 - self.saved * used)
            left = np.where(self.shared > 0, endless - self.shared * used, alone)
        return np.asarray(np.maximum(left, _LEAST * self.variance))

    def errors(self, way: Way, n_games: int) -> Errors:
        """Predict the errors of all providers."""
        pools, games = self.pools_variance(way), self.games_variance(way, n_games) / n_games
        rows = self.rows_variance
        error = np.sqrt(games + pools + rows)
        half = self.quantile(way, n_games) * error
        of_variance = self._variance_error(way, n_games)
        total = max(float((error**2).sum()), 1e-300)
        shares = float(pools.sum() / total), float(rows.sum() / total)
        return Errors(error, half, of_variance, _NORMAL * of_variance, *shares)

    def quantile(self, way: Way, n_games: int) -> FloatArray:
        """(n,) Student's quantile at 95 % of the whole errors, as the valuation will have it."""
        from scipy.special import stdtrit

        freedom = self._drawn_freedom(way, n_games)
        if self.rows is not None:
            drawn = self.games_variance(way, n_games) / n_games + self.pools_variance(way)
            freedom = welch_freedom((drawn, freedom), (self.rows.variance, self.rows.freedom))
        return np.asarray(stdtrit(freedom, 0.975))

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


def _likely_parts(
    within: FloatArray, influence: FloatArray, x: FloatArray, least: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """F, S and H as in `_parts`, if the influence is uncertain.

    A pilot has few records, so the influence has a large relative error: that of a variance with
    `FREEDOM` degrees of freedom. It decides between F and S, and in large pools F counts much more.
    So the share of F in the variance, the same for all providers, is the mean over all shares,
    weighted by the likelihood of the sum of the influences and by a prior: the beta distribution
    with the parameters 1/4 and 1/2, because either F or S is often nearly all of the variance. If
    pairs alone would have far more influence, there are larger sets, and `_parts` finds H.
    """
    once, twice = _mixed(x - least), _mixed(2 * x * (x - least))
    if_single, if_pairs = within / (1 - x), within / (1 - x**2)
    total, of_single, of_pairs = influence.sum(), (if_single * once).sum(), (if_pairs * twice).sum()
    if not 0 < of_pairs <= _FAR_MORE * total:
        return _parts(within, influence, x, least)
    shares = (np.arange(_SHARES) + 0.5) / _SHARES
    expected = shares * of_single + (1 - shares) * of_pairs
    # The logarithm of a variance has the variance 2 / FREEDOM.
    likelihood = np.exp(-(np.log(total / expected) ** 2) * FREEDOM / 4)
    weight = likelihood * shares**-0.75 * (1 - shares) ** -0.5
    share = float((shares * weight).sum() / max(weight.sum(), 1e-300))
    return share * if_single, (1 - share) * if_pairs, np.zeros_like(within)


def _parts(
    within: FloatArray, influence: FloatArray, x: FloatArray, least: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """F, S and H from the variance within the pilot's pools and the influence of their records.

    The influence counts pairs of records twice (as in the inequality of Efron and Stein), so

        within = F (1 - x) + S (1 - x²) + H,    influence = F (x - n) + 2 S x (x - n),

    with x = b / m and n = b / N. H is the part of the variance that F and S cannot explain. At
    least a tenth of the influence is attributed to F, because in large pools nearly all of it is
    due to F.
    """
    once, twice = _mixed(x - least), _mixed(2 * x * (x - least))
    determinant = (1 - x) * twice - (1 - x**2) * once
    known = (once > 0) & (np.abs(determinant) > _LEAST * once)
    safe_once, safe_twice = np.where(known, once, 1.0), np.where(known, twice, 1.0)
    pairs = ((1 - x) * influence - once * within) / np.where(known, determinant, np.inf)
    sums = ~known | (pairs <= 0)  # the variance is due to single records alone
    least_single = _LEAST_SINGLE * influence / safe_once
    single = np.maximum((within - pairs * (1 - x**2)) / (1 - x), least_single)
    pairs = np.where(sums, 0.0, np.maximum(influence - single * safe_once, 0.0) / safe_twice)
    single = np.where(sums, within / (1 - x), single)
    rest = np.maximum(within - single * (1 - x) - pairs * (1 - x**2), 0.0)
    return single, pairs, rest


def _mixed(reach: FloatArray) -> FloatArray:
    """Weighted mean over the pools that move a provider's value: mostly its own pool."""
    n = len(reach)
    if n == 1:
        return reach
    others = (reach.sum() - reach) / (n - 1)
    return np.asarray(_OWN * reach + (1 - _OWN) * others)
