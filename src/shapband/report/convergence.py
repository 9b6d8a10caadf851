"""The chart of half widths that shrink as games are played, on logarithmic axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple
from xml.etree.ElementTree import Element

from markupsafe import Markup

from shapband.report.svg import Axis, as_markup, element, log_axis, percent, picture
from shapband.report.tables import without_rounding

if TYPE_CHECKING:
    import pandas as pd

_HEIGHT = 260  # height of the plot, in pixels
_BELOW = 46  # height of the axis of games, in pixels
_ABOVE = 44  # height of the axis of records, in pixels
_EACH = 12  # with more providers, only the narrowest, median and widest half widths are drawn


class Widths(NamedTuple):
    """Half widths by number of games.

    Attributes
    ----------
    table : one row per number of games: records bought, and narrowest, median, widest half width
    each : one column per provider, or none if there are many
    floor : half width that remains however many games are played, NaN if none does
    by_records : whether records are bought along with the games
    """

    table: pd.DataFrame
    each: pd.DataFrame
    floor: float
    by_records: bool


def widths_of(frame: pd.DataFrame, floor: float) -> Widths | None:
    """Summarise the frame of convergence; None if no half width is known."""
    widths = without_rounding(frame["half_width"].to_numpy(), frame["expectation"].to_numpy())
    known = frame[(widths > 0) & (widths < math.inf)]
    if known.empty:
        return None
    grouped = known.groupby("games")
    table = grouped["half_width"].agg(["min", "median", "max"])
    table.columns = ["narrowest", "median", "widest"]
    table.insert(0, "records", grouped["records"].first())
    wide = known.pivot_table(index="games", columns="provider", values="half_width", sort=False)
    few = wide.shape[1] <= _EACH
    by_records = table["records"].nunique() > 1
    return Widths(table, wide if few else wide.iloc[:, :0], floor, by_records)


def convergence_chart(widths: Widths, words: str) -> Markup:
    """Draw the half widths over games; a second axis counts the records bought."""
    table = widths.table
    games = log_axis(table.index.tolist(), "games played")
    drawn = [*table["narrowest"], *table["widest"], widths.floor]
    half = log_axis(drawn, "")
    top = _ABOVE if widths.by_records else 10
    chart = Element("div")
    whole = picture(chart, top + _HEIGHT + _BELOW, words)
    plot = element(whole, "svg", x="11%", y=0, width="86%", height="100%", class_="plot")
    _draw_scales(plot, games, half, top)
    if widths.by_records:
        _draw_records(plot, games, table, top)
    lines = element(
        plot, "svg", x="0", y=top, width="100%", height=_HEIGHT, viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )  # fmt: skip
    for name in widths.each:
        _draw_line(lines, games, half, widths.each[name], "each")
    for name in ("narrowest", "widest", "median"):
        _draw_line(lines, games, half, table[name], name)
    if widths.floor > 0:
        y = top + _from_top(half, widths.floor)
        element(plot, "line", x1="0", x2="100%", y1=y, y2=y, class_="floor")
    return as_markup(chart)


def _from_top(half: Axis, width: float) -> float:
    return (100 - half.scale.at(width)) / 100 * _HEIGHT


def _draw_scales(plot: Element, games: Axis, half: Axis, top: float) -> None:
    for tick in half.ticks:
        y = top + _from_top(half, tick.value)
        element(plot, "line", x1="0", x2="100%", y1=y, y2=y, class_="grid")
        element(plot, "text", tick.text, x="-1%", y=y, dy=".35em", class_="tick left")
    bottom = top + _HEIGHT
    for tick in games.ticks:
        x = percent(games.scale.at(tick.value))
        element(plot, "line", x1=x, x2=x, y1=top, y2=bottom, class_="grid")
        element(plot, "text", tick.text, x=x, y=bottom + 16, class_="tick")
    element(plot, "text", games.label, x="50%", y=bottom + 38, class_="tick label")


def _draw_records(plot: Element, games: Axis, table: pd.DataFrame, top: float) -> None:
    """Draw the axis of records, which are bought in proportion to the games."""
    rate = float(table["records"].iloc[-1]) / float(table.index[-1])
    low, high = games.scale.low * rate, games.scale.high * rate
    for tick in log_axis([low * 1.05, high / 1.05], "").ticks:
        x = percent(games.scale.at(tick.value / rate))
        element(plot, "line", x1=x, x2=x, y1=top - 5, y2=top, class_="zero")
        element(plot, "text", tick.text, x=x, y=top - 9, class_="tick")
    element(plot, "text", "records bought", x="50%", y=12, class_="tick label")


def _draw_line(
    lines: Element, games: Axis, half: Axis, widths: pd.Series[float], kind: str
) -> None:
    points = [
        f"{games.scale.at(float(played)):.2f},{100 - half.scale.at(width):.2f}"
        for played, width in zip(widths.index, widths, strict=True)
        if math.isfinite(width)
    ]
    element(lines, "polyline", points=" ".join(points), class_=kind)
