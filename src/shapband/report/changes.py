"""The report of a comparison: what changed between valuations, and whether it is beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from shapband.printing import p_text
from shapband.report.charts import change_chart
from shapband.report.frames import change_frame, series_frames
from shapband.report.names import named, shown
from shapband.report.rendering import render
from shapband.report.section import Section, said, sentence
from shapband.report.svg import left_out
from shapband.report.tables import Table, names_of, number, numbers
from shapband.valuation.compare import chance_words

if TYPE_CHECKING:
    import pandas as pd

    from shapband.valuation.compare import Comparison
    from shapband.valuation.series import SeriesComparison


def comparison_page(found: Comparison, home: Markup | None = None) -> str:
    """Make the page of two valuations. The same comparison gives the same text.

    `home` is the address of the list of runs that the page belongs to, if it belongs to one.
    """
    frame, (before, after) = change_frame(found), found.labels
    table = Table.of(
        f"Expectations of {before} and {after}",
        _columns(frame, found.labels)
        | {
            "p": [p_text(p) for p in frame["p_value"]],
            "p (Holm)": [p_text(p) for p in frame["adjusted_p_value"]],
            "beyond chance": _chance(frame),
        },
    )
    games = f"{found.paired_games:,}" if found.paired_games else "none"
    return render(
        "comparison.html.jinja",
        home=home,
        answer=_answer([(before, after, frame)], "95 % interval"),
        facts=[*_counts(len(frame), int(frame["beyond_chance"].sum())), ("paired games", games)],
        sections=[
            _changes("changes", f"From {shown(before)} to {shown(after)}", frame, table, _ALONE),
            _method([sentence(found.summary)], found.notes),
        ],
    )


def series_page(found: SeriesComparison) -> str:
    """Make the page of a series of valuations. The same comparison gives the same text."""
    level = f"{100 * found.level:g} %"
    steps = series_frames(found)
    words = f"All intervals of this page hold together at {level}."
    sections = [
        _changes(
            f"changes-{at}",
            f"From {shown(before)} to {shown(after)}",
            frame,
            Table.of(
                f"Expectations of {before} and {after}",
                _columns(frame, (before, after)) | {"beyond chance": _chance(frame)},
            ),
            words,
        )
        for at, (before, after, frame) in enumerate(steps, start=1)
    ]
    count = int(found.beyond_chance.sum())
    summary = (
        f"{count} of {found.change.size} changes are beyond chance: their interval excludes 0. If "
        f"nothing changes, a share of at most {100 * (1 - found.level):g} % of series shows any."
    )
    return render(
        "comparison.html.jinja",
        home=None,
        answer=_answer(steps, f"interval, which holds with all others at {level},"),
        facts=[("valuations", f"{len(found.labels):,}"), *_counts(len(found.names), count)],
        sections=[*sections, _method([summary], found.notes)],
    )


_ALONE = (
    "Each 95 % interval is for one provider alone. Whether a difference is beyond chance is tested "
    "for all providers together, so an interval may exclude 0 within chance."
)


def _answer(steps: Sequence[tuple[str, str, pd.DataFrame]], interval: str) -> list[Markup]:
    """Say how many changes are beyond chance, and which one is the largest of them."""
    count = sum(int(frame["beyond_chance"].sum()) for _, _, frame in steps)
    whole = sum(len(frame) for _, _, frame in steps)
    begin, end = steps[0][0], steps[-1][1]
    untested = [after for _, after, frame in steps if not frame["tested"].all()]
    if len(untested) == len(steps):
        return [
            Markup(
                "The changes were not tested, because the valuations estimate different things."
            ),
            Markup('See <a href="#method">how it was compared</a>.'),
        ]
    if not count:
        none = Markup("No change from {} to {} is beyond chance.").format(named(begin), named(end))
        return [none, Markup("The intervals below show which changes cannot be excluded.")]
    first = Markup("<strong>{} of {}</strong> {} from {} to {} {} beyond chance.").format(
        f"{count:,}",
        f"{whole:,}",
        "change" if whole == 1 else "changes",
        named(begin),
        named(end),
        "is" if count == 1 else "are",
    )
    flagged = [
        (abs(row["change"]), name, row, before, after)
        for before, after, frame in steps
        for name, row in frame[frame["beyond_chance"]].iterrows()
    ]
    _, name, row, before, after = max(flagged, key=lambda one: one[0])
    half = (row["high"] - row["low"]) / 2
    largest = Markup("The largest is {}, by {} from {} to {} ({} {} to {}).").format(
        named(str(name)),
        _signed(row["change"], half),
        named(before),
        named(after),
        interval,
        _signed(row["low"], half),
        _signed(row["high"], half),
    )
    return [first, largest]


def _changes(anchor: str, title: str, frame: pd.DataFrame, table: Table, words: str) -> Section:
    n = len(frame)
    pale = "within chance" if frame["tested"].all() else "not tested"
    return Section(
        anchor,
        title,
        lines=[words],
        legend=[("dot", "change beyond chance, with its interval"), ("dot faint", pale)],
        chart=change_chart(frame, f"Changes of {n:,} providers: {title}.", "change of expectation"),
        notes=said(left_out(n)),
        tables=[table],
    )


def _columns(frame: pd.DataFrame, labels: tuple[str, str]) -> dict[str, Sequence[str | Markup]]:
    """The columns that all tables of changes have; equal labels are told apart."""
    half = ((frame["high"] - frame["low"]) / 2).to_numpy()
    before, after = labels if labels[0] != labels[1] else (f"{labels[0]} (1)", f"{labels[1]} (2)")
    signs = np.where(frame["change"] >= 0, "+", "")
    changes = zip(signs, numbers(frame["change"], half), strict=True)
    return {
        "provider": names_of(frame.index),
        shown(before): numbers(frame["first"], half),
        shown(after): numbers(frame["second"], half),
        "change": [f"{sign}{change}" for sign, change in changes],
        "± interval": numbers(half, half),
    }


def _chance(frame: pd.DataFrame) -> list[str]:
    return chance_words(frame["beyond_chance"].to_numpy(), tested=bool(frame["tested"].all()))


def _counts(providers: int, beyond: int) -> list[tuple[str, str]]:
    return [("providers", f"{providers:,}"), ("beyond chance", f"{beyond:,}")]


def _method(lines: Sequence[str], notes: Sequence[str]) -> Section:
    """Explain the test, and list the notes."""
    alerts = [sentence(shown(note.partition(": ")[2] or note)) for note in notes]
    return Section("method", "How it was compared", lines=lines, alerts=alerts)


def _signed(value: float, error: float) -> str:
    return f"{'+' if value >= 0 else ''}{number(value, error)}"
