"""The section of the report on values by round of training, and the numbers of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

import numpy as np
from markupsafe import Markup

from shapband.errors import InvalidInput
from shapband.report.section import Section, said
from shapband.report.svg import Axis, as_markup, element, linear_axis, percent, picture
from shapband.report.tables import Table, names_of, numbers
from shapband.valuation.by_round import shown_rounds
from shapband.valuation.text import with_digits

if TYPE_CHECKING:
    import pandas as pd

    from shapband._typing import FloatArray
    from shapband.valuation.by_round import ByRound
    from shapband.valuation.valuation import Valuation

_COLOURED = 4  # providers with a colour and a band; more bands would hide each other
_HEIGHT, _BELOW = 260, 46  # pixels of the plot, and of the axis below it


def by_round_frame(valuation: Valuation) -> pd.DataFrame:
    """The numbers of the picture: values by round and after each round."""
    return asked_rounds(valuation).to_frame()


def asked_rounds(valuation: Valuation) -> ByRound:
    """The values by round of a valuation that was asked for them."""
    if valuation.by_round is None:
        raise InvalidInput("by_round: this valuation has none: use value(..., by_round=True)")
    return valuation.by_round


def coloured(total: FloatArray) -> list[int]:
    """Providers with a colour, the largest total first: all, or the largest and the smallest."""
    order = np.argsort(-total, kind="stable").tolist()
    return order if len(order) <= _COLOURED else [*order[: _COLOURED - 1], order[-1]]


def from_nothing(rounds: ByRound) -> tuple[FloatArray, FloatArray]:
    """Values after 0, 1, .. rounds, and their intervals: before the first round all are 0."""
    values, interval = rounds.after.expectation, rounds.after.interval()
    start = np.zeros((1, len(rounds.names)))
    return np.concatenate([start, values]), np.concatenate([np.stack([start, start], 2), interval])


def rounds_section(rounds: ByRound) -> Section:
    """Lines of the values after each round, and a table of the values of each round."""
    shown = shown_rounds(rounds.n_rounds)
    order = np.argsort(-rounds.after.expectation[-1], kind="stable")
    half = np.diff(rounds.interval(), axis=2)[:, :, 0] / 2
    whole = np.diff(rounds.after.interval(), axis=2)[-1, :, 0] / 2
    columns: dict[str, Sequence[str]] = {"provider": names_of([rounds.names[at] for at in order])}
    for at in shown:
        own, widths = rounds.expectation[at, order], half[at, order]
        pairs = zip(with_digits(own, widths), with_digits(widths, widths), strict=True)
        columns[f"round {at + 1}"] = [f"{one.strip()} ± {wide.strip()}" for one, wide in pairs]
    columns["total"] = numbers(rounds.after.expectation[-1, order], whole[order])
    columns["± 95 %"] = numbers(whole[order], whole[order])
    places = coloured(rounds.after.expectation[-1])
    others = len(rounds.names) - len(places)
    legend = [(f"part{at}", rounds.names[place]) for at, place in enumerate(places)]
    if others:
        legend.append(("each", f"the other {others:,}"))
    some = len(shown) < rounds.n_rounds
    return Section(
        "rounds",
        "Which rounds the values come from",
        lines=[
            "The value of a round is what the score after this round is worth beyond the score "
            "before it. The values of all rounds add up to the value of the provider. Each line "
            "is the sum up to a round, with a band for its 95 % interval."
        ],
        legend=legend,
        chart=_chart(rounds, places),
        notes=said(f"The table has {len(shown)} of {rounds.n_rounds} rounds." if some else ""),
        tables=[Table.of("Values of the rounds", columns)],
    )


def _chart(rounds: ByRound, shown: Sequence[int]) -> Markup:
    values, interval = from_nothing(rounds)
    n_rounds = rounds.n_rounds
    finite = interval[:, list(shown)].ravel()
    drawn = [*values.ravel().tolist(), *finite[np.isfinite(finite)].tolist(), 0.0]
    height = linear_axis(drawn, "")
    chart = Element("div")
    words = f"Line chart of the values after each of {n_rounds} rounds of training."
    plot = element(
        picture(chart, 10 + _HEIGHT + _BELOW, words),
        "svg", x="11%", y=0, width="86%", height="100%", class_="plot",
    )  # fmt: skip
    _draw_scales(plot, n_rounds, height)
    lines = element(
        plot, "svg", x="0", y=10, width="100%", height=_HEIGHT, viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )  # fmt: skip
    for at in (at for at in range(len(rounds.names)) if at not in shown):
        line = element(lines, "polyline", points=_points(values[:, at], height), class_="each")
        element(line, "title", rounds.names[at])
    for number, at in enumerate(shown):
        low, high = interval[:, at].T
        if np.isfinite(interval[:, at]).all():
            there, back = _points(high, height), _points(low, height).split()[::-1]
            points = f"{there} {' '.join(back)}"
            element(lines, "polygon", points=points, class_=f"part{number}")
        points = _points(values[:, at], height)
        line = element(lines, "polyline", points=points, class_=f"part{number}")
        element(line, "title", rounds.names[at])
    return as_markup(chart)


def _draw_scales(plot: Element, n_rounds: int, height: Axis) -> None:
    for tick in height.ticks:
        y = 10 + (100 - height.scale.at(tick.value)) / 100 * _HEIGHT
        kind = "zero" if tick.value == 0 else "grid"
        element(plot, "line", x1="0", x2="100%", y1=y, y2=y, class_=kind)
        element(plot, "text", tick.text, x="-1%", y=y, dy=".35em", class_="tick left")
    bottom, step = 10 + _HEIGHT, -(-n_rounds // 10)
    for number in range(0, n_rounds + 1, step):
        x = percent(100 * number / n_rounds)
        element(plot, "line", x1=x, x2=x, y1=10, y2=bottom, class_="grid")
        element(plot, "text", str(number), x=x, y=bottom + 16, class_="tick")
    element(plot, "text", "rounds of training", x="50%", y=bottom + 38, class_="tick label")


def _points(values: FloatArray, height: Axis) -> str:
    """The points of a line in percent: 0, 1, .. rounds from left to right."""
    last = max(len(values) - 1, 1)
    return " ".join(
        f"{100 * at / last:.2f},{100 - height.scale.at(float(value)):.2f}"
        for at, value in enumerate(values)
    )
