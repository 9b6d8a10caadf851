"""Pictures of comparisons, drawn on matplotlib axes from the frames behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.report.rows import (
    INK,
    PALE,
    TEXT,
    draw_rows,
    honest_axis,
    legend_above,
    row_width,
    short_name,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from shapband.valuation.series import SeriesComparison

# Lines of a series that are named; they differ in colour and in the shape of their markers.
_LINES = (
    ("#14375e", "o"),
    ("#b04a0c", "s"),
    ("#1c6344", "D"),
    ("#7a4fa3", "^"),
    ("#8a6a00", "v"),
    ("#4d4d4d", "P"),
)
_OTHERS = "#cfcfcf"  # colour of lines without a name
_NEAREST = 0.055  # least distance between two names beside lines, as a share of the axes' height


def draw_changes(ax: Axes, frame: pd.DataFrame, labels: Sequence[str]) -> None:
    """Draw every change with its 95 % interval; changes within chance are pale."""
    n, rows = len(frame), np.arange(len(frame))
    beyond = frame["beyond_chance"].to_numpy(dtype=bool)
    for kind, line, filling, words in (
        (beyond, INK, INK, "beyond chance, all providers together"),
        (~beyond, PALE, "white", "within chance" if frame["tested"].all() else "not tested"),
    ):
        low, high = (_finite(frame[end].to_numpy()[kind]) for end in ("low", "high"))
        ax.hlines(rows[kind], low, high, color=line, linewidth=row_width(n, 1.8))
        if kind.any():
            ax.plot(
                frame["change"].to_numpy()[kind],
                rows[kind],
                "o",
                color=INK,
                markerfacecolor=filling,
                markersize=row_width(n, 5.5),
                label=f"change and its 95 % interval, {words}",
            )
    honest_axis(ax, np.append(frame[["change", "low", "high"]].to_numpy().ravel(), 0.0))
    before, after = (short_name(label) for label in labels)
    draw_rows(ax, frame.index.tolist(), f"change of expectation from {before} to {after}")
    legend_above(ax)


def draw_expectations(
    ax: Axes, frame: pd.DataFrame, labels: Sequence[str], x_label: str = "expectation"
) -> None:
    """Draw both expectations, joined by a line that is dark if the change is beyond chance."""
    n, rows = len(frame), np.arange(len(frame))
    beyond = frame["beyond_chance"].to_numpy(dtype=bool)
    first, second = frame["first"].to_numpy(), frame["second"].to_numpy()
    for kind, colour, words in (
        (beyond, INK, "change beyond chance"),
        (~beyond, PALE, f"change {'within chance' if frame['tested'].all() else 'not tested'}"),
    ):
        if kind.any():
            ax.hlines(
                rows[kind],
                first[kind],
                second[kind],
                color=colour,
                linewidth=row_width(n, 2.2),
                label=words,
            )
    size = row_width(n, 5.5)
    before, after = (short_name(label) for label in labels)
    ax.plot(first, rows, "o", color=INK, markerfacecolor="white", markersize=size, label=before)
    ax.plot(second, rows, "o", color=INK, markersize=size, label=after)
    honest_axis(ax, frame[["first", "second"]].to_numpy())
    draw_rows(ax, frame.index.tolist(), x_label)
    legend_above(ax)


def draw_series(ax: Axes, found: SeriesComparison) -> None:
    """Draw expectations over a series; filled markers are changes beyond chance.

    The providers with the largest changes beyond chance are named, the others are thin lines.
    """
    places = np.arange(len(found.labels))
    flagged = np.vstack([np.zeros(len(found.names), dtype=bool), found.beyond_chance])
    ends = _named_lines(found.change, found.beyond_chance)
    for row in range(len(found.names)):
        if row not in ends:
            ax.plot(places, found.expectation[:, row], color=_OTHERS, linewidth=1.0)
    for (colour, marker), row in zip(_LINES, ends, strict=False):
        line, beyond = found.expectation[:, row], flagged[:, row]
        ax.plot(places, line, color=colour, linewidth=1.8)
        ax.plot(
            places, line, marker, linestyle="none", color=colour, markerfacecolor="white",
            markersize=6,
        )  # fmt: skip
        ax.plot(places[beyond], line[beyond], marker, linestyle="none", color=colour, markersize=7)
    ax.set_xticks(places, [short_name(label) for label in found.labels])
    ax.set_xlim(-0.15, len(places) - 0.85)
    ax.set_ylabel("expectation", color=TEXT)
    ax.tick_params(colors=TEXT)
    ax.spines[["top", "right"]].set_visible(False)
    _name_lines(ax, [found.names[row] for row in ends], found.expectation[-1, ends])
    since = "the first valuation" if found.since == "first" else "the valuation before"
    words = f"filled: change from {since} beyond chance, all together at {100 * found.level:g} %"
    others = len(found.names) - len(ends)
    thin = f"; thin: {others:,} others" if others else ""
    words = f"{words}{thin}" if ends else "no change is beyond chance"
    ax.set_title(words, fontsize="small", color=TEXT)


def _named_lines(change: FloatArray, beyond: BoolArray) -> list[int]:
    """Providers with the largest changes beyond chance, as many as have a colour."""
    largest = np.where(beyond, np.abs(change), 0.0).max(axis=0)
    order = np.argsort(-largest, kind="stable")[: len(_LINES)]
    return [int(row) for row in order if largest[row] > 0]


def _name_lines(ax: Axes, names: Sequence[str], heights: FloatArray) -> None:
    """Write names to the right of the last points, moved apart where they would overlap."""
    low, high = ax.get_ylim()
    wanted = (np.asarray(heights) - low) / (high - low)
    order = np.argsort(wanted, kind="stable")
    place = -np.inf
    for at in order:
        place = max(wanted[at], place + _NEAREST)
        ax.annotate(
            short_name(names[at]),
            (1.01, place),
            xycoords="axes fraction",
            va="center",
            fontsize="small",
            color=_LINES[at][0],
            annotation_clip=False,
        )


def _finite(ends: FloatArray) -> FloatArray:
    return np.where(np.isfinite(ends), ends, np.nan)
