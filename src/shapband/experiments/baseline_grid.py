"""Table I and the first figure: what games and permutations do for the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapband.experiments import paper
from shapband.experiments.base import Results
from shapband.experiments.figures import (
    HAIRLINE,
    METRICS,
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
    BALANCED,
    EXACT,
    SHORT,
    SIZES,
    TASKS,
    Grid,
    GridExperiment,
    table_rows,
)
from shapband.experiments.metrics import Measured, compare, reduction, slope, stability

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Line, marker and grey of each n_iter, from few permutations to many.
_STYLES = (
    ("-", "o", "#9db7d5"),
    ("--", "s", "#5f8fc4"),
    ("-.", "D", "#2a5d96"),
    (":", "^", "#0c2747"),
)


@dataclass(frozen=True)
class BaselineGrid(GridExperiment):
    """Both variance metrics of fresh draws over n_games × n_iter, synthetic and wine."""

    name = "baseline-grid"
    title = "Games and permutations, baseline"
    where = "Table I, first figure, Section IV-B"

    methods = ("fresh",)
    better = (("fresh", EXACT), ("fresh", BALANCED), ("blocks", EXACT))

    def conclude(self, results: Results) -> Findings:
        """Set Table I and Section IV-B beside ours."""
        import pandas as pd

        grid = Grid.of(results, "fresh", self.games, self.n_iter)
        near, all_ = grid.near_theory()
        return Findings(
            claims=_claims(grid),
            table=table_rows(grid, "Table I", paper.BASELINE),
            beyond=_beyond(grid, results),
            notes=[
                f"{grid.replications} replications; the paper does not say how many it has here, "
                "and five elsewhere. The numbers of one column come from the first 10, 20, ... "
                "games of the same valuations.",
                "The absolute numbers of Table I do not follow from the paper's text: fitted to "
                "(V + C / n_iter) / n_games they imply other V and C than its utilities have. "
                + "; ".join(_fit_in_words(grid, task) for task in TASKS)
                + ".",
                f"{near} of our {all_} numbers lie within three standard errors of theory.",
            ],
            data=pd.DataFrame(grid.records()),
            figure=draw(grid),
            caption="Points: ours. Lines: theory from a pilot with other seeds. "
            "Crosses: the paper's numbers for the fewest and the most permutations.",
        )


def _claims(grid: Grid) -> list[Row]:
    few, most = grid.n_iter[0], grid.games[-1]
    ratio = grid.games[0] / grid.games[-1]
    falls = {task: grid.fall(task, "expectation", few) for task in TASKS}
    slopes = [
        slope(np.array(grid.games, dtype=float), grid.values(task, "expectation", k))
        for task in TASKS
        for k in grid.n_iter
    ]
    second = [1 / (1 - grid.fall(task, "variance", k)) for task in TASKS for k in grid.n_iter]
    shares = [grid.pilots[task].data_share(few) for task in TASKS]
    return [
        Row(
            "IV-B-1",
            "More games lower Var(E): from 10 to 200 games at 100 permutations",
            "94.9 % synthetic, 93.9 % wine",
            ", ".join(f"{percent(falls[task])} {task}" for task in TASKS),
            percent(1 - ratio),
            judge(exact=all(abs(f - (1 - ratio)) < 0.04 for f in falls.values())),
            "a mean of independent games",
        ),
        Row(
            "IV-B-1",
            "Var(E) falls about as 1 / n_games in all settings",
            "about -1",
            f"slopes {min(slopes):.2f} to {max(slopes):.2f}",
            "-1",
            judge(exact=max(abs(s + 1) for s in slopes) < 0.25),
            "slope of the logarithms",
        ),
        Row(
            "IV-B-1",
            "Var(Var) falls by about one order of magnitude over the same range",
            "about 10 ×",
            f"{min(second):.0f} to {max(second):.0f} ×",
            _theory_factors(grid),
            judge(exact=min(second) > 8),
            "at least as fast as 1 / n_games, a little faster by Eq. (11)",
        ),
        Row(
            "IV-B-1",
            f"Sampling uncertainty is the dominant source of variance (at {few} permutations)",
            "dominant",
            "data make up " + percent_range(shares),
            "V / (V + C / n_iter)",
            judge(exact=min(shares) > 0.5),
            "for our utilities; the paper's own columns imply "
            + ", ".join(f"{percent(_fitted_share(task, few))} {task}" for task in TASKS),
        ),
        _gain_claim(grid, "expectation", (0.4, 0.9), "40 to 90 %"),
        _gain_claim(grid, "variance", (0.7, 0.99), "70 to 99 %"),
        _growing_gain_claim(grid),
        Row(
            "IV-B-2",
            "More permutations help Var(Var) more than Var(E)",
            "stronger",
            ", ".join(
                f"{percent(grid.gain(task, 'variance', most))} against "
                f"{percent(grid.gain(task, 'expectation', most))} {task}"
                for task in TASKS
            ),
            ", ".join(
                f"{percent(grid.theory_gain(task, 'variance', most))} against "
                f"{percent(grid.theory_gain(task, 'expectation', most))} {task}"
                for task in TASKS
            ),
            judge(
                exact=all(_mean_gain(grid, t, "variance") > _mean_gain(grid, t, "expectation")
                          for t in TASKS)
            ),
            "noise enters Var(Var) squared",
        ),
        _summary_claim(grid),
    ]  # fmt: skip


def fitted(task: str) -> tuple[float, float]:
    """V and C that the paper's column of Var(E) implies, by relative least squares."""
    printed = paper.BASELINE[task, "expectation"]
    numbers = np.array([np.array(row) * games for games, row in printed.items()])
    per_iter = 1 / np.broadcast_to(np.array(paper.N_ITER, dtype=float), numbers.shape)
    design = np.stack([np.ones_like(numbers), per_iter], axis=-1) / numbers[..., None]
    solution = np.linalg.lstsq(design.reshape(-1, 2), np.ones(numbers.size))[0]
    return float(solution[0]), float(solution[1])


def _fitted_share(task: str, n_iter: int) -> float:
    v, c = fitted(task)
    return v / (v + c / n_iter)


def _fit_in_words(grid: Grid, task: str) -> str:
    v, c = fitted(task)
    pilot = grid.pilots[task]
    ours = f"{scientific(pilot.within.mean())} and {pilot.permutation.mean():.3f}"
    return f"{task}: V {scientific(v)} and C {c:.3f} by its table, {ours} by our pilot"


def _theory_factors(grid: Grid) -> str:
    low, high = grid.games[0], grid.games[-1]
    factors = [
        grid.predicted(task, "variance", low, k) / grid.predicted(task, "variance", high, k)
        for task in TASKS
        for k in grid.n_iter
    ]
    return f"{min(factors):.0f} to {max(factors):.0f} ×"


def _mean_gain(grid: Grid, task: str, metric: str) -> float:
    return float(np.mean([grid.gain(task, metric, g) for g in grid.games]))


def _gain_claim(grid: Grid, metric: str, bounds: tuple[float, float], words: str) -> Row:
    means = [_mean_gain(grid, task, metric) for task in TASKS]
    theory = [grid.theory_gain(task, metric, grid.games[-1]) for task in TASKS]
    return Row(
        "IV-B-2",
        f"Ten times the permutations lower {SHORT[metric]} by {words}",
        words,
        ", ".join(f"{percent(m)} {task}" for m, task in zip(means, TASKS, strict=True)),
        ", ".join(f"{percent(m)} {task}" for m, task in zip(theory, TASKS, strict=True)),
        judge(exact=all(bounds[0] <= m <= bounds[1] for m in means), relation=min(means) > 0),
        "they do lower it; how much depends on C / V, which the text does not reproduce",
    )


def _growing_gain_claim(grid: Grid) -> Row:
    ends = {
        task: [
            reduction(*(grid.measured[task, "expectation", g, grid.n_iter[e]] for e in (0, -1)))
            for g in (grid.games[0], grid.games[-1])
        ]
        for task in TASKS
    }
    grows = [b.value - a.value > 2 * np.hypot(a.error, b.error) for a, b in ends.values()]
    return Row(
        "IV-B-2",
        "These gains in Var(E) are larger at more games",
        "larger",
        ", ".join(f"{a} then {b} {task}" for task, (a, b) in ends.items()),
        "the same at any number of games",
        judge(exact=all(grows)),
        "1 - (V + C/1000) / (V + C/100) has no n_games in it; differences are scatter",
    )


def _summary_claim(grid: Grid) -> Row:
    most = grid.games[-1]
    more_games = [1 - grid.predicted(t, "variance", most, 100) /
                  grid.predicted(t, "variance", most // 10, 100) for t in TASKS]  # fmt: skip
    more_iter = [_mean_gain(grid, task, "variance") for task in TASKS]
    return Row(
        "IV-B-3",
        "Permutations are the more effective means to stabilise the variance",
        "n_iter over n_games",
        f"ten times the permutations: {percent_range(more_iter)} lower",
        f"ten times the games: {percent_range(more_games)} lower",
        judge(exact=min(more_iter) > max(more_games)),
        "games help both metrics by 1 / n_games; permutations only remove solver noise",
    )


def _beyond(grid: Grid, results: Results) -> list[Row]:
    rows = []
    for task in TASKS:
        rows += [_exact_row(grid, results, task, metric) for metric in SHORT]
        rows += [_bias_row(grid, results, task), _blocks_row(grid, results, task)]
    return rows


def _exact_row(grid: Grid, results: Results, task: str, metric: str) -> Row:
    most, few = grid.games[-1], grid.n_iter[0]
    one = stability(results.stack(metric, task=task, method="fresh", solver="exact")[:, 0])
    saved = reduction(grid.measured[task, metric, most, few], one)
    return Row(
        "beyond",
        f"{task}, {SHORT[metric]}: exact values in place of {few} permutations, {most} games",
        "-",
        str(one),
        scientific(grid.predicted(task, metric, most, None)),
        compare(saved),
        f"{saved.words}, for 1,023 evaluations a game; {few} permutations take up to 1,000",
    )


def _bias_row(grid: Grid, results: Results, task: str) -> Row:
    few = grid.n_iter[0]
    truth = grid.pilots[task].within.mean()
    plain = {"task": task, "method": "fresh", "solver": "permutation", "n_iter": few}
    balanced = {"task": task, "method": "fresh", "solver": "balanced"}
    raw = results.stack("variance", **plain, games=grid.games)[:, -1].mean() / truth
    balanced_raw = results.stack("variance", **balanced).mean() / truth
    corrected = results.stack("corrected_variance", **balanced).mean() / truth
    return Row(
        "beyond",
        f"{task}: mean estimate of the variance over its true value, {few} permutations",
        "-",
        f"{raw:.2f}; balanced permutations {balanced_raw:.2f}, with their noise removed "
        f"{corrected:.2f}",
        f"{1 + grid.pilots[task].permutation.mean() / few / truth:.2f}; 1.00 without noise",
        BETTER if abs(corrected - 1) < abs(raw - 1) else WORSE,
        "permutations add their own variance; it can be estimated and subtracted",
    )


def _blocks_row(grid: Grid, results: Results, task: str) -> Row:
    one = stability(results.stack("expectation", task=task, method="blocks")[:, 0])
    records = results.where(task=task, method="blocks")[0]["records"]
    affordable = records // (10 * SIZES[task]["n_boot"])
    baseline = grid.predicted(task, "expectation", affordable, None)
    saved = reduction(Measured(baseline, 0.0), one)
    return Row(
        "beyond",
        f"{task}, Var(E): disjoint blocks of pools of {records:,} records, exact, "
        f"{grid.games[-1]} games",
        "-",
        str(one),
        f"{scientific(baseline)} for the {affordable} fresh games that as many records buy",
        compare(saved),
        saved.words,
    )


def draw(grid: Grid) -> Figure:
    """One panel for each task and metric."""
    figure = new_figure(10, 7.4)
    axes = figure.subplots(2, 2, sharex=True)
    for row, metric in zip(axes, SHORT, strict=True):
        for ax, task in zip(row, TASKS, strict=True):
            _draw_panel(ax, grid, task, metric)
    common_legend(figure, axes[0, 0], columns=3)
    return figure


def _draw_panel(ax: Axes, grid: Grid, task: str, metric: str) -> None:
    fine = np.geomspace(grid.games[0], grid.games[-1], 40)
    aside = np.geomspace(0.94, 1.06, len(grid.n_iter))  # so that no marker hides another
    for k, (line, marker, colour), shift in zip(grid.n_iter, _STYLES, aside, strict=False):
        theory = [grid.predicted(task, metric, g, k) for g in fine]
        ax.plot(fine, theory, line, color=colour, linewidth=1.2)
        ours = [grid.measured[task, metric, g, k] for g in grid.games]
        ax.errorbar(
            np.array(grid.games) * shift,
            [one.value for one in ours],
            yerr=[one.error for one in ours],
            fmt=marker,
            color=colour,
            markersize=6,
            elinewidth=1.0,
            label=f"{k:,} permutations",
        )
    printed = paper.BASELINE[task, metric]
    for k, cross in ((grid.n_iter[0], "x"), (grid.n_iter[-1], "+")):
        column = paper.N_ITER.index(k)
        known = [g for g in grid.games if g in printed]
        ax.plot(
            known,
            [printed[g][column] for g in known],
            cross,
            color="#b04a0c",
            markersize=7,
            label=f"paper, {k:,}",
        )
    ax.set(xscale="log", yscale="log")
    dress(ax, f"{task}", "games" if metric == "variance" else "", METRICS[metric])
    plain_ticks(ax, grid.games)
    ax.grid(visible=True, which="major", color=HAIRLINE)
