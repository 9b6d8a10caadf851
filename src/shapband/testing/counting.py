"""A game whose evaluations are counted: every coalition once, however often it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shapband._typing import FloatArray
from shapband.games import Games
from shapband.indices import SHAPLEY, Index
from shapband.records.batch import Batch
from shapband.seeds import Seeds
from shapband.utilities.base import Utility


class CountedGame(Utility):
    """One game that is solved several times, with the coalitions that each solution asked for.

    It is not mergeable: solvers evaluate the coalitions that they need, one by one, and never a
    table of all coalitions because that is cheaper.

    Parameters
    ----------
    value : the value of a coalition, given as a bitmask
    """

    uses_records = False

    def __init__(self, value: Callable[[int], float]) -> None:
        self._value = value
        self.empty = value(0)
        self._known: dict[int, float] = {}
        self.asked: dict[int, set[int]] = {}

    @property
    def distinct(self) -> int:
        """Different coalitions that were asked for, over all games."""
        return sum(len(coalitions - {0}) for coalitions in self.asked.values())

    def summarise(self, batch: Batch) -> None:
        """Return None: the draw is not used."""

    def evaluate(self, summaries: Sequence[Any], coalitions: Sequence[int]) -> FloatArray:
        """Look up or compute the values; the summaries are the number of the game."""
        self.asked.setdefault(int(summaries[0]), set()).update(coalitions)
        for coalition in coalitions:
            if coalition not in self._known:
                self._known[coalition] = float(self._value(coalition))
        return np.array([self._known[coalition] for coalition in coalitions])


def repeated(
    utility: CountedGame, n: int, indices: range, seed: int = 0, index: Index = SHAPLEY
) -> Games:
    """The same game several times, each with the random streams of another game."""
    summaries = np.tile(np.array(indices)[:, None], (1, n))
    names = tuple(f"provider {i}" for i in range(n))
    return Games(utility, summaries, names, indices, Seeds(seed), index)
