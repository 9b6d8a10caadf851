"""Table II and the second figure: the pooled method at the same games and permutations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray
from shapband.experiments import paper
from shapband.experiments.base import Results
from shapband.experiments.figures import (
    METHODS,
    METRICS,
    NAMES,
    common_legend,
    dress,
    new_figure,
    plain_ticks,
)
from shapband.experiments.findings import (
    BETTER,
    WORSE,
    Findings,
    Row,
    judge,
    percent,
    percent_range,
    scientific,
)
from shapband.experiments.grid import (
    EXACT,
    SHORT,
    TASKS,
    Grid,
    GridExperiment,
    table_rows,
)
from shapband.experiments.metrics import compare, reduction, stability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PooledGrid(GridExperiment):
    """Both metrics of bootstrap draws from one pool, beside those of fresh draws."""

    name = "pooled-grid"
    title = "Pooled method at the same games and permutations"
    where = "Table II, second figure, Section IV-C"

    methods = ("fresh", "pooled")
    better = (("pooled", EXACT), ("blocks", EXACT))

    def conclude(self, results: Results) -> Findings:
        """Set Table II and Section IV-C beside ours."""
        import pandas as pd

        grids = {m: Grid.of(results, m, self.games, self.n_iter) for m in self.methods}
        near, all_ = grids["pooled"].near_theory()
        return Findings(
            claims=[*_record_claims(results, self.games), *_claims(grids)],
            table=table_rows(grids["pooled"], "Table II", paper.POOLED),
            beyond=_beyond(grids, results),
            notes=[
                f"{self.replications} replications, each with pools of its own.",
                "The absolute numbers of Table II do not follow from the paper's text, for the "
                "reason given with Table I.",
                f"{near} of our {all_} numbers lie within three standard errors of theory, which "
                "here is B + (V + C / n_iter) / n_games with the variance B between pools.",
            ],
            data=pd.DataFrame([row for grid in grids.values() for row in grid.records()]),
            figure=draw(grids),
            caption="Points: ours, for the fewest (small) and the most (large) permutations. "
            "Lines: theory. The pooled lines bend towards the variance between pools, which no "
            "number of local games removes.",
        )


def _record_claims(results: Results, games: tuple[int, ...]) -> list[Row]:
    found = {"task": "synthetic", "solver": "permutation", "games": games}
    fresh = results.where(method="fresh", **found)[0]["records"]
    pooled = results.where(method="pooled", **found)[0]["records"]
    asked = 10 * games[-1] * 1000
    return [
        Row(
            "IV-C-3",
            f"Pooling takes fewer fresh records for {games[-1]} games of 1,000 (synthetic)",
            "2e6 to 5e4: 97.5 %",
            f"{fresh:,} to {pooled:,}: {percent(1 - pooled / fresh)}",
            f"{asked:,} to 50,000: {percent(1 - 50_000 / asked)}",
            judge(exact=fresh == asked and pooled == 50_000),
            "counted at the sources",
        )
    ]


def _claims(grids: dict[str, Grid]) -> list[Row]:
    fresh, pooled = grids["fresh"], grids["pooled"]
    ratios = {
        task: np.array(
            [
                pooled.measured[key].value / fresh.measured[key].value
                for key in pooled.measured
                if key[0] == task
            ]
        )
        for task in TASKS
    }
    lower = {task: float((r < 1).mean()) for task, r in ratios.items()}
    clear = [
        compare(reduction(fresh.measured[key], one))
        for key, one in pooled.measured.items()
        if key[0] == "synthetic"
    ]
    falls = [pooled.fall(t, m, k) for t in TASKS for m in SHORT for k in pooled.n_iter]
    return [
        Row(
            "IV-C-4",
            "Pooling keeps the convergence: both metrics fall with more games",
            "generally decrease",
            f"{percent_range(falls)} from {pooled.games[0]} to {pooled.games[-1]} games",
            "B + (V + C / n_iter) / n_games",
            judge(exact=min(falls) > 0.3),
            "in every column",
        ),
        Row(
            "IV-C-4",
            "Neither method dominates at a fixed number of games: synthetic is mixed",
            "mixed",
            f"pooled clearly lower in {clear.count(BETTER)} and clearly higher in "
            f"{clear.count(WORSE)} of {len(clear)} cells, "
            f"mean ratio {ratios['synthetic'].mean():.1f}",
            f"mean ratio {_theory_ratios(grids, 'synthetic').mean():.1f}",
            judge(exact=0 < clear.count(BETTER) < len(clear), relation=BETTER not in clear),
            "pooling does not lower it uniformly; with V as the text gives it the variance between "
            "pools outweighs V / n_games, so fresh draws win clearly",
        ),
        Row(
            "IV-C-4",
            "The baseline generally has the lower variance on wine",
            "generally lower",
            f"baseline lower in {percent(1 - lower['wine'])} of the cells, "
            f"mean ratio {ratios['wine'].mean():.1f}",
            f"mean ratio {_theory_ratios(grids, 'wine').mean():.1f}",
            judge(exact=lower["wine"] < 0.5),
            "fresh games cost records, pooled games do not: see source-budget",
        ),
        _floor_claim(pooled),
    ]


def _theory_ratios(grids: dict[str, Grid], task: str) -> FloatArray:
    keys = [key for key in grids["pooled"].measured if key[0] == task]
    return np.array([grids["pooled"].predicted(*k) / grids["fresh"].predicted(*k) for k in keys])


def _floor_claim(pooled: Grid) -> Row:
    most, many = pooled.games[-1], pooled.n_iter[-1]
    ours, theory = [], []
    for task in TASKS:
        pilot = pooled.pilots[task]
        free = ((pilot.within + pilot.permutation / many) / most).mean()
        ours.append(1 - free / pooled.measured[task, "expectation", most, many].value)
        theory.append(1 - free / pooled.predicted(task, "expectation", most, many))
    return Row(
        "IV-C-4",
        "More games cannot remove the variation between pools",
        "cannot",
        f"it makes up {percent_range(ours)} of Var(E) at {most} games",
        percent_range(theory),
        judge(exact=min(ours) > 0),
        "Eq. (20): games of one pool share its error",
    )


def _beyond(grids: dict[str, Grid], results: Results) -> list[Row]:
    rows = []
    grid = grids["pooled"]
    most, few = grid.games[-1], grid.n_iter[0]
    for task in TASKS:
        for metric in SHORT:
            base = grid.measured[task, metric, most, few]
            for method, words in (("pooled", "pooled"), ("blocks", "disjoint blocks")):
                found = results.stack(metric, task=task, method=method, solver="exact")
                one = stability(found[:, 0])
                saved = reduction(base, one)
                predicted = grid.predicted(task, metric, most, None)
                rows.append(
                    Row(
                        "beyond",
                        f"{task}, {SHORT[metric]}: {words} of the same pools, exact, {most} games",
                        "-",
                        str(one),
                        scientific(predicted) if method == "pooled" else "-",
                        compare(saved),
                        f"{saved.words} than pooled with {few} permutations",
                    )
                )
        rows.append(_bias_row(grids, results, task))
    return rows


def _bias_row(grids: dict[str, Grid], results: Results, task: str) -> Row:
    truth = grids["fresh"].pilots[task].within.mean()
    means = {
        method: results.stack("variance", task=task, method=method, solver="exact").mean() / truth
        for method in ("pooled", "blocks")
    }
    noisy = {"task": task, "method": "pooled", "solver": "permutation"}
    few = grids["pooled"].n_iter[0]
    raw = results.stack("variance", **noisy, n_iter=few)[:, -1].mean() / truth
    return Row(
        "beyond",
        f"{task}: mean estimate of the variance over that of fresh draws",
        "-",
        f"pooled with {few} permutations {raw:.2f}, pooled exact {means['pooled']:.2f}, "
        f"blocks {means['blocks']:.2f}",
        "1 for blocks of a large source",
        BETTER if abs(means["blocks"] - 1) < abs(means["pooled"] - 1) else WORSE,
        "a bootstrap repeats records and knows one pool only; disjoint blocks are as independent "
        "as fresh draws from a large source",
    )


def draw(grids: dict[str, Grid]) -> Figure:
    """One panel for each task and metric."""
    figure = new_figure(10, 7.2)
    axes = figure.subplots(2, 2, sharex=True)
    for row, metric in zip(axes, SHORT, strict=True):
        for ax, task in zip(row, TASKS, strict=True):
            _draw_panel(ax, grids, task, metric)
    common_legend(figure, axes[0, 0], columns=2)
    return figure


def _draw_panel(ax: Axes, grids: dict[str, Grid], task: str, metric: str) -> None:
    for method, grid in grids.items():
        colour, marker, line, filling = METHODS[method]
        fine = np.geomspace(grid.games[0], grid.games[-1], 40)
        for k, size, shift in ((grid.n_iter[0], 4, 0.98), (grid.n_iter[-1], 8, 1.02)):
            ax.plot(
                fine,
                [grid.predicted(task, metric, g, k) for g in fine],
                line,
                color=colour,
                linewidth=0.8 if size == 4 else 1.8,
            )
            ours = [grid.measured[task, metric, g, k] for g in grid.games]
            ax.errorbar(
                np.array(grid.games) * shift,
                [one.value for one in ours],
                yerr=[one.error for one in ours],
                fmt=marker,
                color=colour,
                markerfacecolor=filling,
                markersize=size,
                elinewidth=1,
                label=f"{NAMES[method]}, {k:,} permutations",
            )
    ax.set(xscale="log", yscale="log")
    dress(ax, task, "games" if metric == "variance" else "", METRICS[metric])
    plain_ticks(ax, next(iter(grids.values())).games)
