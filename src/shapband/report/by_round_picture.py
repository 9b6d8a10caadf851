"""The picture of the values after each round of training, drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shapband.report.by_round import coloured, from_nothing
from shapband.report.rows import CAUSES, HAIRLINE, PALE, TEXT, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shapband.valuation.by_round import ByRound


def draw_by_round(ax: Axes, rounds: ByRound, y_label: str) -> None:
    """Draw the value after each round as a line, with a band for its 95 % interval."""
    values, interval = from_nothing(rounds)
    places = np.arange(len(values))
    shown = coloured(values[-1])
    others = [at for at in range(len(rounds.names)) if at not in shown]
    for number, at in enumerate(others):
        label = "_" if number else f"{len(others):,} other provider{'s' * (len(others) > 1)}"
        ax.plot(places, values[:, at], color=PALE, linewidth=1.0, label=label)
    for colour, at in zip(CAUSES.values(), shown, strict=False):
        ax.fill_between(places, *interval[:, at].T, color=colour, alpha=0.2, linewidth=0)
        name = short_name(rounds.names[at]).replace("$", r"\$")
        # matplotlib leaves labels that begin with an underscore out of the legend
        label = f"\N{ZERO WIDTH SPACE}{name}" if name.startswith("_") else name
        ax.plot(places, values[:, at], color=colour, linewidth=2.0, label=label)
    ax.axhline(0.0, color=TEXT, linewidth=0.8)
    ax.set_xlabel("rounds of training", color=TEXT)
    ax.set_ylabel(f"{y_label} after each round", color=TEXT)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlim(0, len(values) - 1)
    ax.grid(visible=True, color=HAIRLINE, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(colors=TEXT)
    ax.legend(frameon=False, fontsize="small", labelcolor=TEXT)
