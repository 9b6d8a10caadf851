"""The influence of every pool on every value, from which records the games used.

Games from one pool share its records, so their mean differs from the population's mean by an error
that more games do not lower. A record has an influence on the value if more games with high values
used it than games with low values; the influences of all records of a pool show how much another
pool would have changed the mean. This is the infinitesimal jackknife for resampled data (Efron
2014, Journal of the American Statistical Association 109, 991-1007; Wager, Hastie and Efron 2014,
Journal of Machine Learning Research 15, 1625-1651), with pairs of different games only, so that
the noise of single games does not add to it.

The influence of provider i's pool on the value of k, as a share of the variance of k's value:

    a_ik = (‖Σ_g y_gk D_gi‖² - Σ_g y_gk² ‖D_gi‖²) · (m - 1) / m / (1 - p)² / (G (G - 2) V_k h)

with y_gk the value of k in game g minus its mean, and V_k its variance. D_gij is 1 - p if game g
used record j of provider i and -p if not; p is the probability of that. Repeats of a record count
once, because some models ignore them. m is the size of the pool, h the draw divided by it. Without
repeats and with draws of different sizes, a_ik is also divided by the scale of its pool. Where
games share shuffles, the two games of a pair come from different shuffles, to be independent;
k² S (S - 1) such pairs from S shuffles of k games take the place of G (G - 2).

A provider's pool can act only on games in which the provider takes part, so its influence is taken
from these games, with their number and variance; the value of k is taken relative to its mean in
presence, and is 0 if k is absent. The influence counts with the square of the rate q_i of these
games, and is expressed as a share of q_k² times the variance of k's value if k is present.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.kernels import load
from shapband.sampling.design import Design

# Numbers kept for every pooled record, beside two for its own provider: in single precision, and
# with two counts, this makes 64 bytes.
_GROUPS = 12
_MANY = 500  # with more providers, the share of every pool in every value is not kept


@dataclass(frozen=True, eq=False)
class Influence:
    """Shares of the variance across games that are due to the pools.

    Attributes
    ----------
    own : (n,) due to the provider's own pool
    rest : (n,) due to the pools of all others together; the mean of the provider's group
    pairs : (n, n) due to the row's pool, for the column's value or the mean of its group; None
        with more than 500 providers
    square : (n,) share of the variance of the squared deviations that is due to the own pool
    square_variance : (n,) variance of the squared deviations, as a multiple of the variance squared
    per_group : providers in a group
    """

    own: FloatArray
    rest: FloatArray
    pairs: FloatArray | None
    square: FloatArray
    square_variance: FloatArray
    per_group: float


class InfluenceFold:
    """Adds games to the sums from which the influences are computed.

    Memory is 64 bytes for every pooled record and does not grow with games. The other providers
    are taken in up to 12 groups; the values of a group are added up with fixed random signs, so
    that time and memory are linear in the providers.

    Parameters
    ----------
    design : how the games choose their records, and who takes part in them
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        n = len(design.names)
        groups = min(n, _GROUPS)
        self._group = np.empty(n, dtype=np.int64)
        # By name, so that the order of the providers has no effect.
        self._group[np.argsort(np.array(design.names))] = np.arange(n) % groups
        self._sign = np.array([_sign(name) for name in design.names])
        self._members = [np.flatnonzero(self._group == group) for group in range(groups)]
        self._pools = [
            _PoolSums(size, 2 + groups) for size in np.asarray(design.pool_sizes).tolist()
        ]
        self._per_shuffle = design.per_shuffle or 1
        self.n_games = 0

    @property
    def pairs(self) -> float:
        """Pairs of games that do not share a shuffle."""
        return self._pairs_of(self.n_games)

    def _pairs_of(self, games: int) -> float:
        k = self._per_shuffle
        return float(games * (games - (k if k > 1 else 2)))

    def add(self, values: FloatArray) -> None:
        """Add the next games: values about a fixed centre and in a fixed scale, (n_games, n)."""
        games = range(self.n_games, self.n_games + len(values))
        self.n_games = games.stop
        signed = values * self._sign
        groups = np.stack([signed[:, members].sum(axis=1) for members in self._members], axis=1)
        add_games = load("influence").add_games
        present = self._design.present(games)
        for i, choice in enumerate(self._design.choices(games)):
            own = values[:, i : i + 1]
            columns = np.concatenate([own, own * own, groups], axis=1)
            columns[:, 2 + self._group[i]] -= signed[:, i]
            pool, rows = self._pools[i], choice.rows()
            if not present[:, i].all():
                rows, columns = rows[present[:, i]], columns[present[:, i]]
            add_games(
                rows,
                columns,
                pool.games,
                self._per_shuffle,
                pool.seen,
                pool.counts,
                pool.sums,
                pool.totals,
            )
            pool.games += len(rows)

    def influence(self) -> Influence:
        """Compute the influences from the sums; three games are the least."""
        chances = self._design.chances.tolist()
        pools = list(zip(self._pools, self._design.draw_sizes.tolist(), chances, strict=True))
        scale = scales(self._design)
        shares = np.array([self._shares(*pool) for pool in pools]) / scale[:, None]
        if any(pool.games < self.n_games for pool in self._pools):
            shares[:, 2:] *= self._rescaled()
        square, variance = np.array([self._square(*pool) for pool in pools]).T
        square = square / scale
        own, groups = shares[:, 0], shares[:, 2:]
        # A provider alone in its group has no other member for its own pool to move.
        rest = groups.sum(axis=0)[self._group] - groups[np.arange(len(own)), self._group]
        pairs = None
        if len(own) <= _MANY:
            pairs = groups[:, self._group]
            np.fill_diagonal(pairs, own)
        return Influence(own, rest, pairs, square, variance, len(own) / groups.shape[1])

    def _rescaled(self) -> FloatArray:
        """What turns shares of the variance in a pool's own games to the common scale: (n, groups).

        Column k of a pool's games has a variance of its own; the common scale of a group is the
        sum over its members of the squared rate times the variance of the value if present.
        """
        rate = np.array([pool.games / max(self.n_games, 1) for pool in self._pools])
        variance = np.array([pool.variance() for pool in self._pools])
        scale = rate**2 * variance[:, 0]
        sums = np.array([scale[members].sum() for members in self._members])
        common = np.tile(sums, (len(scale), 1))
        common[np.arange(len(scale)), self._group] -= scale
        return _ratio(rate[:, None] ** 2 * variance[:, 2:], common)

    def _shares(self, pool: _PoolSums, size: int, p: float) -> FloatArray:
        """Shares of the variance of every column that are due to one pool."""
        games, m = pool.games, len(pool.counts)
        if self._pairs_of(games) <= 0:
            # Too few games for an estimate: assume that only the own pool moves the value.
            return np.array([1.0, *np.zeros(pool.totals.shape[1] - 1)])
        factor = self._factor(m, size, p, games)
        total, _, used, used_square, distinct = pool.totals[:5]
        mean = total / games
        variance = pool.variance()
        deviations = pool.sums.astype(np.float64) - mean * pool.counts[:, None]
        together = (deviations**2).sum(axis=0)
        if self._per_shuffle == 1:
            alone = (1 - 2 * p) * (used_square - 2 * mean * used + mean**2 * distinct)
            alone += m * p * p * (games - 1) * variance
        else:
            shuffles = pool.totals[8] - self._per_shuffle * games * mean**2
            alone = size * (games - 1) * variance - size * p * shuffles
        return _ratio((together - alone) * factor, variance)

    def _square(self, pool: _PoolSums, size: int, p: float) -> tuple[float, float]:
        """Share of the own pool in the variance of squared deviations, and that variance."""
        games, m, k = pool.games, len(pool.counts), self._per_shuffle
        if self._pairs_of(games) <= 0:
            return 1.0, 2.0  # the variance of squared deviations of normal values
        factor = self._factor(m, size, p, games)
        one, two, three, four = pool.totals[[0, 1, 5, 6], 0] / games
        variance = max(two - one**2, 0.0)
        spread = four - 4 * one * three + 6 * one**2 * two - 3 * one**4 - variance**2
        spread = max(spread, 0.0) * games / (games - 1)
        sums = pool.sums[:, :2].astype(np.float64)
        centre = one**2 - variance
        deviations = sums[:, 1] - 2 * one * sums[:, 0] + centre * pool.counts
        # Use the mean number of distinct records for all games, because it varies little.
        alone = ((1 - 2 * p) * pool.totals[4, 0] / games + m * p * p) * (games - 1) * spread
        if k > 1:
            plain, cross, square = pool.totals[8, 0], pool.totals[9, 0], pool.totals[8, 1]
            shuffles = square + 4 * one**2 * plain - 4 * one * cross
            shuffles += centre * k * games * (2 * two - 4 * one**2 + centre)
            alone = size * (games - 1) * spread - size * p * shuffles
        influence = ((deviations**2).sum() - alone) * factor
        return float(_ratio(influence, spread)), float(_ratio(spread, variance**2))

    def _factor(self, m: int, size: int, p: float, games: int) -> float:
        """The factor of a pool's sums; 0 if every game uses the whole pool."""
        return 0.0 if p == 1 else (m - 1) / m / (1 - p) ** 2 / self._pairs_of(games) / (size / m)


def scales(design: Design) -> FloatArray:
    """(n,) the largest share that each pool can have, relative to the mean over the pools.

    A draw of a fraction h without repeats varies by only 1 - h of what fresh draws would, so the
    share of its pool may be 1 / (1 - h). Shares are divided by this scale, so that shares for
    different draw sizes can be compared. With draws of one size the scale is 1, also if pools
    differ, because the levels in docs/coverage.md were measured in this way.
    """
    if design.repeats or len(set(design.draw_sizes)) == 1:
        return np.ones(len(design.names))
    most = largest_shares(design)
    return np.asarray(most / most.mean())


def largest_shares(design: Design) -> FloatArray:
    """(n,) the largest share of the variance across games that each pool can have."""
    used = design.draw_sizes / np.asarray(design.pool_sizes)
    return np.ones_like(used) if design.repeats else 1 / np.maximum(1 - used, 1e-9)


def _ratio(above: FloatArray | float, below: FloatArray | float) -> FloatArray:
    """Quotient, 0 where nothing varies."""
    positive = np.asarray(below) > 0
    return np.asarray(np.where(positive, above / np.where(positive, below, 1.0), 0.0))


class _PoolSums:
    """The sums of one pool, over the games that use it; see the kernel."""

    def __init__(self, n_records: int, n_columns: int) -> None:
        self.games = 0
        self.seen = np.zeros(n_records, dtype=np.int32)
        self.counts = np.zeros(n_records, dtype=np.int32)
        self.sums = np.zeros((n_records, n_columns), dtype=np.float32)
        self.totals = np.zeros((10, n_columns))

    def variance(self) -> FloatArray:
        """Variance of every column over the games: (n_columns,)."""
        games = max(self.games, 2)
        mean = self.totals[0] / games
        return np.asarray(np.maximum(self.totals[1] - games * mean**2, 0.0) / (games - 1))


def _sign(name: str) -> float:
    """A fixed random sign for every name."""
    return 1.0 if hashlib.blake2b(name.encode(), digest_size=1).digest()[0] & 1 else -1.0
