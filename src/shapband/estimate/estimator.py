"""The estimator: folds games in order into an estimate, in one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.estimate.averaged import Averaged
from shapband.estimate.estimate import Estimate
from shapband.estimate.grouped import GroupEstimate, of_groups
from shapband.estimate.influence import InfluenceFold
from shapband.estimate.moments import FOLD, Moments, block_moments
from shapband.estimate.pools import PoolErrors, Spread, bound_errors, pool_errors
from shapband.estimate.presence import Overall, PresenceFold, PresenceMoments
from shapband.estimate.spread import spread_of
from shapband.sampling.design import Design
from shapband.solvers.base import Solution


class Estimator:
    """Folds games in order, in blocks of fixed size that do not depend on the chunks.

    Parameters
    ----------
    design : how the games are made, and so how they depend on each other
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self._games = _Fold(len(design.names), design.per_shuffle)
        self._groups = None
        if design.grouping is not None:
            self._groups = _Fold(len(design.grouping.names), design.per_shuffle)
        self._pools = None if design.unseen is None else _PoolFold(design)
        self._presence = None
        if design.participation is not None and not design.averaged:
            self._presence = PresenceFold(design, design.participation)

    def add(self, solution: Solution) -> None:
        """Add the next games, as they were solved.

        Averages over who is present have no noise, so the variance over that takes its place in
        the sums; `estimate` separates the two.
        """
        values, noise = solution.values, solution.noise
        if self._design.averaged and solution.presence_variance is not None:
            noise = solution.presence_variance
        for block in self._games.add(values, noise):
            if self._presence is not None:
                self._presence.add(*block)
        if self._pools is not None:
            self._pools.add(values)
        if self._groups is not None and solution.group_noise is not None:
            grouping = self._design.grouping
            assert grouping is not None  # noqa: S101  for the type checker
            self._groups.add(grouping.totals(values), solution.group_noise)

    @property
    def n_games(self) -> int:
        """Number of games added so far."""
        return self._games.n_games

    def estimate(self) -> Estimate:
        """Estimate from all games added so far."""
        return Estimate.of_moments(self._moments())

    def group_estimate(self) -> GroupEstimate | None:
        """Estimate the values of the groups of providers, or None without groups."""
        grouping = self._design.grouping
        if grouping is None or self._groups is None:
            return None
        groups = replace(self._groups.moments(), certain=self._design.certain)
        return of_groups(grouping, groups, self._moments())

    def _moments(self) -> Moments:
        moments = replace(self._games.moments(), certain=self._design.certain)
        if self._design.rates is not None:
            moments = _averaged(moments, self._design.rates)
        if self._presence is not None:
            moments = replace(moments, presence=self._presence_moments(self._presence, moments))
        if self._pools is None or moments.n_games < 2:
            return moments
        return replace(moments, pools=self._pools.errors(moments))

    def _presence_moments(self, fold: PresenceFold, moments: Moments) -> PresenceMoments:
        waiting = self._games.waiting
        if waiting.shape[1] > 0:
            fold = fold.copy()
            fold.add(*waiting)
        return fold.moments(
            Overall(moments.n_games, moments.mean, moments.m2, moments.m4, moments.products)
        )


class _Fold:
    """Moments of games that are added in any chunks."""

    def __init__(self, n_values: int, per_shuffle: int | None) -> None:
        self._size = FOLD if per_shuffle is None else per_shuffle
        self._folded = Moments.empty(n_values, per_shuffle)
        self.waiting = np.empty((2, 0, n_values))  # games that do not fill a block

    @property
    def n_games(self) -> int:
        return self._folded.n_games + self.waiting.shape[1]

    def add(self, values: FloatArray, noise: FloatArray) -> list[FloatArray]:
        """Add the next games, (n_games, n) each, and return the blocks that are full now."""
        rows = np.concatenate([self.waiting, np.stack([values, noise])], axis=1)
        whole = rows.shape[1] - rows.shape[1] % self._size
        blocks = [rows[:, at : at + self._size] for at in range(0, whole, self._size)]
        for block in blocks:
            self._folded = self._folded.merge(block_moments(block[0], block[1], self._folded))
        self.waiting = rows[:, whole:]
        return blocks

    def moments(self) -> Moments:
        """Moments of all games added so far."""
        if self.waiting.shape[1] == 0:
            return self._folded
        return self._folded.merge(block_moments(self.waiting[0], self.waiting[1], self._folded))


class _PoolFold:
    """The influence of the pools on games, about the mean of the first block of games.

    Games are added in whole shuffles, if there are any.
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self._step = design.per_shuffle or 1
        self._waiting = np.empty((0, len(design.names)))
        self._centre: tuple[FloatArray, FloatArray] | None = None
        self._influence = InfluenceFold(design)

    def add(self, values: FloatArray) -> None:
        """Add the next games. Many are added at once, because a call for every pool is slow."""
        self._waiting = np.concatenate([self._waiting, values])
        if len(self._waiting) >= FOLD:
            self._centre = self._centre or self._first_centre(FOLD)
            self._add_waiting(self._centre)

    def errors(self, moments: Moments) -> PoolErrors | None:
        """What the pools add to the errors of these moments, or None after too few games."""
        influence = self._influence
        if self._centre is not None:
            self._add_waiting(self._centre)
        elif self._whole:
            influence = InfluenceFold(self._design)
            self._add(influence, self._first_centre(self._whole))
        if influence.pairs > 0 and _somebody_is_absent(moments):
            found = pool_errors(_spread_if_present(moments), influence.influence(), self._design)
            return _of_all_games(found, moments)
        if influence.pairs > 0:
            return pool_errors(spread_of(moments), influence.influence(), self._design)
        # The error of a single shuffle has that of the pools in it.
        return None if moments.group else bound_errors(spread_of(moments), self._design)

    def _add_waiting(self, centre: tuple[FloatArray, FloatArray]) -> None:
        if self._whole:
            self._add(self._influence, centre)
            self._waiting = self._waiting[self._whole :]

    @property
    def _whole(self) -> int:
        return len(self._waiting) - len(self._waiting) % self._step

    def _add(self, influence: InfluenceFold, centre: tuple[FloatArray, FloatArray]) -> None:
        mean, scale = centre
        scaled = (self._waiting[: self._whole] - mean) / scale
        # Values of absence are 0 about the centre, so that presence itself is no noise.
        games = range(influence.n_games, influence.n_games + len(scaled))
        influence.add(np.where(self._design.present(games), scaled, 0.0))

    def _first_centre(self, n_games: int) -> tuple[FloatArray, FloatArray]:
        """A centre and a scale near which the values of present providers lie."""
        values = self._waiting[:n_games]
        present = self._design.present(range(n_games))
        return _centre(values) if present.all() else _centre_of_present(values, present)


def _averaged(moments: Moments, rates: FloatArray) -> Moments:
    """Take the sums of noise for those of the variance over who is present."""
    found = Averaged(rates, moments.noise, moments.noise_m2, moments.cross_21)
    sums = ("noise", "noise_m2", "cross_11", "cross_21")
    none: Any = {name: np.zeros_like(moments.mean) for name in sums}
    return replace(moments, averaged=found, **none)


def _somebody_is_absent(moments: Moments) -> bool:
    presence = moments.presence
    return presence is not None and bool((presence.count < moments.n_games).any())


def _spread_if_present(moments: Moments) -> Spread:
    """What games from pools vary by while a provider is present, in the scale of all games.

    A pool moves an expectation only through the games in which its provider takes part, which
    are a fraction q of all: by q times what it moves their mean.
    """
    presence, plain = moments.presence, spread_of(moments)
    assert presence is not None  # noqa: S101  for the type checker
    square = (presence.count / moments.n_games) ** 2
    known = presence.count > 1
    return plain._replace(
        n_games=float(max(presence.count.mean(), 3.0)),
        variance=np.where(known, square * presence.raw_variance, plain.variance),
        noise=np.where(known, square * presence.noise, plain.noise),
    )


def _of_all_games(found: PoolErrors, moments: Moments) -> PoolErrors:
    """Turn the errors of the variance in presence to those of the variance over all games.

    The variance over all games is q V + q (1 - q) μ², with V and μ those in presence, and a pool
    moves both of them. Both errors are added, as if they were perfectly correlated.
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
    """A centre and a scale near which the values lie."""
    scale = values.std(axis=0)
    return values.mean(axis=0), np.where(scale > 0, scale, 1.0)


def _centre_of_present(values: FloatArray, present: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The same from values of present providers only; 0 and 1 for one that was never present."""
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, values, 0.0).sum(axis=0) / count
    square = np.where(present, (values - mean) ** 2, 0.0).sum(axis=0) / count
    return mean, np.where(square > 0, np.sqrt(square), 1.0)
