"""What the two grids share: cells, metrics and rows over n_games × n_iter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shapband.experiments import paper
from shapband.experiments.base import Cell, Experiment, Results, replication_seeds
from shapband.experiments.findings import DOES_NOT, HOLDS, IN_RELATION, Row, scientific
from shapband.experiments.metrics import (
    Measured,
    paper_agrees,
    paper_ratio_agrees,
    stability,
)
from shapband.experiments.theory import Pilot, pilot_cell, run_pilot
from shapband.experiments.valuations import valued

TASKS = ("synthetic", "wine")
METRICS = ("expectation", "variance")
SHORT = {"expectation": "Var(E)", "variance": "Var(Var)"}
GAMES = (10, 20, 50, 100, 150, 200)
# Section IV-C: records a provider gives to a pool and to a game.
SIZES = {"synthetic": {"n_pool": 5000, "n_boot": 1000}, "wine": {"n_pool": 250, "n_boot": 60}}
EXACT = {"solver": "exact"}
BALANCED = {"solver": "balanced", "n_iter": 100}


def settings_of(task: str, method: str) -> dict[str, Any]:
    """Settings that name a method on a task."""
    sizes = SIZES[task]
    if method == "fresh":
        return {"task": task, "method": method, "n_boot": sizes["n_boot"]}
    return {"task": task, "method": method, **sizes}


def valuation_cells(
    seeds: Sequence[int], method: str, solver: dict[str, Any], games: tuple[int, ...]
) -> list[Cell]:
    """One cell for each task and replication: all n_games are prefixes of one run."""
    return [
        Cell.of(
            work=games[-1] * (300 + solver.get("n_iter", 0)) / 100_000,
            kind="valuation",
            games=games,
            seed=one,
            **solver,
            **settings_of(task, method),
        )
        for task in TASKS
        for one in seeds
    ]


@dataclass(frozen=True)
class GridExperiment(Experiment):
    """Both variance metrics over n_games × n_iter, synthetic and wine.

    A subclass says which methods fill the grid, and which better estimators stand beside it.
    """

    methods: ClassVar[tuple[str, ...]]
    better: ClassVar[tuple[tuple[str, dict[str, Any]], ...]]  # method and solver

    replications: int = 20
    games: tuple[int, ...] = GAMES
    n_iter: tuple[int, ...] = paper.N_ITER
    pilot_pools: int = 40

    def cells(self, seed: int) -> Sequence[Cell]:
        """The pilots, the grids, and the better estimators at the most games."""
        cells = [
            pilot_cell(seed, self.pilot_pools, 50, settings_of(task, method))
            for method in self.methods
            for task in TASKS
        ]
        seeds = replication_seeds(seed, self.replications)
        for method in self.methods:
            for k in self.n_iter:
                solver = {"solver": "permutation", "n_iter": k}
                cells += valuation_cells(seeds, method, solver, self.games)
        for method, solver in self.better:
            cells += valuation_cells(seeds, method, solver, self.games[-1:])
        return cells

    def measure(self, cell: Cell) -> dict[str, Any]:
        """Value the task, or run its pilot."""
        return run_pilot(cell) if cell["kind"] == "pilot" else valued(cell)


@dataclass(frozen=True, eq=False)
class Grid:
    """Both metrics of one method over the grid, with what theory predicts."""

    method: str
    games: tuple[int, ...]
    n_iter: tuple[int, ...]
    replications: int
    measured: dict[tuple[str, str, int, int], Measured]  # task, metric, n_games, n_iter
    pilots: dict[str, Pilot]

    @staticmethod
    def of(results: Results, method: str, games: tuple[int, ...], n_iter: tuple[int, ...]) -> Grid:
        """Work out the metrics."""
        measured = {}
        for task in TASKS:
            for k in n_iter:
                found = {"task": task, "method": method, "solver": "permutation", "n_iter": k}
                for metric in METRICS:
                    estimates = results.stack(metric, **found, games=games)  # (R, n_prefixes, n)
                    for j, g in enumerate(games):
                        measured[task, metric, g, k] = stability(estimates[:, j])
        pilots = {
            task: Pilot.of(results.one(kind="pilot", task=task, method=method)) for task in TASKS
        }
        return Grid(method, games, n_iter, len(estimates), measured, pilots)

    def predicted(self, task: str, metric: str, games: int, n_iter: int | None) -> float:
        """What theory says."""
        pilot = self.pilots[task]
        if metric == "expectation":
            return pilot.variance_of_expectation(games, n_iter)
        return pilot.variance_of_variance(games, n_iter)

    def values(self, task: str, metric: str, n_iter: int) -> np.ndarray[Any, Any]:
        """The measured metric over n_games."""
        return np.array([self.measured[task, metric, g, n_iter].value for g in self.games])

    def fall(self, task: str, metric: str, n_iter: int) -> float:
        """How much the metric falls from the fewest to the most games."""
        column = self.values(task, metric, n_iter)
        return float(1 - column[-1] / column[0])

    def gain(self, task: str, metric: str, games: int) -> float:
        """How much the metric falls from the fewest to the most permutations."""
        few, many = (self.measured[task, metric, games, self.n_iter[j]] for j in (0, -1))
        return 1 - many.value / few.value

    def theory_gain(self, task: str, metric: str, games: int) -> float:
        """What theory says of the same."""
        few, many = (self.predicted(task, metric, games, self.n_iter[j]) for j in (0, -1))
        return 1 - many / few

    def near_theory(self, errors: float = 3.0) -> tuple[int, int]:
        """How many of the measured numbers lie within some errors of theory."""
        near = [one.is_near(self.predicted(*key), errors) for key, one in self.measured.items()]
        return sum(near), len(near)

    def records(self) -> list[dict[str, Any]]:
        """Tidy rows for the data file."""
        return [
            {
                "task": task,
                "method": self.method,
                "metric": SHORT[metric],
                "n_games": g,
                "n_iter": k,
                "ours": one.value,
                "error": one.error,
                "theory": self.predicted(task, metric, g, k),
            }
            for (task, metric, g, k), one in self.measured.items()
        ]


def table_rows(grid: Grid, where: str, printed: paper._Table) -> list[Row]:
    """Set every printed number beside ours."""
    return [
        _table_row(grid, where, task, metric, g, k, printed)
        for (task, metric), by_games in printed.items()
        for g in by_games
        for k in grid.n_iter
        if g in grid.games
    ]


def _table_row(
    grid: Grid, where: str, task: str, metric: str, g: int, k: int, printed: paper._Table
) -> Row:
    column = paper.N_ITER.index(k)
    theirs, first = printed[task, metric][g][column], printed[task, metric][10][column]
    ours, anchor = grid.measured[task, metric, g, k], grid.measured[task, metric, 10, k]
    times = f"{theirs / ours.value:.2g} × ours"
    if paper_agrees(theirs, ours, grid.replications):
        verdict, reason = HOLDS, f"{times}: within the scatter of five replications"
    elif g > 10 and paper_ratio_agrees((theirs, first), (ours, anchor), grid.replications):
        verdict, reason = IN_RELATION, f"{times}, but it falls from 10 games as ours does"
    else:
        verdict, reason = DOES_NOT, f"{times}, beyond the scatter of five replications"
    return Row(
        where=where,
        what=f"{task}, {SHORT[metric]}, {g} games of {k} permutations",
        paper=scientific(theirs),
        ours=str(ours),
        theory=scientific(grid.predicted(task, metric, g, k)),
        verdict=verdict,
        reason=reason,
    )
