"""Valuations as text and HTML tables; the standard error sets how many digits are shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from shapband._typing import BoolArray
from shapband.checks import printable
from shapband.moments.errors import error_parts
from shapband.moments.shapes import games_to_be_constant, maybe_constant, very_skewed

if TYPE_CHECKING:
    from shapband.valuation import Valuation

Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def valuation_text(valuation: Valuation) -> str:
    """Format a valuation as text: the providers sorted by value, then access, time and method."""
    return "\n".join(
        [
            *_headline(valuation),
            "",
            *table_lines(*valuation_table(valuation)),
            *_caveats(valuation),
            "",
            *_on_pools(valuation),
            f"sources: {valuation.access.records:,} records in {valuation.access.requests:,} "
            f"requests, total request time {valuation.access.seconds:.2f} s",
            f"time:    {valuation.seconds:.2f} s; {valuation.evaluations:,} coalitions evaluated",
            f"method:  {printable(', '.join(valuation.setup.values()))}; seed {valuation.seed}",
        ]
    )


def valuation_html(valuation: Valuation) -> str:
    """Format a valuation as an HTML table for notebooks. All text in it is escaped."""
    notes = [*_caveats(valuation), *_on_pools(valuation)]
    return html_table(_headline(valuation), valuation_table(valuation), notes)


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
            align = "left" if place == 0 else "right"
            cell = ElementTree.SubElement(row, tag, style=f"text-align: {align}")
            cell.text = text.strip()
    for line in notes:
        ElementTree.SubElement(division, "p").text = line
    return ElementTree.tostring(division, encoding="unicode", method="html")


def valuation_table(valuation: Valuation) -> Table:
    """Header and cells of a valuation's table, the largest expectation first."""
    order = np.argsort(-valuation.expectation, kind="stable")
    half = np.diff(valuation.interval(0.95), axis=1)[:, 0] / 2
    total = float(valuation.expectation.sum())
    deviation = valuation.standard_deviation
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation_error = valuation.variance_standard_error / (2 * deviation)
    columns = [
        with_digits(valuation.expectation[order], half[order]),
        with_digits(half[order], half[order]),
        [
            f"{100 * one / total:.1f} %" if total > 0 else "-"
            for one in valuation.expectation[order]
        ],
        with_digits(deviation[order], np.fmin(deviation_error, deviation)[order]),
    ]
    names = [printable(valuation.names[place]) for place in order]
    header = ("provider", "expectation", "± 95 %", "share", "sd of value")
    return header, list(zip(names, *columns, strict=True))


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


def _headline(valuation: Valuation) -> list[str]:
    n = len(valuation.names)
    return [
        f"{n} provider{'s' * (n > 1)}, {valuation.n_games:,} games "
        f"({printable(valuation.stopped)})",
        f"of {printable(valuation.target)}",
    ]


def _caveats(valuation: Valuation) -> list[str]:
    lines = []
    if valuation.failures:
        lines.append(
            f"{valuation.failures:,} of {valuation.evaluations:,} coalitions could not be "
            "evaluated and count with the value given by failed="
        )
    lines.extend(_shape_caveats(valuation))
    if np.isnan(valuation.variance).any():
        lines.append("not known: one permutation does not show the solver's noise; use two or more")
    if valuation.negative_variance.any():
        lines.append(
            "not known: the estimate of the variance is negative; play more games, or use more "
            "permutations"
        )
    return lines


def _on_pools(valuation: Valuation) -> list[str]:
    """Say where the errors of games from pools come from, what would lower them, and which sd."""
    if valuation.moments.pools is None:
        return []
    parts = error_parts(valuation.moments)
    causes = {
        "games": (parts.games, "more games would lower them"),
        "solver": (parts.solver, "more permutations a game would lower them"),
        "pools": (parts.pools, "larger pools would lower them, more games hardly"),
    }
    total = float(parts.total.sum()) or 1.0
    shares = {cause: float(part.sum()) / total for cause, (part, _) in causes.items()}
    largest = max(shares, key=lambda cause: shares[cause])
    seen = ", ".join(f"{cause} {100 * share:.0f} %" for cause, share in shares.items() if share)
    lines = [f"errors:  squared, {seen}; {causes[largest][1]}"] if seen else []
    if valuation.target_code == "pools":
        lines.append(
            "sd:      of draws that repeat records; Pooled(replace=False) gives that of the sources"
        )
    return lines


def _shape_caveats(valuation: Valuation) -> list[str]:
    """Say which intervals cannot be had or trusted yet, because of the values' distribution."""
    lines = []
    same = maybe_constant(valuation.moments, 0.95)
    if same.any():
        lines.append(
            f"unbounded: the values of {_some(valuation.names, same)} were the same in all "
            f"{valuation.n_games} games, which does not exclude a rare event; play "
            f"{games_to_be_constant(0.95)} games or more"
        )
    skewed = very_skewed(valuation.moments)
    if skewed.any():
        lines.append(
            f"the values of {_some(valuation.names, skewed)} are very skewed for "
            f"{valuation.n_games:,} games: the intervals may hold too rarely; play more games"
        )
    return lines


def _some(names: Sequence[str], wanted: BoolArray) -> str:
    """Name up to three providers, and count the others."""
    found = [printable(name) for name, one in zip(names, wanted, strict=True) if one]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(found[:3]) + more
