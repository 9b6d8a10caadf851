"""The sections of the report on errors: how they shrank, and where they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shapband.report.answer import Refused, attempt
from shapband.report.charts import stacked_chart
from shapband.report.convergence import convergence_chart, widths_of
from shapband.report.frames import convergence_frame, errors_frame
from shapband.report.section import Section, said, sentence, without_games
from shapband.report.svg import left_out
from shapband.report.tables import (
    NO_BREAK,
    Table,
    names_of,
    numbers,
    percents,
    without_rounding,
)
from shapband.valuation.text import (
    best_of_more_games,
    error_causes,
    on_participation,
    on_validation,
)

if TYPE_CHECKING:
    import pandas as pd

    from shapband._typing import FloatArray
    from shapband.estimate.estimate import Estimate
    from shapband.valuation.valuation import Valuation

_LEVEL = "95 %"


def convergence_section(valuation: Valuation) -> Section:
    """Half widths of the intervals after some numbers of games."""
    anchor, title = "convergence", "How the error shrank"
    frame = attempt(lambda: convergence_frame(valuation))
    if isinstance(frame, Refused):
        return without_games(anchor, title, frame, valuation)
    widths = widths_of(frame, _floor(valuation))
    if widths is None:
        return Section(
            anchor, title, lines=["There is no half width to draw: all are 0 or not known."]
        )
    found = widths.table
    columns: dict[str, Sequence[str]] = {
        "games": [f"{games:,}" for games in found.index],
        "records": [f"{records:,}" for records in found["records"]],
        **{one: numbers(found[one], found[one]) for one in ("narrowest", "median", "widest")},
    }
    caption = f"Half widths of the {_LEVEL} intervals by games played"
    table = Table.of(caption, columns, on_paper=False)
    legend = [("widest", "widest interval"), ("median", "median"), ("narrowest", "narrowest")]
    if len(widths.each.columns):
        legend.append(("each", "each provider"))
    lines = [
        f"Half width of the {_LEVEL} interval of the expectation after each number of games, on "
        "logarithmic axes: four times the games halve the part of the error that games cause."
    ]
    if len(valuation.games) < valuation.n_games:
        lines.append(f"The values of the first {len(valuation.games):,} games were kept for this.")
    if not widths.by_records:
        lines.append(
            f"All {valuation.access.records:,} records were bought before the first game, so more "
            "games cost no records."
        )
    if widths.floor > 0:
        legend.append(("floor", "left by any number of games (median)"))
        lines.append(
            "The dashed line is the half width that remains however many games are played. Larger "
            "pools and more validation rows lower it."
        )
    words = "Line chart of the half widths of the intervals by games played."
    return Section(anchor, title, lines, legend, convergence_chart(widths, words), tables=[table])


def errors_section(valuation: Valuation) -> Section:
    """The squared standard errors by cause."""
    frame = errors_frame(valuation)
    parts = valuation.estimate.errors.by_cause
    causes = [cause for cause, part in parts.items() if float(np.nansum(part)) > 0]
    order = np.argsort(-valuation.expectation, kind="stable")
    error = without_rounding(frame["standard_error"].to_numpy(), valuation.expectation[order])
    columns: dict[str, Sequence[str]] = {
        "provider": names_of(frame.index),
        "standard error": numbers(error, error),
        **{cause: percents(frame[cause], 0) for cause in parts},
    }
    table = Table.of("Standard errors, and the share of their square by cause", columns)
    lines = [
        "Errors of expectations have up to four causes: the number of games, the noise of the "
        "solver within a game, the choice of the pools, and the choice of the validation rows. "
        "Their squares add up.",
        *map(sentence, on_validation(valuation)),
    ]
    chart, legend, notes = None, [], []
    if len(causes) > 1:
        bars = {cause: frame[cause].tolist() for cause in parts}
        words = "Stacked bars: shares of the squared standard error by cause."
        chart = stacked_chart(list(frame.index), bars, words, "share of the squared error")
        legend = [(f"part{at}", cause) for at, cause in enumerate(parts) if cause in causes]
        notes = said(left_out(len(frame)))
    lines += _by_cause(valuation.estimate)
    return Section(
        "errors", "Where the error comes from", lines, legend, chart, notes, tables=[table]
    )


def participation_section(valuation: Valuation) -> Section:
    """How often providers took part, and how much of the variance this causes."""
    import pandas as pd

    index = pd.Index(valuation.names, name="provider")
    frame = pd.DataFrame(valuation.estimate.participation, index=index)
    frame = frame.iloc[np.argsort(-valuation.expectation, kind="stable")]
    if "rate_in_games" in frame:
        return _rounds_section(frame)
    own, whole = frame["variance_participation"], valuation.variance
    total = pd.Series(whole, index=index)[frame.index]
    share = (own / total.where(total > 0)).clip(0, 1)
    error = frame["standard_error_present"]
    deviation = np.sqrt(frame["variance_present"].where(frame["variance_present"] >= 0))
    columns: dict[str, Sequence[str]] = {
        "provider": names_of(frame.index),
        "takes part": percents(frame["rate"]),
        "value if present": numbers(frame["expectation_present"], error),
        "standard error": numbers(error, error),
        "sd if present": numbers(deviation, deviation),
        "variance from own presence": percents(share, 0),
    }
    table = Table.of("Participation and values of those who take part", columns)
    parts = {"own presence": share.tolist(), "data and others": (1 - share).tolist()}
    return Section(
        "participation",
        "Who took part",
        lines=[
            "Providers do not take part in every game; an absent provider is worth 0. The bars "
            "split the variance of each value into the part due to the provider's own presence or "
            "absence, and the part due to the data and the presence of the others.",
            *map(sentence, on_participation(valuation)),
        ],
        legend=[("part0", "own presence"), ("part1", "data and the others")],
        chart=stacked_chart(
            list(frame.index), parts, "Stacked bars: variance by cause.", "share of the variance"
        ),
        notes=said(left_out(len(frame))),
        tables=[table],
    )


def variance_section(valuation: Valuation) -> Section:
    """The variance of every value by its causes: data, presence in rounds, training."""
    frame = valuation.variance_parts
    assert frame is not None  # noqa: S101  for the type checker
    frame = frame.iloc[np.argsort(-valuation.expectation, kind="stable")]
    words = {"data": "data", "participation": "presence in rounds", "training": "training"}
    columns: dict[str, Sequence[str]] = {"provider": names_of(frame.index)}
    for part, word in words.items():
        columns[word] = numbers(frame[part], frame[f"{part}_error"])
        columns[f"{word}: std. error"] = numbers(frame[f"{part}_error"], frame[f"{part}_error"])
    kept = frame[list(words)].clip(lower=0)
    shares = kept.div(kept.sum(axis=1).replace(0, np.nan), axis=0)
    bars = {word: shares[part].tolist() for part, word in words.items()}
    told = "Stacked bars: shares of the variance of the value by cause."
    return Section(
        "variance",
        "Where the spread of the values comes from",
        lines=[
            "Games were played again with the same draws. Values that differ although the draws "
            "are the same differ because of who is present in the rounds, or because of random "
            "training. The parts add up to the variance of the value.",
            *map(sentence, on_participation(valuation)),
        ],
        legend=[(f"part{at}", word) for at, word in enumerate(words.values())],
        chart=stacked_chart(list(frame.index), bars, told, "share of the variance"),
        notes=said(left_out(len(frame))),
        tables=[Table.of("The variance of every value by cause", columns)],
    )


def _rounds_section(frame: pd.DataFrame) -> Section:
    """How often providers were present in the rounds of training."""
    columns: dict[str, Sequence[str]] = {
        "provider": names_of(frame.index),
        "present in rounds": percents(frame["rate"]),
        "in no round of a game": percents(1 - frame["rate_in_games"]),
    }
    return Section(
        "participation",
        "Who took part",
        lines=[
            "Providers come and go from round to round of the training in a game. A provider that "
            "is present in no round of a game is worth 0 in it. Values and errors refer to the "
            "data and to who is present together."
        ],
        tables=[Table.of("Shares of the rounds, and of the games without any", columns)],
    )


def _floor(valuation: Valuation) -> float:
    """Median over providers of the half width that any number of games leaves; NaN if none."""
    errors = valuation.estimate.errors
    low, high = valuation.interval().T
    with np.errstate(invalid="ignore", divide="ignore"):
        floor: FloatArray = (high - low) / 2 * np.sqrt(errors.remaining / errors.total)
    known = floor[np.isfinite(floor) & (floor > 0)]
    return float(np.median(known)) if len(known) else float("nan")


def _by_cause(estimate: Estimate) -> list[str]:
    """Say how much each cause adds to the squared errors of all providers, and the remedy."""
    said = error_causes(estimate).replace(" %", f"{NO_BREAK}%")
    if not said:
        return []
    remedy = best_of_more_games(estimate) or "more games would lower them"
    return [f"Of the squared errors of all providers, {said}: {remedy}."]
