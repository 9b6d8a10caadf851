"""A chunk of realised games, ready to be solved: the waist between utilities and solvers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.checks import one_line
from shapband.coalitions import describe, prefix_masks
from shapband.errors import EvaluationError
from shapband.kernels.walks import first_occurrences
from shapband.seeds import Seeds
from shapband.utilities.base import CoalitionFailed, GameSummaries, Utility

_TABLE_PROVIDERS = 20


@dataclass(frozen=True, eq=False)
class Games:
    """Consecutive games of one valuation.

    Attributes
    ----------
    utility : what coalitions are worth
    summaries : summaries[game][provider]
    names : the providers
    indices : which games these are
    seeds : the valuation's random streams
    """

    utility: Utility
    summaries: GameSummaries
    names: tuple[str, ...]
    indices: range
    seeds: Seeds

    @property
    def n_providers(self) -> int:
        """How many players there are."""
        return len(self.names)

    def table(self) -> FloatArray:
        """Values of all coalitions: (n_games, 2**n), indexed by bitmask."""
        try:
            table = self.utility.evaluate_all(self.summaries)
        except CoalitionFailed as failure:
            raise self._failed(failure.coalition, failure.reason) from failure
        table[:, 0] = self.utility.empty
        if not np.isfinite(table).all():
            g, mask = np.argwhere(~np.isfinite(table))[0].tolist()
            raise self._failed(mask, f"the utility returned {table[g, mask]}")
        return table

    def prefixes(self, orders: IntArray) -> tuple[FloatArray, int]:
        """Values of the coalitions that grow along permutations, and how many were evaluated.

        Parameters
        ----------
        orders : (n_games, n_iter, n) permutations

        Returns
        -------
        values : (n_games, n_iter, n)
        evaluations : number of distinct coalitions evaluated, over all games
        """
        n_games, n_iter, n = orders.shape
        if self.utility.mergeable and n <= _TABLE_PROVIDERS and 2**n <= n_iter * n:
            # The whole table costs less than the walks, and each coalition is solved once.
            masks = np.cumsum(np.int64(1) << orders, axis=2)
            found = np.take_along_axis(self.table()[:, None, :], masks, axis=2)
            return found, n_games * (2**n - 1)
        first = first_occurrences(orders)
        try:
            values = self.utility.evaluate_prefixes(self.summaries, orders, first)
        except CoalitionFailed as failure:
            raise self._failed(failure.coalition, failure.reason) from failure
        if not np.isfinite(values).all():
            g, t, k = np.argwhere(~np.isfinite(values))[0].tolist()
            mask = prefix_masks(orders[g, t])[k]
            raise self._failed(mask, f"the utility returned {values[g, t, k]}")
        return values, int((first == np.arange(n_iter)[None, :, None]).sum())

    def _failed(self, coalition: int, reason: str) -> EvaluationError:
        return EvaluationError(
            f"the coalition {describe(coalition, self.names)} could not be evaluated: "
            f"{one_line(reason)}"
        )
