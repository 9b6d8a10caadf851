"""Table II and the second figure: the pooled method at the same games and permutations."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from reproduction import paper
from reproduction.claims import BETTER, WORSE, Row, evaluate
from reproduction.experiment import Findings
from reproduction.figures import draw_pooled_grid
from reproduction.frames import against, facts_of, reductions, select, stack
from reproduction.grid import EXACT, TASKS, GridExperiment, grid_rows, near_theory
from reproduction.paper import VAR_E
from reproduction.pilots import Pilot, permuted, pilot_of, table_of
from reproduction.valuations import BETTER_ESTIMATORS


@dataclass(frozen=True)
class PooledGrid(GridExperiment):
    """Both metrics of bootstrap draws from one pool, compared with fresh draws."""

    name = "pooled-grid"
    title = "Pooled method at the same games and permutations"
    where = "Table II, second figure, Section IV-C"

    methods = ("baseline", "pooled")
    better = (("pooled", EXACT), ("blocks", EXACT))

    def conclude(self, frame: pd.DataFrame) -> Findings:
        table = table_of(frame)
        pilots = {
            (task, method): pilot_of(frame, task=task, method=method)
            for task in TASKS
            for method in self.methods
        }
        grid = permuted(table)
        pooled = select(grid, method="pooled")
        few = self.n_iter[0]
        beyond = []
        for task in TASKS:
            beyond += _better(table, task, few)
            beyond += _bias(frame, task, pilots[task, "baseline"].within.mean(), few)
        return Findings(
            claims=_claims(frame, grid, pilots),
            table=grid_rows(pooled, "Table II", paper.POOLED),
            beyond=beyond,
            notes=[
                f"{self.replications} replications, each with pools of its own.",
                "The absolute numbers of Table II do not follow from the paper's text, for the "
                "reason given with Table I.",
                f"{near_theory(pooled)}, which here is B + (V + C / n_iter) / n_games with the "
                "variance B between pools.",
            ],
            data=table,
            figure=draw_pooled_grid(grid, pilots),
            caption="Points: ours, for the fewest (small) and the most (large) permutations. "
            "Lines: theory. The pooled lines bend towards the variance between pools, which no "
            "number of local games removes.",
        )


def _claims(
    frame: pd.DataFrame, grid: pd.DataFrame, pilots: dict[tuple[str, str], Pilot]
) -> list[Row]:
    fresh, pooled = (select(grid, method=method) for method in ("baseline", "pooled"))
    least, most, many = grid.n_games.min(), grid.n_games.max(), grid.n_iter.max()
    bought = select(frame, kind="valuation", task="synthetic", solver="permutation")
    n_pool, n_boot = bought.n_pool.iloc[0], bought.n_boot.iloc[0]
    asked = 10 * most * n_boot
    records = dict(bought.groupby("method").records.first())
    ends = (select(pooled, n_games=games) for games in (least, most))
    pairs = against(fresh, pooled, on=["task", "metric", "n_games", "n_iter"])
    clear = [one.verdict for one in reductions(select(pairs, task="synthetic"))]
    means = pairs.groupby("task")[["ratio", "ratio_theory"]].mean()
    last = select(pooled, metric=VAR_E, n_games=most, n_iter=many)
    # Var(E) without the variance between pools.
    free = [
        ((pilot.within + pilot.permutation / many) / most).mean()
        for pilot in (pilots[task, "pooled"] for task in last.task)
    ]
    return evaluate(
        "pooled-grid.claims",
        least=least,
        most=most,
        records=records,
        records_saved=1 - records["pooled"] / records["baseline"],
        asked=asked,
        asked_saved=1 - 10 * n_pool / asked,
        falls=against(*ends, on=["task", "metric", "n_iter"]).saved,
        lower=clear.count(BETTER),
        higher=clear.count(WORSE),
        cells=len(clear),
        ratio=dict(means.ratio),
        ratio_theory=dict(means.ratio_theory),
        baseline_wins=1 - (select(pairs, task="wine").ratio < 1).mean(),
        floor=1 - free / last.ours,
        floor_theory=1 - free / last.theory,
    )


def _better(table: pd.DataFrame, task: str, few: int) -> list[Row]:
    """Compare exact values of the same pools with pooled games of few permutations."""
    found = select(table, task=task)
    base = select(found, method="pooled", n_iter=few)
    pairs = against(base, select(found, solver="exact"), on=["metric", "n_games"])
    rows = []
    for facts in facts_of(pairs.sort_values(["metric", "method"], ascending=[True, False])):
        words = BETTER_ESTIMATORS[facts["method"]]
        rows += evaluate("pooled-grid.better", words=words, few=few, **facts)
    return rows


def _bias(frame: pd.DataFrame, task: str, truth: float, few: int) -> list[Row]:
    found = select(frame, kind="valuation", task=task, n_games=frame.n_games.max())
    pooled = select(found, method="pooled")
    return evaluate(
        "pooled-grid.bias",
        task=task,
        few=few,
        raw=stack(pooled, "variance", n_iter=few).mean() / truth,
        pooled=stack(pooled, "variance", solver="exact").mean() / truth,
        blocks=stack(found, "variance", method="blocks").mean() / truth,
    )
