"""The charts of the report that have one row per provider."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from markupsafe import Markup

from shapband.report.frames import QUANTILES, ends_of_axis
from shapband.report.svg import (
    Axis,
    Scale,
    count_axis,
    element,
    linear_axis,
    percent,
    row_chart,
    share_axis,
)
from shapband.valuation.text import with_digits

if TYPE_CHECKING:
    import pandas as pd


def forest_chart(frame: pd.DataFrame, words: str, label: str) -> Markup:
    """Draw pale bands for the spread, and points with bars for the estimates and their errors."""
    rows = frame.to_dict("records")
    axis = linear_axis([*_all_numbers(frame), *_ends(frame)], label)

    def draw(group: Element, row: int, middle: float, pitch: float) -> str:
        one, scale = rows[row], axis.scale
        if math.isfinite(one["spread_low"]):
            _bar(group, scale, one["spread_low"], one["spread_high"], middle, 0.62 * pitch, "band")
        sure = math.isfinite(one["low"]) and math.isfinite(one["high"])
        _line(group, scale, one["low"], one["high"], middle, "bar" if sure else "bar unsure")
        x = percent(scale.at(one["expectation"]))
        element(group, "circle", cx=x, cy=middle, r=4 if pitch > 20 else 3, class_="dot")
        return f"{frame.index[row]}: {_interval_words(one)}"

    return row_chart(words, list(frame.index), axis, draw, zero=True)


def box_chart(frame: pd.DataFrame, words: str, label: str) -> Markup:
    """Draw the quantiles of single games: 5 and 95 % as a line, the quarters as a box."""
    columns = [f"quantile_{p:g}" for p in QUANTILES]
    axis = linear_axis([*_all_numbers(frame[columns]), *_ends(frame[columns])], label)
    rows = frame[columns].to_numpy().tolist()

    def draw(group: Element, row: int, middle: float, pitch: float) -> str:
        lowest, low, median, high, highest = rows[row]
        height, scale = 0.56 * pitch, axis.scale
        _line(group, scale, lowest, highest, middle, "whisker")
        _bar(group, scale, low, high, middle, height, "box")
        x = percent(scale.at(median))
        top, end = middle - height / 2, middle + height / 2
        element(group, "line", x1=x, x2=x, y1=top, y2=end, class_="median")
        texts = _digits(rows[row], (highest - lowest) / 10)
        return f"{frame.index[row]}: median {texts[2]}, 5 % {texts[0]}, 95 % {texts[4]}"

    return row_chart(words, list(frame.index), axis, draw, zero=True)


def broken_axis(frame: pd.DataFrame) -> str:
    """Say that the axis of a chart of these numbers does not show zero; empty if it does."""
    low, high = _ends(frame)
    return "" if low <= 0 <= high else "The axis does not begin at 0."


def rank_chart(frame: pd.DataFrame, words: str) -> Markup:
    """Draw the rank of every provider and the ranks that cannot be excluded."""
    axis = count_axis(len(frame), "rank; 1 is the largest expectation")
    rows = frame[["rank", "low", "high"]].to_numpy().tolist()

    def draw(group: Element, row: int, middle: float, pitch: float) -> str:
        rank, low, high = rows[row]
        _bar(group, axis.scale, low - 0.4, high + 0.4, middle, 0.5 * pitch, "band")
        x = percent(axis.scale.at(rank))
        element(group, "circle", cx=x, cy=middle, r=4 if pitch > 20 else 3, class_="dot")
        return f"{frame.index[row]}: rank {rank:,.0f}, between {low:,.0f} and {high:,.0f}"

    return row_chart(words, list(frame.index), axis, draw)


def change_chart(frame: pd.DataFrame, words: str, label: str) -> Markup:
    """Draw every change with its interval; changes within chance are pale."""
    axis = linear_axis([0.0, *_all_numbers(frame[["change", "low", "high"]])], label)
    tested = bool(frame["tested"].all())
    rows = frame[["change", "low", "high", "beyond_chance"]].to_numpy(dtype=float).tolist()

    def draw(group: Element, row: int, middle: float, pitch: float) -> str:
        change, low, high, beyond = rows[row]
        kind = "" if beyond else " faint"
        _line(group, axis.scale, low, high, middle, f"bar{kind}")
        x = percent(axis.scale.at(change))
        element(group, "circle", cx=x, cy=middle, r=4 if pitch > 20 else 3, class_=f"dot{kind}")
        value, start, end = _digits([change, low, high], (high - low) / 2)
        said = "beyond chance" if beyond else "within chance" if tested else "not tested"
        return f"{frame.index[row]}: {value}, interval {start} to {end}, {said}"

    return row_chart(words, list(frame.index), axis, draw, zero=True)


def paid_chart(frame: pd.DataFrame, amounts: Sequence[str], words: str, label: str) -> Markup:
    """Draw every payout as a bar, its share of the whole, with a line for its standard error."""
    shares, errors = frame["share"].tolist(), frame["share_error"].fillna(0.0).tolist()
    ends = [100 * (share + error) for share, error in zip(shares, errors, strict=True)]
    axis = linear_axis([0.0, *ends], f"{label}, in %")

    def draw(group: Element, row: int, middle: float, pitch: float) -> str:
        share, error = 100 * shares[row], 100 * errors[row]
        _bar(group, axis.scale, 0.0, share, middle, 0.6 * pitch, "box")
        if error > 0:
            _line(group, axis.scale, max(share - error, 0.0), share + error, middle, "whisker")
        return f"{frame.index[row]}: {amounts[row]}, {share:.2f} %"

    return row_chart(words, list(frame.index), axis, draw, zero=True)


def stacked_chart(
    names: Sequence[str], parts: Mapping[str, Sequence[float]], words: str, label: str
) -> Markup:
    """Draw the shares of every part side by side; they add up to 100 %."""
    axis: Axis = share_axis(label)

    def draw(group: Element, row: int, middle: float, pitch: float) -> str:
        start, told = 0.0, []
        for kind, shares in enumerate(parts.values()):
            share = min(max(shares[row], 0.0), 1.0) if math.isfinite(shares[row]) else 0.0
            if share > 0:
                _bar(group, axis.scale, start, start + share, middle, 0.6 * pitch, f"part{kind}")
            start += share
        told = [f"{name} {100 * shares[row]:.0f} %" for name, shares in parts.items()]
        return f"{names[row]}: {', '.join(told)}"

    return row_chart(words, names, axis, draw)


def _ends(frame: pd.DataFrame) -> tuple[float, float]:
    return ends_of_axis(frame.to_numpy(dtype=float))


def _all_numbers(frame: pd.DataFrame) -> list[float]:
    numbers: list[float] = frame.to_numpy(dtype=float).ravel().tolist()
    return numbers


def _bar(
    group: Element, scale: Scale, low: float, high: float, middle: float, height: float, kind: str
) -> None:
    start, end = scale.at(low), scale.at(high)
    place = {"x": percent(start), "width": percent(max(end - start, 0.0))}
    element(group, "rect", y=middle - height / 2, height=height, class_=kind, **place)


def _line(group: Element, scale: Scale, low: float, high: float, middle: float, kind: str) -> None:
    """Draw a line across; an end that is not known is at the edge of the plot."""
    start = 0.0 if math.isnan(low) else scale.at(low)
    end = 100.0 if math.isnan(high) else scale.at(high)
    across = {"x1": percent(start), "x2": percent(end)}
    element(group, "line", y1=middle, y2=middle, class_=kind, **across)


def _interval_words(row: Mapping[Hashable, float]) -> str:
    low, high = row["low"], row["high"]
    value, start, end = _digits([row["expectation"], low, high], (high - low) / 2)
    return f"{value}, 95 % interval {start} to {end}"


def _digits(values: Sequence[float], error: float) -> list[str]:
    return [text.strip() for text in with_digits(values, [error] * len(values))]
