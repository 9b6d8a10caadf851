"""Table I and the first figure: the effect of games and permutations on the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reproduction import paper
from reproduction.claims import Row, evaluate, percent, scientific
from reproduction.experiment import Findings
from reproduction.figures import draw_baseline_grid
from reproduction.frames import against, facts_of, measured, reductions, select, stack
from reproduction.grid import BALANCED, EXACT, TASKS, GridExperiment, grid_rows, near_theory
from reproduction.metrics import Measured, Reduction, reduction, slope
from reproduction.paper import VAR_E, VAR_VAR
from reproduction.pilots import Pilot, permuted, pilot_of, table_of
from reproduction.valuations import METRICS


@dataclass(frozen=True)
class BaselineGrid(GridExperiment):
    """Both variance metrics of fresh draws over n_games × n_iter, synthetic and wine."""

    name = "baseline-grid"
    title = "Games and permutations, baseline"
    where = "Table I, first figure, Section IV-B"

    methods = ("baseline",)
    better = (("baseline", EXACT), ("baseline", BALANCED), ("blocks", EXACT))

    def conclude(self, frame: pd.DataFrame) -> Findings:
        table = table_of(frame)
        grid = permuted(table)
        fresh = {task: pilot_of(frame, task=task) for task in TASKS}
        return Findings(
            claims=_claims(grid, fresh),
            table=grid_rows(grid, "Table I", paper.BASELINE),
            beyond=[row for task in TASKS for row in _beyond(frame, table, task, fresh[task])],
            notes=[
                f"{self.replications} replications; the paper does not say how many it has here, "
                "and five elsewhere. The numbers of one column come from the first 10, 20, ... "
                "games of the same valuations.",
                "The absolute numbers of Table I do not follow from the paper's text: fitted to "
                "(V + C / n_iter) / n_games they imply other V and C than its utilities have. "
                + "; ".join(_fit_in_words(task, pilot) for task, pilot in fresh.items())
                + ".",
                f"{near_theory(grid)}.",
            ],
            data=table,
            figure=draw_baseline_grid(grid, fresh),
            caption="Points: ours. Lines: theory from a pilot with other seeds. "
            "Crosses: the paper's numbers for the fewest and the most permutations.",
        )


def _claims(grid: pd.DataFrame, pilots: dict[str, Pilot]) -> list[Row]:
    games, n_iter = sorted(set(grid.n_games)), sorted(set(grid.n_iter))
    few, most = n_iter[0], games[-1]
    of_games = (select(grid, n_games=g) for g in (games[0], most))
    of_iter = (select(grid, n_iter=k) for k in (few, n_iter[-1]))
    more_games = against(*of_games, on=["task", "metric", "n_iter"])
    more_iter = against(*of_iter, on=["task", "metric", "n_games"])
    falls = select(more_games, metric=VAR_E, n_iter=few)
    second = select(more_games, metric=VAR_VAR)
    means = more_iter.groupby(["metric", "task"]).saved.mean()
    last = select(more_iter, n_games=most).set_index(["metric", "task"])
    ends = {task: reductions(select(more_iter, metric=VAR_E, task=task)) for task in TASKS}
    columns = select(grid, metric=VAR_E).groupby(["task", "n_iter"])
    fits = {task: fitted(task) for task in TASKS}
    return evaluate(
        "baseline-grid.claims",
        few=few,
        falls=dict(zip(falls.task, falls.saved, strict=True)),
        fall_theory=1 - games[0] / most,
        slopes=[slope(column.n_games, column.ours) for _, column in columns],
        factors=1 / second.ratio,
        factors_theory=1 / second.ratio_theory,
        shares=[pilot.data_share(few) for pilot in pilots.values()],
        paper_shares={task: v / (v + c / few) for task, (v, c) in fits.items()},
        gains={metric: dict(means[metric]) for metric in METRICS},
        gains_theory={metric: dict(last.saved_theory[metric]) for metric in METRICS},
        ends=", ".join(f"{gains[0]} then {gains[-1]} {task}" for task, gains in ends.items()),
        gains_grow=all(_clearly_larger(gains[0], gains[-1]) for gains in ends.values()),
        gains_beside=_beside(last.saved),
        gains_beside_theory=_beside(last.saved_theory),
        more_permutations=means[VAR_VAR],
        more_games=[
            1 - pilot.predict(VAR_VAR, most, 100) / pilot.predict(VAR_VAR, most // 10, 100)
            for pilot in pilots.values()
        ],
    )


def _clearly_larger(first: Reduction, second: Reduction) -> bool:
    return bool(second.value - first.value > 2 * np.hypot(first.error, second.error))


def _beside(gains: Any) -> str:
    return ", ".join(
        f"{percent(gains[VAR_VAR, task])} against {percent(gains[VAR_E, task])} {task}"
        for task in TASKS
    )


def fitted(task: str) -> tuple[float, float]:
    """V and C that the paper's column of Var(E) implies, by relative least squares."""
    printed = select(paper.BASELINE, task=task, metric=VAR_E)
    of_one_game = printed.theirs * printed.n_games
    design = np.stack([1 / of_one_game, 1 / printed.n_iter / of_one_game], axis=1)
    v, c = np.linalg.lstsq(design, np.ones(len(printed)))[0]
    return float(v), float(c)


def _fit_in_words(task: str, pilot: Pilot) -> str:
    v, c = fitted(task)
    ours = f"{scientific(pilot.within.mean())} and {pilot.permutation.mean():.3f}"
    return f"{task}: V {scientific(v)} and C {c:.3f} by its table, {ours} by our pilot"


def _beyond(frame: pd.DataFrame, table: pd.DataFrame, task: str, pilot: Pilot) -> list[Row]:
    """Results of exact values, balanced permutations and disjoint blocks on a task."""
    few = int(table.n_iter.min())
    fresh = select(table, task=task, method="baseline")
    permuted_games = select(fresh, solver="permutation", n_iter=few)
    pairs = against(permuted_games, select(fresh, solver="exact"), on=["metric", "n_games"])
    rows = []
    for facts in facts_of(pairs):
        rows += evaluate("baseline-grid.exact", few=few, **facts)
    return [*rows, *_bias(frame, task, pilot, few), *_blocks(frame, table, task, pilot)]


def _bias(frame: pd.DataFrame, task: str, pilot: Pilot, few: int) -> list[Row]:
    truth = pilot.within.mean()
    fresh = select(frame, kind="valuation", task=task, method="baseline")
    fresh = select(fresh, n_games=fresh.n_games.max())
    balanced = select(fresh, solver="balanced")
    return evaluate(
        "baseline-grid.bias",
        task=task,
        few=few,
        raw=stack(fresh, "variance", solver="permutation", n_iter=few).mean() / truth,
        balanced=stack(balanced, "variance").mean() / truth,
        corrected=stack(balanced, "corrected_variance").mean() / truth,
        theory=1 + pilot.permutation.mean() / few / truth,
    )


def _blocks(frame: pd.DataFrame, table: pd.DataFrame, task: str, pilot: Pilot) -> list[Row]:
    bought = select(frame, kind="valuation", task=task, method="blocks").iloc[0]
    affordable = bought.records // (10 * bought.n_boot)
    theory = pilot.predict(VAR_E, affordable, None)
    blocks = measured(table, task=task, method="blocks", metric=VAR_E)
    return evaluate(
        "baseline-grid.blocks",
        task=task,
        records=bought.records,
        most=bought.n_games,
        blocks=blocks,
        theory=theory,
        affordable=affordable,
        saved=reduction(Measured(theory, 0.0), blocks),
    )
