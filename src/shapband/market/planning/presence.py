"""Who takes part in the games of a plan: how often each source is asked, and what games average.

Games with pools, `Independent` and `Exact` are averaged over who takes part; all others draw it. So
the rows of one plan may differ in whether their games vary with who takes part.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.access.budget import Cost
from shapband.engine.arguments import Arguments
from shapband.engine.shortcuts import choose_averaging, why_certain
from shapband.sampling.pooled import Pooled
from shapband.solvers.exact import Exact

_BLOCK = 4096  # presence is counted in blocks of this many games


def arguments_with(given: Arguments, **changes: Any) -> Arguments:
    """Change the sampling or the solver of checked arguments, and what follows from them."""
    made = replace(given, **changes)
    present, sampling, solver = made.participation, made.sampling, made.solver
    return replace(
        made,
        averaging=choose_averaging(present, sampling, solver, made.index, made.names),
        certain=why_certain(made.providers, made.utility, sampling, solver, present),
    )


def may_average(given: Arguments) -> bool:
    """Whether games with pools and exact values are averaged over who takes part."""
    parts = Pooled(2, 1), Exact(), given.index, given.names
    return choose_averaging(given.participation, *parts).averages


def attendance_rates(given: Arguments) -> FloatArray:
    """(n,) probability that a source is asked for a fresh draw."""
    if given.participation is None:
        return np.ones(len(given.names))
    return given.participation.rates(given.names)


@dataclass(frozen=True, eq=False)
class Attendance:
    """Counts in how many of the first games each provider takes part, which follows from the seed.

    Attributes
    ----------
    given : arguments whose games draw who takes part
    """

    given: Arguments
    _blocks: list[IntArray] = field(default_factory=list)  # counts up to the end of each block

    def counts(self, n_games: int) -> IntArray:
        """(n,) games in which each provider takes part."""
        n = len(self.given.names)
        if self.given.participation is None:
            return np.full(n, n_games)
        whole, rest = divmod(n_games, _BLOCK)
        while len(self._blocks) < whole:
            start = len(self._blocks) * _BLOCK
            before = self._blocks[-1] if self._blocks else np.zeros(n, dtype=np.int64)
            found = self._present(range(start, start + _BLOCK))
            self._blocks.append(before + found)
        before = self._blocks[whole - 1] if whole else np.zeros(n, dtype=np.int64)
        return np.asarray(before + self._present(range(whole * _BLOCK, whole * _BLOCK + rest)))

    def cost(self, n_games: int, draws: FloatArray) -> Cost:
        """What fresh draws of the first games take from the sources."""
        asked = self.counts(n_games)
        return Cost(int(asked.sum()), round(float((asked * draws).sum())))

    def _present(self, games: range) -> IntArray:
        if len(games) == 0:
            return np.zeros(len(self.given.names), dtype=np.int64)
        return np.asarray(self.given.present(games).sum(axis=0, dtype=np.int64))
