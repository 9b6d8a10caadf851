"""Pictures of one valuation, drawn on matplotlib axes from the frames behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shapband.report.rows import (
    CAUSES,
    HAIRLINE,
    INK,
    PALE,
    TEXT,
    draw_rows,
    honest_axis,
    legend_above,
    row_width,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_FEW = 10  # up to this many providers, each has a line that can still be distinguished
_HALF_RANK = 0.4  # bars extend this far beyond their ends, so that a single rank is visible
_NOTHING = 0.005  # a cause is drawn if its share of any provider's squared error is above this


def draw_forest(ax: Axes, frame: pd.DataFrame, level: float, x_label: str) -> None:
    """Draw every expectation with its error as a bar, and the spread of the value as a band."""
    n, rows = len(frame), np.arange(len(frame))
    known = np.isfinite(frame["spread_low"].to_numpy())
    width = (frame["spread_high"] - frame["spread_low"]).to_numpy()
    ax.barh(
        rows[known],
        width[known],
        left=frame["spread_low"].to_numpy()[known],
        height=0.62 if n <= 100 else 1.0,
        color=PALE,
        label="± one standard deviation of the value from draw to draw",
    )
    low, high = (
        np.where(np.isfinite(end), end, np.nan) for end in frame[["low", "high"]].to_numpy().T
    )
    ax.hlines(rows, low, high, color=INK, linewidth=row_width(n, 1.6))
    ax.plot(
        frame["expectation"],
        rows,
        "o",
        color=INK,
        markersize=row_width(n, 5),
        label=f"expectation and its {100 * level:g} % interval",
    )
    honest_axis(ax, frame[["expectation", "low", "high", "spread_low", "spread_high"]].to_numpy())
    draw_rows(ax, frame.index.tolist(), x_label)
    legend_above(ax)


def draw_ranks(ax: Axes, frame: pd.DataFrame, level: float) -> None:
    """Draw every rank with its interval."""
    n, rows = len(frame), np.arange(len(frame))
    ax.hlines(
        rows,
        frame["low"] - _HALF_RANK,
        frame["high"] + _HALF_RANK,
        color=PALE,
        linewidth=row_width(n, 9),
        label=f"ranks that cannot be excluded; all hold together at {100 * level:g} %",
    )
    ax.plot(frame["rank"], rows, "o", color=INK, markersize=row_width(n, 5), label="rank")
    ax.set_xlim(0.5, n + 0.5)
    if n <= 2 * _FEW:
        ax.set_xticks(range(1, n + 1))
    draw_rows(ax, frame.index.tolist(), "rank by expected value, 1 for the largest")
    legend_above(ax)


def draw_distribution(ax: Axes, frame: pd.DataFrame, x_label: str) -> None:
    """Draw the quantiles of the values in single games."""
    n, rows = len(frame), np.arange(len(frame))
    columns = {name: frame[f"quantile_{name}"].to_numpy() for name in (0.05, 0.25, 0.5, 0.75, 0.95)}
    ax.hlines(
        rows,
        columns[0.05],
        columns[0.95],
        color=INK,
        linewidth=row_width(n, 1.2),
        label="5 to 95 % of games",
    )
    ax.barh(
        rows,
        columns[0.75] - columns[0.25],
        left=columns[0.25],
        height=0.62 if n <= 100 else 1.0,
        color=PALE,
        zorder=3,
        label="25 to 75 %",
    )
    median = columns[0.5]
    ax.plot(median, rows, "|", color=INK, zorder=4, markersize=row_width(n, 13), label="median")
    ax.plot(
        np.concatenate([frame["lowest"], frame["highest"]]),
        np.concatenate([rows, rows]),
        ".",
        color=INK,
        markersize=row_width(n, 3),
        label="lowest and highest",
    )
    honest_axis(ax, frame[["lowest", "highest"]].to_numpy())
    draw_rows(ax, frame.index.tolist(), x_label)
    legend_above(ax)


def draw_convergence(ax: Axes, frame: pd.DataFrame, level: float) -> None:
    """Draw the half widths of the intervals over the number of games, on logarithmic axes."""
    frame = frame[frame["half_width"] > 0]
    if frame.empty:
        ax.set_axis_off()
        nothing = "no half width to draw: all are 0 or not known"
        ax.text(0.5, 0.5, nothing, transform=ax.transAxes, ha="center", color=TEXT)
        return
    ax.set_xscale("log")
    ax.set_yscale("log")
    wide = frame.pivot_table(index="games", columns="provider", values="half_width", sort=False)
    shown = wide.columns[np.argsort(-wide.iloc[-1].to_numpy())]
    few = len(shown) <= _FEW
    for at, name in enumerate(shown):
        label = "_" if at else "each provider"  # only the first line appears in the legend
        colour = PALE if few else HAIRLINE
        ax.plot(wide.index, wide[name], color=colour, linewidth=1.0, label=label)
    ax.plot(wide.index, wide.median(axis=1), color=INK, linewidth=2.2, label="median provider")
    ax.plot(wide.index, wide.max(axis=1), color=CAUSES["solver"], label="widest")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda number, _: f"{number:g}")
        axis.set_minor_formatter(lambda number, _: f"{number:g}" if _leads(number) else "")
    ax.set_xlabel("games", color=TEXT)
    ax.set_ylabel(f"half width of the {100 * level:g} % interval", color=TEXT)
    ax.grid(visible=True, which="both", color=HAIRLINE, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    bought = frame.drop_duplicates("games").set_index("games")["records"]
    if bought.nunique() > 1:
        _records_above(ax, float(bought.to_numpy()[-1]) / float(bought.index.to_numpy()[-1]))
    ax.legend(frameon=False, fontsize="small", labelcolor=TEXT)


def _records_above(ax: Axes, a_game: float) -> None:
    """Add an axis for the records bought, in proportion to the games."""

    def records(games: Any) -> Any:
        return games * a_game

    def games(records: Any) -> Any:
        return records / a_game

    above = ax.secondary_xaxis("top", functions=(records, games))
    above.set_xlabel("records bought", color=TEXT)
    above.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")


def _leads(number: float) -> bool:
    """Whether a number on a logarithmic axis begins with 2 or 5, and is labelled."""
    return f"{number:e}"[0] in "25"


def draw_variance_sources(ax: Axes, frame: pd.DataFrame) -> None:
    """Draw which part of each squared standard error is due to each cause."""
    rows, left = np.arange(len(frame)), np.zeros(len(frame))
    meaning = {
        "games": "games: play more",
        "solver": "solver: evaluate more coalitions",
        "pools": "pools: buy more records",
        "validation": "validation: use more rows",
    }
    for cause, colour in CAUSES.items():
        part = frame[cause].to_numpy()
        if (part > _NOTHING).any():
            height = 0.62 if len(frame) <= 100 else 1.0
            ax.barh(rows, part, left=left, height=height, color=colour, label=meaning[cause])
            left = left + part
    ax.set_xlim(0, 1)
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    draw_rows(ax, frame.index.tolist(), "part of the squared standard error")
    if left.any():
        legend_above(ax)
