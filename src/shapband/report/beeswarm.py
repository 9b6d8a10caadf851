"""The beeswarm: every game of a valuation as one point per provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray
from shapband.report.frames import games_kept, top_rows
from shapband.report.rows import INK, TEXT, draw_rows, honest_axis, legend_above
from shapband.valuation.spread import check_single_games

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from shapband.valuation.valuation import Valuation

_POINTS = 1_000  # most points in a row; of more, evenly spaced ones are drawn
_BINS = 160  # points of a row in the same bin of the axis are placed above each other
_WIDEST = 0.4  # largest distance of a point from the middle of its row
_CLOSEST = 0.085  # usual distance of two points above each other


def beeswarm_frame(valuation: Valuation) -> pd.DataFrame:
    """One row per point: the provider, the value in a single game, and its place within the row.

    The 20 providers with the largest expectations in absolute value have rows of their own; all
    values of the others are in one row. Of more than 1,000 values of a row, 1,000 evenly spaced
    ones are kept.
    """
    import pandas as pd

    check_single_games(valuation.estimate, "beeswarm")
    games = games_kept(valuation, "beeswarm")
    shown, others = top_rows(valuation.expectation)
    swarms = {valuation.names[at]: games[:, at] for at in shown}
    lines = [valuation.expectation[at] for at in shown]
    labels = list(swarms)
    values = [_thinned(one) for one in swarms.values()]
    if len(others):
        labels.append(f"the other {len(others):,}")
        values.append(_thinned(games[:, others].ravel()))
        lines.append(float("nan"))
    counts = [len(one) for one in values]
    low = min(float(one.min()) for one in values)
    high = max(float(one.max()) for one in values)
    columns = {
        "row": np.repeat(np.arange(len(labels)), counts),
        "provider": np.repeat(np.array(labels, dtype=object), counts),
        "value": np.concatenate(values),
        "offset": np.concatenate([_offsets(one, low, high) for one in values]),
        "expectation": np.repeat(np.array(lines), counts),
    }
    return pd.DataFrame(columns)


def draw_beeswarm(ax: Axes, frame: pd.DataFrame, n_games: int, x_label: str) -> None:
    """Draw every value as a point, and a line at the expectation of each provider."""
    first = frame.drop_duplicates("row")
    largest = int(frame.groupby("row").size().iloc[0])
    some = "" if largest == n_games else f"; {largest:,} of {n_games:,} games"
    ax.plot(
        frame["value"],
        frame["row"] + frame["offset"],
        ".",
        color=INK,
        alpha=0.45,
        markersize=4.0,
        markeredgewidth=0.0,
        label=f"value in one game{some}",
    )
    ax.plot(
        first["expectation"],
        first["row"],
        "|",
        color="#b04a0c",
        markersize=15,
        markeredgewidth=2.2,
        label="expectation",
    )
    honest_axis(ax, frame["value"].to_numpy())
    draw_rows(ax, first["provider"].tolist(), x_label)
    legend_above(ax)
    ax.tick_params(axis="y", labelcolor=TEXT)


def _thinned(values: FloatArray) -> FloatArray:
    """Keep evenly spaced values, so that no row has more than a fixed number of points."""
    if len(values) <= _POINTS:
        return values
    return values[np.linspace(0, len(values) - 1, _POINTS).astype(np.int64)]


def _offsets(values: FloatArray, low: float, high: float) -> FloatArray:
    """Place values that are near each other above and below the middle of the row: (len,).

    The first value of a bin is in the middle, the others alternate; a row becomes denser if its
    fullest bin would not fit.

    Examples
    --------
    >>> _offsets(np.array([0.0, 0.0, 0.0, 1.0]), 0.0, 1.0).round(3).tolist()
    [0.0, 0.085, -0.085, 0.0]
    """
    span = high / 2 - low / 2  # half of it, because the difference of two huge numbers overflows
    share = (values / 2 - low / 2) / span if span > 0 else np.zeros(len(values))
    bins = np.floor(share * _BINS).astype(np.int64)
    order = np.argsort(bins, kind="stable")
    sorted_bins = bins[order]
    begins = np.searchsorted(sorted_bins, sorted_bins, side="left")
    place = np.arange(len(values)) - begins  # 0, 1, 2, ... within a bin
    level = (place + 1) // 2 * np.where(place % 2 == 1, 1, -1)
    most = max(int(np.abs(level).max()), 1)
    offsets = np.empty(len(values))
    offsets[order] = level * min(_CLOSEST, _WIDEST / most)
    return offsets + 0.0  # without negative zeros
