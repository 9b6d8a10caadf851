"""The influence of every pool on every value, estimated from the records that each game used.

Games from one pool share its records, so their mean differs from the population's mean by an error
that more games do not lower. A record influences a value if games that used it have higher (or
lower) values than games that did not. The influences of all records of a pool show how much
another pool would have changed the mean. This is the infinitesimal jackknife for resampled data
(Efron 2014, Journal of the American Statistical Association 109, 991-1007; Wager, Hastie and Efron
2014, Journal of Machine Learning Research 15, 1625-1651). Here it uses pairs of different games
only, so that the noise of single games does not bias it.

The influence of provider i's pool on the value of provider k is a share of the variance of k's
value:

    a_ik = (‖Σ_g y_gk D_gi‖² - Σ_g y_gk² ‖D_gi‖²) · (m - 1) / m / (1 - p)² / (G (G - 2) V_k h)

where, for G games,

- y_gk is the value of k in game g minus its mean, and V_k its variance;
- D_gij is 1 - p if game g used record j of provider i, and -p if not, with p the probability that a
  game uses a record; repeats of a record in one game count once, because some models ignore them;
- m is the size of the pool, and h the size of a draw divided by m.

If draws have no repeats and different sizes, a_ik is also divided by the scale of its pool (see
`scales`). If games share shuffles, the two games of a pair come from different shuffles, so that
they are independent. The number of such pairs, G² minus the sum over shuffles of the squared number
of their games, then replaces G (G - 2).

A provider's pool affects only games in which the provider takes part. So its influence is computed
from these games alone, with their number and variance. The value of k is then relative to its mean
over the games in which k is present, and 0 if k is absent. The influence is multiplied by the
square of the rate q_i of these games, and expressed as a share of q_k² times the variance of k's
value if present.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.estimate.shuffles import apart, quotient
from shapband.kernels import load
from shapband.sampling.design import Design

# Groups of the other providers, each with one sum for every pooled record. With two sums for the
# record's own provider and two counts, all of 4 bytes, a record takes 64 bytes.
_GROUPS = 12
_LEAST_SIGNAL = 0.25  # influences count as at least this much, relative to their noise
_SKEWNESS_SQUARE = 4.0  # assumed mean square of the skewness of the influences of records
_MANY = 500  # with more providers, the share of every pool in every value is not kept


@dataclass(frozen=True, eq=False)
class Influence:
    """Shares of the variance across games that are due to the pools.

    Attributes
    ----------
    own : (n,) share due to the provider's own pool
    rest : (n,) share due to the pools of all others together, as the mean over the provider's group
    pairs : (n, n) share in the column's value that is due to the row's pool, as the mean over the
        column's group if groups have several members; None with more than 500 providers
    square : (n,) share of the provider's own pool in the variance of the squared deviations
    square_variance : (n,) variance of the squared deviations, as a multiple of the variance squared
    games_skewness : (n,) skewness of the squared deviations over games
    skewness : (n,) of the influences that the records of the provider's own pool have on its value
    square_skewness : (n,) of their influences on its squared deviations
    per_group : providers in a group
    """

    own: FloatArray
    rest: FloatArray
    pairs: FloatArray | None
    square: FloatArray
    square_variance: FloatArray
    games_skewness: FloatArray
    skewness: FloatArray
    square_skewness: FloatArray
    per_group: float


class InfluenceFold:
    """Adds games to the sums from which the influences are computed.

    Memory is 64 bytes for every pooled record and does not grow with games. For every pool, the
    other providers form up to 12 groups. The values of a group are added up with fixed random
    signs, so that time and memory grow linearly with the number of providers.

    Parameters
    ----------
    design : how the games choose their records, and who takes part in them
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        n = len(design.names)
        groups = min(n, _GROUPS)
        self._group = np.empty(n, dtype=np.int64)
        # Groups follow from the names, so that the order of the providers has no effect.
        self._group[np.argsort(np.array(design.names))] = np.arange(n) % groups
        self._sign = np.array([name_sign(name) for name in design.names])
        self._members = [np.flatnonzero(self._group == group) for group in range(groups)]
        self._pools = [
            _PoolSums(size, 2 + groups) for size in np.asarray(design.pool_sizes).tolist()
        ]
        self.n_games = 0

    @property
    def pairs(self) -> float:
        """Pairs of games that do not share a shuffle."""
        per_shuffle, games = self._design.per_shuffle, self.n_games
        return float(games * (games - 2)) if per_shuffle is None else apart(games, per_shuffle)

    def _pairs_of(self, pool: _PoolSums) -> float:
        """Pairs of games that use one pool and do not share a shuffle."""
        games = pool.games
        if self._design.per_shuffle is None:
            return float(games * (games - 2))
        return float(games**2 - pool.over_shuffles()[3, 0])

    def add(self, values: FloatArray) -> None:
        """Add the next games: values (n_games, n) about a centre and in a scale that stay fixed."""
        games = range(self.n_games, self.n_games + len(values))
        self.n_games = games.stop
        signed = values * self._sign
        groups = np.stack([signed[:, members].sum(axis=1) for members in self._members], axis=1)
        add_games = load("influence").add_games
        present = self._design.present(games)
        per_shuffle = self._design.per_shuffle
        # Without shuffles, the sums over shuffles are not needed: one shuffle is never closed.
        shuffles = (
            np.arange(games.start, games.stop) // per_shuffle if per_shuffle else _none(games)
        )
        for i, choice in enumerate(self._design.choices(games)):
            own = values[:, i : i + 1]
            columns = np.concatenate([own, own * own, groups], axis=1)
            columns[:, 2 + self._group[i]] -= signed[:, i]
            pool, rows, used = self._pools[i], choice.rows(), shuffles
            if not present[:, i].all():
                there = present[:, i]
                rows, columns, used = rows[there], columns[there], shuffles[there]
            add_games(
                rows,
                columns,
                pool.games,
                used,
                pool.seen,
                pool.counts,
                pool.sums,
                pool.totals,
                pool.current,
            )
            pool.games += len(rows)

    def influence(self) -> Influence:
        """Compute the influences from the sums of at least three games."""
        chances = self._design.chances.tolist()
        pools = list(zip(self._pools, self._design.draw_sizes.tolist(), chances, strict=True))
        scale = scales(self._design)
        found = [self._shares(*pool) for pool in pools]
        shares = np.array([share for share, _ in found]) / scale[:, None]
        skewness = np.array([skew for _, skew in found])
        if any(pool.games < self.n_games for pool in self._pools):
            shares[:, 2:] *= self._rescaled()
        squares = [self._square(*pool) for pool in pools]
        square, variance, of_games, of_records = (
            np.array(part) for part in zip(*squares, strict=True)
        )
        own, groups = shares[:, 0], shares[:, 2:]
        # A provider's own pool is not one of the other pools: subtract its share in its own group.
        rest = groups.sum(axis=0)[self._group] - groups[np.arange(len(own)), self._group]
        pairs = None
        if len(own) <= _MANY:
            pairs = groups[:, self._group]
            np.fill_diagonal(pairs, own)
        return Influence(
            own=own,
            rest=rest,
            pairs=pairs,
            square=square / scale,
            square_variance=variance,
            games_skewness=of_games,
            skewness=skewness,
            square_skewness=of_records,
            per_group=len(own) / groups.shape[1],
        )

    def _rescaled(self) -> FloatArray:
        """Factors (n, groups) that convert shares of the variance to a scale common to all pools.

        The games of each pool have their own variance in each column. The common scale of a group
        is the sum over its members of the squared rate times the variance of the value if present.
        """
        rate = np.array([pool.games / max(self.n_games, 1) for pool in self._pools])
        variance = np.array([pool.variance() for pool in self._pools])
        scale = rate**2 * variance[:, 0]
        sums = np.array([scale[members].sum() for members in self._members])
        common = np.tile(sums, (len(scale), 1))
        common[np.arange(len(scale)), self._group] -= scale
        return quotient(rate[:, None] ** 2 * variance[:, 2:], common)

    def _shares(self, pool: _PoolSums, size: int, p: float) -> tuple[FloatArray, float]:
        """Return each column's share of variance due to one pool, and its records' skewness."""
        games, m = pool.games, len(pool.counts)
        pairs = self._pairs_of(pool)
        if pairs <= 0:
            # Too few games for an estimate: assume that only the provider's own pool matters.
            return np.array([1.0, *np.zeros(pool.totals.shape[1] - 1)]), 0.0
        factor = _factor(m, size, p, pairs)
        total, _, used, used_square, distinct = pool.totals[:5]
        mean = total / games
        variance = pool.variance()
        deviations = pool.sums.astype(np.float64) - mean * pool.counts[:, None]
        together = (deviations**2).sum(axis=0)
        if self._design.per_shuffle is None:
            alone = (1 - 2 * p) * (used_square - 2 * mean * used + mean**2 * distinct)
            alone += m * p * p * (games - 1) * variance
        else:
            square, _, counted, games_square = pool.over_shuffles()
            shuffles = square - 2 * mean * counted + mean**2 * games_square
            alone = size * (games - 1) * variance - size * p * shuffles
        skewness = record_skewness(deviations[:, 0], float(alone[0]))
        return quotient((together - alone) * factor, variance), skewness

    def _square(self, pool: _PoolSums, size: int, p: float) -> tuple[float, float, float, float]:
        """The influence on squared deviations.

        These are the share of the own pool in their variance, this variance relative to the squared
        variance, and their skewness over games and over records.
        """
        games, m, pairs = pool.games, len(pool.counts), self._pairs_of(pool)
        if pairs <= 0:
            return 1.0, 2.0, 0.0, 0.0  # the variance of squared deviations of normal values
        factor = _factor(m, size, p, pairs)
        one, two, three, four = pool.totals[[0, 1, 5, 6], 0] / games
        variance = max(two - one**2, 0.0)
        fourth = four - 4 * one * three + 6 * one**2 * two - 3 * one**4
        plain = max(fourth - variance**2, 0.0)
        third = _sixth_moment(pool.totals, games) - 3 * fourth * variance + 2 * variance**3
        of_games = float(quotient(third, plain**1.5))
        spread = plain * games / (games - 1)
        sums = pool.sums[:, :2].astype(np.float64)
        centre = one**2 - variance
        deviations = sums[:, 1] - 2 * one * sums[:, 0] + centre * pool.counts
        # Use the mean number of distinct records for all games, because it varies little.
        alone = ((1 - 2 * p) * pool.totals[4, 0] / games + m * p * p) * (games - 1) * spread
        if self._design.per_shuffle is not None:
            # Sum over shuffles of the square of Σ (v² - 2 v one + centre), multiplied out.
            squares, cross, counted, games_square = pool.over_shuffles()
            shuffles = squares[1] + 4 * one**2 * squares[0] - 4 * one * cross[0]
            shuffles += 2 * centre * (counted[1] - 2 * one * counted[0])
            shuffles += centre**2 * games_square[0]
            alone = size * (games - 1) * spread - size * p * shuffles
        influence = ((deviations**2).sum() - alone) * factor
        of_records = record_skewness(deviations, float(alone))
        return (
            float(quotient(influence, spread)),
            float(quotient(spread, variance**2)),
            of_games,
            of_records,
        )


def _none(games: range) -> IntArray:
    """The same shuffle for all games."""
    return np.zeros(len(games), dtype=np.int64)


def _factor(m: int, size: int, p: float, pairs: float) -> float:
    """The factor that turns a pool's sums into shares; 0 if every game uses the whole pool."""
    return 0.0 if p == 1 else (m - 1) / m / (1 - p) ** 2 / pairs / (size / m)


def record_skewness(influence: FloatArray, noise: float) -> float:
    """Skewness of the influences of a pool's records, shrunk towards 0 according to its noise.

    Parameters
    ----------
    influence : (m,) sums over games of D y for every record
    noise : what the noise of single games adds to their sum of squares
    """
    m = len(influence)
    signal = max(float((influence**2).sum()) - noise, _LEAST_SIGNAL * noise)
    if signal <= 0:
        return 0.0
    found = float(np.sqrt(m) * (influence / np.sqrt(signal)) @ (influence**2 / signal))
    # The sixth moment of normal noise is 15 times the cube of its variance.
    variance = 15 / m * (noise / signal) ** 3
    return found * _SKEWNESS_SQUARE / (_SKEWNESS_SQUARE + variance)


def _sixth_moment(totals: FloatArray, games: int) -> float:
    """Sixth central moment of the provider's own value, from the sums of its powers."""
    one, two, three, four, five = totals[[0, 1, 5, 6, 12], 0] / games
    six = totals[5, 1] / games  # the cube of the square
    higher = six - 6 * one * five + 15 * one**2 * four - 20 * one**3 * three
    return float(higher + 15 * one**4 * two - 5 * one**6)


def scales(design: Design) -> FloatArray:
    """(n,) the largest share that each pool can have, relative to the mean over the pools.

    Draws of a fraction h of a pool without repeats have only 1 - h of the variance of fresh draws,
    so the share of the pool may be as large as 1 / (1 - h). Shares are divided by this scale, so
    that shares for different draw sizes can be compared. If all draws have one size the scale is
    1, even if pools differ in size, because the levels in docs/coverage.md were measured that way.
    """
    if design.repeats or len(set(design.draw_sizes)) == 1:
        return np.ones(len(design.names))
    most = largest_shares(design)
    return np.asarray(most / most.mean())


def largest_shares(design: Design) -> FloatArray:
    """(n,) the largest share of the variance across games that each pool can have."""
    used = design.draw_sizes / np.asarray(design.pool_sizes)
    return np.ones_like(used) if design.repeats else 1 / np.maximum(1 - used, 1e-9)


class _PoolSums:
    """The sums of one pool over the games that use it; `kernels.compiled.influence` lists them."""

    def __init__(self, n_records: int, n_columns: int) -> None:
        self.games = 0
        self.seen = np.zeros(n_records, dtype=np.int32)
        self.counts = np.zeros(n_records, dtype=np.int32)
        self.sums = np.zeros((n_records, n_columns), dtype=np.float32)
        self.totals = np.zeros((13, n_columns))
        self.current = np.zeros(2, dtype=np.int64)

    def over_shuffles(self) -> FloatArray:
        """Sums over all shuffles of s², of s times the next s, of c s and of c²: (4, n_columns).

        s is the sum of a column in a shuffle, and c the number of its games; the current shuffle
        is included.
        """
        s, c = self.totals[7], float(self.current[1])
        current = np.stack([s * s, s * np.roll(s, -1), c * s, np.full_like(s, c * c)])
        return np.asarray(self.totals[8:12] + current)

    def variance(self) -> FloatArray:
        """Variance of every column over the games: (n_columns,)."""
        games = max(self.games, 2)
        mean = self.totals[0] / games
        return np.asarray(np.maximum(self.totals[1] - games * mean**2, 0.0) / (games - 1))


def name_sign(name: str) -> float:
    """A fixed random sign for every name."""
    return 1.0 if hashlib.blake2b(name.encode(), digest_size=1).digest()[0] & 1 else -1.0
