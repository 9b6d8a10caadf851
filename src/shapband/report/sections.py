"""The sections of the report that show results: what they say, draw and list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from shapband.moments.errors import error_parts
from shapband.moments.participation import participation_parts
from shapband.report.answer import Refused, attempt, kind_of_value
from shapband.report.charts import box_chart, forest_chart, rank_chart, stacked_chart
from shapband.report.convergence import convergence_chart, widths_of
from shapband.report.frames import (
    QUANTILES,
    convergence_frame,
    distribution_frame,
    errors_frame,
    forest_frame,
    ranks_frame,
)
from shapband.report.svg import left_out
from shapband.report.tables import (
    Table,
    joined,
    names_of,
    numbers,
    percents,
    probability,
)
from shapband.text import on_participation, on_pools

if TYPE_CHECKING:
    import pandas as pd

    from shapband._typing import FloatArray
    from shapband.groups import Groups
    from shapband.valuation import Valuation

_LEVEL = "95 %"
_FEW = 6  # providers whose place among the first three says little
_CAUSES = ("games", "solver", "pools")


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes
    ----------
    anchor : its address within the page
    title : its heading
    lines : paragraphs above the chart
    legend : pairs of a class, which gives a swatch its look, and what it stands for
    chart : the picture, or nothing
    notes : paragraphs below the chart
    facts : pairs of a term and what it means, or nothing
    alerts : what to look at before the numbers are used
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
    tables: Sequence[Table] = field(default=())


def results(valuation: Valuation) -> list[Section]:
    """Make all sections that show results, in the order of the page."""
    sections = [values_section(valuation)]
    if valuation.groups is not None:
        sections.append(groups_section(valuation.groups))
    sections += [
        distribution_section(valuation),
        ranks_section(valuation),
        convergence_section(valuation),
        errors_section(valuation),
    ]
    if valuation.moments.presence is not None:
        sections.append(participation_section(valuation))
    return sections


def values_section(valuation: Valuation) -> Section:
    """Expectations with their errors, and the spread of the values, apart."""
    frame, kind = forest_frame(valuation), kind_of_value(valuation)
    table = _forest_table(f"Expected {kind}s of the providers", "provider", frame, valuation)
    words = f"Forest plot of {len(frame):,} providers: expected {kind}, {_LEVEL} interval, spread."
    notes = [left_out(len(frame))]
    if np.isnan(frame["spread_low"]).any():
        notes.append("No band: the spread is not known yet; see the points to check.")
    return Section(
        "values",
        "What each provider is worth",
        lines=[
            "Two uncertainties are kept apart. The pale band is how much the value changes from "
            "one draw of the data to the next: it is real, and more work does not narrow it. The "
            "point and the dark bar are our estimate of the average and its error: more games, or "
            "larger pools, narrow them."
        ],
        legend=_forest_legend(),
        chart=forest_chart(frame, words, f"expected {kind}"),
        notes=[note for note in notes if note],
        tables=[table],
    )


def groups_section(groups: Groups) -> Section:
    """The same for groups of providers."""
    frame = forest_frame(groups)
    words = f"Forest plot of {len(frame):,} groups: value, {_LEVEL} interval, spread."
    return Section(
        "groups",
        "What each group is worth",
        lines=[
            "A group takes part as one player; its value is the sum of the values of its members."
        ],
        legend=_forest_legend(),
        chart=forest_chart(frame, words, "expected value of the group"),
        tables=[_forest_table("Expected values of the groups", "group", frame, groups)],
    )


def distribution_section(valuation: Valuation) -> Section:
    """Quantiles of single games."""
    anchor, title = "distribution", "How the value differs from game to game"
    frame = attempt(lambda: distribution_frame(valuation))
    if isinstance(frame, Refused):
        return Section(anchor, title, lines=[_missing(frame)])
    columns = [f"quantile_{p:g}" for p in QUANTILES]
    width = (frame["highest"] - frame["lowest"]) / 100
    cells = [numbers(frame[column], width) for column in columns]
    table = Table(
        "Quantiles of the values in single games",
        ("provider", *(f"{100 * p:g} %" for p in QUANTILES), "negative"),
        joined(names_of(frame.index), *cells, percents(frame["negative"])),
    )
    kept, played = len(valuation.games), valuation.n_games
    of_games = f"{kept:,}" if kept == played else f"the first {kept:,} of {played:,}"
    kind = kind_of_value(valuation)
    noise = float(np.nansum(valuation.solver_variance)) > 0
    return Section(
        anchor,
        title,
        lines=[
            f"Each game is one random draw of everybody's data. The boxes show the values in "
            f"{of_games} games{', solver noise included' if noise else ''}."
        ],
        legend=[("whisker", "5 to 95 % of games"), ("box", "the middle half"),
                ("median", "median")],
        chart=box_chart(frame, f"Box plot of the {kind}s in single games.", f"{kind} in a game"),
        notes=_said(left_out(len(frame))),
        tables=[table],
    )  # fmt: skip


def ranks_section(valuation: Valuation) -> Section:
    """Ranks with intervals, and probabilities."""
    anchor, title = "ranks", "Who is above whom"
    frame = attempt(lambda: ranks_frame(valuation))
    if isinstance(frame, Refused):
        return Section(anchor, title, lines=[_missing(frame)])
    n = len(frame)
    chances = {"largest of all": valuation.top(1)}
    if n > _FEW:
        chances["among the first 3"] = valuation.top(3)
    counts = [[f"{one:,}" for one in frame[column]] for column in ("rank", "low", "high")]
    places = [[probability(one) for one in found[frame.index]] for found in chances.values()]
    table = Table(
        "Ranks, their intervals, and probabilities",
        ("provider", "rank", "from", "to", "above the next", *chances),
        joined(names_of(frame.index), *counts, [*map(probability, frame["above_next"])], *places),
    )
    sure = int((frame["low"] == frame["high"]).sum())
    told = {0: "No rank is certain", n: "All ranks are certain"}.get(
        sure, f"{sure:,} of {n:,} ranks {'is' if sure == 1 else 'are'} certain"
    )
    return Section(
        anchor,
        title,
        lines=[
            f"{told} at {_LEVEL}. The bars are the ranks that cannot be excluded; they hold for "
            "all providers together. The probabilities follow from the errors of the estimates."
        ],
        legend=[("dot", "rank of the estimate"), ("band", "ranks that cannot be excluded")],
        chart=rank_chart(frame, f"Ranks of {n:,} providers with their intervals."),
        notes=_said(left_out(n)),
        tables=[table],
    )


def convergence_section(valuation: Valuation) -> Section:
    """Half widths of the intervals after some numbers of games."""
    anchor, title = "convergence", "How the error shrank"
    frame = attempt(lambda: convergence_frame(valuation))
    if isinstance(frame, Refused):
        return Section(anchor, title, lines=[_missing(frame)])
    widths = widths_of(frame, _floor(valuation))
    if widths is None:
        return Section(anchor, title, lines=["No half width is known: see the points to check."])
    found = widths.table
    cells = [numbers(found[name], found[name]) for name in ("narrowest", "median", "widest")]
    table = Table(
        f"Half widths of the {_LEVEL} intervals by games played",
        ("games", "records", "narrowest", "median", "widest"),
        joined(
            [f"{games:,}" for games in found.index],
            [f"{records:,}" for records in found["records"]],
            *cells,
        ),
    )
    legend = [("widest", "widest interval"), ("median", "median"), ("narrowest", "narrowest")]
    if len(widths.each.columns):
        legend.append(("each", "each provider"))
    lines = [
        f"Half width of the {_LEVEL} interval of the expectation after each number of games, on "
        "logarithmic axes: four times the games halve the part of the error that games cause."
    ]
    if not widths.by_records:
        lines.append(
            f"All {valuation.access.records:,} records were bought before the first game, so more "
            "games cost no records."
        )
    if widths.floor > 0:
        legend.append(("floor", "left by the pools (median)"))
        lines.append(
            "The dashed line is the half width that the pools alone leave, however many games are "
            "played; larger pools lower it."
        )
    words = "Line chart of the half widths of the intervals by games played."
    return Section(anchor, title, lines, legend, convergence_chart(widths, words), tables=[table])


def errors_section(valuation: Valuation) -> Section:
    """The squared standard errors by cause."""
    frame = errors_frame(valuation)
    total = error_parts(valuation.moments)
    causes = [cause for cause in _CAUSES if float(np.nansum(getattr(total, cause))) > 0]
    error = frame["standard_error"]
    table = Table(
        "Standard errors, and the share of their square by cause",
        ("provider", "standard error", *_CAUSES),
        joined(
            names_of(frame.index),
            numbers(error, error),
            *(percents(frame[cause], 0) for cause in _CAUSES),
        ),
    )
    lines = [
        "Errors have up to three causes: the number of games, the noise of the solver within a "
        "game, and the choice of the pools. Their squares add up."
    ]
    lines += [_sentence(line) for line in on_pools(valuation)]
    chart, legend, notes = None, [], []
    if len(causes) > 1:
        parts = {cause: frame[cause].tolist() for cause in _CAUSES}
        words = "Stacked bars: shares of the squared standard error by cause."
        chart = stacked_chart(list(frame.index), parts, words, "share of the squared error")
        legend = [(f"part{at}", cause) for at, cause in enumerate(_CAUSES) if cause in causes]
        notes = _said(left_out(len(frame)))
    elif causes:
        lines.append(f"Here all of the error comes from the {_of_cause(causes[0])}.")
    return Section("errors", "Where the error comes from", lines, legend, chart, notes,
                   tables=[table])  # fmt: skip


def participation_section(valuation: Valuation) -> Section:
    """How often providers took part, and what of the variance that causes."""
    import pandas as pd

    index = pd.Index(valuation.names, name="provider")
    frame = pd.DataFrame(participation_parts(valuation.moments), index=index)
    frame = frame.iloc[np.argsort(-valuation.expectation, kind="stable")]
    own, whole = frame["variance_participation"], valuation.variance
    total = pd.Series(whole, index=index)[frame.index]
    share = (own / total.where(total > 0)).clip(0, 1)
    error = frame["standard_error_present"]
    deviation = np.sqrt(frame["variance_present"].where(frame["variance_present"] >= 0))
    table = Table(
        "Participation and values of those who take part",
        ("provider", "takes part", "value if present", "standard error", "sd if present",
         "variance from own presence"),
        joined(
            names_of(frame.index),
            percents(frame["rate"]),
            numbers(frame["expectation_present"], error),
            numbers(error, error),
            numbers(deviation, deviation),
            percents(share, 0),
        ),
    )  # fmt: skip
    parts = {"own presence": share.tolist(), "data and others": (1 - share).tolist()}
    return Section(
        "participation",
        "Who took part",
        lines=[
            "Providers are not in every game; an absent one is worth 0 in it. The bars split the "
            "variance of each value into what the provider's own presence and absence cause, and "
            "what the data and the presence of the others cause.",
            *map(_sentence, on_participation(valuation)),
        ],
        legend=[("part0", "own presence"), ("part1", "data and the others")],
        chart=stacked_chart(
            list(frame.index), parts, "Stacked bars: variance by cause.", "share of the variance"
        ),
        notes=_said(left_out(len(frame))),
        tables=[table],
    )


def _forest_table(caption: str, kind: str, frame: pd.DataFrame, owner: Valuation | Groups) -> Table:
    half = (frame["high"] - frame["low"]) / 2
    at = {name: place for place, name in enumerate(owner.names)}
    order = [at[name] for name in frame.index]
    deviation = owner.standard_deviation[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = owner.variance_standard_error[order] / (2 * deviation)
    columns = {
        "expectation": numbers(frame["expectation"], half),
        "± 95 %": numbers(half, half),
        "from": numbers(frame["low"], half),
        "to": numbers(frame["high"], half),
        "sd of value": numbers(deviation, np.fmin(error, deviation)),
    }
    return Table(caption, (kind, *columns), joined(names_of(frame.index), *columns.values()))


def _forest_legend() -> list[tuple[str, str]]:
    return [
        ("dot", f"estimate and its {_LEVEL} interval"),
        ("band", "spread: one standard deviation of the value on both sides"),
    ]


def _floor(valuation: Valuation) -> float:
    """Median over providers of the half width that the pools alone leave; NaN without pools."""
    parts = error_parts(valuation.moments)
    low, high = valuation.interval().T
    with np.errstate(invalid="ignore", divide="ignore"):
        floor: FloatArray = (high - low) / 2 * np.sqrt(parts.pools / parts.total)
    known = floor[np.isfinite(floor) & (floor > 0)]
    return float(np.median(known)) if len(known) else float("nan")


def _of_cause(cause: str) -> str:
    return {"games": "number of games", "solver": "solver", "pools": "choice of the pools"}[cause]


def _said(*lines: str) -> list[str]:
    return [line for line in lines if line]


def _missing(reason: str) -> str:
    return f"This is left out. {reason}"


def _sentence(line: str) -> str:
    """Make a sentence of a line such as ``errors:  squared, ...``."""
    words = " ".join(line.split())
    return f"{words[:1].upper()}{words[1:]}."
