"""Sizes, names and axes of pictures with one row per provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shapband._typing import FloatArray
from shapband.checks import printable
from shapband.report.frames import ends_of_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, PALE, TEXT, HAIRLINE = "#14375e", "#b4cae1", "#333333", "#e6e6e6"
CAUSES = {
    "games": "#4f81b8",
    "solver": "#e2a04a",
    "pools": "#1c6344",
    "validation": "#8c6bb1",
}
_WIDTH = 9.0  # width of a picture, in inches
_EDGES = 1.5  # height for the axis and the legend together, in inches
_ROW, _TALLEST = 0.34, 14.0
_NAMED = 50  # up to this many rows, every row has room for its name
_LEAST_MARKER = 4.0  # smallest size of a marker in the legend, in points
_LONGEST = 32  # longer names are cut to this many characters


def figure_size(n_rows: int) -> tuple[float, float]:
    """Width and height in inches of a picture with n rows; beyond about 40 they become thinner."""
    return _WIDTH, min(_EDGES + _ROW * max(n_rows, 2), _TALLEST)


def row_width(n_rows: int, usual: float) -> float:
    """The usual line width in points, or less if rows are thin."""
    room = 72 * (_TALLEST - _EDGES) / n_rows  # height of a row, in points
    return min(usual, 0.8 * room)


def draw_rows(ax: Axes, names: Sequence[str], x_label: str) -> None:
    """Put the names on the left, the first on top, and remove the box.

    If there is no room for all names, evenly spaced rows are named.
    """
    n = len(names)
    step = -(-n // _NAMED)
    ticks = range(0, n, step)
    ax.set_yticks(list(ticks), [short_name(names[at]) for at in ticks])
    ax.set_ylim(n - 0.5, -0.5)
    if step > 1:
        ax.set_ylabel(f"{n:,} providers, one of {step} named", color=TEXT)
    ax.set_xlabel(x_label, color=TEXT, labelpad=8)
    ax.tick_params(axis="y", length=0, labelcolor=TEXT)
    ax.tick_params(axis="x", color=TEXT, labelcolor=TEXT)
    for edge in ("left", "right", "top"):
        ax.spines[edge].set_visible(False)
    ax.spines["bottom"].set_color(TEXT)
    if step == 1:
        for border in range(1, n):
            ax.axhline(border - 0.5, color=HAIRLINE, linewidth=0.8, zorder=0)


def honest_axis(ax: Axes, values: FloatArray) -> None:
    """Let the horizontal axis show zero, or mark that it does not."""
    low, high = ends_of_axis(values)
    room = 0.04 * ((high - low) or abs(high) or 1.0)
    ax.set_xlim(low - room * (low != 0), high + room * (high != 0))
    if low <= 0 <= high:
        ax.axvline(0.0, color=TEXT, linewidth=0.8, zorder=0.5)
    else:
        _mark_break(ax)


def legend_above(ax: Axes) -> None:
    """Put the legend above the axes, in one line if it fits."""
    from matplotlib.lines import Line2D

    for columns in (4, 1):
        legend = ax.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            borderaxespad=0.4,
            frameon=False,
            labelcolor=TEXT,
            fontsize="small",
            ncols=columns,
        )
        if legend.get_window_extent().width <= _room(ax):
            break
    for handle in legend.legend_handles:
        if isinstance(handle, Line2D):  # the markers of many rows are too small for a legend
            handle.set_markersize(max(handle.get_markersize(), _LEAST_MARKER))


def _room(ax: Axes) -> float:
    """Width in pixels of the space to the right of the names."""
    place = ax.get_subplotspec()
    share = ax.get_position().width if place is None else 1 / place.get_gridspec().ncols
    names = max((name.get_window_extent().width for name in ax.get_yticklabels()), default=0.0)
    return float(share * ax.figure.bbox.width - names)


def _mark_break(ax: Axes) -> None:
    """Draw two strokes through the axis, which mark that it does not begin at zero."""
    for shift in (0.0, 0.008):
        ax.plot(
            [0.008 + shift, 0.016 + shift],
            [-0.012, 0.012],
            transform=ax.transAxes,
            color=TEXT,
            clip_on=False,
            linewidth=1.0,
        )
    ax.annotate(
        "does not begin at 0",
        (0.03, 0.0),
        xycoords="axes fraction",
        xytext=(0, 3),
        textcoords="offset points",
        fontsize="x-small",
        color=TEXT,
    )


def short_name(name: str) -> str:
    """A name without characters that matplotlib reads as mathematics, cut if it is long."""
    safe = printable(name).replace("$", r"\$")
    return safe if len(safe) <= _LONGEST else safe[: _LONGEST - 1] + "…"
