"""The figures of all experiments. Every function takes the numbers and returns a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from scipy import stats

import shapband as sb
from reproduction import paper
from reproduction.frames import groups_of, select
from reproduction.metrics import FloatArray
from reproduction.paper import MAE_E, MAE_VAR, VAR_E, VAR_VAR
from reproduction.pilots import Pilot

Style = dict[str, Any]
_TEXT, _HAIRLINE, _ORANGE = "#333333", "#e3e3e3", "#b04a0c"
_METRICS = {
    VAR_E: "variance of the estimated expectation",
    VAR_VAR: "variance of the estimated variance",
    MAE_E: "mean absolute error of the expectation",
    MAE_VAR: "mean absolute error of the variance",
}
# Colour, marker, line style and marker fill of each method; they also differ without colour.
_METHODS = {
    "baseline": ("#14375e", "o", "-", "#14375e"),
    "pooled": (_ORANGE, "s", "--", "white"),
    "stratified": ("#1c6344", "D", "-.", "#1c6344"),
    "blocks": ("#6b2d73", "^", ":", "white"),
}
# Colour, marker and line of each n_iter, from few permutations to many.
_GREYS = (
    ("#9db7d5", "o", "-"),
    ("#5f8fc4", "s", "--"),
    ("#2a5d96", "D", "-."),
    ("#0c2747", "^", ":"),
)


def draw_example(
    estimates: Mapping[str, FloatArray],
    exact: sb.theory.ClosedForm,
    m: int,
    ratios: Mapping[str, FloatArray],
) -> Figure:
    """Estimates of provider 1 with their distributions, and the variance with and without noise."""
    figure = _new_figure(12, 3.9)
    left, middle, right = figure.subplots(1, 3)
    mean, variance = exact.expectation[0], exact.variance[0]
    laws = stats.norm(mean, np.sqrt(variance / m)), stats.chi2(m - 1, scale=variance / (m - 1))
    for ax, name, law, truth in zip((left, middle), estimates, laws, (mean, variance), strict=True):
        seen = estimates[name][:, 0]
        ax.hist(seen, bins=50, density=True, color="#b4cae1", label="estimates")
        x = np.linspace(seen.min(), seen.max(), 200)
        ax.plot(x, law.pdf(x), color="#14375e", label="law of Section III")
        ax.axvline(truth, color=_ORANGE, linestyle="--", label="closed form")
        _dress(ax, "additive game", f"estimated {name} of provider 1", "density")
        ax.legend(frameon=False, labelcolor=_TEXT, fontsize="small")
    _draw_noise(right, ratios)
    return figure


def _draw_noise(ax: Axes, ratios: Mapping[str, FloatArray]) -> None:
    styles = ("pooled", "stratified", "baseline")  # any three that also differ without colour
    for j, ((label, found), style) in enumerate(zip(ratios.items(), styles, strict=True)):
        places = np.arange(len(found)) + 0.12 * (j - 1)
        ax.plot(places, found, **_marker(style, markersize=7, label=label))
    n = len(found)
    ax.axhline(1, color=_ORANGE, linestyle="--")
    ax.set_xticks(range(n), [f"provider {i + 1}" for i in range(n)])
    ax.set_xlim(-0.5, n - 0.5)
    ax.set_yscale("log")
    ax.set_yticks([1, 1.2, 1.5, 2, 3], ["1", "1.2", "1.5", "2", "3"])
    ax.minorticks_off()
    _dress(ax, "game worth the square of the sum", "", "estimated over true variance")
    ax.legend(frameon=False, labelcolor=_TEXT, fontsize="small")


def draw_baseline_grid(grid: pd.DataFrame, pilots: Mapping[str, Pilot]) -> Figure:
    """Both metrics over games, one panel for each task and metric."""
    figure = _new_figure(10, 7.4)
    axes = figure.subplots(2, 2, sharex=True)
    n_iter = sorted(set(grid.n_iter))
    aside = np.geomspace(0.94, 1.06, len(n_iter))  # offsets, so that no marker hides another
    for (metric, task), ax in _panels(axes, (VAR_E, VAR_VAR), pilots):
        found = select(grid, task=task, metric=metric)
        for k, (colour, marker, line), shift in zip(n_iter, _GREYS, aside, strict=False):
            column = select(found, n_iter=k)
            _draw_theory(ax, pilots[task], metric, column, line, color=colour, linewidth=1.2)
            style = {"fmt": marker, "color": colour, "markersize": 6, "elinewidth": 1.0}
            _draw_points(ax, column.n_games * shift, column, label=f"{k:,} permutations", **style)
        for k, cross in ((n_iter[0], "x"), (n_iter[-1], "+")):
            printed = select(paper.BASELINE, task=task, metric=metric, n_iter=k)
            printed = printed[printed.n_games.isin(found.n_games)]
            crosses = _crosses(cross, f"paper, {k:,}", color=_ORANGE, markersize=7)
            ax.plot(printed.n_games, printed.theirs, **crosses)
        _dress_grid(ax, task, metric, sorted(set(found.n_games)))
    _common_legend(figure, axes[0, 0], columns=3)
    return figure


def draw_pooled_grid(grid: pd.DataFrame, pilots: Mapping[tuple[str, str], Pilot]) -> Figure:
    """Both metrics of both methods over games, one panel for each task and metric."""
    figure = _new_figure(10, 7.2)
    axes = figure.subplots(2, 2, sharex=True)
    few, many = grid.n_iter.min(), grid.n_iter.max()
    tasks = dict.fromkeys(task for task, _ in pilots)
    for (metric, task), ax in _panels(axes, (VAR_E, VAR_VAR), tasks):
        found = select(grid, task=task, metric=metric)
        for method in ("baseline", "pooled"):
            colour, _, line, _ = _METHODS[method]
            for k, size, width, shift in ((few, 4, 0.8, 0.98), (many, 8, 1.8, 1.02)):
                column = select(found, method=method, n_iter=k)
                ink = {"color": colour, "linewidth": width}
                _draw_theory(ax, pilots[task, method], metric, column, line, **ink)
                style = _marker(method, markersize=size, elinewidth=1, label=_label(method, k))
                _draw_points(ax, column.n_games * shift, column, **style)
        _dress_grid(ax, task, metric, sorted(set(found.n_games)))
    _common_legend(figure, axes[0, 0], columns=2)
    return figure


def draw_source_budget(pairs: pd.DataFrame) -> Figure:
    """Ratios to the baseline: over local games above, over budgets below."""
    figure = _new_figure(10, 7.4)
    axes = figure.subplots(2, 2, sharey="col")
    first, most = pairs.budget.min(), pairs.n_games.max()
    words = f"records the baseline may take; {most} local games from 2,477"
    for metric, (above, below) in zip((VAR_E, VAR_VAR), axes.T, strict=True):
        found = select(pairs, metric=metric)
        _draw_ratios(above, select(found, budget=first), "n_games")
        for method, cross in (("pooled", "x"), ("stratified", "+")):
            printed = select(paper.SOURCE_BUDGET, metric=metric, method=method)
            ratios = printed.theirs / printed.theirs_baseline
            crosses = _crosses(cross, f"paper, {method}", color="black", markersize=8, zorder=5)
            above.plot(printed.n_games, ratios, **crosses)
        _dress(above, metric, "local games, 2,500 records", "part of the baseline's")
        _draw_ratios(below, select(found, n_games=most), "budget")
        _dress(below, metric, words, "part of the baseline's")
    _common_legend(figure, axes[0, 0], columns=3)
    return figure


def _draw_ratios(ax: Axes, pairs: pd.DataFrame, x: str) -> None:
    widths = _widths(pairs)
    for (k, method), line in groups_of(pairs, ["n_iter", "method"]):
        style = _line(method, widths[k], markersize=4 + 2 * widths[k], label=_label(method, k))
        ax.errorbar(line[x], line.ratio, line.saved_error, **style)
    places = sorted(set(pairs[x].astype(int)))
    ax.axhline(1, color=_TEXT, linewidth=1)
    ax.annotate(
        "as good as the baseline",
        (places[0], 1),
        (0, 3),
        textcoords="offset points",
        fontsize="small",
        color=_TEXT,
    )
    ax.set(xscale="log", yscale="log")
    _plain_ticks(ax, places)


def draw_digits(pairs: pd.DataFrame) -> Figure:
    """Both metrics of every method over the baseline's."""
    figure = _new_figure(9, 3.8)
    games = pairs.groupby("method").n_games.first()
    for ax, metric in zip(figure.subplots(1, 2, sharey=True), (VAR_E, VAR_VAR), strict=True):
        found = select(pairs, metric=metric).set_index("method")
        for place, method in enumerate(_METHODS):
            error = 0 if method == "baseline" else found.saved_error[method]
            style = _marker(method, markersize=8, elinewidth=1.2)
            ax.errorbar(found.ratio[method], place, xerr=error, **style)
            if (method, metric) in paper.DIGITS_REDUCTIONS:
                printed = 1 - paper.DIGITS_REDUCTIONS[method, metric]
                ax.plot(printed, place, "x", color="black", markersize=9)
        n = len(_METHODS)
        ax.set_yticks(range(n), [f"{method}, {games[method]} games" for method in _METHODS])
        ax.set_ylim(n - 0.5, -0.5)
        ax.set_xscale("log")
        ax.axvline(1, color="#999999", linewidth=1)
        _dress(ax, _METRICS[metric], "part of the baseline's")
    return figure


def draw_sensitivity(permuted: pd.DataFrame, reference: tuple[int, int]) -> Figure:
    """Both metrics over pool size, left, and draw size, right."""
    figure = _new_figure(10, 7)
    axes = figure.subplots(2, 2, sharey="row")
    n_pool, n_boot = reference
    widths = _widths(permuted)
    sides = {
        "n_pool": (n_pool, select(permuted, n_boot=n_boot), f"n_pool, draws of {n_boot}"),
        "n_boot": (n_boot, select(permuted, n_pool=n_pool), f"n_boot, pools of {n_pool}"),
    }
    for (metric, x), ax in _panels(axes, (VAR_E, VAR_VAR), sides):
        middle, table, x_label = sides[x]
        ax.axvline(middle, color="#bbbbbb", linewidth=5, zorder=0)
        found = select(table, metric=metric)
        for (k, method), line in groups_of(found, ["n_iter", "method"]):
            size = 3 + 2.5 * widths[k]
            style = _line(method, widths[k], markersize=size, label=_label(method, k))
            _draw_points(ax, line[x], line, **style)
        ax.set_yscale("log")
        ax.set_xticks(sorted(set(found[x])))
        left = x == "n_pool"
        _dress(ax, "", x_label if metric == VAR_VAR else "", _METRICS[metric] if left else "")
    _common_legend(figure, axes[0, 0], columns=3)
    return figure


def draw_scalability(table: pd.DataFrame) -> Figure:
    """The four metrics over the number of providers."""
    figure = _new_figure(10, 7)
    axes = figure.subplots(2, 2, sharex=True)
    for ax, metric in zip(axes.ravel(), _METRICS, strict=True):
        for j, (method, (colour, _, line, _)) in enumerate(_METHODS.items()):
            found = select(table, method=method, metric=metric)
            ax.plot(found.n, found.theory, line, color=colour, linewidth=1)
            style = _marker(method, markersize=6, elinewidth=0.9, label=method)
            _draw_points(ax, found.n * 1.05 ** (j - 1.5), found, **style)
        ax.set(xscale="log", yscale="log")
        _dress(ax, _METRICS[metric], "providers" if metric in (MAE_E, MAE_VAR) else "")
        _plain_ticks(ax, sorted(set(table.n)))
    _common_legend(figure, axes[0, 0], columns=4)
    return figure


def draw_latency(table: pd.DataFrame) -> Figure:
    """Stacked bars: access below, local work above, one panel for each utility."""
    figure = _new_figure(10, 4.2)
    axes = figure.subplots(1, 2, sharey=True)
    titles = {"compiled": "our least squares", "refitted": "a model refitted for every coalition"}
    delays = sorted(set(table.delay))
    for ax, (utility, title) in zip(axes, titles.items(), strict=True):
        found = select(table, utility=utility)
        keys = list(zip(found.delay, found.method, strict=True))
        places = [4 * delays.index(delay) + list(_METHODS).index(m) for delay, m in keys]
        ax.bar(places, found.access, color="#14375e", width=0.8, label="access")
        bars: Style = {"color": "#f4d3b8", "edgecolor": _ORANGE, "hatch": "//", "width": 0.8}
        ax.bar(places, found.local, bottom=found.access, label="local work", **bars)
        printed = [paper.LATENCY.wall[key] for key in keys]
        dots = _crosses("o", "wall time in the paper", color="black", markersize=5)
        ax.plot(places, printed, markerfacecolor="white", **dots)
        ax.set_xticks(places, found.method, rotation=60, ha="right", fontsize="small")
        for i, delay in enumerate(delays):
            at: Style = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "top"}
            ax.annotate(f"{delay} ms", (4 * i + 1, 1), color=_TEXT, **at)
        _dress(ax, title, "", "seconds" if utility == "compiled" else "")
        ax.grid(visible=False, axis="x")
        ax.margins(y=0.2)
    _common_legend(figure, axes[0], columns=3)
    return figure


def _new_figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def _panels(axes: Any, rows: Sequence[str], columns: Any) -> list[tuple[tuple[str, str], Axes]]:
    """Return every panel with its row and column."""
    return [
        ((row, column), ax)
        for row, line in zip(rows, axes, strict=True)
        for column, ax in zip(columns, line, strict=True)
    ]


def _widths(table: pd.DataFrame) -> dict[int, float]:
    """Thin lines for few permutations, thick ones for many."""
    return dict(zip(sorted(set(table.n_iter)), (0.9, 2.0), strict=False))


def _marker(method: str, **more: Any) -> Style:
    """The markers of a method, without a line."""
    colour, marker, _, filling = _METHODS[method]
    ink = {"color": colour, "markerfacecolor": filling, "linestyle": "none"}
    return {"marker": marker, **ink, **more}


def _line(method: str, width: float, **more: Any) -> Style:
    """The markers of a method, joined by its line."""
    linestyle = _METHODS[method][2]
    return _marker(method, elinewidth=0.8, linewidth=width, **more) | {"linestyle": linestyle}


def _crosses(marker: str, label: str, **more: Any) -> Style:
    """The markers of the paper's numbers."""
    return {"marker": marker, "label": label, "linestyle": "none", **more}


def _label(method: str, n_iter: int) -> str:
    return f"{method}, {n_iter:,} permutations"


def _draw_points(ax: Axes, x: Any, table: pd.DataFrame, **style: Any) -> None:
    ax.errorbar(x, table.ours, yerr=table.error, **style)


def _draw_theory(
    ax: Axes, pilot: Pilot, metric: str, column: pd.DataFrame, line: str, **style: Any
) -> None:
    """Draw the prediction of theory between the fewest and the most games of a column."""
    fine = np.geomspace(column.n_games.min(), column.n_games.max(), 40)
    n_iter = column.n_iter.iloc[0]
    ax.plot(fine, [pilot.predict(metric, games, n_iter) for games in fine], line, **style)


def _dress(ax: Axes, title: str = "", x_label: str = "", y_label: str = "") -> None:
    """Set titles and labels, draw thin grid lines behind the data, and remove the box."""
    ax.set_title(title, fontsize="medium", color=_TEXT, loc="left")
    ax.set_xlabel(x_label, color=_TEXT)
    ax.set_ylabel(y_label, color=_TEXT)
    ax.tick_params(colors=_TEXT)
    ax.grid(visible=True, color=_HAIRLINE, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["right", "top"]].set_visible(False)


def _dress_grid(ax: Axes, task: str, metric: str, games: Sequence[int]) -> None:
    ax.set(xscale="log", yscale="log")
    _dress(ax, task, "games" if metric == VAR_VAR else "", _METRICS[metric])
    _plain_ticks(ax, games)


def _plain_ticks(ax: Axes, places: Sequence[int]) -> None:
    """Label a logarithmic x axis with integers at these positions only."""
    ax.set_xticks(places, [f"{place:,}" for place in places])
    ax.xaxis.set_minor_locator(NullLocator())


def _common_legend(figure: Figure, ax: Axes, columns: int) -> None:
    """Put the legend of one panel above all panels."""
    handles, labels = ax.get_legend_handles_labels()
    place: Style = {"loc": "outside upper center", "ncols": columns}
    figure.legend(handles, labels, frameon=False, labelcolor=_TEXT, **place)
