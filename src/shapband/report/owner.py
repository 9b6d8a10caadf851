"""The report for one provider, which says nothing about the others.

The page shows the provider's own numbers, the number of providers, the values of nobody and of
everybody, and the provider's range of ranks. Descriptions of the whole valuation, such as the
estimand or the sampling, may hold names and sizes of other providers. They are written anew here
from the provider's own sizes. With two providers, the value of everybody would give away the
other's value, so it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from shapband.checks import nearest, printable, written
from shapband.errors import InvalidInput
from shapband.report.answer import (
    Refused,
    attempt,
    kind_of_value,
    meaning,
    spread_words,
    with_error,
)
from shapband.report.charts import box_chart, broken_axis, forest_chart
from shapband.report.frames import QUANTILES, distribution_frame, forest_frame
from shapband.report.heading import worth_of_all
from shapband.report.names import named
from shapband.report.owner_records import certainty_section, raise_section
from shapband.report.payments import own_payout_section
from shapband.report.section import Section, said, sentence
from shapband.report.tables import number, probability
from shapband.report.words import SAMPLINGS, SOLVERS, digest_of, explained, index_words
from shapband.valuation.text import from_one_to_the_next
from shapband.valuation.valued import valued

if TYPE_CHECKING:
    from shapband.market.next_batch import NextBatch
    from shapband.market.payouts import Payouts
    from shapband.runs.read import RunStatus
    from shapband.valuation.valuation import Valuation

_LEVEL = "95 %"
_REVEALING = 2  # with this many providers, the value of everybody gives away the other's value
_STOPPED = {
    "n_games": "all games that were asked for were played",
    "budget": "the budget was used up",
    "rule": "the stopping rule was met",
    "pools": "the stopping rule cannot be met with these pools",
    "validation": "the stopping rule cannot be met with these validation rows",
    "interrupted": "the games were interrupted",
    "unfinished": "the run is not finished",
}


class OwnerPage(NamedTuple):
    """What is on the page for one provider."""

    answer: list[Markup]
    facts: list[tuple[str, str]]
    sections: list[Section]


def owner_page(
    valuation: Valuation,
    provider: str,
    payouts: Payouts | None,
    status: RunStatus | None,
    next_batch: NextBatch | None,
) -> OwnerPage:
    """Make the parts of the page for one provider."""
    at = _place(valuation, provider)
    sections = [_value_section(valuation, at), _games_section(valuation, at)]
    if payouts is not None:
        sections.append(own_payout_section(valuation, payouts, at))
    sections += [
        raise_section(valuation, at, next_batch),
        certainty_section(valuation, at),
        _access_section(valuation, at),
        _method_section(valuation, at),
        _origin_section(valuation, provider, status),
    ]
    return OwnerPage(_answer(valuation, at), _facts(valuation, at), sections)


def _place(valuation: Valuation, provider: str) -> int:
    if not isinstance(provider, str):
        raise InvalidInput(
            f"report: provider must be the name of one provider, or None; received "
            f"{written(provider)}"
        )
    if provider not in valuation.names:
        raise InvalidInput(
            f"report: {printable(provider)!r} is not a provider: "
            f"{nearest(provider, valuation.names)}"
        )
    return valuation.names.index(provider)


def _answer(valuation: Valuation, at: int) -> list[Markup]:
    """Say what the provider is worth, how sure that is, and where it stands."""
    low, high = valuation.interval()[at]
    estimate = with_error(float(valuation.expectation[at]), float(high - low) / 2)
    name = named(valuation.names[at])
    return [
        Markup("<strong>{}</strong> has an expected {} of {}.").format(
            name, kind_of_value(valuation), estimate
        ),
        Markup("{}").format(_rank_sentence(valuation, at)),
        spread_words(valuation, at),
        meaning(valuation, at, total=_may_show_total(valuation)),
    ]


def _facts(valuation: Valuation, at: int) -> list[tuple[str, str]]:
    """The numbers below the answer."""
    low, high = _rank_range(valuation, at)
    rank = [] if low == 0 else [("rank", f"{low}" if low == high else f"{low} to {high}")]
    return [
        ("providers", f"{len(valuation.names):,}"),
        *rank,
        *(worth_of_all(valuation) if _may_show_total(valuation) else []),
        ("games", f"{valuation.n_games:,}"),
    ]


def _may_show_total(valuation: Valuation) -> bool:
    return len(valuation.names) != _REVEALING


def _rank_range(valuation: Valuation, at: int) -> tuple[int, int]:
    """The ranks that cannot be excluded, or zeros if they are not known."""
    found = attempt(valuation.ranks)
    if isinstance(found, Refused):
        return 0, 0
    return int(found.low[at]), int(found.high[at])


def _rank_sentence(valuation: Valuation, at: int) -> str:
    n, (low, high) = len(valuation.names), _rank_range(valuation, at)
    if n == 1:
        return "It is the only provider."
    if low == 0:
        return f"Its rank among the {n:,} providers is not known."
    if low == 1 and high == n:
        return f"Its rank among the {n:,} providers is open: none can be excluded at {_LEVEL}."
    if low == high:
        return f"It is {ordinal(low)} of {n:,}, at {_LEVEL}."
    return f"It is between {ordinal(low)} and {ordinal(high)} of {n:,}, at {_LEVEL}."


def ordinal(number: int) -> str:
    """Write a rank.

    Examples
    --------
    >>> [ordinal(rank) for rank in (1, 2, 3, 4, 11, 12, 13, 21, 112, 1_003)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '112th', '1,003rd']
    """
    teens = 10 <= number % 100 <= 20
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def _value_section(valuation: Valuation, at: int) -> Section:
    """The expectation with its error, and separately the spread of the value."""
    frame, kind = forest_frame(valuation).loc[[valuation.names[at]]], kind_of_value(valuation)
    mean, low, high = (float(frame[one].iloc[0]) for one in ("expectation", "low", "high"))
    half, deviation = (high - low) / 2, float(valuation.standard_deviation[at])
    legend = [("dot", f"estimate and its {_LEVEL} interval")]
    if math.isfinite(deviation):
        legend.append(("band", "spread: one standard deviation of the value on both sides"))
    return Section(
        "values",
        "What it is worth",
        lines=[
            "Two uncertainties are kept apart. The pale band shows how much the value changes "
            f"{from_one_to_the_next(valuation)}: it is real, and more work does not narrow it. The "
            "point and the dark bar are the estimate of the average and its error."
        ],
        legend=legend,
        chart=forest_chart(
            frame, f"Expected {kind}, {_LEVEL} interval, spread.", f"expected {kind}"
        ),
        notes=said(broken_axis(frame)),
        facts=[
            (f"Expected {kind}", with_error(mean, half)),
            (f"{_LEVEL} interval", f"{number(low, half)} to {number(high, half)}"),
            ("Spread", f"{number(deviation, deviation / 10)}, one standard deviation of the value"),
            ("Rank", _rank_sentence(valuation, at)),
        ],
    )


def _games_section(valuation: Valuation, at: int) -> Section:
    """Quantiles of the provider's values in single games."""
    anchor, title = "distribution", "How the value differs from game to game"
    found = attempt(lambda: distribution_frame(valuation))
    if isinstance(found, Refused):
        return Section(anchor, title, lines=["This is left out: single games are not known."])
    frame, kind = found.loc[[valuation.names[at]]], kind_of_value(valuation)
    columns = [f"quantile_{p:g}" for p in QUANTILES]
    lowest, *_, highest = row = [float(frame[one].iloc[0]) for one in columns]
    error = (highest - lowest) / 10
    kept, played = len(valuation.games), valuation.n_games
    of_games = f"{kept:,}" if kept == played else f"the first {kept:,} of {played:,}"
    quantiles = [
        (f"{100 * p:g} % of the games below", number(value, error))
        for p, value in zip(QUANTILES, row, strict=True)
    ]
    return Section(
        anchor,
        title,
        lines=[
            f"Each game is one random draw of data. The box shows the values in {of_games} games."
        ],
        legend=[
            ("whisker", "5 to 95 % of games"),
            ("box", "the middle half"),
            ("median", "median"),
        ],
        chart=box_chart(frame, f"Box plot of the {kind} in single games.", f"{kind} in a game"),
        notes=said(broken_axis(frame[columns])),
        facts=[
            *quantiles,
            ("Games with a value below 0", probability(float(frame["negative"].iloc[0]))),
        ],
    )


def _access_section(valuation: Valuation, at: int) -> Section:
    """Records, requests and time of this provider."""
    used, pools = valuation.access.by_provider[valuation.names[at]], valuation.pool_sizes
    facts = [
        ("Records bought", f"{used.records:,}"),
        ("Requests", f"{used.requests:,}, {used.seconds:,.2f} s in total"),
        ("Records in a game", f"{valuation.draw_sizes[at]:,}"),
    ]
    if pools is not None:
        facts.append(("Records in its pool", f"{pools[at]:,}"))
    return Section("access", "What was asked of it", facts=facts)


def _method_section(valuation: Valuation, at: int) -> Section:
    """How the value was computed, in plain words."""
    setup = valuation.setup
    facts: list[tuple[str, str | Markup]] = [
        ("Model and score", sentence(valued(valuation.design))),
        ("What is estimated", _estimand(valuation, at)),
        ("Index", index_words(valuation)),
        ("Sampling", explained(_class(setup.get("sampling", "not known")), SAMPLINGS)),
        ("Solver", explained(_class(setup.get("solver", "not known")), SOLVERS)),
        ("Games", f"{valuation.n_games:,}; {_STOPPED[valuation.stopped_code]}."),
        ("Intervals", f"The interval of the expectation holds at {_LEVEL}; the ranks hold at "
                      f"{_LEVEL} for all providers together."),
        ("Seed", f"{valuation.seed}: the same seed gives the same valuation."),
    ]  # fmt: skip
    return Section("method", "How it was computed", facts=facts)


def _estimand(valuation: Valuation, at: int) -> str:
    pools = valuation.pool_sizes
    source = "" if pools is None else f", from a pool of {pools[at]:,}"
    present = ", and over who takes part" if valuation.estimate.takes_part_at_random else ""
    return (
        f"Expectation and variance of its value over draws of everybody's data, of which "
        f"{valuation.draw_sizes[at]:,} records are its own{source}{present}."
    )


def _class(written_setting: str) -> str:
    """The class of a setting; its arguments may name other providers."""
    return written_setting.split("(", 1)[0]


def _origin_section(valuation: Valuation, provider: str, status: RunStatus | None) -> Section:
    """Versions and digests, with which owner and buyer see that they have the same valuation."""
    from shapband import __version__

    facts: list[tuple[str, str | Markup]] = [
        ("Page written by", f"shapband {__version__}"),
        ("SHA-256 of the valuation", digest_of(valuation)),
    ]
    if status is not None:
        facts += _run_facts(status, provider)
    return Section(
        "origin",
        "Where this page comes from",
        lines=[
            "The digest is the SHA-256 of the whole valuation. Pages with the same digest come "
            "from the same valuation."
        ],
        facts=facts,
    )


def _run_facts(status: RunStatus, provider: str) -> Iterator[tuple[str, str | Markup]]:
    from shapband.report.words import DATA, digest

    yield "Run", f"{status.state}, {status.done:,} of {status.n_games:,} games"
    yield "Begun", status.manifest["created"]
    yield "Digest of the ledger", digest(status.digest)
    mark = status.manifest["arguments"].get(f"{DATA}{provider!r}")
    if mark:
        unchecked = ": not checked" if provider in status.unchecked else ""
        yield "Fingerprint of its data", digest(f"{mark}{unchecked}")
