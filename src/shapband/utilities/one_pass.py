"""Utilities that score each fit on all validation rows and without each fold, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray
from shapband.utilities.base import GameSummaries, RowsUtility
from shapband.utilities.rows import Folded, folds_of

# The fold of each validation row, and where scores without each fold are written: (.., n_folds).
FoldScores = tuple[IntArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Memory:
    """What the utilities on all rows and without each fold share.

    Attributes
    ----------
    fold_of : (n_rows,) the fold of each validation row
    empty : (1 + n_folds,) value of the empty coalition on all rows and without each fold
    known : values (1 + n_folds, ..) of coalitions by the arguments for which they were computed,
        and the summaries of the games, so that no other object gets their identity
    """

    fold_of: IntArray
    empty: FloatArray
    known: dict[tuple[object, ...], tuple[GameSummaries, FloatArray]] = field(default_factory=dict)


class OnePassUtility(RowsUtility):
    """A utility whose fits do not depend on the validation rows.

    A subclass computes values by functions that also write the values without each fold, and passes
    them through `_scored`. The values are remembered, and the utilities without each fold look
    them up.
    """

    _memory: Memory | None = None
    _place: int = 0  # in the memory: 0 for all rows, or 1 + the fold that is left out

    def without_folds(self, kept: Sequence[IntArray]) -> Folded:
        fold_of = folds_of(kept, self.validation_rows or 0)
        if fold_of is None:
            return super().without_folds(kept)
        empty = np.array([self.empty, *(self.on_rows(rows).empty for rows in kept)])
        whole, parts = copy(self), []
        whole._memory = Memory(fold_of, empty)
        for place in range(1, len(empty)):
            part = copy(whole)
            part._place, part.empty = place, float(empty[place])
            parts.append(part)
        return Folded(whole, parts, whole._memory.known.clear)

    def _scored(
        self,
        compute: Callable[[FloatArray], FloatArray],
        shape: tuple[int, ...],
        games: GameSummaries,
        *arguments: AnyArray,
    ) -> FloatArray:
        """Values of coalitions on the rows of this utility.

        Parameters
        ----------
        compute : returns values on all rows, and writes those without each fold to the array that
            it is given: (*shape, n_folds)
        shape : of the values
        games, arguments : which coalitions these are
        """
        memory = self._memory
        if memory is None:
            return compute(np.empty((*shape, 0)))
        key = (id(games), *((one.shape, _digest(one)) for one in arguments))
        if key not in memory.known:
            parts = np.full((*shape, len(memory.empty) - 1), np.nan)
            whole = compute(parts)
            values = np.concatenate([whole[None], np.moveaxis(parts, -1, 0)])
            memory.known[key] = games, values
        found: FloatArray = memory.known[key][1][self._place].copy()
        return found

    def _folds(self, parts: FloatArray) -> FoldScores | None:
        """What kernels need to write the scores without each fold; None if there are no folds."""
        return None if self._memory is None else (self._memory.fold_of, parts)

    def _rows_of_folds(self) -> list[IntArray]:
        """The validation rows of each fold; none if there are no folds."""
        if self._memory is None:
            return []
        fold_of, count = self._memory.fold_of, len(self._memory.empty) - 1
        return [np.flatnonzero(fold_of == fold) for fold in range(count)]

    def _set_empty(self, values: FloatArray, parts: FloatArray, nobody: Any) -> None:
        """Set the values of coalitions without records, on all rows and without each fold.

        `nobody` is an index of them.
        """
        empty = np.array([self.empty]) if self._memory is None else self._memory.empty
        values[nobody], parts[nobody] = empty[0], empty[1:]


def _digest(array: AnyArray) -> bytes:
    """Short bytes that differ for different arrays of one shape."""
    return blake2b(array.tobytes(), digest_size=16).digest()
