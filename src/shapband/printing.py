"""Results as text and HTML tables; the standard error sets how many digits are shown.

A result that prints as a table says in `_printed` what is above, in and below the table.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


class Printed(NamedTuple):
    """What a result prints: lines above its table, the table, and lines below it."""

    headline: Sequence[str]
    table: Table
    notes: Sequence[str] = ()


class PrintsTable(ABC):
    """A result that `print` and notebooks show as a table."""

    @abstractmethod
    def _printed(self) -> Printed:
        """Return what to print. All strings in it are safe for a terminal."""

    def __str__(self) -> str:
        headline, table, notes = self._printed()
        above = [*headline, ""] if headline else []
        below = ["", *notes] if notes else []
        return "\n".join([*above, *table_lines(*table), *below])

    def _repr_html_(self) -> str:
        """Show the table in a notebook. All text in it is escaped."""
        return html_table(*self._printed())


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Align a table: the first column to the left, the others to the right.

    Examples
    --------
    >>> table_lines(("name", "n"), [("a", "10"), ("long one", "1")])
    ['name       n', 'a         10', 'long one   1']
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def html_table(headline: Iterable[str], table: Table, notes: Iterable[str]) -> str:
    """Format a table as HTML, with lines before and after it. All text in it is escaped."""
    header, rows = table
    division = ElementTree.Element("div")
    for line in headline:
        ElementTree.SubElement(division, "p").text = line
    body = ElementTree.SubElement(division, "table")
    for tag, cells in [("th", header), *(("td", cells) for cells in rows)]:
        row = ElementTree.SubElement(body, "tr")
        for place, text in enumerate(cells):
            style = f"text-align: {'left' if place == 0 else 'right'}"
            if place == 0 and text.startswith("  "):
                style += "; padding-left: 2em"  # a member of the group above
            cell = ElementTree.SubElement(row, tag, style=style)
            cell.text = text.strip()
    for line in notes:
        ElementTree.SubElement(division, "p").text = line
    return ElementTree.tostring(division, encoding="unicode", method="html")


def with_digits(values: Iterable[float], errors: Iterable[float]) -> list[str]:
    """Format numbers to two significant digits of their errors, with aligned decimal points.

    Examples
    --------
    >>> with_digits([0.084407, 0.0661], [0.0176, 0.0018])
    ['0.084 ', '0.0661']
    """
    pairs = zip(values, errors, strict=True)
    numbers = [(float(value), decimals(error, value)) for value, error in pairs]
    most = max((places for _, places in numbers), default=0)
    texts = []
    for value, places in numbers:
        if math.isfinite(value):
            point = 1 if places == 0 < most else 0
            texts.append(f"{value:.{places}f}" + " " * (most - places + point))
        else:
            texts.append("not known" if math.isnan(value) else "unbounded")
    return texts


def decimals(error: float, value: float) -> int:
    """Decimal places that show two significant digits of an error, or six of an exact value."""
    known = math.isfinite(error) and error > 0
    scale, digits = (error, 2) if known else (abs(value), 6)
    if not math.isfinite(scale) or scale == 0:
        return 6
    return min(max(digits - 1 - math.floor(math.log10(scale)), 0), 12)


def p_text(p_value: float) -> str:
    """Format a p-value.

    Examples
    --------
    >>> p_text(0.0314159), p_text(3e-9), p_text(float("nan"))
    ('0.0314', '< 0.0001', 'not known')
    """
    if math.isnan(p_value):
        return "not known"
    return "< 0.0001" if p_value < 0.0001 else f"{p_value:.4f}"
