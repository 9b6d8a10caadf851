"""The waterfall: steps from the value of nobody to the value of all providers together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import printable
from shapband.errors import InvalidInput
from shapband.estimate.joint import total_half_width
from shapband.report.frames import top_rows
from shapband.report.rows import CAUSES, TEXT, draw_rows, honest_axis, legend_above
from shapband.valuation.text import with_digits

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from shapband.valuation.valuation import Valuation

_GAIN, _LOSS = CAUSES["games"], CAUSES["solver"]
_HEIGHT = 0.58  # of a bar, as a share of its row


def waterfall_frame(valuation: Valuation, level: float = 0.95) -> pd.DataFrame:
    """Start and end of every step, from v(∅) to v(N), and the half widths of the steps.

    The first row is nobody and the last is all together. The 20 providers with the largest
    expectations in absolute value have rows of their own; the others are one step, whose half width
    is NaN. v(∅) has the six digits that a valuation keeps of it.
    """
    import pandas as pd

    if valuation.index != "Shapley()":
        raise InvalidInput(
            f"waterfall: values of the index {printable(valuation.index)} need not sum to "
            "v(N) − v(∅), so they are not steps between the two: use plot.forest"
        )
    shown, others = top_rows(valuation.expectation)
    names = [valuation.names[at] for at in shown]
    steps, half = valuation.expectation[shown], np.diff(valuation.interval(level), axis=1)[:, 0] / 2
    half = half[shown]
    if len(others):
        names.append(f"the other {len(others):,}")
        steps = np.append(steps, valuation.expectation[others].sum())
        half = np.append(half, np.nan)
    empty = value_of_nobody(valuation)
    ends = empty + np.cumsum(steps)
    total = total_half_width(valuation.estimate, level, valuation.games)
    columns = {
        "start": np.concatenate([[empty, empty], ends]),
        "end": np.concatenate([[empty], ends, ends[-1:]]),
        "step": np.concatenate([[np.nan], steps, [np.nan]]),
        "half_width": np.concatenate([[0.0], half, [total]]),
    }
    everybody = "all who take part" if valuation.estimate.takes_part_at_random else "all: v(N)"
    index = pd.Index(["nobody: v(∅)", *names, everybody], name="provider")
    return pd.DataFrame(columns, index=index)


def value_of_nobody(valuation: Valuation) -> float:
    """Read v(∅) from the description of the method."""
    said = re.match(r"v\(∅\) = (\S+)", valuation.setup.get("empty", ""))
    if said is None:
        raise InvalidInput(
            "waterfall: this valuation does not say what v(∅) is, where the steps begin: use "
            "plot.forest"
        )
    return float(said.group(1))


def draw_waterfall(ax: Axes, frame: pd.DataFrame, level: float) -> None:
    """Draw every step as a bar with its number, and thin lines from one step to the next."""
    rows, steps = np.arange(len(frame)), frame["step"].to_numpy()
    start, end = frame["start"].to_numpy(), frame["end"].to_numpy()
    half = np.where(np.isfinite(frame["half_width"]), frame["half_width"], np.nan)
    for kind, colour, words in (
        (steps >= 0, _GAIN, "adds value"),
        (steps < 0, _LOSS, "takes value away"),
    ):
        if kind.any():
            ax.barh(
                rows[kind], steps[kind], left=start[kind], height=_HEIGHT, color=colour, label=words
            )
    ax.vlines(end[:-1], rows[:-1], rows[1:], color=TEXT, linewidth=0.7, linestyle=(0, (2, 2)))
    sure = half > 0
    if sure.any():
        ax.hlines(
            rows[sure],
            (end - half)[sure],
            (end + half)[sure],
            color=TEXT,
            linewidth=1.3,
            zorder=3,
            label=f"{100 * level:g} % interval of the step, around its end",
        )
    ax.plot(end[[0, -1]], rows[[0, -1]], "D", color=TEXT, markersize=5.5, zorder=4, clip_on=False)
    reach = np.stack([start, end, end - half, end + half])
    honest_axis(ax, reach)
    draw_rows(ax, frame.index.tolist(), "value of the providers down to this row")
    _write_numbers(ax, frame, np.nanmax(reach, axis=0))
    legend_above(ax)


def _write_numbers(ax: Axes, frame: pd.DataFrame, places: FloatArray) -> None:
    """Write the steps to the right of the bars, and the two ends beside their marks."""
    steps, half = frame["step"].to_numpy(), frame["half_width"].to_numpy()
    known = np.where(np.isfinite(half) & (half > 0), half, np.nan)
    sizes = np.where(np.isfinite(known), known, known[-1])  # the others as exactly as the total
    numbers = np.where(np.isnan(steps), frame["end"], steps)
    texts = [f"{numbers[0]:g}", *(text.strip() for text in with_digits(numbers[1:], sizes[1:]))]
    low, high = ax.get_xlim()
    ax.set_xlim(low, high + 0.09 * (high - low))  # room for the number of the last row
    for row, text in enumerate(texts):
        sign = "+" if steps[row] >= 0 else ""
        ax.annotate(
            f"{sign}{text}".replace("-", "−"),
            (places[row], row),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color=TEXT,
        )
