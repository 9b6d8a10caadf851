"""The section of the report on interactions: who replaces whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

import numpy as np
from markupsafe import Markup

from shapband.report.frames import largest_size, similar_order
from shapband.report.section import Section, said
from shapband.report.svg import as_markup, element, percent, picture, row_height
from shapband.report.tables import Table, names_of, numbers
from shapband.valuation.text import with_digits

if TYPE_CHECKING:
    from shapband._typing import FloatArray, IntArray
    from shapband.valuation.interactions import Interactions

_SHOWN = 30  # providers in the chart
_LISTED = 60  # pairs in the table
_HEAD = 22  # pixels above the cells, for the numbers of the columns; style.css has 6 for names
_NUMBERED = 16  # up to this many columns, every column has room for its number on a telephone


def interactions_section(interactions: Interactions) -> Section:
    """The matrix of interactions as coloured cells, and a table of the strongest pairs."""
    frame = interactions.to_frame()
    n, listed = len(interactions.names), frame.head(_LISTED)
    shown = _strongest(interactions)
    half = (listed["high"] - listed["low"]).to_numpy() / 2
    columns: dict[str, Sequence[str | Markup]] = {
        "provider": names_of(listed["one"]),
        "and": names_of(listed["other"]),
        "interaction": numbers(listed["interaction"], half),
        "± 95 %": numbers(half, half),
    }
    some = len(frame) > len(listed)
    caption = f"The {len(listed)} strongest of {len(frame):,} pairs" if some else "All pairs"
    doubtful = int(((frame["low"] <= 0) & (frame["high"] >= 0)).sum())
    return Section(
        "interactions",
        "Who replaces whom",
        lines=[
            "An interaction is what two providers are worth together beyond the sum of what each "
            "is worth alone, on average over the others who are already there. It is negative if "
            "one replaces the other, as a copy does, and positive if they complement each other."
        ],
        legend=[("part1", "below 0: one replaces the other"), ("part0", "above 0")],
        chart=_chart(interactions, shown),
        notes=said(
            f"The chart shows the {len(shown)} providers with the strongest interactions of {n:,}."
            if n > len(shown)
            else "",
            f"The 95 % intervals of {doubtful:,} of {len(frame):,} pairs include 0. "
            "Each interval holds by itself; about one in twenty misses by chance.",
        ),
        tables=[Table.of(f"Interactions: {caption[0].lower()}{caption[1:]}", columns)],
    )


def _strongest(interactions: Interactions) -> IntArray:
    """Providers of the chart, those that replace each other side by side."""
    matrix = interactions.matrix
    reach = np.nanmax(np.abs(matrix), axis=1)
    kept = np.sort(np.argsort(-reach, kind="stable")[:_SHOWN])
    order: IntArray = kept[similar_order(matrix[np.ix_(kept, kept)])]
    return order


def _chart(interactions: Interactions, shown: IntArray) -> Markup:
    """Draw the cells: the colour is the sign, and the strength of the colour is the size."""
    n = len(shown)
    pitch = row_height(n)
    names = [interactions.names[at] for at in shown]
    words = f"Heat map of the interactions of {n} providers; the table has the strongest pairs."
    chart = Element("div", {"class": f"rows pitch{pitch}"})
    labels = element(chart, "div", class_="names matrix", aria_hidden="true")
    plot = picture(chart, _HEAD + pitch * n + 6, words)
    step = 1 if n <= _NUMBERED else 5
    for place, name in enumerate(names):
        element(labels, "bdi", f"{place + 1} {name}")
        if step == 1 or (place + 1) % step == 0 or place == 0:
            x = percent(100 * (place + 0.5) / n)
            element(plot, "text", str(place + 1), x=x, y=_HEAD - 7, class_="tick")
    matrix, error = (
        part[np.ix_(shown, shown)] for part in (interactions.matrix, interactions.standard_error)
    )
    for row in range(n):
        for column in range(n):
            if row != column:
                cell = element(plot, "g")
                _draw_cell(cell, matrix, row, column, pitch)
                told = with_digits([matrix[row, column]], [2 * error[row, column]])[0].strip()
                element(cell, "title", f"{names[row]} and {names[column]}: {told}")
    return as_markup(chart)


def _draw_cell(cell: Element, matrix: FloatArray, row: int, column: int, pitch: float) -> None:
    n, value = len(matrix), matrix[row, column]
    element(
        cell,
        "rect",
        x=percent(100 * column / n),
        y=_HEAD + pitch * row,
        width=percent(100 / n),
        height=pitch,
        fill_opacity=abs(value) / largest_size(matrix),
        class_="part1" if value < 0 else "part0",
    )
