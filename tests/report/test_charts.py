"""The charts of the report: ticks at round numbers, and shapes where the numbers are."""

from xml.etree.ElementTree import fromstring as parse

import numpy as np
import pandas as pd
import pytest

from shapband.report.charts import box_chart, forest_chart, paid_chart, rank_chart, stacked_chart
from shapband.report.convergence import convergence_chart, widths_of
from shapband.report.svg import (
    Scale,
    count_axis,
    left_out,
    linear_axis,
    log_axis,
    percent,
    row_chart,
    share_axis,
)

PITCH, TOP, AXIS = 28, 6, 46  # pixels: a row of a short chart, above the first, below the last


def drawn_from(markup):
    """The elements of a chart that the library wrote."""
    return parse(markup)  # noqa: S314


def texts(axis):
    return [tick.text for tick in axis.ticks]


@pytest.mark.parametrize(
    ("numbers", "ticks"),
    [
        ([0.0, 10.0], ["0", "2", "4", "6", "8", "10"]),
        ([-1.0, 1.0], ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        ([0.0, 0.031], ["0.00", "0.01", "0.02", "0.03"]),
        ([0.0, 4_000.0], ["0", "1,000", "2,000", "3,000", "4,000"]),
        ([0.0, 4e9], ["0e+00", "1e+09", "2e+09", "3e+09", "4e+09"]),
        ([0.0, 3e-9], ["0e+00", "1e-09", "2e-09", "3e-09"]),
        ([5.0], ["4.8", "4.9", "5.0", "5.1", "5.2"]),
        ([], ["-1.0", "-0.5", "0.0", "0.5", "1.0"]),
        ([float("nan"), 0.0, float("inf"), 10.0], ["0", "2", "4", "6", "8", "10"]),
    ],
)
def test_a_linear_axis_has_ticks_at_round_numbers(numbers, ticks):
    axis = linear_axis(numbers, "value")
    assert texts(axis) == ticks
    assert axis.label == "value"
    assert [tick.value for tick in axis.ticks] == pytest.approx(list(map(float_of, ticks)))


def float_of(text):
    return float(text.replace(",", ""))


def test_an_axis_leaves_three_percent_of_room_at_both_ends():
    assert linear_axis([0.0, 10.0], "").scale == pytest.approx((-0.3, 10.3, False))
    assert linear_axis([5.0, 5.0], "").scale == pytest.approx((4.75, 5.25, False))
    assert linear_axis([0.0], "").scale == (-1.0, 1.0, False)
    low, high, log = log_axis([10.0, 1_000.0], "").scale
    assert (low, high, log) == pytest.approx((10 / 100**0.03, 1_000 * 100**0.03, True))


@pytest.mark.parametrize(
    ("numbers", "ticks"),
    [
        ([10.0, 1_000.0], ["10", "30", "100", "300", "1,000"]),
        ([1.0, 100_000.0], ["1", "100", "10,000"]),
        ([0.001, 0.01], ["0.001", "0.002", "0.005", "0.01"]),
        ([10.0, 100.0], ["10", "20", "50", "100"]),
        ([1e7, 1e8], ["1e+07", "2e+07", "5e+07", "1e+08"]),
        ([1e-7, 1e-6], ["1e-07", "2e-07", "5e-07", "1e-06"]),
        ([3.0, 7.0], ["3", "4", "5", "6", "7"]),
        ([-1.0, 0.0, 10.0, 100.0], ["10", "20", "50", "100"]),
    ],
)
def test_a_logarithmic_axis_has_ticks_at_round_numbers(numbers, ticks):
    axis = log_axis(numbers, "games")
    assert texts(axis) == ticks
    assert axis.label == "games"


def test_an_axis_of_ranks_has_few_ticks_and_always_the_first():
    assert texts(count_axis(4, "rank")) == ["1", "2", "3", "4"]
    assert texts(count_axis(10, "rank")) == ["1", "2", "4", "6", "8", "10"]
    assert texts(count_axis(5_000, "rank")) == ["1", "1,000", "2,000", "3,000", "4,000", "5,000"]
    assert count_axis(10, "rank").scale == (0.5, 10.5, False)


def test_an_axis_of_shares_has_the_quarters():
    axis = share_axis("of the variance")
    assert texts(axis) == ["0 %", "25 %", "50 %", "75 %", "100 %"]
    assert [axis.scale.at(tick.value) for tick in axis.ticks] == [0, 25, 50, 75, 100]


def test_numbers_are_placed_by_the_scale_and_stay_inside_the_plot():
    scale = Scale(-2.0, 2.0)
    assert [scale.at(x) for x in (-np.inf, -2.0, 1.0, 9.0)] == [0.0, 0.0, 75.0, 100.0]
    assert Scale(1.0, 1_000.0, log=True).at(10.0) == pytest.approx(100 / 3)
    assert Scale(-1.7e308, 1.7e308).at(0.0) == 50.0  # the width of this scale overflows


def test_a_long_chart_says_how_many_rows_it_leaves_out():
    names = [f"p{i}" for i in range(100)]
    drawn = []
    chart = drawn_from(
        row_chart("words", names, share_axis("x"), lambda g, row, *_: drawn.append(row) or "tip")
    )
    assert drawn == [*range(25), *range(90, 100)]
    labels = [one.text for one in chart[0]]
    assert labels == [*names[:25], "…", *names[90:]]
    (gap,) = [one for one in chart.iter("text") if one.get("class") == "gap"]
    assert gap.text == "65 more"
    assert float(gap.get("y")) == TOP + 19 * 25.5
    assert left_out(60) == ""
    assert left_out(1_061, "groups") == (
        "The chart shows the first 25 and the last 10 of 1,061 groups; the table has all of them."
    )


@pytest.mark.parametrize(("n", "pitch"), [(1, 28), (12, 28), (13, 23), (25, 23), (26, 19)])
def test_rows_are_lower_in_longer_charts(n, pitch):
    middles = []
    chart = drawn_from(
        row_chart("w", ["a"] * n, share_axis("x"), lambda g, r, y, p: middles.append((y, p)) or "")
    )
    assert chart.get("class") == f"rows pitch{pitch}"
    assert middles == [(TOP + pitch * (row + 0.5), pitch) for row in range(n)]
    assert float(chart[1].get("height")) == TOP + pitch * n + AXIS


def test_the_axis_stands_below_the_rows_and_zero_has_a_line_of_its_own():
    axis = linear_axis([-1.0, 1.0], "value in points")
    for zero in (True, False):
        chart = drawn_from(row_chart("w", ["a", "b"], axis, lambda *_: "", zero=zero))
        bottom = TOP + 2 * PITCH
        lines = [(one.get("class"), one.get("x1"), one.get("x2")) for one in chart.iter("line")]
        places = [percent(axis.scale.at(tick.value)) for tick in axis.ticks]
        kinds = ["grid", "grid", "zero" if zero else "grid", "grid", "grid"]
        assert lines == list(zip(kinds, places, places, strict=True))
        assert {(one.get("y1"), one.get("y2")) for one in chart.iter("line")} == {
            ("0", str(bottom))
        }
        *ticks, label = chart.iter("text")
        assert [one.text for one in ticks] == texts(axis)
        assert [one.get("x") for one in ticks] == places
        assert {(one.get("y"), one.get("class")) for one in ticks} == {(str(bottom + 16), "tick")}
        assert (label.text, label.get("x"), label.get("y")) == (
            "value in points", "50%", str(bottom + 38),
        )  # fmt: skip


def test_charts_are_described_for_those_who_do_not_see_them():
    chart = drawn_from(row_chart("Values of two", ["a", "b"], share_axis("x"), lambda *_: "a: 1"))
    labels, drawing = chart
    assert labels.get("aria-hidden") == "true"
    assert (drawing.get("role"), drawing.get("aria-label")) == ("img", "Values of two")
    assert [one.text for one in chart.iter("title")] == ["a: 1", "a: 1"]


def shapes(chart, kind):
    """The attributes of the shapes of one class, from top to bottom."""
    return [one for one in drawn_from(chart).iter() if one.get("class") == kind]


def across(shape, *names):
    return [float(shape.get(name).rstrip("%")) for name in names]


def test_a_forest_shows_spreads_intervals_and_values_with_a_tooltip():
    frame = pd.DataFrame(
        {
            "expectation": [2.0, 1.0],
            "low": [1.5, np.nan],
            "high": [2.5, np.nan],
            "spread_low": [1.0, np.nan],
            "spread_high": [3.0, np.nan],
        },
        index=["north", "south"],
    )
    chart = forest_chart(frame, "words", "value")
    scale = linear_axis([0.0, 3.0], "").scale  # zero is near enough to be shown
    (band,) = shapes(chart, "band")
    start, width = across(band, "x", "width")
    assert (start, start + width) == pytest.approx((scale.at(1.0), scale.at(3.0)), abs=0.02)
    height, top = float(band.get("height")), float(band.get("y"))
    assert height == pytest.approx(0.62 * PITCH)
    assert top + height / 2 == pytest.approx(TOP + PITCH / 2, abs=0.01)
    (bar,) = shapes(chart, "bar")
    assert across(bar, "x1", "x2") == pytest.approx([scale.at(1.5), scale.at(2.5)], abs=0.01)
    (unsure,) = shapes(chart, "bar unsure")
    assert across(unsure, "x1", "x2") == [0, 100]
    assert across(unsure, "y1", "y2") == [TOP + 1.5 * PITCH] * 2
    dots = [across(dot, "cx", "cy", "r") for dot in shapes(chart, "dot")]
    assert dots == [
        pytest.approx([scale.at(2.0), TOP + 0.5 * PITCH, 4], abs=0.01),
        pytest.approx([scale.at(1.0), TOP + 1.5 * PITCH, 4], abs=0.01),
    ]
    first, _ = drawn_from(chart).iter("title")
    assert first.text == "north: 2.00, 95 % interval 1.50 to 2.50"


def test_a_box_shows_the_quantiles_of_single_games():
    quantiles = {0.05: 1.0, 0.25: 2.0, 0.5: 2.5, 0.75: 4.0, 0.95: 5.0}
    frame = pd.DataFrame({f"quantile_{p:g}": [value] for p, value in quantiles.items()}, ["north"])
    chart = box_chart(frame, "words", "value")
    scale = linear_axis([0.0, 5.0], "").scale
    (whisker,), (box,), (median,) = (shapes(chart, kind) for kind in ("whisker", "box", "median"))
    assert across(whisker, "x1", "x2") == pytest.approx([scale.at(1), scale.at(5)], abs=0.01)
    start, width = across(box, "x", "width")
    assert (start, start + width) == pytest.approx((scale.at(2), scale.at(4)), abs=0.02)
    assert across(median, "x1", "x2") == pytest.approx([scale.at(2.5)] * 2, abs=0.01)
    top, end = across(median, "y1", "y2")
    assert (top, end - top) == pytest.approx((float(box.get("y")), float(box.get("height"))))
    assert (top + end) / 2 == TOP + PITCH / 2
    assert end - top == pytest.approx(0.56 * PITCH)
    (tip,) = drawn_from(chart).iter("title")
    assert tip.text == "north: median 2.50, 5 % 1.00, 95 % 5.00"


def test_ranks_have_a_band_around_those_that_cannot_be_excluded():
    frame = pd.DataFrame({"rank": [1, 2, 3], "low": [1, 2, 2], "high": [1, 3, 3]}, list("abc"))
    chart = rank_chart(frame, "words")
    scale = Scale(0.5, 3.5)
    bands = [across(band, "x", "width", "height") for band in shapes(chart, "band")]
    for (start, width, height), low, high in zip(bands, (1, 2, 2), (1, 3, 3), strict=True):
        ends = scale.at(low - 0.4), scale.at(high + 0.4)
        assert (start, start + width) == pytest.approx(ends, abs=0.02)
        assert height == PITCH / 2
    dots = [across(dot, "cx")[0] for dot in shapes(chart, "dot")]
    assert dots == pytest.approx([scale.at(rank) for rank in (1, 2, 3)], abs=0.01)
    tips = [one.text for one in drawn_from(chart).iter("title")]
    assert tips[1] == "b: rank 2, between 2 and 3"
    *_, label = drawn_from(chart).iter("text")
    assert label.text == "rank; 1 is the largest expectation"


def test_payouts_are_bars_from_zero_with_their_standard_errors():
    frame = pd.DataFrame(
        {"share": [0.7, 0.25, 0.05], "share_error": [0.1, np.nan, 0.1]}, index=list("abc")
    )
    chart = paid_chart(frame, ["70.00", "25.00", "5.00"], "words", "share of 100 EUR")
    scale = linear_axis([0.0, 80.0], "").scale
    ends = [sum(across(bar, "x", "width")) for bar in shapes(chart, "box")]
    assert ends == pytest.approx([scale.at(x) for x in (70, 25, 5)], abs=0.02)
    assert [across(bar, "x")[0] for bar in shapes(chart, "box")] == [
        pytest.approx(scale.at(0), abs=0.01)
    ] * 3
    errors = [across(line, "x1", "x2") for line in shapes(chart, "whisker")]
    assert errors == [
        pytest.approx([scale.at(60), scale.at(80)], abs=0.01),
        pytest.approx([scale.at(0), scale.at(15)], abs=0.01),  # nobody pays in
    ]
    tips = [one.text for one in drawn_from(chart).iter("title")]
    assert tips == ["a: 70.00, 70.00 %", "b: 25.00, 25.00 %", "c: 5.00, 5.00 %"]
    *_, label = drawn_from(chart).iter("text")
    assert label.text == "share of 100 EUR, in %"


def test_parts_are_stacked_from_left_to_right():
    parts = {"games": [0.5, 0.0], "solver": [0.2, np.nan], "pools": [0.3, 1.0]}
    chart = stacked_chart(["a", "b"], parts, "words", "part")
    assert across(shapes(chart, "part0")[0], "x", "width") == [0, 50]
    assert [across(one, "x", "width") for one in shapes(chart, "part1")] == [[50, 20]]
    assert [across(one, "x", "width") for one in shapes(chart, "part2")] == [[70, 30], [0, 100]]
    first, _ = drawn_from(chart).iter("title")
    assert first.text == "a: games 50 %, solver 20 %, pools 30 %"


def shrinking(n, records):
    """Half widths of n providers after 10, 40 and 100 games."""
    games = np.repeat([10, 40, 100], n)
    return pd.DataFrame(
        {
            "games": games,
            "records": games * records,
            "provider": [f"p{i}" for i in range(n)] * 3,
            "half_width": np.tile(np.arange(1.0, n + 1), 3) / np.sqrt(games),
            "expectation": 1.0,
        }
    )


def test_half_widths_are_lines_over_games_with_an_axis_of_records():
    widths = widths_of(shrinking(3, 20), 0.05)
    chart = drawn_from(convergence_chart(widths, "How the error shrank"))
    top, height = 44, 260
    games = log_axis([10, 40, 100], "games played")
    half = log_axis([1 / 10, 3 / np.sqrt(10), 0.05], "")
    lines = {one.get("class"): one.get("points") for one in chart.iter("polyline")}
    for name, scale in {"narrowest": 1, "median": 2, "widest": 3}.items():
        places = [tuple(map(float, one.split(","))) for one in lines[name].split()]
        expected = [
            (games.scale.at(played), 100 - half.scale.at(scale / np.sqrt(played)))
            for played in (10, 40, 100)
        ]
        np.testing.assert_allclose(places, expected, atol=0.01)
    assert len([one for one in chart.iter("polyline") if one.get("class") == "each"]) == 3
    (floor,) = [one for one in chart.iter("line") if one.get("class") == "floor"]
    expected = top + (100 - half.scale.at(0.05)) / 100 * height
    assert across(floor, "y1", "y2", "x1", "x2") == pytest.approx([expected] * 2 + [0, 100], 0.01)
    texts_at = {
        y: [(one.text, one.get("x")) for one in chart.iter("text") if one.get("y") == str(y)]
        for y in (12, top - 9, top + height + 16, top + height + 38)
    }
    assert texts_at[12] == [("records bought", "50%")]
    assert texts_at[top - 9] == [
        (f"{played * 20:,}", percent(games.scale.at(played))) for played in (10, 25, 50, 100)
    ]
    assert texts_at[top + height + 16] == [
        (str(played), percent(games.scale.at(played))) for played in (10, 20, 50, 100)
    ]
    assert texts_at[top + height + 38] == [("games played", "50%")]


def test_without_pools_or_purchases_by_game_there_is_neither_floor_nor_axis_of_records():
    frame = shrinking(13, 20).assign(records=900)
    widths = widths_of(frame, float("nan"))
    chart = drawn_from(convergence_chart(widths, "words"))
    kinds = [one.get("class") for one in chart.iter("polyline")]
    assert kinds == ["narrowest", "widest", "median"]  # lines of 13 providers are too many
    assert "floor" not in {one.get("class") for one in chart.iter("line")}
    assert "records bought" not in {one.text for one in chart.iter("text")}
    assert widths.table.loc[40].to_dict() == pytest.approx(
        {"records": 900, "narrowest": 40**-0.5, "median": 7 * 40**-0.5, "widest": 13 * 40**-0.5}
    )
    assert float(chart[0].get("height")) == 10 + 260 + 46


def test_half_widths_that_are_not_known_are_left_out():
    frame = shrinking(2, 20)
    frame.loc[frame["games"] == 10, "half_width"] = np.inf
    frame.loc[0, "half_width"] = np.nan
    assert widths_of(frame, 0.0).table.index.tolist() == [40, 100]
    assert widths_of(frame.assign(half_width=0.0), 0.0) is None
