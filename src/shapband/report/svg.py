"""Inline SVG whose text keeps its size on every screen: horizontal lengths are shares of the width.

Names stand beside the picture as HTML, so that the browser gives them the room they need. Charts
are trees of elements, so all characters of a name are escaped when they are written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from shapband.report.names import shown

_ALL_SHOWN = 60  # a chart with more rows shows only the first and the last ones
_FIRST, _LAST = 25, 10
_TOP = 6  # pixels above the first row
_AXIS = 46  # pixels below the last row, for tick labels and the label of the axis
_MOST_TICKS = 5  # largest number of ticks on an axis of ranks or on a logarithmic axis
_CHARACTERS = 40  # this many characters of tick labels, gaps included, fit on a telephone's screen
_PITCHES = {12: 28, 25: 23}  # most rows → pixels of a row; style.css has the same for names
_LEAST_PITCH = 19  # pixels of a row in charts with more than 25 rows
_ELLIPSIS = "…"


class Scale(NamedTuple):
    """Maps numbers to percent of the width or height of a plot."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        """Place of a number, which may be infinite, within the plot."""
        value = min(max(value, self.low), self.high)
        if self.log:
            return 100 * math.log(value / self.low) / math.log(self.high / self.low)
        # Divide by 2 first, because the difference of two huge numbers may overflow.
        return (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2) * 100


class Tick(NamedTuple):
    """A number on an axis."""

    value: float
    text: str


class Axis(NamedTuple):
    """A scale with its ticks and its label."""

    scale: Scale
    ticks: list[Tick]
    label: str


def linear_axis(numbers: Sequence[float], label: str) -> Axis:
    """Make an axis for all finite numbers, with a little room at both ends."""
    finite = [number for number in numbers if math.isfinite(number)] or [0.0]
    low, high = min(finite), max(finite)
    room = 0.03 * (high / 2 - low / 2) * 2
    if not room > 1e-12 * max(abs(low), abs(high)):
        room = 0.05 * max(abs(low), abs(high)) or 1.0
    largest = 1.7e308
    scale = Scale(max(low - room, -largest), min(high + room, largest))
    return Axis(scale, _linear_ticks(scale), label)


def log_axis(numbers: Sequence[float], label: str) -> Axis:
    """Make a logarithmic axis for all positive finite numbers."""
    positive = [number for number in numbers if 1e-300 < number < 1e300] or [1.0]
    low, high = min(positive), max(positive)
    if high < 1.3 * low:
        low, high = low / 1.2, high * 1.2
    room = (high / low) ** 0.03
    scale = Scale(low / room, high * room, log=True)
    return Axis(scale, _log_ticks(scale), label)


def count_axis(n: int, label: str) -> Axis:
    """Make an axis for the ranks 1 to n."""
    step = max(1, round(_nice_step(n / _MOST_TICKS)))
    ticks = sorted({1, *range(step, n + 1, step)} if step > 1 else set(range(1, n + 1)))
    return Axis(Scale(0.5, n + 0.5), [Tick(one, f"{one:,}") for one in ticks], label)


def share_axis(label: str) -> Axis:
    """Make an axis from 0 to 100 %."""
    ticks = [Tick(part / 4, f"{25 * part} %") for part in range(5)]
    return Axis(Scale(0.0, 1.0), ticks, label)


def _nice_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is not below a number."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)


def _linear_ticks(scale: Scale) -> list[Tick]:
    """As many ticks as fit on the screen of a telephone."""
    for most in (6, 5, 4, 3):
        ticks = _ticks_by(_nice_step((scale.high / 2 - scale.low / 2) / most * 2), scale)
        if sum(len(tick.text) + 2 for tick in ticks) <= _CHARACTERS:
            break
    return ticks


def _ticks_by(step: float, scale: Scale) -> list[Tick]:
    places = range(math.ceil(scale.low / step), math.floor(scale.high / step) + 1)
    values = [place * step for place in places]
    return [Tick(value, _tick_text(value, step, max(map(abs, values)))) for value in values]


def _tick_text(value: float, step: float, largest: float) -> str:
    decimals = -math.floor(math.log10(step) + 1e-9)
    if decimals <= 6 and largest < 1e7:
        return f"{value:,.{max(decimals, 0)}f}"
    digits = math.floor(math.log10(largest or step) + 1e-9) + decimals
    return f"{value:.{max(digits, 0)}e}"


def _log_ticks(scale: Scale) -> list[Tick]:
    first, last = math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high))
    for factors in (range(1, 10), (1, 2, 5), (1, 3), (1,)):
        values = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
        inside = [value for value in values if scale.low <= value <= scale.high]
        if len(inside) <= _MOST_TICKS:
            break
    inside = inside[:: -(-len(inside) // _MOST_TICKS)] if inside else []
    return [Tick(value, _log_text(value)) for value in inside]


def _log_text(value: float) -> str:
    if 1e-5 <= value < 1e7:
        return f"{value:,.0f}" if value >= 1 else f"{value:.5f}".rstrip("0")
    return f"{value:.0e}"


def shown_rows(n: int) -> list[int | None]:
    """Rows that a chart shows; None stands for all that are left out.

    Examples
    --------
    >>> shown_rows(3)
    [0, 1, 2]
    >>> len(shown_rows(1_000)), shown_rows(1_000)[25]
    (36, None)
    """
    if n <= _ALL_SHOWN:
        return list(range(n))
    return [*range(_FIRST), None, *range(n - _LAST, n)]


def left_out(n: int, what: str = "providers") -> str:
    """Say which rows a chart leaves out; empty if none."""
    if n <= _ALL_SHOWN:
        return ""
    return (
        f"The chart shows the first {_FIRST} and the last {_LAST} of {n:,} {what}; the table "
        "has all of them."
    )


def element(parent: Element, tag: str, text: str = "", **attributes: str | float) -> Element:
    """Add an element; `class_` is its class, and text is made safe to show."""
    cleaned = {name.rstrip("_").replace("_", "-"): _text(one) for name, one in attributes.items()}
    added = SubElement(parent, tag, cleaned)
    if text:
        added.text = shown(text)
    return added


def percent(share: float) -> str:
    """Write a share of the width.

    Examples
    --------
    >>> percent(12.5), percent(100.0)
    ('12.5%', '100%')
    """
    return f"{share:.2f}".rstrip("0").rstrip(".") + "%"


def _text(attribute: str | float) -> str:
    if isinstance(attribute, str):
        return attribute
    return f"{attribute:.2f}".rstrip("0").rstrip(".")


def picture(parent: Element, height: float, words: str) -> Element:
    """Begin a picture; `words` describe it for screen readers."""
    words = shown(words)
    return element(
        parent, "svg", class_="chart", width="100%", height=height, role="img", aria_label=words
    )


def as_markup(chart: Element) -> Markup:
    """Write a chart for the page; `tostring` escapes all texts in it."""
    return Markup(tostring(chart, encoding="unicode", short_empty_elements=False))  # noqa: S704


def row_height(n_rows: int) -> int:
    """Pixels of a row in a chart with this many rows."""
    return next((high for most, high in _PITCHES.items() if n_rows <= most), _LEAST_PITCH)


def row_chart(
    words: str,
    names: Sequence[str],
    axis: Axis,
    draw: Callable[[Element, int, float, float], str],
    *,
    zero: bool = False,
) -> Markup:
    """Draw one row per provider, with its name on the left and an axis below.

    `draw` receives the group to draw on, the row, the middle of the row and its height; horizontal
    places are percentages. It returns the text of the tooltip.
    """
    rows = shown_rows(len(names))
    pitch = row_height(len(rows))
    bottom = _TOP + pitch * len(rows)
    chart = Element("div", {"class": f"rows pitch{pitch}"})
    # Hide the names from screen readers, which find them in the table.
    labels = element(chart, "div", class_="names", aria_hidden="true")
    whole = picture(chart, bottom + _AXIS, words)
    plot = element(whole, "svg", x="2%", y=0, width="94%", height="100%", class_="plot")
    _draw_axis(plot, axis, bottom, zero=zero)
    for place, row in enumerate(rows):
        middle = _TOP + pitch * (place + 0.5)
        element(labels, "bdi", _ELLIPSIS if row is None else names[row])
        if row is None:
            told = f"{len(names) - len(rows) + 1:,} more"
            element(plot, "text", told, x="50%", y=middle, dy=".35em", class_="gap")
            continue
        group = element(plot, "g")
        tip = element(group, "title")
        tip.text = shown(draw(group, row, middle, pitch))
    return as_markup(chart)


def _draw_axis(plot: Element, axis: Axis, bottom: float, *, zero: bool) -> None:
    """Draw thin lines at the ticks, their texts and the label of the axis."""
    for tick in axis.ticks:
        x = percent(axis.scale.at(tick.value))
        kind = "zero" if zero and tick.value == 0 else "grid"
        element(plot, "line", x1=x, x2=x, y1=0, y2=bottom, class_=kind)
        element(plot, "text", tick.text, x=x, y=bottom + 16, class_="tick")
    element(plot, "text", axis.label, x="50%", y=bottom + 38, class_="tick label")
