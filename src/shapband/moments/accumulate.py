"""Central sums of per-game values and solver noise, computed in one pass and mergeable.

Sums are kept about their own mean. Merging shifts both parts to the common mean and adds them,
so no large numbers are subtracted from each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shapband._typing import FloatArray
from shapband.errors import InvalidInput
from shapband.moments import decompose
from shapband.moments.influence import InfluenceFold
from shapband.moments.pools import PoolErrors, Spread, pool_errors
from shapband.sampling.base import PoolDesign

_MANY = 500  # providers up to which covariances are kept: 2 MB
_FOLD = 32  # games folded at once; fixed, so that results do not depend on chunk sizes


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over games, for every provider.

    Below, x is the value in a game, w the solver's estimated noise variance in that game, and
    a bar denotes the mean over games.

    Attributes
    ----------
    n_games : games seen
    group : games that share a shuffle, or None; deviations are taken within groups
    n_groups : groups seen, 1 without groups
    mean, noise : (n,) means of x and of w
    m2, m3, m4 : (n,) sums of (x - x̄)**2, **3, **4
    noise_m2 : (n,) sum of (w - w̄)**2
    cross_11, cross_21 : (n,) sums of (x - x̄)(w - w̄) and of (x - x̄)**2 (w - w̄)
    group_m2 : (n,) sum over games of the squared deviation of their group's mean from x̄
    products : (n, n) sums of (x_i - x̄_i)(x_j - x̄_j), or None with more than 500 providers
    pools : what the choice of the pools adds to the errors, or None without pools

    Examples
    --------
    >>> import shapband as sb
    >>> moments = sb.Moments.of([[2.5, 2.0, 4.5], [2.0, 3.5, 2.5]])
    >>> moments.expectation.tolist(), moments.raw_variance.tolist()
    ([2.25, 2.75, 3.5], [0.125, 1.125, 2.0])
    """

    n_games: int
    group: int | None
    n_groups: int
    mean: FloatArray
    m2: FloatArray
    m3: FloatArray
    m4: FloatArray
    noise: FloatArray
    noise_m2: FloatArray
    cross_11: FloatArray
    cross_21: FloatArray
    group_m2: FloatArray
    products: FloatArray | None = None
    pools: PoolErrors | None = None

    @staticmethod
    def empty(n_providers: int, group: int | None = None) -> Moments:
        """Moments of no games."""
        sums: Any = {name: np.zeros(n_providers) for name in ("mean", "noise", *_SUMS)}
        products = np.zeros((n_providers, n_providers)) if n_providers <= _MANY else None
        return Moments(0, group, 0, products=products, **sums)

    @staticmethod
    def of(games: ArrayLike, noise: ArrayLike | None = None, group: int | None = None) -> Moments:
        """Moments of per-game values (n_games, n) and, for sampling solvers, their noise."""
        x: FloatArray = np.asarray(games, dtype=np.float64)
        if x.ndim != 2 or len(x) == 0:
            raise InvalidInput(
                f"Moments: games must have the shape (n_games, n); received {x.shape}"
            )
        w = np.zeros_like(x) if noise is None else np.asarray(noise, dtype=np.float64)
        fold = Fold(x.shape[1], group)
        fold.add(x, w)
        return fold.moments()

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of games together; no group may be split between them."""
        if self.n_games == 0 or other.n_games == 0:
            return other if self.n_games == 0 else self
        n_games = self.n_games + other.n_games
        share = other.n_games / n_games
        mean = self.mean + (other.mean - self.mean) * share
        noise = self.noise + (other.noise - self.noise) * share
        if self.group is None:
            parts = (_about(self, mean, noise), _about(other, mean, noise))
            n_groups = 1
        else:
            parts = (self, other)
            n_groups = self.n_groups + other.n_groups
        one, two = parts
        sums = {name: getattr(one, name) + getattr(two, name) for name in _SUMS}
        if self.group is not None:
            sums["group_m2"] += self.n_games * share * (other.mean - self.mean) ** 2
        if one.products is not None and two.products is not None:
            sums["products"] = one.products + two.products
        return Moments(n_games, self.group, n_groups, mean=mean, noise=noise, **sums)

    @property
    def expectation(self) -> FloatArray:
        """(n,) estimate of E[φ]."""
        return self.mean

    @property
    def raw_variance(self) -> FloatArray:
        """(n,) sample variance across games, solver noise included."""
        return decompose.raw_variance(self.m2, self.n_games, self.n_groups)

    @property
    def solver_variance(self) -> FloatArray:
        """(n,) mean noise variance of the solver."""
        return self.noise

    @property
    def variance(self) -> FloatArray:
        """(n,) estimate of Var(φ), solver noise removed; a small variance may come out negative.

        With draws without replacement from pools it includes the variance between pools.
        """
        shown = self.raw_variance - self.noise
        return shown if self.pools is None else shown + self.pools.hidden

    @property
    def covariance(self) -> FloatArray | None:
        """(n, n) sample covariance across games, or None with more than 500 providers.

        Solver noise is removed from the diagonal alone: what one permutation gives to one
        provider it takes from others, so the covariances keep a part of the noise.
        """
        if self.products is None:
            return None
        covariance = decompose.raw_variance(self.products, self.n_games, self.n_groups)
        return covariance - np.diag(self.noise)

    @property
    def independent_games(self) -> int:
        """Number of games that count as independent for the errors of the estimates."""
        return self.n_games if self.group is None else min(self.group, self.n_games)


_SUMS = ("m2", "m3", "m4", "noise_m2", "cross_11", "cross_21", "group_m2")


class Fold:
    """Folds games in order, in blocks of fixed size that do not depend on the chunks.

    Parameters
    ----------
    n_providers : values in a game
    group : games that share a shuffle, or None
    design : how games choose records from pools, or None without pools
    """

    def __init__(self, n_providers: int, group: int | None, design: PoolDesign | None = None):
        self._size = _FOLD if group is None else group
        self._folded = Moments.empty(n_providers, group)
        self._waiting = np.empty((2, 0, n_providers))
        self._pools = None if design is None else _PoolFold(design)

    def add(self, values: FloatArray, noise: FloatArray) -> None:
        """Add the next games: values and noise, (n_games, n) each."""
        rows = np.concatenate([self._waiting, np.stack([values, noise])], axis=1)
        whole = rows.shape[1] - rows.shape[1] % self._size
        for start in range(0, whole, self._size):
            self._folded = self._folded.merge(self._block(rows[:, start : start + self._size]))
        self._waiting = rows[:, whole:]
        if self._pools is not None:
            self._pools.add(values)

    @property
    def n_games(self) -> int:
        """Number of games added so far."""
        return self._folded.n_games + self._waiting.shape[1]

    def moments(self) -> Moments:
        """Moments of all games added so far."""
        moments = self._folded
        if self._waiting.shape[1] > 0:
            moments = moments.merge(self._block(self._waiting))
        if self._pools is None or moments.n_games < 2:
            return moments
        return replace(moments, pools=self._pools.errors(moments))

    def _block(self, rows: FloatArray) -> Moments:
        x, w = rows
        mean, noise = x.mean(axis=0), w.mean(axis=0)
        dx, dw = x - mean, w - noise
        square = dx * dx
        return Moments(
            n_games=len(x),
            group=self._folded.group,
            n_groups=1,
            mean=mean,
            m2=square.sum(axis=0),
            m3=(square * dx).sum(axis=0),
            m4=(square * square).sum(axis=0),
            noise=noise,
            noise_m2=(dw * dw).sum(axis=0),
            cross_11=(dx * dw).sum(axis=0),
            cross_21=(square * dw).sum(axis=0),
            group_m2=np.zeros_like(mean),
            products=None if self._folded.products is None else dx.T @ dx,
        )


def _about(part: Moments, mean: FloatArray, noise: FloatArray) -> Moments:
    """Shift the central sums of a part to another centre."""
    n, dx, dw = part.n_games, part.mean - mean, part.noise - noise
    square = dx * dx
    return replace(
        part,
        m2=part.m2 + n * square,
        m3=part.m3 + 3 * dx * part.m2 + n * square * dx,
        m4=part.m4 + 4 * dx * part.m3 + 6 * square * part.m2 + n * square * square,
        noise_m2=part.noise_m2 + n * dw * dw,
        cross_11=part.cross_11 + n * dx * dw,
        cross_21=part.cross_21 + dw * part.m2 + 2 * dx * part.cross_11 + n * square * dw,
        products=None if part.products is None else part.products + n * np.outer(dx, dx),
    )


class _PoolFold:
    """The influence of the pools on games, about the mean of the first block of games.

    Games are added in whole shuffles, if there are any.
    """

    def __init__(self, design: PoolDesign) -> None:
        self._design = design
        self._step = design.per_shuffle or 1
        self._waiting = np.empty((0, len(design.names)))
        self._centre: tuple[FloatArray, FloatArray] | None = None
        self._influence = InfluenceFold(design)

    def add(self, values: FloatArray) -> None:
        """Add the next games."""
        self._waiting = np.concatenate([self._waiting, values])
        if self._centre is None and len(self._waiting) >= _FOLD:
            self._centre = _centre(self._waiting[:_FOLD])
        if self._centre is not None:
            self._add(self._influence, self._centre)
            self._waiting = self._waiting[self._whole :]

    def errors(self, moments: Moments) -> PoolErrors | None:
        """What the pools add to the errors of these moments, or None after too few games."""
        influence = self._influence
        if self._centre is None:
            influence = InfluenceFold(self._design)
            if self._whole:
                self._add(influence, _centre(self._waiting[: self._whole]))
        if influence.pairs <= 0:
            return None
        return pool_errors(_spread(moments), influence.influence(), self._design)

    @property
    def _whole(self) -> int:
        return len(self._waiting) - len(self._waiting) % self._step

    def _add(self, influence: InfluenceFold, centre: tuple[FloatArray, FloatArray]) -> None:
        mean, scale = centre
        influence.add((self._waiting[: self._whole] - mean) / scale)


def _spread(moments: Moments) -> Spread:
    """What games from pools vary by."""
    correlation, n_games = _mean_squared_correlation(moments), moments.n_games
    if moments.group is None:
        raw = moments.raw_variance
        return Spread(n_games, raw, raw / n_games, n_games - 1, correlation)
    k, shuffles = moments.group, max(n_games // moments.group, 2)
    variance = (moments.m2 + moments.group_m2) / (n_games - 1)
    of_mean = _shuffle_variance(moments, shuffles) / shuffles
    effective = k * np.sqrt(shuffles * (shuffles - 1))
    return Spread(effective, variance, of_mean, shuffles * (k - 1), correlation)


def _shuffle_variance(moments: Moments, shuffles: int) -> FloatArray:
    """Variance of the mean of one shuffle, if the pools are given; shrunk over the providers.

    It is found as a share of the variance that the mean would have if the shuffle had other
    records as well.
    """
    whole = moments.raw_variance / (moments.n_games / moments.n_groups)
    if not (whole > 0).any():
        return np.zeros_like(whole)
    between = moments.group_m2 / moments.n_games * shuffles / (shuffles - 1)
    share = np.where(whole > 0, between / np.where(whole > 0, whole, 1.0), 0.0)
    common = between.sum() / whole.sum()
    noise = 2 * np.maximum(share, 0.05) ** 2 / (shuffles - 1)
    spread = max(((share - common) ** 2 - noise).sum() / max(len(share) - 1, 1), 0.0)
    shrunk = common + spread / (spread + noise) * (share - common)
    return np.asarray(np.clip(shrunk, 0.0, 1.0) * whole)


def _centre(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A centre and a scale near which the values lie."""
    scale = values.std(axis=0)
    return values.mean(axis=0), np.where(scale > 0, scale, 1.0)


def _mean_squared_correlation(moments: Moments) -> float:
    """Mean over pairs of providers; 0 if covariances are not kept."""
    if moments.products is None or len(moments.mean) < 2:
        return 0.0
    spread = np.sqrt(moments.m2)
    scale = np.outer(spread, spread)
    square = np.where(scale > 0, moments.products / np.where(scale > 0, scale, 1.0), 0.0) ** 2
    n = len(spread)
    return float((square.sum() - np.trace(square)) / (n * (n - 1)))
