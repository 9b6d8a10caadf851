"""A section of the report: what it says, draws and lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from shapband.report.tables import Table

if TYPE_CHECKING:
    from shapband.valuation.valuation import Valuation


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes
    ----------
    anchor : its address within the page
    title : its heading
    lines : paragraphs above the chart
    legend : pairs of a CSS class, which sets the look of a swatch, and the meaning of the swatch
    chart : the picture, or nothing
    notes : paragraphs below the chart
    facts : pairs of a term and its meaning, or nothing
    alerts : points to check before the numbers are used
    tables : the numbers
    """

    anchor: str
    title: str
    lines: Sequence[str | Markup] = ()
    legend: Sequence[tuple[str, str]] = ()
    chart: Markup | None = None
    notes: Sequence[str | Markup] = ()
    facts: Sequence[tuple[str, str | Markup]] = ()
    alerts: Sequence[str | Markup] = ()
    tables: Sequence[Table] = ()


def said(*lines: str) -> list[str]:
    """Leave out empty lines."""
    return [line for line in lines if line]


def missing(anchor: str, title: str, reason: str) -> Section:
    """Make a section that only says why nothing can be shown."""
    return Section(anchor, title, lines=[f"This is left out. {reason}"])


def without_games(anchor: str, title: str, reason: str, valuation: Valuation) -> Section:
    """Make a section that needs the values of single games, which are not known."""
    if valuation.stopped_code == "unfinished":
        reason = "The values of single games can be read when the run is finished."
    return missing(anchor, title, reason)


def sentence(words: str) -> str:
    """Begin with a capital letter, and end with a full stop.

    Examples
    --------
    >>> sentence("records  repeat")
    'Records repeat.'
    """
    joined = " ".join(words.split())
    return f"{joined[:1].upper()}{joined[1:]}{'' if joined.endswith('.') else '.'}"
