"""Cells that are one valuation of a ready-made task: from settings to numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import shapband as sb
from shapband.datasets.task import Task
from shapband.experiments.base import Cell
from shapband.sampling.base import Sampling
from shapband.solvers.base import Solver


@cache
def task_of(name: str) -> Task:
    """Load a task once."""
    if name == "wine":
        return sb.datasets.wine()
    return sb.datasets.synthetic(seed=0)


def valued(cell: Cell) -> dict[str, Any]:
    """Value a task as the cell says."""
    task = task_of(cell["task"])
    records = cell.get("records")
    valuation = sb.value(
        task.providers,
        task.utility,
        sampling=sampling_of(cell),
        solver=solver_of(cell),
        n_games=max(cell["games"]),
        seed=cell["seed"],
        budget=None if records is None else sb.Budget(records=records),
        progress=False,
    )
    return summary(valuation, cell["games"])


def summary(valuation: sb.Valuation, games: tuple[int, ...]) -> dict[str, Any]:
    """Both moments after each of several numbers of games, and the account.

    Streams are addressed by game, so the first ten games of a valuation are, bit for bit, the
    valuation of ten games with the same seed.
    """
    played = [min(g, valuation.n_games) for g in games]
    group = valuation.moments.group
    prefixes = [sb.Moments.of(valuation.games[:g], group=group) for g in played]
    return {
        "games": played,
        "expectation": [m.expectation.tolist() for m in prefixes],
        "variance": [m.raw_variance.tolist() for m in prefixes],
        "corrected_variance": valuation.variance.tolist(),
        "solver_variance": valuation.solver_variance.tolist(),
        "draw_sizes": valuation.draw_sizes.tolist(),
        "records": valuation.access.records,
        "requests": valuation.access.requests,
        "evaluations": valuation.evaluations,
    }


def sampling_of(cell: Cell) -> Sampling:
    """Build the sampling that a cell names."""
    method: str = cell["method"]
    if method == "fresh":
        return sb.Fresh(cell["n_boot"])
    if method == "pooled":
        return sb.Pooled(cell["n_pool"], cell["n_boot"])
    if method == "stratified":
        return sb.Stratified(cell["n_pool"], cell["n_boot"], cell["alpha"])
    return sb.Blocks(cell["n_pool"], cell["n_boot"])


def solver_of(cell: Cell) -> Solver:
    """Build the solver that a cell names."""
    if cell["solver"] == "exact":
        return sb.Exact()
    kind = sb.BalancedPermutation if cell["solver"] == "balanced" else sb.Permutation
    return kind(cell["n_iter"])
