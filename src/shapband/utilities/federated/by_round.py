"""Scores after each round, and without each fold of the validation rows, from one training."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.utilities.base import GameSummaries
from shapband.utilities.one_pass import Memory, OnePassUtility
from shapband.utilities.rows import Folded, folds_of

_NO_FOLDS = np.zeros(0, dtype=np.int64)


class ByRoundUtility(OnePassUtility):
    """A utility whose models are trained in rounds, and scored on validation rows.

    A value has a place in the memory: its round, if the scores after each round are wanted, and
    then 0 for all rows or 1 + the fold that is left out.
    """

    _round: int  # models are scored after this many rounds
    _n_folds: int = 0
    _each_round: bool = False  # whether the memory has the scores after each round

    @abstractmethod
    def _values_of(self, game: Sequence[Any], inside: MemberArray) -> FloatArray:
        """Return the values of coalitions of one game at all places of the memory: (m, places)."""

    def without_folds(self, kept: Sequence[IntArray]) -> Folded:
        fold_of = folds_of(kept, self.validation_rows or 0)
        if fold_of is None:
            return super().without_folds(kept)
        empty = np.array([self.empty, *(self.on_rows(rows).empty for rows in kept)])
        whole = self._remembering(fold_of, empty, each_round=self._each_round)
        parts = [whole._at(self._round, 1 + fold) for fold in range(len(kept))]
        return Folded(whole, parts, whole._forget)

    def after_rounds(self) -> Folded:
        whole = self
        if not self._each_round:
            empty = np.array([self.empty]) if self._memory is None else self._memory.empty
            whole = self._remembering(self._fold_of, empty, each_round=True)
        fold = self._place % (1 + self._n_folds)
        parts = [whole._at(1 + round_, fold) for round_ in range(self.rounds)]
        return Folded(whole._at(self._round, fold), parts, whole._forget)

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        inside = _all_coalitions(len(games[0]))

        def compute(parts: FloatArray) -> FloatArray:
            table = np.empty(parts.shape[:2])
            for g in range(len(games)):
                found = self._values_of(games[g], inside)
                table[g], parts[g] = found[:, 0], found[:, 1:]
            return table

        return self._scored(compute, (len(games), len(inside)), games)

    def evaluate_rows(
        self, games: GameSummaries, inside: MemberArray, of_game: IntArray
    ) -> FloatArray:
        def compute(parts: FloatArray) -> FloatArray:
            values = np.empty(len(inside))
            for g in np.unique(of_game).tolist():
                rows = slice(*np.searchsorted(of_game, [g, g + 1]))
                found = self._values_of(games[g], np.ascontiguousarray(inside[rows]))
                values[rows], parts[rows] = found[:, 0], found[:, 1:]
            return values

        return self._scored(compute, (len(inside),), games, inside, of_game)

    @property
    def _fold_of(self) -> IntArray:
        """The fold of each validation row; not used if there are no folds."""
        return _NO_FOLDS if self._memory is None else self._memory.fold_of

    @property
    def _nobody(self) -> FloatArray:
        """Values of the empty coalition at all places of the memory."""
        return np.array([self.empty]) if self._memory is None else self._memory.empty

    def _forgotten(self) -> None:
        """Leave the memory, because this utility has other validation rows."""
        self._memory, self._place, self._n_folds, self._each_round = None, 0, 0, False

    def _remembering(
        self, fold_of: IntArray, empty: FloatArray, *, each_round: bool
    ) -> ByRoundUtility:
        """Return this utility with a new memory.

        Parameters
        ----------
        fold_of : (n_rows,) the fold of each validation row
        empty : (1 + n_folds,) value of the empty coalition on all rows and without each fold
        each_round : whether to remember the scores after each round
        """
        whole = copy(self)
        whole._n_folds, whole._each_round = len(empty) - 1, each_round
        whole._memory = Memory(fold_of, np.tile(empty, self.rounds if each_round else 1))
        return whole._at(self._round, 0)

    def _at(self, round_: int, fold: int) -> ByRoundUtility:
        """Return this utility after a round (from 1), on all rows (fold 0) or without a fold."""
        part = copy(self)
        part._round = round_
        part._place = fold + ((round_ - 1) * (1 + self._n_folds) if self._each_round else 0)
        part.empty = float(part._nobody[part._place])
        return part

    def _forget(self) -> None:
        if self._memory is not None:
            self._memory.known.clear()


@lru_cache(maxsize=1)
def _all_coalitions(n: int) -> MemberArray:
    """All coalitions in the order of their bitmasks: (2**n, n), 1 for members."""
    rows = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(np.uint8)
    rows.flags.writeable = False  # because all calls share them
    return rows
