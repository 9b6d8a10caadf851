"""The heat map of interactions, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import IntArray
from shapband.report.frames import largest_size, similar_order
from shapband.report.rows import HAIRLINE, TEXT, short_name
from shapband.valuation.text import with_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from shapband.valuation.interactions import Interactions

# Colours of pairs that replace each other and of pairs that are worth more together.
_LESS, _MORE = "#d9822b", "#2f6db0"
_WRITTEN = 12  # up to this many providers, cells have room for their numbers
_NAMED = 50  # up to this many providers, all names are written, and doubtful cells are marked
_EDGES, _CELL, _LARGEST = 3.0, 0.42, 13.0  # inches: names and scale, one cell, the whole picture
_DARK = 0.6  # blue cells above this share of the largest interaction have white numbers


def heat_map_size(n: int) -> tuple[float, float]:
    """Width and height in inches of the heat map of n providers."""
    side = min(_EDGES + _CELL * n, _LARGEST)
    return side + 1.0, side


def draw_heat_map(ax: Axes, interactions: Interactions) -> None:
    """Draw the matrix of interactions; providers that replace each other are side by side."""
    order = similar_order(interactions.matrix)
    names = [short_name(interactions.names[at]) for at in order]
    matrix = interactions.matrix[np.ix_(order, order)]
    n, largest = len(names), largest_size(matrix)
    image = ax.imshow(
        matrix, cmap=_colours(), vmin=-largest, vmax=largest, aspect="equal", interpolation="none"
    )
    _write_names(ax, names)
    doubtful = n <= _NAMED and _mark_doubtful(ax, interactions, order)
    meaning = "below 0: one replaces the other" + doubtful * "\ndot: the 95 % interval includes 0"
    ax.set_title(meaning, fontsize="small", color=TEXT, loc="left")
    if n <= _WRITTEN:
        _write_numbers(ax, interactions, order, largest)
    scale = ax.figure.colorbar(image, ax=ax, shrink=0.7, pad=0.02)
    scale.set_label("interaction", color=TEXT)
    scale.outline.set_visible(False)
    scale.ax.tick_params(color=TEXT, labelcolor=TEXT)


def _colours() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    found = LinearSegmentedColormap.from_list("interactions", [_LESS, "#ffffff", _MORE])
    return found.with_extremes(bad=HAIRLINE)  # the diagonal


def _write_names(ax: Axes, names: list[str]) -> None:
    """Name the rows and columns; if there is no room for all, evenly spaced ones."""
    n = len(names)
    step = -(-n // _NAMED)
    places = list(range(0, n, step))
    shown = [names[at] for at in places]
    ax.set_yticks(places, shown)
    ax.set_xticks(places, shown, rotation=90)
    ax.tick_params(length=0, labelcolor=TEXT, labelsize="small" if n > _WRITTEN else "medium")
    ax.spines[:].set_visible(False)
    if step > 1:
        ax.set_xlabel(f"{n:,} providers, one of {step} named", color=TEXT)


def _mark_doubtful(ax: Axes, interactions: Interactions, order: IntArray) -> bool:
    """Put a dot in the corner of cells whose interval includes 0; return whether there are any."""
    low, high = np.moveaxis(interactions.interval()[np.ix_(order, order)], 2, 0)
    rows, columns = np.nonzero((low <= 0) & (high >= 0))
    ax.plot(columns + 0.36, rows - 0.36, ".", color=TEXT, markersize=3)
    return len(rows) > 0


def _write_numbers(ax: Axes, interactions: Interactions, order: IntArray, largest: float) -> None:
    matrix, error = interactions.matrix, interactions.standard_error
    for row, one in enumerate(order.tolist()):
        for column, other in enumerate(order.tolist()):
            if one != other:
                text = with_digits([matrix[one, other]], [2 * error[one, other]])[0].strip()
                colour = "white" if matrix[one, other] > _DARK * largest else TEXT
                ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
