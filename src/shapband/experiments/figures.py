"""What the pictures have in common: ink that survives a grey copy, words, and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEXT = "#333333"
HAIRLINE = "#e3e3e3"
METRICS = {
    "expectation": "variance of the estimated expectation",
    "variance": "variance of the estimated variance",
}
# Colour, marker, line and filling of each method: no two alike without their colours.
METHODS = {
    "fresh": ("#14375e", "o", "-", "#14375e"),
    "pooled": ("#b04a0c", "s", "--", "white"),
    "stratified": ("#1c6344", "D", "-.", "#1c6344"),
    "blocks": ("#6b2d73", "^", ":", "white"),
}
NAMES = {
    "fresh": "baseline",
    "pooled": "pooled",
    "stratified": "stratified",
    "blocks": "blocks",
    "concurrent": "baseline, side by side",
}


def new_figure(width: float, height: float) -> Figure:
    """Give an empty figure that makes room for its words."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def dress(ax: Axes, title: str = "", x_label: str = "", y_label: str = "") -> None:
    """Titles, hairlines behind the data, and no box."""
    ax.set_title(title, fontsize="medium", color=TEXT, loc="left")
    ax.set_xlabel(x_label, color=TEXT)
    ax.set_ylabel(y_label, color=TEXT)
    ax.tick_params(colors=TEXT)
    ax.grid(visible=True, color=HAIRLINE, linewidth=0.8)
    ax.set_axisbelow(True)
    for edge in ("right", "top"):
        ax.spines[edge].set_visible(False)


def plain_ticks(ax: Axes, places: tuple[int, ...]) -> None:
    """Write whole numbers at these places of a logarithmic x axis, and nothing between."""
    from matplotlib.ticker import NullLocator

    ax.set_xticks(places, [f"{place:,}" for place in places])
    ax.xaxis.set_minor_locator(NullLocator())


def common_legend(figure: Figure, ax: Axes, columns: int) -> None:
    """Explain above all panels what is drawn in one of them."""
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        labelcolor=TEXT,
    )
