"""The section of the report on further purchases: what one more draw of each provider brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.report.section import Section
from shapband.report.tables import Cell, Table, names_of, number, numbers

if TYPE_CHECKING:
    from shapband.market.next_batch import NextBatch
    from shapband.valuation.valuation import Valuation


def next_batch_section(valuation: Valuation, found: NextBatch) -> Section:
    """Gains from one more draw of each provider, and their prices."""
    _check(valuation, found)
    frame = found.to_frame()
    key = "gain" if found.price is None else "gain_per_price"
    frame = frame.sort_values(key, ascending=False, kind="stable", na_position="first")
    half = ((frame["high"] - frame["low"]) / 2).to_numpy()
    columns: dict[str, Sequence[Cell]] = {
        "provider": names_of(frame.index),
        "records": [f"{size:,}" for size in frame["records"]],
        "gain": numbers(frame["gain"], half),
        "± 95 %": numbers(half, half),
        "sd of gain": numbers(frame["standard_deviation"], frame["standard_deviation"] / 2),
    }
    if found.price is not None:
        price = frame["price"].astype(float).replace(0.0, np.nan)
        columns["price"] = [f"{amount:,}" for amount in frame["price"]]
        columns["gain per price"] = numbers(frame["gain_per_price"], half / price)
    return Section(
        "next-batch",
        "One more draw",
        lines=[
            "What the value of all providers together gains, on average, if one provider gives "
            f"one more draw of the same size. Without it the value is {found.now:.4g}, the mean "
            f"over {found.n_games:,} games."
        ],
        tables=[Table.of("Gains from one more draw", columns)],
    )


def own_gain(valuation: Valuation, found: NextBatch, at: int) -> str:
    """Say what the value of all providers gains from one more draw of one provider."""
    _check(valuation, found)
    one = found.to_frame().iloc[at]
    half = float(one["high"] - one["low"]) / 2
    return (
        f"One more draw of {int(one['records']):,} of its records would add "
        f"{number(float(one['gain']), half)} ± {number(half, half)} to the value of all providers "
        "together, on average."
    )


def _check(valuation: Valuation, found: NextBatch) -> None:
    design = getattr(found, "design", None)
    if design is None or not hasattr(found, "gain"):
        raise InvalidInput(
            f"report: next_batch must be what sb.next_batch returns; received {written(found)}"
        )
    if design.names != valuation.names or design.estimand != valuation.estimand:
        raise InvalidInput(
            "report: next_batch must be for the providers and the sampling of this valuation"
        )
