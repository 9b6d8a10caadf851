"""The sections of the report on values: expectations, groups, single games and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shapband.report.answer import Refused, attempt, kind_of_value
from shapband.report.charts import box_chart, broken_axis, forest_chart, rank_chart
from shapband.report.frames import QUANTILES, distribution_frame, forest_frame, ranks_frame
from shapband.report.section import Section, missing, said, without_games
from shapband.report.svg import left_out
from shapband.report.tables import (
    Table,
    names_of,
    numbers,
    percents,
    probability,
    without_rounding,
)
from shapband.valuation.text import from_one_to_the_next

if TYPE_CHECKING:
    import pandas as pd

    from shapband._typing import FloatArray
    from shapband.valuation.groups import Groups
    from shapband.valuation.valuation import Valuation

_LEVEL = "95 %"
_FEW = 6  # with at most this many providers, being among the first three says little


def values_section(valuation: Valuation) -> Section:
    """Expectations with their errors, and separately the spread of the values."""
    frame, kind = forest_frame(valuation), kind_of_value(valuation)
    table = _forest_table(f"Expected {kind}s of the providers", "provider", frame, valuation)
    words = f"Forest plot of {len(frame):,} providers: expected {kind}, {_LEVEL} interval, spread."
    notes = [left_out(len(frame)), broken_axis(frame)]
    if valuation.estimand_code == "pools":
        notes.append(
            "The spread is measured over draws that may repeat records of a pool. "
            "Pooled(replace=False) estimates the spread over draws from the sources."
        )
    if _spread_is_missing(frame):
        notes.append("No band: the spread is not known yet; see the points to check.")
    return Section(
        "values",
        "What each provider is worth",
        lines=[
            "Two uncertainties are kept apart. The pale band shows how much the value changes "
            f"{from_one_to_the_next(valuation)}: it is real, and more work does not narrow it. The "
            "point and the dark bar are the estimate of the average and its error: more games, "
            "larger pools or more validation rows narrow the bar."
        ],
        legend=_forest_legend(frame),
        chart=forest_chart(frame, words, f"expected {kind}"),
        notes=[note for note in notes if note],
        tables=[table],
    )


def groups_section(groups: Groups) -> Section:
    """Expectations and spreads of the values of groups of providers."""
    frame = forest_frame(groups)
    words = f"Forest plot of {len(frame):,} groups: value, {_LEVEL} interval, spread."
    missing_band = "No band: the spread is not known yet." if _spread_is_missing(frame) else ""
    return Section(
        "groups",
        "What each group is worth",
        lines=[
            "A group takes part as one player; its value is the sum of the values of its members."
        ],
        legend=_forest_legend(frame),
        chart=forest_chart(frame, words, "expected value of the group"),
        notes=said(left_out(len(frame), "groups"), broken_axis(frame), missing_band),
        tables=[_forest_table("Expected values of the groups", "group", frame, groups)],
    )


def distribution_section(valuation: Valuation) -> Section:
    """Quantiles of single games."""
    anchor, title = "distribution", "How the value differs from game to game"
    frame = attempt(lambda: distribution_frame(valuation))
    if isinstance(frame, Refused):
        return without_games(anchor, title, frame, valuation)
    columns = [f"quantile_{p:g}" for p in QUANTILES]
    kept, played = len(valuation.games), valuation.n_games
    error = _median_error(frame, kept)
    cells: dict[str, Sequence[str]] = {
        "provider": names_of(frame.index),
        **{f"{100 * p:g} %": numbers(frame[f"quantile_{p:g}"], error) for p in QUANTILES},
        "negative": percents(frame["negative"]),
    }
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
        legend=[
            ("whisker", "5 to 95 % of games"),
            ("box", "the middle half"),
            ("median", "median"),
        ],
        chart=box_chart(frame, f"Box plot of the {kind}s in single games.", f"{kind} in a game"),
        notes=said(left_out(len(frame)), broken_axis(frame[columns])),
        tables=[Table.of("Quantiles of the values in single games", cells)],
    )


def ranks_section(valuation: Valuation, chances: pd.Series[float] | Refused) -> Section:
    """Ranks with intervals, and probabilities."""
    anchor, title = "ranks", "Who is above whom"
    frame = attempt(lambda: ranks_frame(valuation))
    if isinstance(frame, Refused) or isinstance(chances, Refused):
        reason = frame if isinstance(frame, Refused) else str(chances)
        return missing(anchor, title, reason)
    n = len(frame)
    top = {"largest of all": chances}
    if n > _FEW:
        top["among the first 3"] = valuation.top(3)
    columns: dict[str, Sequence[str]] = {
        "provider": names_of(frame.index),
        "rank": [f"{one:,}" for one in frame["rank"]],
        "from": [f"{one:,}" for one in frame["low"]],
        "to": [f"{one:,}" for one in frame["high"]],
        "above the next": [*map(probability, frame["above_next"])],
        **{title: [*map(probability, found[frame.index])] for title, found in top.items()},
    }
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
        notes=said(left_out(n)),
        tables=[Table.of("Ranks, their intervals, and probabilities", columns)],
    )


def _forest_table(caption: str, kind: str, frame: pd.DataFrame, owner: Valuation | Groups) -> Table:
    mean = frame["expectation"].to_numpy()
    half = without_rounding(((frame["high"] - frame["low"]) / 2).to_numpy(), mean)
    at = {name: place for place, name in enumerate(owner.names)}
    order = [at[name] for name in frame.index]
    deviation = without_rounding(owner.standard_deviation[order], mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = owner.variance_standard_error[order] / (2 * deviation)
    columns: dict[str, Sequence[str]] = {
        kind: names_of(frame.index),
        "expectation": numbers(mean, half),
        "± 95 %": numbers(half, half),
        "from": numbers(frame["low"], half),
        "to": numbers(frame["high"], half),
        "sd of value": numbers(deviation, np.fmin(error, deviation)),
    }
    groups = getattr(owner, "groups", None)
    if groups is not None:
        columns["group"] = names_of(groups.labels[at] for at in order)
    return Table.of(caption, columns)


def _spread_is_missing(frame: pd.DataFrame) -> bool:
    return bool(np.isnan(frame["spread_low"]).any())


def _forest_legend(frame: pd.DataFrame) -> list[tuple[str, str]]:
    """Say what the marks mean; the band only if one is drawn."""
    legend = [("dot", f"estimate and its {_LEVEL} interval")]
    if np.isfinite(frame["spread_low"]).any():
        legend.append(("band", "spread: one standard deviation of the value on both sides"))
    return legend


def _median_error(frame: pd.DataFrame, n_games: int) -> FloatArray:
    """Standard error of a median of normal values, to set the digits of all quantiles."""
    low, high = frame["quantile_0.05"].to_numpy(), frame["quantile_0.95"].to_numpy()
    error = 1.25 * (high / 3.29 - low / 3.29) / np.sqrt(n_games)
    return without_rounding(error, np.maximum(np.abs(low), np.abs(high)))
