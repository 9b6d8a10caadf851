"""Moments of the interactions of pairs of providers, folded from the same games as the values.

A pair is one more column beside the providers, so sums over games, shuffles and validation rows are
folded as for providers; covariances of pairs are not kept. The influence of every pool on every
pair would take too much memory. Instead, the interactions of every provider with all others are
added up, with fixed random signs, to one number per game. What the pools add to the error of this
sum, relative to its variance, is estimated as for the values of providers. In the mean over random
signs, it is the mean over the pairs of the provider. A pair has the larger one of its two
providers' relative errors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.estimate import Estimate
from shapband.estimate.folding import DealtFold
from shapband.estimate.grouped import together
from shapband.estimate.influence import name_sign
from shapband.estimate.moments import Moments, with_validation
from shapband.estimate.pool_games import of_dealt_games
from shapband.estimate.pools import PoolErrors
from shapband.estimate.presence import PresenceMoments
from shapband.sampling.design import Design
from shapband.solvers.base import Solution
from shapband.solvers.pairs import PairSolution, pair_count, pair_places

if TYPE_CHECKING:
    from shapband.estimate.estimator import Estimator

# At least this part of a raw variance counts as variance without solver noise, as in `pools`.
_LEAST_CLEAN = 0.2


class PairEstimate(NamedTuple):
    """The estimate of the interactions of pairs of providers.

    Attributes
    ----------
    estimate : estimate of the pairs alone
    whole : estimate of the providers, then of the pairs. Intervals of pairs come from it, because
        the rounding error follows from all values of a game
    """

    estimate: Estimate
    whole: Estimate


class PairFold:
    """Folds the interactions of games.

    Parameters
    ----------
    design : how the games are made
    rows : an estimator of the same design, for the sums over the pairs of each provider
    """

    def __init__(self, design: Design, rows: Estimator) -> None:
        n = len(design.names)
        self._design = design
        self._pairs = DealtFold(pair_count(n), design.per_shuffle, covariances=False)
        self._rows = rows if design.unseen is not None else None
        self._signs = np.array([name_sign(name) for name in design.names])
        self._folds: list[FloatArray] = []
        self._together = np.zeros(pair_count(n))  # games in which both take part

    def add(self, pairs: PairSolution) -> None:
        """Add the next games."""
        games = range(self._pairs.n_games, self._pairs.n_games + len(pairs.values))
        self._pairs.add(pairs.values, pairs.noise)
        if pairs.folds is not None:
            self._folds.append(pairs.folds)
        if self._design.draws_presence:
            first, second = pair_places(len(self._design.names))
            present = self._design.present(games)
            self._together += (present[:, first] & present[:, second]).sum(axis=0)
        if self._rows is not None:
            sums = self._signs * _sums_of_rows(pairs.values, self._signs)
            noise = _sums_of_rows(pairs.noise, np.ones_like(self._signs))
            self._rows.add(Solution(sums, noise, 0))

    def estimate(self, providers: Moments) -> PairEstimate:
        """Estimate from all games added so far, and from the moments of the providers' values."""
        moments = self._pairs.moments()
        effects = np.concatenate(self._folds) if self._folds else np.empty((0, 1, 0))
        moments = replace(moments, certain=self._design.certain)
        if self._design.draws_presence:
            moments = replace(moments, presence=_presence(self._together))
        if self._rows is not None and moments.n_games > 1:
            rows = self._rows.estimate().moments
            moments = replace(moments, pools=_pool_errors(moments, rows))
        return from_moments(with_validation(moments, effects), providers)


def from_moments(pairs: Moments, providers: Moments) -> PairEstimate:
    """Estimate interactions from moments that already include the errors due to pools."""
    count = providers.n_games * np.ones_like(providers.mean)
    if providers.presence is not None:
        count = providers.presence.count
    whole = together(replace(providers, presence=None, averaged=None), pairs)
    if pairs.presence is not None:
        both = np.concatenate([count, pairs.presence.count])
        whole = replace(whole, presence=_presence(both))
    return PairEstimate(Estimate.of_moments(pairs), Estimate.of_moments(whole))


def _sums_of_rows(pairs: FloatArray, signs: FloatArray) -> FloatArray:
    """Sums over the pairs of each provider, with the sign of the other: (n_games, n)."""
    n = len(signs)
    first, second = pair_places(n)
    sums = np.zeros((len(pairs), n))
    for row, own in zip(sums, pairs, strict=True):
        row += np.bincount(first, weights=own * signs[second], minlength=n)
        row += np.bincount(second, weights=own * signs[first], minlength=n)
    return sums


def _presence(count: FloatArray) -> PresenceMoments:
    """Only the number of games in which a pair takes part is needed: no value is known if it is 0.

    Participations whose games depend on each other are refused, so no errors follow from presence.
    """
    unknown = np.full_like(count, np.nan)
    return PresenceMoments(count, unknown, unknown, unknown, unknown)


def _pool_errors(moments: Moments, rows: Moments) -> PoolErrors:
    """What the pools add to the errors of pairs, from what they add to the sums of providers."""
    pools = rows.pools
    assert pools is not None  # noqa: S101  for the type checker
    first, second = pair_places(len(rows.mean))
    clean = _clean_variance(rows)
    relative = np.where(clean > 0, pools.variance / np.where(clean > 0, clean, 1.0), 0.0)
    between = np.maximum(relative[first], relative[second]) * _clean_variance(moments)
    shows_all = not pools.hidden.any()
    # The signs in the sums say nothing about the direction of a pair's longer tail.
    even = None if pools.skewness is None else np.zeros_like(between)
    found = PoolErrors(
        games=moments.games_variance,
        variance=between,
        freedom=np.minimum(pools.freedom[first], pools.freedom[second]),
        hidden=np.zeros_like(between) if shows_all else between,
        square=np.maximum(pools.square[first], pools.square[second]),
        skewness=even,
        square_skewness=even,
    )
    return of_dealt_games(found, moments)


def _clean_variance(moments: Moments) -> FloatArray:
    raw = moments.raw_variance
    return np.maximum(raw - np.nan_to_num(moments.noise), _LEAST_CLEAN * raw)
