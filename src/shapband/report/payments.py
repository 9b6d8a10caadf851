"""The section of the report on money: each provider's payout, its error and its share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.report.charts import paid_chart
from shapband.report.section import Section, said, sentence
from shapband.report.svg import left_out
from shapband.report.tables import NO_BREAK, Table, names_of

if TYPE_CHECKING:
    import pandas as pd

    from shapband.market.payouts import Payouts
    from shapband.valuation.valuation import Valuation


def payouts_section(valuation: Valuation, payouts: Payouts) -> Section:
    """Amounts of money, their errors, and their shares of the whole amount."""
    _check(valuation, payouts)
    frame = _largest_first(payouts)
    columns: dict[str, Sequence[str]] = {
        "provider": names_of(frame.index),
        payouts.currency: [f"{amount:,}" for amount in frame["amount"]],
        "standard error": [_error_text(payouts, error) for error in frame["standard_error"]],
        "share": [_share_text(share) for share in frame["share"]],
    }
    foot = ("all", f"{payouts.amount:,}", "", "")
    table = Table.of(f"Payouts in {payouts.currency}", columns, foot)
    section = Section(
        "payouts",
        "Payouts",
        lines=[
            f"{_whole(payouts)} to {_providers(len(frame))}, {payouts.rule}. The standard errors "
            "come from the errors of the values, not from their spread."
        ],
        alerts=[sentence(note) for note in payouts.notes],
        tables=[table],
    )
    return _with_chart(section, payouts, frame) if payouts.amount else section


def own_payout_section(valuation: Valuation, payouts: Payouts, at: int) -> Section:
    """The payout to one provider; the whole amount would give away what others receive."""
    _check(valuation, payouts)
    amount, error = payouts.amounts[valuation.names[at]], float(payouts.standard_error[at])
    facts = [
        ("Payout", f"{amount:,}{NO_BREAK}{payouts.currency}"),
        ("Standard error", _error_text(payouts, error)),
        ("Rule", sentence(payouts.rule)),
    ]
    lines = ["The standard error comes from the error of the value, not from its spread."]
    if amount == 0 and valuation.expectation[at] <= 0:
        lines.append("A value of 0 or below is paid nothing.")
    return Section("payouts", "Payout", lines=lines, facts=facts)


def _with_chart(section: Section, payouts: Payouts, frame: pd.DataFrame) -> Section:
    """Add bars for the shares, unless the amount is 0, in which case shares are not defined."""
    n, whole = len(frame), _whole(payouts)
    legend = [("box", "share of the amount")]
    if np.isfinite(payouts.standard_error).any():
        legend.append(("whisker", "one standard error on both sides, but not below zero"))
    told = [f"{amount:,} {payouts.currency}" for amount in frame["amount"]]
    words = f"Bar chart of the payouts to {_providers(n)}: shares of {whole}."
    chart = paid_chart(frame, told, words, f"share of {whole}")
    return replace(section, legend=legend, chart=chart, notes=said(left_out(n)))


def _check(valuation: Valuation, payouts: Payouts) -> None:
    paid = getattr(payouts, "valuation", None)
    if paid is None:
        raise InvalidInput(
            f"report: payouts must be what sb.payouts returns; received {written(payouts)}"
        )
    if paid.names != valuation.names or not np.array_equal(
        paid.expectation, valuation.expectation, equal_nan=True
    ):
        raise InvalidInput("report: payouts must be made from this valuation")


def _largest_first(payouts: Payouts) -> pd.DataFrame:
    """Amounts, their errors, and shares with their errors; shares are NaN if the amount is 0."""
    frame = payouts.to_frame()
    whole = float(payouts.amount) or np.nan
    frame["share"] = [float(amount) / whole for amount in frame["amount"]]
    frame["share_error"] = frame["standard_error"] / whole
    amounts = frame["amount"].to_dict()
    return frame.loc[sorted(frame.index, key=lambda name: (-amounts[name], name))]


def _whole(payouts: Payouts) -> str:
    return f"{payouts.amount:,}{NO_BREAK}{payouts.currency}"


def _providers(n: int) -> str:
    return f"{n:,} provider{'s' * (n > 1)}"


def _error_text(payouts: Payouts, error: float) -> str:
    places = max(-int(payouts.amount.as_tuple().exponent), 0)
    return f"{error:,.{places}f}" if np.isfinite(error) else "not known"


def _share_text(share: float) -> str:
    return f"{100 * share:.2f}{NO_BREAK}%" if np.isfinite(share) else "-"
