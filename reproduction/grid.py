"""The base class for Tables I and II: both metrics over n_games × n_iter, on two tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from reproduction.claims import Row
from reproduction.experiment import Cell, replication_seeds
from reproduction.frames import against, select, table_rows
from reproduction.pilots import PilotedExperiment, pilot_cell

TASKS = ("synthetic", "wine")
EXACT = {"solver": "exact"}
BALANCED = {"solver": "balanced", "n_iter": 100}


@dataclass(frozen=True)
class GridExperiment(PilotedExperiment):
    """Both variance metrics over n_games × n_iter, synthetic and wine.

    A subclass sets the methods of the grid, and the better estimators to compare with.
    """

    methods: ClassVar[tuple[str, ...]]
    better: ClassVar[tuple[tuple[str, dict[str, Any]], ...]]  # method and solver

    replications: int = 20
    games: tuple[int, ...] = (10, 20, 50, 100, 150, 200)
    n_iter: tuple[int, ...] = (100, 200, 500, 1000)
    pilot_pools: int = 40
    # Section IV-C: records of a provider in a pool and in a game, in the order of TASKS.
    n_pool: tuple[int, int] = (5000, 250)
    n_boot: tuple[int, int] = (1000, 60)

    def cells(self, seed: int) -> list[Cell]:
        """The pilots, the grids, and the better estimators at the most games."""
        permuted = [{"solver": "permutation", "n_iter": k} for k in self.n_iter]
        tried = [
            *((method, solver, self.games) for method in self.methods for solver in permuted),
            *((method, solver, self.games[-1:]) for method, solver in self.better),
        ]
        return [
            *(
                pilot_cell(seed, self.pilot_pools, 50, self._settings_of(task, method))
                for method in self.methods
                for task in TASKS
            ),
            *(
                {"kind": "valuation", "games": games, "seed": one, **solver}
                | self._settings_of(task, method)
                for method, solver, games in tried
                for task in TASKS
                for one in replication_seeds(seed, self.replications)
            ),
        ]

    def _settings_of(self, task: str, method: str) -> dict[str, Any]:
        """Settings that name a method on a task."""
        sizes = dict(zip(TASKS, zip(self.n_pool, self.n_boot, strict=True), strict=True))
        n_pool, n_boot = sizes[task]
        return {"task": task, "method": method, "n_pool": n_pool, "n_boot": n_boot}


def near_theory(grid: pd.DataFrame) -> str:
    """Return as text how many numbers are within three standard errors of theory."""
    near = (grid.ours - grid.theory).abs() <= 3 * grid.error
    return f"{near.sum()} of our {len(near)} numbers lie within three standard errors of theory"


def grid_rows(grid: pd.DataFrame, where: str, printed: pd.DataFrame) -> list[Row]:
    """Compare every number of Table I or II with ours."""
    pairs = against(select(grid, n_games=10), grid, on=["task", "metric", "n_iter"])
    pairs = printed.merge(pairs, on=["task", "metric", "n_games", "n_iter"])
    what = "{task}, {metric}, {n_games} games of {n_iter} permutations"
    return table_rows(where, what, pairs, same="it falls from 10 games as ours does")
