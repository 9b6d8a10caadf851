"""Tables of the report: the numbers of the charts, written as the library prints them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from shapband._typing import FloatArray
from shapband.report.names import named
from shapband.valuation.text import with_digits

_OPEN = 12  # a table of at most this many rows is open when the page is loaded
_PRINTED = 60  # a closed table with more rows is not printed on paper
_ROUNDING = 1e-12  # a spread below this share of the numbers is rounding, and is shown as 0
# Spaces as wide as a digit and as a point, which align the decimal points of a column.
_DIGIT_SPACE, _POINT_SPACE = "\u2007", "\u2008"
NO_BREAK = "\u00a0"  # between a number and its unit
Cell = str | Markup


@dataclass(frozen=True)
class Table:
    """A table with one row per provider, group or number of games.

    Attributes
    ----------
    caption : what it shows; no two tables of the page have the same
    header : titles of the columns
    rows : cells, the first of which names the row
    foot : a last row with totals, or nothing
    on_paper : whether it is printed on paper if it is closed
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    foot: Sequence[Cell] = ()
    on_paper: bool = True

    @staticmethod
    def of(
        caption: str,
        columns: Mapping[str, Iterable[Cell]],
        foot: Sequence[Cell] = (),
        *,
        on_paper: bool = True,
    ) -> Table:
        """Make a table from its columns by their titles; the first names the rows."""
        rows = list(zip(*columns.values(), strict=True))
        return Table(caption, tuple(columns), rows, foot, on_paper)

    @property
    def is_open(self) -> bool:
        """Whether the table is short enough to be shown at once."""
        return len(self.rows) <= _OPEN

    @property
    def is_printed(self) -> bool:
        """Whether the table is printed."""
        return self.is_open or (self.on_paper and len(self.rows) <= _PRINTED)

    @property
    def is_long(self) -> bool:
        """Whether the table scrolls in its own box."""
        return len(self.rows) > _PRINTED


def names_of(names: Iterable[str]) -> list[Markup]:
    """Write the names of rows."""
    return [named(name) for name in names]


def numbers(values: Iterable[float], errors: Iterable[float]) -> list[str]:
    """Write a column of numbers to two digits of their errors, with aligned decimal points."""
    return [_aligned(text) for text in with_digits(values, errors)]


def without_rounding(spread: FloatArray, size: FloatArray) -> FloatArray:
    """Replace spreads and errors that are only rounding, because the numbers are equal, by 0."""
    return np.where(spread < _ROUNDING * np.abs(size), 0.0, spread)


def number(value: float, error: float) -> str:
    """Write one number to two digits of its error."""
    return with_digits([value], [error])[0].strip()


def shortest(value: float, error: float) -> str:
    """Write one number to two digits of an error, or shorter if it has fewer digits itself.

    Examples
    --------
    >>> shortest(0.0, 0.001), shortest(0.5, 0.001), shortest(0.123456, 0.001)
    ('0', '0.5', '0.1235')
    """
    return min(number(value, error), f"{value:.6g}", key=len)


def percents(shares: Iterable[float], decimals: int = 1) -> list[str]:
    r"""Write a column of shares.

    Examples
    --------
    >>> percents([0.125, float("nan")])
    ['12.5\xa0%', 'not known']
    """
    return [f"{100 * one:.{decimals}f}{NO_BREAK}%" if one == one else "not known" for one in shares]


def probability(chance: float) -> str:
    r"""Write a probability that is known to about half a percent.

    Examples
    --------
    >>> probability(0.62), probability(0.9999), probability(float("nan"))
    ('62\xa0%', 'over 99\xa0%', '')
    """
    if chance != chance:
        return ""
    words, number = ("over ", 99) if chance > 0.99 else ("under ", 1) if chance < 0.01 else ("", 0)
    return f"{words}{number or 100 * chance:.0f}{NO_BREAK}%"


def _aligned(text: str) -> str:
    shown = text.rstrip(" ")
    missing = len(text) - len(shown)
    if missing and "." not in shown:
        return shown + _POINT_SPACE + _DIGIT_SPACE * (missing - 1)
    return shown + _DIGIT_SPACE * missing
