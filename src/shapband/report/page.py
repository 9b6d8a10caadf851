"""The report: one self-contained HTML file, without scripts or a network connection."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from shapband.checks import one_line, written
from shapband.errors import InvalidInput
from shapband.report.about import about
from shapband.report.accuracy import convergence_section, errors_section, participation_section
from shapband.report.answer import Refused, answer, attempt
from shapband.report.interactions import interactions_section
from shapband.report.names import shown
from shapband.report.section import Section
from shapband.report.worth import (
    distribution_section,
    groups_section,
    ranks_section,
    values_section,
)

if TYPE_CHECKING:
    import pandas as pd

    from shapband.market.next_batch import NextBatch
    from shapband.market.payouts import Payouts
    from shapband.runs.read import RunStatus
    from shapband.valuation.valuation import Valuation

_TEMPLATES = Path(__file__).parent / "templates"


def write_page(
    path: str | os.PathLike[str],
    valuation: Valuation,
    *,
    payouts: Payouts | None = None,
    status: RunStatus | None = None,
    next_batch: NextBatch | None = None,
) -> None:
    """Write the report of a valuation to a file; `status` describes its run, if it has one."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInput(f"report: path must be the name of a file; received {written(path)}")
    found = page_of(valuation, payouts=payouts, status=status, next_batch=next_batch)
    content = found.encode()
    try:
        Path(path).write_bytes(content)
    except (OSError, ValueError) as cause:  # a name with a null character is a ValueError
        reason = (getattr(cause, "strerror", None) or one_line(cause)).lower()
        raise InvalidInput(f"report: {shown(str(path))} cannot be written: {reason}") from cause


def page_of(
    valuation: Valuation,
    *,
    payouts: Payouts | None = None,
    status: RunStatus | None = None,
    next_batch: NextBatch | None = None,
) -> str:
    """Make the text of the report. The same arguments give the same text."""
    chances = attempt(lambda: valuation.top(1))  # simulated, so asked for only once
    sections = [*_results(valuation, chances), *about(valuation, payouts, status, next_batch)]
    return _render(
        "page.html.jinja",
        answer=answer(valuation, chances),
        facts=_facts(valuation),
        sections=sections,
        n_alerts=sum(len(section.alerts) for section in sections if section.anchor == "alerts"),
        unfinished=valuation.stopped_code == "unfinished",
    )


def _results(valuation: Valuation, chances: pd.Series[float] | Refused) -> list[Section]:
    """Make all sections that show results; `chances` are the probabilities of being the largest."""
    sections = [values_section(valuation)]
    if valuation.groups is not None:
        sections.append(groups_section(valuation.groups))
    if valuation.interactions is not None:
        sections.append(interactions_section(valuation.interactions))
    sections += [
        distribution_section(valuation),
        ranks_section(valuation, chances),
        convergence_section(valuation),
        errors_section(valuation),
    ]
    if valuation.estimate.takes_part_at_random:
        sections.append(participation_section(valuation))
    return sections


def waiting_page(done: int, n_games: int) -> str:
    """Make the page of a run that has no result yet."""
    return _render("waiting.html.jinja", done=f"{done:,}", n_games=f"{n_games:,}")


def _render(template: str, **values: Any) -> str:
    """Fill in a template; the page names the digest of its style, and allows no other."""
    style = (_TEMPLATES / "style.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    values |= {"style": Markup(style), "style_digest": digest}  # noqa: S704  a file of this package
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_harmless,
    )
    return environment.get_template(template).render(values)


def _harmless(thing: Any) -> Any:
    """Escape every string that the template inserts, except markup, which is already escaped."""
    return shown(thing) if isinstance(thing, str) and not isinstance(thing, Markup) else thing


def _facts(valuation: Valuation) -> list[tuple[str, str]]:
    """The numbers below the answer."""
    groups = valuation.groups
    return [
        ("providers", f"{len(valuation.names):,}"),
        *([] if groups is None else [("groups", f"{len(groups.names):,}")]),
        ("games", f"{valuation.n_games:,}"),
        ("records bought", f"{valuation.access.records:,}"),
        ("coalitions evaluated", f"{valuation.evaluations:,}"),
        ("seed", str(valuation.seed)),
    ]
