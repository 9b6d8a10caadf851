"""Central sums of per-game values and solver noise, computed in one pass and mergeable.

Sums are kept about their own mean. Merging shifts both parts to the common mean and adds them,
so no large numbers are subtracted from each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.codec import lock_arrays
from shapband.estimate.averaged import Averaged
from shapband.estimate.pools import PoolErrors
from shapband.estimate.presence import PresenceMoments
from shapband.estimate.shuffles import ShuffleFold, Shuffles, dealt, quotient
from shapband.estimate.validation import ValidationErrors

MANY = 500  # with more providers covariances are not kept; up to here they take 2 MB
FOLD = 32  # games folded at once; fixed, so that results do not depend on chunk sizes


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over games, for every provider.

    Below, x is the value in a game, w the solver's estimated noise variance in that game, and
    a bar denotes the mean over games.

    Attributes
    ----------
    n_games : games seen
    mean, noise : (n,) means of x and of w
    m2, m3, m4 : (n,) sums of (x - x̄)², (x - x̄)³ and (x - x̄)⁴
    noise_m2 : (n,) sum of (w - w̄)²
    cross_11, cross_21 : (n,) sums of (x - x̄)(w - w̄) and of (x - x̄)² (w - w̄)
    products : (n, n) sums of (x_i - x̄_i)(x_j - x̄_j), or None with more than 500 providers
    m5, m6 : (n,) sums of (x - x̄)⁵ and (x - x̄)⁶, infinite or NaN if they overflow; None in older
        results
    products_21 : (n, n) sums of (x_i - x̄_i)² (x_j - x̄_j); None as `products`, or in older results
    shuffles : the means of games that were dealt from one shuffle of the pools, or None
    pools : what the choice of the pools adds to the errors, or None without pools
    presence : moments of the games in which each provider takes part; None if nobody is ever absent
    averaged : the variance over who is present, if x is an average over who is present; else None
    validation : the errors due to the choice of the validation rows; None if they are not known
    certain : whether all games are equal by design, so that equal values are not due to chance
    """

    n_games: int
    mean: FloatArray
    m2: FloatArray
    m3: FloatArray
    m4: FloatArray
    noise: FloatArray
    noise_m2: FloatArray
    cross_11: FloatArray
    cross_21: FloatArray
    products: FloatArray | None = None
    m5: FloatArray | None = None
    m6: FloatArray | None = None
    products_21: FloatArray | None = None
    shuffles: Shuffles | None = None
    pools: PoolErrors | None = None
    presence: PresenceMoments | None = None
    averaged: Averaged | None = None
    validation: ValidationErrors | None = None
    certain: bool = False

    def __post_init__(self) -> None:
        lock_arrays(self)

    @staticmethod
    def empty(n_providers: int, *, covariances: bool = True) -> Moments:
        """Moments of no games; covariances are kept if wanted, for up to 500 providers."""
        sums: Any = {name: np.zeros(n_providers) for name in ("mean", "noise", *_SUMS)}
        kept = covariances and n_providers <= MANY
        pairs = np.zeros((n_providers, n_providers)) if kept else None
        return Moments(0, products=pairs, products_21=pairs, **sums)

    def merge(self, other: Moments) -> Moments:
        """Return the sums over both sets of games together."""
        if self.n_games == 0 or other.n_games == 0:
            return other if self.n_games == 0 else self
        n_games = self.n_games + other.n_games
        share = other.n_games / n_games
        mean = self.mean + (other.mean - self.mean) * share
        noise = self.noise + (other.noise - self.noise) * share
        one, two = _about(self, mean, noise), _about(other, mean, noise)
        sums: Any = {name: _added(one[name], two[name]) for name in one}
        return Moments(n_games, mean=mean, noise=noise, **sums)

    @property
    def raw_variance(self) -> FloatArray:
        """(n,) sample variance across games, solver noise included."""
        return self._per_freedom(self.m2)

    @property
    def variance(self) -> FloatArray:
        """(n,) estimate of Var(φ), solver noise removed; a small variance may come out negative.

        With draws without replacement from pools, it includes the variance between pools. If values
        are averages over who is present, it includes the variance over who is present.
        """
        shown = self.raw_variance - self.noise
        if self.averaged is not None:
            shown = shown + self.averaged.mean
        return shown if self.pools is None else shown + self.pools.hidden

    @property
    def covariance(self) -> FloatArray | None:
        """(n, n) sample covariance across games, or None with more than 500 providers.

        Solver noise is removed from the diagonal only, and the covariances keep their part of it:
        what one permutation adds to a provider's value it takes from others.
        """
        if self.products is None:
            return None
        return self._per_freedom(self.products) - np.diag(self.noise)

    def _per_freedom(self, sums: FloatArray) -> FloatArray:
        if self.certain and self.n_games == 1:
            return np.zeros_like(sums)  # another game would have the same values
        freedom = self.n_games - 1
        return sums / freedom if freedom > 0 else np.full_like(sums, np.nan)  # Eq. (7)

    @property
    def correlation(self) -> FloatArray | None:
        """(n, n) correlation across games, 0 for a value that never changes; None as above."""
        if self.products is None:
            return None
        square = np.diag(self.products)
        scale = np.sqrt(np.outer(square, square))  # so that equal values have exactly 1
        return np.asarray(np.where(scale > 0, self.products / np.where(scale > 0, scale, 1.0), 0.0))

    @property
    def games_variance(self) -> FloatArray:
        """(n,) variance of every expectation over the choice of games, solver noise included."""
        if self.presence is not None and self.presence.of_mean is not None:
            return self.presence.of_mean
        if self.shuffles is not None and self.n_games > 1:
            none = np.zeros_like(self.mean)
            return dealt(self.raw_variance, self.n_games, self.shuffles, none).of_mean
        return np.asarray(self.raw_variance / self.n_games)  # Eq. (9)


def with_validation(
    moments: Moments, folds: FloatArray, present: BoolArray | None = None
) -> Moments:
    """Add the errors due to the validation rows, from the effects of folds (n_games, n_folds, n).

    The errors due to the pools must be known before: how far the effects of folds vary with the
    pools is a part of them, and must not be counted twice.

    Parameters
    ----------
    present : (n_games, n) who took part in the games of the effects; None if it does not matter
    """
    between = between_pools(moments)
    if moments.presence is None or present is None or present.all():
        return replace(moments, validation=ValidationErrors.of(folds, between))
    rates = moments.presence.count / moments.n_games
    return replace(moments, validation=ValidationErrors.of_present(folds, present, rates, between))


def between_pools(moments: Moments) -> FloatArray:
    """Variance of every expectation over the choice of the pools, relative to the games: (n,)."""
    if moments.pools is None:
        return np.zeros_like(moments.mean)
    return quotient(moments.pools.variance, moments.raw_variance)


def moments_of_games(
    values: FloatArray, noise: FloatArray, per_shuffle: int | None = None
) -> Moments:
    """Moments of games, added in the same blocks as by an `Estimator`."""
    moments = Moments.empty(values.shape[1])
    for start in range(0, len(values), FOLD):
        games = slice(start, start + FOLD)
        moments = moments.merge(block_moments(values[games], noise[games], moments))
    if per_shuffle is None:
        return moments
    fold = ShuffleFold(values.shape[1], per_shuffle, covariances=moments.products is not None)
    fold.add(values)
    return replace(moments, shuffles=fold.shuffles())


def block_moments(x: FloatArray, w: FloatArray, like: Moments) -> Moments:
    """Moments of a few games (n_games, n), in a form that can be merged with `like`."""
    mean, noise = x.mean(axis=0), w.mean(axis=0)
    dx, dw = x - mean, w - noise
    square = dx * dx
    cube = square * dx
    with np.errstate(over="ignore", invalid="ignore"):
        m5, m6 = (square * cube).sum(axis=0), (cube * cube).sum(axis=0)
    return Moments(
        n_games=len(x),
        mean=mean,
        m2=square.sum(axis=0),
        m3=cube.sum(axis=0),
        m4=(square * square).sum(axis=0),
        noise=noise,
        noise_m2=(dw * dw).sum(axis=0),
        cross_11=(dx * dw).sum(axis=0),
        cross_21=(square * dw).sum(axis=0),
        products=None if like.products is None else dx.T @ dx,
        m5=m5,
        m6=m6,
        products_21=None if like.products is None else square.T @ dx,
    )


_SUMS = ("m2", "m3", "m4", "m5", "m6", "noise_m2", "cross_11", "cross_21")
_Sums = dict[str, FloatArray | None]


def _added(one: FloatArray | None, two: FloatArray | None) -> FloatArray | None:
    return None if one is None or two is None else one + two


def _about(part: Moments, mean: FloatArray, noise: FloatArray) -> _Sums:
    """Shift the central sums of a part to another centre."""
    n, dx, dw = part.n_games, part.mean - mean, part.noise - noise
    square = dx * dx
    return {
        "m2": part.m2 + n * square,
        "m3": part.m3 + 3 * dx * part.m2 + n * square * dx,
        "m4": part.m4 + 4 * dx * part.m3 + 6 * square * part.m2 + n * square * square,
        **_higher_about(part, dx, square),
        "noise_m2": part.noise_m2 + n * dw * dw,
        "cross_11": part.cross_11 + n * dx * dw,
        "cross_21": part.cross_21 + dw * part.m2 + 2 * dx * part.cross_11 + n * square * dw,
    }


def _higher_about(part: Moments, dx: FloatArray, square: FloatArray) -> _Sums:
    """Shift the sums of fifth and sixth powers, of products and of `products_21`."""
    n, m2, m3, m4, m5, m6 = part.n_games, part.m2, part.m3, part.m4, part.m5, part.m6
    found: _Sums = {"m5": None, "m6": None, "products": None, "products_21": None}
    if m5 is not None and m6 is not None:
        last = n * square
        with np.errstate(over="ignore", invalid="ignore"):
            found["m5"] = m5 + dx * (5 * m4 + dx * (10 * m3 + dx * (10 * m2 + last)))
            found["m6"] = m6 + dx * (
                6 * m5 + dx * (15 * m4 + dx * (20 * m3 + dx * (15 * m2 + last)))
            )
    if part.products is not None:
        found["products"] = part.products + n * (dx[:, None] * dx)
        if part.products_21 is not None:
            cross = (2 * dx)[:, None] * part.products
            found["products_21"] = part.products_21 + cross + (m2 + n * square)[:, None] * dx
    return found
