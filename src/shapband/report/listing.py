"""The page of a folder of runs, which lists them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal
from urllib.parse import urlencode

from markupsafe import Markup, escape

from shapband.report.names import named
from shapband.report.rendering import render

_UNKNOWN = "not known"
_STATES = ("running", "interrupted", "finished", "unreadable")
PLACES = ("first", "second")  # of the two runs that are compared


@dataclass(frozen=True)
class RunLine:
    """What the list says about one run.

    Attributes
    ----------
    key : names the run in addresses
    name : its path within the folder
    state : ``running``, ``interrupted``, ``finished`` or ``unreadable``
    reason : why it is unreadable, or nothing; the numbers below are then not known
    providers : the number of providers
    games : games played, and games asked for if there are more to play
    error : half width of the widest 95 % interval, NaN before there is a result
    records, requests : what was received from the sources so far
    money : what the sources charge for it by the prices of the run, None without prices
    changed : when the last entry was made in the ledger
    has_result : whether there is a valuation, which can be compared
    """

    key: str
    name: str
    state: Literal["running", "interrupted", "finished", "unreadable"]
    reason: str = ""
    providers: int = 0
    games: str = ""
    error: float = float("nan")
    records: int = 0
    requests: int = 0
    money: Decimal | None = None
    changed: datetime | None = None
    has_result: bool = False


@dataclass(frozen=True)
class Choice:
    """A choice of runs on the list.

    Attributes
    ----------
    runs : the chosen runs by place, ``first`` or ``second``
    page : the page of the list, from 1 on
    n_pages : number of pages of the list
    n_runs : number of runs on all pages
    message : what is wrong with the choice, or nothing
    """

    runs: Mapping[str, RunLine]
    page: int = 1
    n_pages: int = 1
    n_runs: int = 0
    message: str = ""


def address(token: str, **query: str) -> Markup:
    """Write the address of a page, for use in a link.

    As markup it is not searched for secrets, so that its token is not hidden.
    """
    return escape(f"/?{urlencode({'token': token, **query})}")


def runs_page(
    folder: str, runs: Sequence[RunLine], choice: Choice, notes: Sequence[str], token: str
) -> str:
    """Make the list of runs, of which two can be chosen; `runs` are those of one page."""
    priced = any(run.money is not None for run in runs)
    columns = ["providers", "games", "largest ± 95 %", "records", "requests"]
    header = ["run", "state", *columns, *(["cost"] if priced else []), "changed (UTC)"]
    rows = [
        {
            "key": run.key,
            "name": named(run.name),
            "address": address(token, run=run.key),
            "state": run.state,
            "reason": run.reason,
            "has_result": run.has_result,
            "cells": _cells(run, priced=priced),
        }
        for run in runs
    ]
    listed = {run.key for run in runs}
    return render(
        "runs.html.jinja",
        title=f"Runs in {folder}",
        wide=True,
        home=None,
        message=choice.message,
        token=escape(token),  # as markup it is not hidden as a secret
        facts=_facts(runs, choice),
        header=header,
        runs=rows,
        chosen={place: getattr(choice.runs.get(place), "key", None) for place in PLACES},
        elsewhere=[
            (place, {"key": run.key, "name": named(run.name)})
            for place, run in choice.runs.items()
            if run.key not in listed
        ],
        pages=_pages(choice),
        notes=notes,
    )


def _cells(run: RunLine, *, priced: bool) -> list[str]:
    """The numbers of a run, one for each column."""
    error = _UNKNOWN if run.error != run.error else f"{run.error:.2g}"
    money = ["no prices" if run.money is None else f"{run.money:,}"] if priced else []
    changed = _UNKNOWN if run.changed is None else f"{run.changed:%Y-%m-%d %H:%M}"
    counts = f"{run.records:,}", f"{run.requests:,}"
    return [f"{run.providers:,}", run.games, error, *counts, *money, changed]


def _facts(runs: Sequence[RunLine], choice: Choice) -> list[tuple[str, str]]:
    """Count the runs; their states are counted only if all runs are on one page."""
    found = [("runs", f"{choice.n_runs:,}")]
    if choice.n_pages == 1:
        counts = [(word, sum(run.state == word for run in runs)) for word in _STATES]
        found += [(word, f"{count:,}") for word, count in counts if count]
    return found


def _pages(choice: Choice) -> list[tuple[int, str]]:
    """Buttons that lead to the neighbouring pages."""
    found = []
    if choice.page > 1:
        found.append((choice.page - 1, "Later changes"))
    if choice.page < choice.n_pages:
        found.append((choice.page + 1, "Earlier changes"))
    return found
