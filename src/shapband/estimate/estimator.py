"""The estimator: folds games in order into an estimate, in one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.averaged import Averaged
from shapband.estimate.estimate import Estimate
from shapband.estimate.grouped import GroupEstimate, of_groups
from shapband.estimate.moments import (
    FOLD,
    Moments,
    block_moments,
    of_shuffles,
    shuffle_means,
)
from shapband.estimate.pool_games import PoolFold
from shapband.estimate.presence import Overall, PresenceFold, PresenceMoments
from shapband.estimate.validation import ValidationErrors
from shapband.sampling.design import Design
from shapband.solvers.base import Solution


class Estimator:
    """Folds games in order, in blocks of a fixed size, so that chunk sizes do not change results.

    Parameters
    ----------
    design : how the games are made, and so how they depend on each other
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self._games = _DealtFold(len(design.names), design.per_shuffle)
        self._groups = None
        if design.grouping is not None:
            self._groups = _DealtFold(len(design.grouping.names), design.per_shuffle)
        self._pools = None if design.unseen is None else PoolFold(design)
        self._folds: list[FloatArray] = []
        self._presence = None
        if design.participation is not None and not design.averaged:
            self._presence = PresenceFold(design, design.participation)

    def add(self, solution: Solution) -> None:
        """Add the next games, as they were solved.

        Averages over who is present have no solver noise, so the sums of the noise hold the
        variance over who is present instead; `estimate` separates the two.
        """
        values, noise = solution.values, solution.noise
        if self._design.averaged and solution.presence_variance is not None:
            noise = solution.presence_variance
        for block in self._games.add(values, noise):
            if self._presence is not None:
                self._presence.add(*block)
        if self._pools is not None:
            self._pools.add(values)
        if solution.folds is not None:
            self._folds.append(solution.folds)
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
        folds = self._all_folds()
        shape = (*folds.shape[:2], len(grouping.names))
        effects = grouping.totals(folds.reshape(-1, folds.shape[2])).reshape(shape)
        groups = replace(
            self._groups.moments(),
            validation=ValidationErrors.of(effects),
            certain=self._design.certain,
        )
        return of_groups(grouping, groups, self._moments())

    def _moments(self) -> Moments:
        moments = replace(
            self._games.moments(),
            validation=ValidationErrors.of(self._all_folds()),
            certain=self._design.certain,
        )
        if self._design.rates is not None:
            moments = _averaged(moments, self._design.rates)
        if self._presence is not None:
            moments = replace(moments, presence=self._presence_moments(self._presence, moments))
        if self._pools is None or moments.n_games < 2:
            return moments
        return replace(moments, pools=self._pools.errors(moments))

    def _all_folds(self) -> FloatArray:
        """Effects of the folds of validation rows in the first games: (n_games, n_folds, n)."""
        nothing = np.empty((0, 1, len(self._design.names)))
        return np.concatenate(self._folds) if self._folds else nothing

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

    def __init__(self, n_values: int) -> None:
        self._folded = Moments.empty(n_values)
        self.waiting = np.empty((2, 0, n_values))  # games that do not fill a block yet

    @property
    def n_games(self) -> int:
        return self._folded.n_games + self.waiting.shape[1]

    def add(self, values: FloatArray, noise: FloatArray) -> list[FloatArray]:
        """Add the next games, (n_games, n) each, and return the blocks that are full now."""
        rows = np.concatenate([self.waiting, np.stack([values, noise])], axis=1)
        whole = rows.shape[1] - rows.shape[1] % FOLD
        blocks = [rows[:, at : at + FOLD] for at in range(0, whole, FOLD)]
        for block in blocks:
            self._folded = self._folded.merge(block_moments(block[0], block[1], self._folded))
        self.waiting = rows[:, whole:]
        return blocks

    def moments(self) -> Moments:
        """Moments of all games added so far."""
        if self.waiting.shape[1] == 0:
            return self._folded
        return self._folded.merge(block_moments(self.waiting[0], self.waiting[1], self._folded))


class _DealtFold:
    """Moments of games that may be dealt from shuffles of the pools, added in any chunks."""

    def __init__(self, n_values: int, per_shuffle: int | None) -> None:
        self._size = per_shuffle
        self._games, self._means = _Fold(n_values), _Fold(n_values)
        self._incomplete = np.empty((0, n_values))  # games of the last shuffle

    @property
    def n_games(self) -> int:
        return self._games.n_games

    @property
    def waiting(self) -> FloatArray:
        """Values and noise of the games that do not fill a block yet: (2, n_games, n)."""
        return self._games.waiting

    def add(self, values: FloatArray, noise: FloatArray) -> list[FloatArray]:
        """Add the next games, (n_games, n) each, and return the blocks that are full now."""
        if self._size is not None:
            rows = np.concatenate([self._incomplete, values])
            means = shuffle_means(rows, self._size)
            self._means.add(means, np.zeros_like(means))
            self._incomplete = rows[len(means) * self._size :]
        return self._games.add(values, noise)

    def moments(self) -> Moments:
        """Moments of all games added so far."""
        moments = self._games.moments()
        if self._size is None:
            return moments
        return replace(moments, shuffles=of_shuffles(self._means.moments(), self._size))


def _averaged(moments: Moments, rates: FloatArray) -> Moments:
    """Move the sums that were kept as noise to the variance over who is present."""
    found = Averaged(rates, moments.noise, moments.noise_m2, moments.cross_21)
    sums = ("noise", "noise_m2", "cross_11", "cross_21")
    none: Any = {name: np.zeros_like(moments.mean) for name in sums}
    return replace(moments, averaged=found, **none)
