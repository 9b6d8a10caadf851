"""What the matplotlib pictures draw: every mark at its number, in one colour, with a legend."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from shapband.report.pictures import (
    draw_convergence,
    draw_distribution,
    draw_forest,
    draw_ranks,
    draw_variance_sources,
)
from shapband.report.rows import CAUSES, HAIRLINE, INK, PALE, TEXT, figure_size, row_width

NAMES = ["north", "south", "west"]


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def bars(ax):
    """The left ends, right ends and colours of all bars."""
    return [
        (one.get_x(), one.get_x() + one.get_width(), to_hex(one.get_facecolor()))
        for one in ax.patches
    ]


def segments(ax):
    """The ends of all bars that have ends."""
    return [found[:, 0].tolist() for found in ax.collections[0].get_segments() if len(found)]


def named_line(ax, label):
    (line,) = [one for one in ax.lines if one.get_label() == label]
    return line


def forest():
    return pd.DataFrame(
        {
            "expectation": [3.0, 2.0, 1.0],
            "low": [2.5, 1.5, -np.inf],
            "high": [3.5, 2.5, np.inf],
            "spread_low": [2.0, 1.0, np.nan],
            "spread_high": [4.0, 3.0, np.nan],
        },
        index=NAMES,
    )


def test_a_forest_has_points_bars_and_bands_at_the_numbers(ax):
    draw_forest(ax, forest(), 0.9, "expected value")
    assert bars(ax) == [(2.0, 4.0, PALE), (1.0, 3.0, PALE)]
    assert [one.get_height() for one in ax.patches] == [0.62, 0.62]
    assert segments(ax) == [[2.5, 3.5], [1.5, 2.5]]  # an interval without ends is not drawn
    assert to_hex(ax.collections[0].get_color()[0]) == INK
    points = named_line(ax, "expectation and its 90 % interval")
    assert (list(points.get_xdata()), points.get_marker()) == ([3.0, 2.0, 1.0], "o")
    assert (points.get_color(), points.get_markersize()) == (INK, 5)
    assert sorted(legend(ax)) == [
        "expectation and its 90 % interval",
        "± one standard deviation of the value from draw to draw",
    ]
    assert ax.get_xlabel() == "expected value"
    assert [label.get_text() for label in ax.get_yticklabels()] == NAMES


def test_the_first_row_is_on_top_and_rows_are_parted_by_hairlines(ax):
    draw_forest(ax, forest(), 0.95, "x")
    assert ax.get_ylim() == (2.5, -0.5)
    borders = [one for one in ax.lines if to_hex(one.get_color()) == HAIRLINE]
    assert [one.get_ydata()[0] for one in borders] == [0.5, 1.5]
    assert all(one.get_zorder() < ax.patches[0].get_zorder() for one in borders)  # behind the bands
    edges = {edge: ax.spines[edge].get_visible() for edge in ax.spines}
    assert edges == {"left": False, "right": False, "top": False, "bottom": True}
    assert ax.xaxis.label.get_color() == TEXT


def test_ranks_have_bars_that_show_single_ranks_too(ax):
    frame = pd.DataFrame({"rank": [1, 2, 3], "low": [1, 2, 2], "high": [1, 3, 3]}, index=NAMES)
    draw_ranks(ax, frame, 0.95)
    assert segments(ax) == [[0.6, 1.4], [1.6, 3.4], [1.6, 3.4]]
    assert to_hex(ax.collections[0].get_color()[0]) == PALE
    assert ax.collections[0].get_linewidth()[0] == 9
    points = named_line(ax, "rank")
    assert (list(points.get_xdata()), points.get_marker()) == ([1, 2, 3], "o")
    assert points.get_color() == INK
    assert ax.get_xlim() == (0.5, 3.5)
    assert list(ax.get_xticks()) == [1, 2, 3]
    assert ax.get_xlabel() == "rank by expected value, 1 for the largest"
    told = "ranks that cannot be excluded; all hold together at 95 %"
    assert sorted(legend(ax)) == ["rank", told]


def test_a_distribution_has_the_quantiles_and_the_extremes(ax):
    columns = {"lowest": 0.0, "quantile_0.05": 1.0, "quantile_0.25": 2.0, "quantile_0.5": 3.0,
               "quantile_0.75": 5.0, "quantile_0.95": 7.0, "highest": 9.0}  # fmt: skip
    draw_distribution(ax, pd.DataFrame(columns, index=NAMES[:1]), "value in a game")
    assert segments(ax) == [[1.0, 7.0]]
    assert to_hex(ax.collections[0].get_color()[0]) == INK
    assert bars(ax) == [(2.0, 5.0, PALE)]
    median, ends = named_line(ax, "median"), named_line(ax, "lowest and highest")
    assert (median.get_xdata()[0], median.get_marker(), median.get_color()) == (3.0, "|", INK)
    assert (list(ends.get_xdata()), list(ends.get_ydata())) == ([0.0, 9.0], [0, 0])
    assert (ends.get_marker(), ends.get_linestyle(), ends.get_color()) == (".", "None", INK)
    # The box hides the line behind it, and the median is drawn on the box.
    assert ax.collections[0].get_zorder() < ax.patches[0].get_zorder() < median.get_zorder()
    assert sorted(legend(ax)) == [
        "25 to 75 %",
        "5 to 95 % of games",
        "lowest and highest",
        "median",
    ]
    assert ax.get_xlabel() == "value in a game"


def widths(n, records):
    """Half widths of n providers after 10 and 40 games; the last provider has the widest."""
    return pd.DataFrame(
        {
            "games": [10] * n + [40] * n,
            "records": [records[0]] * n + [records[1]] * n,
            "provider": [f"p{i}" for i in range(n)] * 2,
            "half_width": [*(2.0 * (1 + i) for i in range(n)), *(1.0 * (1 + i) for i in range(n))],
        }
    )


def test_convergence_has_a_line_for_each_provider_the_median_and_the_widest(ax):
    draw_convergence(ax, widths(3, (100, 400)), 0.9)
    each = [line for line in ax.lines if to_hex(line.get_color()) == PALE]
    assert [list(line.get_ydata()) for line in each] == [[6, 3], [4, 2], [2, 1]]
    assert all(list(line.get_xdata()) == [10, 40] for line in ax.lines)
    median, widest = named_line(ax, "median provider"), named_line(ax, "widest")
    assert (list(median.get_ydata()), median.get_color()) == ([4, 2], INK)
    assert (list(widest.get_ydata()), widest.get_color()) == ([6, 3], CAUSES["solver"])
    assert median.get_linewidth() > each[0].get_linewidth()
    assert legend(ax) == ["each provider", "median provider", "widest"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("games", "half width of the 90 % interval")
    (above,) = ax.child_axes
    assert above.get_xlabel() == "records bought"
    forward, back = above._functions
    assert (forward(40), back(400)) == (400, 40)


def test_records_bought_before_the_first_game_have_no_axis(ax):
    draw_convergence(ax, widths(3, (400, 400)), 0.95)
    assert ax.child_axes == []


def test_lines_of_many_providers_are_paler(ax):
    draw_convergence(ax, widths(11, (100, 400)), 0.95)
    assert to_hex(ax.lines[0].get_color()) == HAIRLINE


def test_labels_on_a_logarithmic_axis_begin_with_1_2_or_5(ax):
    draw_convergence(ax, widths(3, (100, 400)), 0.95)
    major, minor = ax.xaxis.get_major_formatter(), ax.xaxis.get_minor_formatter()
    assert [major(x, 0) for x in (0.01, 10.0)] == ["0.01", "10"]
    assert [minor(x, 0) for x in (20.0, 30.0, 50.0, 0.2)] == ["20", "", "50", "0.2"]


def test_causes_are_stacked_and_those_that_add_nothing_are_left_out(ax):
    frame = pd.DataFrame(
        {"games": [0.6, 0.2], "solver": [0.0, 0.004], "pools": [0.4, 0.796], "validation": 0.0},
        index=NAMES[:2],
    )
    draw_variance_sources(ax, frame)
    expected = [(0.0, 0.6), (0.0, 0.2), (0.6, 1.0), (0.2, 0.996)]
    colours = [CAUSES["games"]] * 2 + [CAUSES["pools"]] * 2
    for found, ends, colour in zip(bars(ax), expected, colours, strict=True):
        assert found[:2] == pytest.approx(ends)
        assert found[2] == colour
    assert legend(ax) == ["games: play more", "pools: buy more records"]
    assert ax.get_xlim() == (0, 1)
    assert ax.xaxis.get_major_formatter()(0.25, 0) == "25 %"
    assert ax.get_xlabel() == "part of the squared standard error"


def test_pictures_grow_with_their_rows_up_to_a_height():
    assert figure_size(1) == figure_size(2) == pytest.approx((9.0, 1.5 + 2 * 0.34))
    assert figure_size(10) == pytest.approx((9.0, 4.9))
    assert figure_size(1_000) == (9.0, 14.0)
    assert row_width(10, 5.0) == 5.0
    assert row_width(1_000, 5.0) == pytest.approx(0.8 * 72 * 12.5 / 1_000)


def test_of_many_providers_some_are_named(ax):
    frame = pd.DataFrame([forest().iloc[0]] * 120, index=[f"p{i}" for i in range(120)])
    draw_forest(ax, frame, 0.95, "x")
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        f"p{i}" for i in range(0, 120, 3)
    ]
    assert ax.get_ylabel() == "120 providers, one of 3 named"
    assert ax.patches[0].get_height() == 1.0  # no gaps between thin rows


def test_thin_rows_have_no_gaps_in_any_picture():
    """From 101 rows on; a hundred rows still have gaps."""
    quantiles = {f"quantile_{p}": p for p in (0.05, 0.25, 0.5, 0.75, 0.95)}
    columns = forest().iloc[0].to_dict() | quantiles | {"lowest": 0.0, "highest": 1.0}
    columns |= {"games": 0.4, "solver": 0.3, "pools": 0.2, "validation": 0.1}
    pictures = (
        lambda ax, frame: draw_forest(ax, frame, 0.95, "x"),
        lambda ax, frame: draw_distribution(ax, frame, "x"),
        draw_variance_sources,
    )
    for draw in pictures:
        heights = []
        for n in (100, 101):
            ax = Figure(layout="constrained").subplots()
            draw(ax, pd.DataFrame([columns] * n, index=[f"p{i}" for i in range(n)]))
            heights.append({one.get_height() for one in ax.patches})
        assert heights == [{0.62}, {1.0}]
