"""Cells that are one valuation of a ready-made task, and the table of metrics over them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pandas as pd

import shapband as sb
from reproduction.experiment import Cell, Record
from reproduction.frames import stack
from reproduction.metrics import stability
from reproduction.paper import VAR_E, VAR_VAR

# The estimate whose variance across replications is the metric.
METRICS = {VAR_E: "expectation", VAR_VAR: "variance"}
BETTER_ESTIMATORS = {"pooled": "pooled", "blocks": "disjoint blocks"}  # with exact values
_SETTINGS = ["task", "method", "n_pool", "n_boot", "alpha", "budget", "solver", "n_iter", "n_games"]
Sampling = sb.Fresh | sb.Pooled | sb.Stratified


@cache
def task_of(name: str) -> sb.datasets.Task:
    """Load a task once."""
    if name == "synthetic":
        return sb.datasets.synthetic(seed=0)
    return sb.datasets.wine() if name == "wine" else sb.datasets.digits()


def sampling_of(cell: Cell) -> Sampling:
    """Build the sampling that a cell names."""
    n_pool, n_boot = cell["n_pool"], cell["n_boot"]
    if cell["method"] == "baseline":
        return sb.Fresh(n_boot)
    if cell["method"] == "stratified":
        return sb.Stratified(n_pool, n_boot, cell["alpha"])
    return sb.Pooled(n_pool, n_boot, replace=cell["method"] == "pooled")


def solver_of(cell: Cell) -> sb.Exact | sb.Permutation | sb.BalancedPermutation:
    """Build the solver that a cell names."""
    if cell["solver"] == "exact":
        return sb.Exact()
    return (sb.BalancedPermutation if cell["solver"] == "balanced" else sb.Permutation)(
        cell["n_iter"]
    )


def valued(
    cell: Cell, providers: Sequence[sb.Provider] | None = None, n_jobs: int = 1
) -> list[Record]:
    """Value a task as the cell says: one record for each number of games.

    Every game has its own random stream, so the first ten games of a valuation are identical to
    a valuation of ten games with the same seed.
    """
    task = task_of(cell["task"])
    budget = cell.get("budget")
    valuation = sb.value(
        task.providers if providers is None else providers,
        task.utility,
        sampling=sampling_of(cell),
        solver=solver_of(cell),
        n_games=max(cell["games"]),
        seed=cell["seed"],
        n_jobs=n_jobs,
        budget=None if budget is None else sb.Budget(records=budget),
        progress=False,
    )
    whole = {
        "corrected_variance": valuation.variance.tolist(),  # of all games
        "draw_sizes": valuation.draw_sizes.tolist(),
        "records": valuation.access.records,
    }
    played = [min(games, valuation.n_games) for games in cell["games"]]
    shuffle = valuation.design.per_shuffle
    prefixes = [sb.Estimate.of(valuation.games[:games], per_shuffle=shuffle) for games in played]
    return [
        {
            "n_games": games,
            "expectation": estimate.expectation.tolist(),
            "variance": estimate.raw_variance.tolist(),
            **whole,
        }
        for games, estimate in zip(played, prefixes, strict=True)
    ]


def metrics_table(valuations: pd.DataFrame) -> pd.DataFrame:
    """Both metrics of every group of replications: its settings, `metric`, `ours`, `error`."""
    settings = [name for name in _SETTINGS if name in valuations]
    rows = []
    for key, group in valuations.groupby(settings, dropna=False):
        for metric, estimate in METRICS.items():
            one = stability(stack(group, estimate))
            named = dict(zip(settings, key, strict=True))
            measured = {"metric": metric, "ours": one.value, "error": one.error}
            rows.append({**named, **measured, "replications": len(group)})
    return pd.DataFrame(rows)
