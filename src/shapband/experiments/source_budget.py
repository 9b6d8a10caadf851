"""Table III and the third figure: what a budget of source records buys on wine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband.experiments import paper
from shapband.experiments.base import Cell, Experiment, Results, replication_seeds
from shapband.experiments.figures import (
    METHODS,
    NAMES,
    TEXT,
    common_legend,
    dress,
    new_figure,
    plain_ticks,
)
from shapband.experiments.findings import Findings
from shapband.experiments.grid import SHORT
from shapband.experiments.metrics import Reduction
from shapband.experiments.source_budget_numbers import (
    BUDGETS,
    LOCAL,
    METHOD_SETTINGS,
    POOL,
    Found,
)
from shapband.experiments.source_budget_rows import beyond_rows, claims, table_row
from shapband.experiments.theory import pilot_cell, run_pilot
from shapband.experiments.valuations import valued

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class SourceBudget(Experiment):
    """Fresh games that a budget pays for, against local games from one set of pools."""

    name = "source-budget"
    title = "Variance under a budget of source records"
    where = "Table III, third figure, Section IV-E"

    replications: int = 20
    games: tuple[int, ...] = (10, 20, 50, 100, 200)
    n_iter: tuple[int, ...] = (100, 1000)
    budgets: tuple[int, ...] = BUDGETS
    pilot_pools: int = 60

    def cells(self, seed: int) -> Sequence[Cell]:
        """Every method at both n_iter, the pilots, and the pools used with better estimators."""
        seeds = replication_seeds(seed, self.replications)
        permuted = [{"kind": "valuation", "solver": "permutation", "n_iter": k, "seed": one}
                    for k in self.n_iter for one in seeds]  # fmt: skip
        fresh = [
            Cell.of(work=budget / 60_000, games=(1_000,), records=budget, **settings,
                    **METHOD_SETTINGS["fresh"])
            for settings in permuted
            for budget in self.budgets
        ]  # fmt: skip
        local = [
            Cell.of(work=1.5, games=self.games, **settings, **METHOD_SETTINGS[method])
            for settings in permuted
            for method in LOCAL
        ]
        exact = [
            Cell.of(work=0.3, kind="valuation", solver="exact", games=self.games, seed=one,
                    method=method, **POOL)
            for method in ("pooled", "blocks")
            for one in seeds
        ]  # fmt: skip
        pilots = [pilot_cell(seed, self.pilot_pools, 50, s) for s in METHOD_SETTINGS.values()]
        return [*pilots, *fresh, *local, *exact]

    def measure(self, cell: Cell) -> dict[str, Any]:
        """Value wine, or run a pilot."""
        return run_pilot(cell) if cell["kind"] == "pilot" else valued(cell)

    def conclude(self, results: Results) -> Findings:
        """Set Table III and Section IV-E beside ours."""
        import pandas as pd

        found = Found.of(results, self.games, self.n_iter, self.budgets)
        return Findings(
            claims=claims(found, results),
            table=[table_row(found, *key) for key in paper.SOURCE_BUDGET if key in found.measured],
            beyond=beyond_rows(found, results),
            notes=[
                f"{self.replications} replications; the paper has five.",
                "The budget of the pooled methods stays at 2,477 records in the lower panels: "
                "pools of 250 take nearly all that the providers have.",
                "The stratified method changes the draw sizes, so it estimates the moments of "
                "another game; its stability is compared, not its values.",
            ],
            data=pd.DataFrame(found.records()),
            figure=draw(found),
            caption="Variance of a pooled method over that of the baseline; below 1 pooling wins. "
            "Above: more local games under 2,500 records. Below: a larger budget for the "
            "baseline. Crosses are the paper's.",
        )  # fmt: skip


def draw(found: Found) -> Figure:
    """Ratios to the baseline: over local games above, over budgets below."""
    figure = new_figure(10, 7.4)
    axes = figure.subplots(2, 2, sharey="col")
    for column, metric in enumerate(SHORT):
        _draw_games(axes[0, column], found, metric)
        _draw_budgets(axes[1, column], found, metric)
    common_legend(figure, axes[0, 0], columns=3)
    return figure


def _draw_games(ax: Axes, found: Found, metric: str) -> None:
    for k, method, width in _lines(found):
        ratios = [found.saved(metric, k, method, g, BUDGETS[0]) for g in found.games]
        _draw_line(ax, found.games, ratios, method, width, f"{NAMES[method]}, {k:,}")
    for method, cross in (("pooled", "x"), ("stratified", "+")):
        printed = paper.SOURCE_BUDGET
        points = [
            (g, printed[metric, k, method, g] / printed[metric, k, "fresh", 4])
            for k in (100, 1000)
            for g in (50, 200)
        ]
        x, y = zip(*points, strict=True)
        ax.plot(x, y, cross, color="black", markersize=8, zorder=5, label=f"paper, {method}")
    _frame(ax, found.games, SHORT[metric], "local games, 2,500 records")


def _draw_budgets(ax: Axes, found: Found, metric: str) -> None:
    games = found.games[-1]
    for k, method, width in _lines(found):
        ratios = [found.saved(metric, k, method, games, b) for b in found.budgets]
        _draw_line(ax, found.budgets, ratios, method, width, "")
    words = f"records the baseline may take; {games} local games from 2,477"
    _frame(ax, found.budgets, SHORT[metric], words)


def _lines(found: Found) -> list[tuple[int, str, float]]:
    widths = np.linspace(0.9, 2.0, len(found.n_iter))
    return [(k, m, float(w)) for k, w in zip(found.n_iter, widths, strict=True) for m in LOCAL]


def _draw_line(
    ax: Axes,
    x: tuple[int, ...],
    saved: list[Reduction],
    method: str,
    width: float,
    label: str,
) -> None:
    colour, marker, line, filling = METHODS[method]
    ax.errorbar(
        x,
        [1 - one.value for one in saved],
        yerr=[one.error for one in saved],
        fmt=marker + line,
        color=colour,
        markerfacecolor=filling,
        markersize=4 + 2 * width,
        linewidth=width,
        elinewidth=0.8,
        label=f"{label} permutations" if label else None,
    )


def _frame(ax: Axes, places: tuple[int, ...], title: str, x_label: str) -> None:
    ax.axhline(1, color=TEXT, linewidth=1)
    ax.annotate("as good as the baseline", (places[0], 1), xytext=(0, 3),
                textcoords="offset points", fontsize="small", color=TEXT)  # fmt: skip
    ax.set(xscale="log", yscale="log")
    dress(ax, title, x_label, "part of the baseline's")
    plain_ticks(ax, places)
