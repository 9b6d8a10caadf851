"""The table of a plan as text and HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shapband.checks import printable
from shapband.progress import duration
from shapband.sampling.shared import format_shared
from shapband.valuation.text import Table, html_table, table_lines

if TYPE_CHECKING:
    from shapband.market.planning.proposals import Proposal, Proposals

_MARK = "→ "


def proposals_text(found: Proposals) -> str:
    """Format the table as text: the rows, with the recommended one marked, then the reason."""
    return "\n".join([*_headline(found), "", *table_lines(*_table(found)), "", *_notes(found)])


def proposals_html(found: Proposals) -> str:
    """Format the table as HTML for notebooks. All text in it is escaped."""
    return html_table(_headline(found), _table(found), _notes(found))


def _headline(found: Proposals) -> list[str]:
    n, error = len(found.names), found.limits.error
    wanted = "the smallest error" if error is None else f"an error of ±{error:g}"
    return [f"{n} provider{'s' * (n > 1)}: {wanted} within {found.limits}"]


def _table(found: Proposals) -> Table:
    priced = found.limits.prices is not None
    header = [
        "  sampling", "solver", "games", "± 95 %", "mean", "variance ± 95 %",
        "records", "requests", *(["money"] if priced else []), "time",
    ]  # fmt: skip
    return tuple(header), [_cells(row, found) for row in found.rows]


def _cells(row: Proposal, found: Proposals) -> tuple[str, ...]:
    mark = _MARK if row is found.recommended else " " * len(_MARK)
    return (
        mark + repr(row.sampling),
        repr(row.solver),
        f"{row.n_games:,}",
        f"{row.half_width.max():.2g}",
        f"{row.half_width.mean():.2g}",
        f"{row.variance_half_width.mean():.2g}",
        f"{row.records:,}",
        f"{row.requests:,}",
        *([] if row.money is None else [f"{row.money:,}"]),
        duration(row.seconds),
    )


def _notes(found: Proposals) -> list[str]:
    pilot = found.pilot
    lines = [f"{_MARK}{found.reason}"]
    lines += [f"out of reach: {printable(one.method)}: {printable(one.reason)}"
              for one in found.out_of_reach]  # fmt: skip
    shared = format_shared(pilot.shared)
    if shared:
        lines.append(f"{shared}: a copy takes value from what it was copied from")
    lines.append(
        f"pilot:   {pilot.cost.records:,} records in {pilot.cost.requests:,} requests, "
        f"{pilot.n_games:,} games, {pilot.seconds:.2f} s; included in every row"
    )
    lines.append(
        "± 95 %:  half width of the widest interval of an expectation, and the mean of all"
    )
    return lines
