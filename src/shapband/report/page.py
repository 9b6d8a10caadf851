"""The report: one self-contained HTML file, without scripts or a network connection."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from markupsafe import Markup

from shapband.report.about import about
from shapband.report.accuracy import (
    convergence_section,
    errors_section,
    participation_section,
    variance_section,
)
from shapband.report.answer import Refused, answer, attempt
from shapband.report.by_round import rounds_section
from shapband.report.heading import heading, worth_of_all
from shapband.report.interactions import interactions_section
from shapband.report.owner import owner_page
from shapband.report.rendering import render, write_html
from shapband.report.section import Section
from shapband.report.worth import (
    distribution_section,
    groups_section,
    ranks_section,
    values_section,
)
from shapband.valuation.valued import valued

if TYPE_CHECKING:
    import pandas as pd

    from shapband.market.next_batch import NextBatch
    from shapband.market.payouts import Payouts
    from shapband.runs.read import RunStatus
    from shapband.valuation.valuation import Valuation


def write_page(
    path: str | os.PathLike[str],
    valuation: Valuation,
    *,
    payouts: Payouts | None = None,
    status: RunStatus | None = None,
    next_batch: NextBatch | None = None,
    provider: str | None = None,
    title: str | None = None,
) -> None:
    """Write the report of a valuation to a file; `status` describes its run, if it has one."""
    write_html(
        path,
        lambda: page_of(
            valuation,
            payouts=payouts,
            status=status,
            next_batch=next_batch,
            provider=provider,
            title=title,
        ),
    )


def page_of(
    valuation: Valuation,
    *,
    payouts: Payouts | None = None,
    status: RunStatus | None = None,
    next_batch: NextBatch | None = None,
    provider: str | None = None,
    title: str | None = None,
    home: Markup | None = None,
) -> str:
    """Make the text of the report. The same arguments give the same text on the same day.

    `home` is the address of the list of runs that the page belongs to, if it belongs to one.
    """
    if provider is not None:
        page = owner_page(valuation, provider, payouts, status, next_batch)
        words, facts, sections = page.answer, page.facts, page.sections
    else:
        chances = attempt(lambda: valuation.top(1))  # simulated, so asked for only once
        words, facts = answer(valuation, chances), _facts(valuation)
        sections = [*_results(valuation, chances), *about(valuation, payouts, status, next_batch)]
    return render(
        "page.html.jinja",
        head=heading(title, provider),
        valued=valued(valuation.design, with_rows=provider is None),
        answer=words,
        facts=facts,
        sections=sections,
        n_alerts=sum(len(section.alerts) for section in sections if section.anchor == "alerts"),
        unfinished=valuation.stopped_code == "unfinished",
        home=home,
    )


def _results(valuation: Valuation, chances: pd.Series[float] | Refused) -> list[Section]:
    """Make all sections that show results; `chances` are the probabilities of being the largest."""
    sections = [values_section(valuation)]
    if valuation.groups is not None:
        sections.append(groups_section(valuation.groups))
    if valuation.interactions is not None:
        sections.append(interactions_section(valuation.interactions))
    if valuation.by_round is not None:
        sections.append(rounds_section(valuation.by_round))
    sections += [
        distribution_section(valuation),
        ranks_section(valuation, chances),
        convergence_section(valuation),
        errors_section(valuation),
    ]
    if valuation.estimate.takes_part_at_random:
        sections.append(participation_section(valuation))
    if valuation.variance_split is not None:
        sections.append(variance_section(valuation))
    return sections


def waiting_page(done: int, n_games: int, home: Markup | None = None) -> str:
    """Make the page of a run that has no result yet."""
    return render("waiting.html.jinja", done=f"{done:,}", n_games=f"{n_games:,}", home=home)


def _facts(valuation: Valuation) -> list[tuple[str, str]]:
    """The numbers below the answer."""
    groups = valuation.groups
    return [
        ("providers", f"{len(valuation.names):,}"),
        *([] if groups is None else [("groups", f"{len(groups.names):,}")]),
        *worth_of_all(valuation),
        ("games", f"{valuation.n_games:,}"),
        ("records bought", f"{valuation.access.records:,}"),
        ("coalitions evaluated", f"{valuation.evaluations:,}"),
    ]
