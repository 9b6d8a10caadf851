"""The estimator: folds games in order into an estimate, in one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.estimate.averaged import Averaged
from shapband.estimate.estimate import Estimate
from shapband.estimate.folding import DealtFold
from shapband.estimate.grouped import GroupEstimate, of_groups
from shapband.estimate.moments import Moments, with_validation
from shapband.estimate.paired import PairEstimate, PairFold
from shapband.estimate.pool_games import PoolFold
from shapband.estimate.presence import Overall, PresenceFold, PresenceMoments
from shapband.estimate.rounds import RoundEstimate, round_estimate, without_covariances
from shapband.estimate.split import VarianceSplit, split_variance
from shapband.estimate.validation import as_often_present
from shapband.sampling.design import Design
from shapband.solvers.base import RoundSolution, Solution


class Estimator:
    """Folds games in order, in blocks of a fixed size, so that chunk sizes do not change results.

    Parameters
    ----------
    design : how the games are made, and so how they depend on each other
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self._games = DealtFold(len(design.names), design.per_shuffle)
        self._groups = None
        if design.grouping is not None:
            self._groups = DealtFold(len(design.grouping.names), design.per_shuffle)
        self._pools = None if design.unseen is None else PoolFold(design)
        self._folds: list[FloatArray] = []
        self._present: list[BoolArray] = []  # in the games of which there are effects of folds
        self._pairs: PairFold | None = None
        self._rounds: list[Estimator] | None = None
        self._replayed: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self._presence = None
        if design.draws_presence or (design.participation is not None and design.rounds):
            self._presence = PresenceFold(design)

    def add(self, solution: Solution) -> None:
        """Add the next games, as they were solved.

        Averages over who is present have no solver noise, so the sums of the noise hold the
        variance over who is present instead; `estimate` separates the two.
        """
        values, noise, games = solution.values, solution.noise, self.n_games
        if self._design.averaged and solution.presence_variance is not None:
            noise = solution.presence_variance
        for block in self._games.add(values, noise):
            if self._presence is not None:
                self._presence.add(*block)
        if self._pools is not None:
            self._pools.add(values)
        if solution.folds is not None:
            self._folds.append(solution.folds)
            self._present.append(self._design.present(range(games, games + len(values))))
        if self._groups is not None and solution.group_noise is not None:
            grouping = self._design.grouping
            assert grouping is not None  # noqa: S101  for the type checker
            self._groups.add(grouping.totals(values), solution.group_noise)

        if solution.pairs is not None:
            if self._pairs is None:
                self._pairs = PairFold(self._design, Estimator(self._design))
            self._pairs.add(solution.pairs)
        if solution.rounds is not None:
            self._add_rounds(solution.rounds)
        if solution.replays is not None:
            self._replayed.append((values, solution.noise, solution.replays))

    def _add_rounds(self, rounds: RoundSolution) -> None:
        if self._rounds is None:
            plain = replace(self._design, replays=None)
            self._rounds = [Estimator(plain) for _ in range(rounds.values.shape[1])]
        for at, estimator in enumerate(self._rounds):
            folds = None if rounds.folds is None else rounds.folds[:, :, at]
            series = Solution(rounds.values[:, at], rounds.noise[:, at], 0, folds=folds)
            estimator.add(series)

    @property
    def n_games(self) -> int:
        """Number of games added so far."""
        return self._games.n_games

    def estimate(self) -> Estimate:
        """Estimate from all games added so far."""
        moments = self._moments()
        if moments.validation is not None:
            rows = replace(moments.validation, games=self._folds_of_all_games(moments))
            moments = replace(moments, validation=rows)
        return Estimate.of_moments(moments)

    def group_estimate(self) -> GroupEstimate | None:
        """Estimate the values of the groups of providers, or None without groups."""
        grouping = self._design.grouping
        if grouping is None or self._groups is None:
            return None
        moments = self._moments()
        folds = self._folds_of_all_games(moments)
        shape = (*folds.shape[:2], len(grouping.names))
        effects = grouping.totals(folds.reshape(-1, folds.shape[2])).reshape(shape)
        groups = replace(self._groups.moments(), certain=self._design.certain)
        return of_groups(grouping, groups, moments, effects)

    def pair_estimate(self) -> PairEstimate | None:
        """Estimate the interactions of pairs of providers, or None if games have none."""
        return None if self._pairs is None else self._pairs.estimate(self._moments())

    def round_estimate(self) -> RoundEstimate | None:
        """Estimate the values by round of training, or None if games have none."""
        if self._rounds is None:
            return None
        series = [without_covariances(one._moments()) for one in self._rounds]
        return round_estimate(series, self.estimate())

    def variance_split(self) -> VarianceSplit | None:
        """Split the variance by its causes, or None if games were not played again."""
        if self._design.replays is None or not self._replayed:
            return None
        columns = zip(*self._replayed, strict=True)
        values, noise, again = (np.concatenate(part) for part in columns)
        return split_variance(self._design.replays, values, noise, again, self._moments())

    def _moments(self) -> Moments:
        moments = replace(self._games.moments(), certain=self._design.certain)
        if self._design.rates is not None:
            moments = _averaged(moments, self._design.rates)
        if self._presence is not None:
            moments = replace(moments, presence=self._presence_moments(self._presence, moments))
        if self._pools is not None and moments.n_games > 1:
            moments = replace(moments, pools=self._pools.errors(moments))
        return with_validation(moments, *self._all_folds())

    def _all_folds(self) -> tuple[FloatArray, BoolArray]:
        """Effects of the folds of validation rows in the first games, and who took part in them.

        Their shapes are (n_games, n_folds, n) and (n_games, n).
        """
        n = len(self._design.names)
        if not self._folds:
            return np.empty((0, 1, n)), np.empty((0, n), dtype=bool)
        return np.concatenate(self._folds), np.concatenate(self._present)

    def _folds_of_all_games(self, moments: Moments) -> FloatArray:
        """Effects of the folds, as if everybody took part in these games as often as in all."""
        folds, present = self._all_folds()
        presence = moments.presence
        if presence is None or not self._design.draws_presence:
            return folds
        return as_often_present(folds, present, presence.count / moments.n_games)

    def _presence_moments(self, fold: PresenceFold, moments: Moments) -> PresenceMoments:
        waiting = self._games.waiting
        if waiting.shape[1] > 0:
            fold = fold.copy()
            fold.add(*waiting)
        return fold.moments(
            Overall(moments.n_games, moments.mean, moments.m2, moments.m4, moments.products)
        )


def _averaged(moments: Moments, rates: FloatArray) -> Moments:
    """Move the sums that were kept as noise to the variance over who is present."""
    found = Averaged(rates, moments.noise, moments.noise_m2, moments.cross_21)
    sums = ("noise", "noise_m2", "cross_11", "cross_21")
    none: Any = {name: np.zeros_like(moments.mean) for name in sums}
    return replace(moments, averaged=found, **none)
