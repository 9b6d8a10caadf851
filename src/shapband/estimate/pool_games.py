"""Games that draw their records from pools: their variance, and what the pools add to the errors.

The games are folded into the influence of the pools' records (`influence`). An influence is a share
of the variance across games, and `pools` turns these shares into errors.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.estimate.influence import InfluenceFold
from shapband.estimate.moments import FOLD, Moments
from shapband.estimate.pools import DealtSpread, PoolErrors, Spread, bound_errors, pool_errors
from shapband.estimate.shapes import skewness_of
from shapband.estimate.shuffles import apart, dealt, factor_of
from shapband.sampling.design import Design


class PoolFold:
    """Folds games into the influence of the pools.

    Values are taken relative to the mean of the first block of games.
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self._waiting = np.empty((0, len(design.names)))
        self._centre: tuple[FloatArray, FloatArray] | None = None
        self._influence = InfluenceFold(design)

    def add(self, values: FloatArray) -> None:
        """Add the next games. They are collected first, because each addition calls every pool."""
        self._waiting = np.concatenate([self._waiting, values])
        if len(self._waiting) >= FOLD:
            self._centre = self._centre or self._first_centre(FOLD)
            self._add_waiting(self._centre)

    def errors(self, moments: Moments) -> PoolErrors:
        """What the pools add to the errors of these moments, from at least two games."""
        influence = self._influence
        if self._centre is not None:
            self._add_waiting(self._centre)
        else:
            influence = InfluenceFold(self._design)
            self._add(influence, self._first_centre(len(self._waiting)))
        if influence.pairs <= 0:
            found = bound_errors(spread_of(moments), self._design)
        elif _somebody_is_absent(moments):
            found = pool_errors(_spread_if_present(moments), influence.influence(), self._design)
            found = _of_all_games(found, moments)
        else:
            found = pool_errors(spread_of(moments), influence.influence(), self._design)
        return of_dealt_games(found, moments)

    def _add_waiting(self, centre: tuple[FloatArray, FloatArray]) -> None:
        if len(self._waiting) > 0:
            self._add(self._influence, centre)
            self._waiting = self._waiting[:0]

    def _add(self, influence: InfluenceFold, centre: tuple[FloatArray, FloatArray]) -> None:
        mean, scale = centre
        scaled = (self._waiting - mean) / scale
        # The value of an absent provider is set to the centre, so that presence adds no noise.
        games = range(influence.n_games, influence.n_games + len(scaled))
        influence.add(np.where(self._design.present(games), scaled, 0.0))

    def _first_centre(self, n_games: int) -> tuple[FloatArray, FloatArray]:
        """Centre and scale (n,) of the values of present providers, from the first games."""
        values = self._waiting[:n_games]
        present = self._design.present(range(n_games))
        return _centre(values) if present.all() else _centre_of_present(values, present)


def spread_of(moments: Moments) -> Spread:
    """The variances of games from pools, from their moments."""
    correlation, n_games = _mean_squared_correlation(moments), moments.n_games
    effective, shuffles = float(n_games), moments.shuffles
    if shuffles is not None:  # as many games as give this many pairs from different shuffles
        effective = max(np.sqrt(apart(n_games, shuffles.size)), 2.0)
    raw, of_mean = moments.raw_variance, moments.games_variance
    return Spread(
        effective,
        raw,
        moments.noise,
        of_mean,
        n_games - 1,
        correlation,
        skewness_of(moments),
        _dealt_spread(moments),
    )


def _dealt_spread(moments: Moments) -> DealtSpread | None:
    """What complete shuffles show of the share of the pools."""
    shuffles, raw = moments.shuffles, moments.raw_variance
    varies = raw > 0
    if shuffles is None or shuffles.count < 2 or not varies.any():
        return None
    seen = shuffles.count - 1
    found = factor_of(shuffles.square[varies] / seen / raw[varies], moments.n_games, shuffles.size)
    return DealtSpread(shuffles.size, seen, float(found.mean()))


def of_dealt_games(found: PoolErrors, moments: Moments, n_common: int | None = None) -> PoolErrors:
    """Take the dependence of games that were dealt from shuffles into account.

    If games also depend on each other because providers stay absent, the error of independent draws
    is kept, which is larger. The first `n_common` values show what all have in common.
    """
    presence = moments.presence
    if moments.shuffles is None or (presence is not None and presence.of_mean is not None):
        return found
    raw = moments.raw_variance
    games = dealt(raw, moments.n_games, moments.shuffles, found.variance, n_common)
    clean = np.where(raw > 0, 1 - moments.noise / np.where(raw > 0, raw, 1.0), 0.0)
    # The sample variance of dealt games is slightly larger than the variance of single games.
    return replace(found, games=games.of_mean, hidden=found.hidden + (games.single - raw) * clean)


def _mean_squared_correlation(moments: Moments) -> float:
    """Mean squared correlation over pairs of providers; 0 if covariances are not kept."""
    correlation, n = moments.correlation, len(moments.mean)
    if correlation is None or n < 2:
        return 0.0
    square = correlation**2
    return float((square.sum() - np.trace(square)) / (n * (n - 1)))


def _somebody_is_absent(moments: Moments) -> bool:
    presence = moments.presence
    if presence is not None and presence.rounds is not None:
        return False  # all providers draw records in every game
    return presence is not None and bool((presence.count < moments.n_games).any())


def _spread_if_present(moments: Moments) -> Spread:
    """Variances over the games in which a provider is present, in the scale of all games.

    A pool moves an expectation only through the games in which its provider takes part. These are a
    fraction q of all games, so the expectation moves by q times as much as their mean. The means of
    shuffles and the skewness depend on who is present as well, so they show nothing about pools.
    """
    presence, plain = moments.presence, spread_of(moments)
    assert presence is not None  # noqa: S101  for the type checker
    square = (presence.count / moments.n_games) ** 2
    known = presence.count > 1
    return plain._replace(
        n_games=float(max(presence.count.mean() * (plain.n_games / moments.n_games), 3.0)),
        variance=np.where(known, square * presence.raw_variance, plain.variance),
        noise=np.where(known, square * presence.noise, plain.noise),
        skewness=np.zeros_like(moments.mean),
        dealt=None,
    )


def _of_all_games(found: PoolErrors, moments: Moments) -> PoolErrors:
    """Convert errors of the variance if present to errors of the variance over all games.

    The variance over all games is q V + q (1 - q) μ², with V and μ the variance and the expectation
    if present. A pool moves V and μ. Both errors are added, as if perfectly correlated.
    """
    presence = moments.presence
    assert presence is not None  # noqa: S101  for the type checker
    rate, mean = presence.count / moments.n_games, np.nan_to_num(presence.mean)
    of_variance = rate * np.nan_to_num(presence.raw_variance) * np.sqrt(found.square)
    of_mean = 2 * (1 - rate) * np.abs(mean) * np.sqrt(found.variance)
    raw = moments.raw_variance
    safe = np.where(raw > 0, raw, 1.0)
    square = np.where(raw > 0, ((of_variance + of_mean) / safe) ** 2, found.square)
    freedom = found.freedom
    if presence.freedom is not None:
        freedom = np.minimum(freedom, presence.freedom)
    return replace(found, square=square, freedom=freedom)


def _centre(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre and scale (n,) of the values."""
    scale = values.std(axis=0)
    return values.mean(axis=0), np.where(scale > 0, scale, 1.0)


def _centre_of_present(values: FloatArray, present: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Centre and scale (n,) of the values of present providers; 0 and 1 without such values."""
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, values, 0.0).sum(axis=0) / count
    square = np.where(present, (values - mean) ** 2, 0.0).sum(axis=0) / count
    return mean, np.where(square > 0, np.sqrt(square), 1.0)
