"""Comparisons: their pictures, and the report of two valuations or of a series."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

import shapband as sb
from shapband.report.changes import comparison_page, series_page

NAMES = ("plain", "<script>alert(1)</script>", "$x$ & \x1b[2J", "west")


def valued(shift=0.0, seed=0, n=4, size=10):
    rng = np.random.default_rng(0)
    providers = [
        sb.Provider(
            NAMES[at] if at < len(NAMES) else f"clinic {at}",
            sb.ArraySource(np.zeros((50, 1)), rng.normal(at, 1, 50) + shift * (at == 0)),
        )
        for at in range(n)
    ]
    return sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(size), n_games=40, seed=seed)


@pytest.fixture(scope="module")
def changed():
    return sb.compare(valued(), valued(2.0, 1), labels=("May", "June <b>"))


@pytest.fixture(scope="module")
def series():
    return sb.compare_series({"May": valued(), "June <b>": valued(2.0, 1), "July": valued(0.0, 2)})


def axes():
    return Figure(figsize=(9, 4), layout="constrained").subplots()


def test_the_intervals_exclude_zero_exactly_where_a_single_test_does(changed):
    low, high = changed.interval.T
    outside = (low > 0) | (high < 0)
    np.testing.assert_array_equal(outside, changed.p_value < 0.05)
    np.testing.assert_array_equal(changed.to_frame()["low"], low)


def test_changes_are_drawn_sorted_and_filled_where_they_are_beyond_chance(changed):
    ax = changed.plot(axes())
    frame = changed.plot.frame()
    assert frame["change"].is_monotonic_decreasing
    points = [line for line in ax.lines if line.get_marker() == "o"]
    drawn = {
        (float(x), int(y)): line.get_markerfacecolor() == line.get_color()
        for line in points
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    expected = {
        (float(row["change"]), at): bool(row["beyond_chance"])
        for at, (_, row) in enumerate(frame.iterrows())
    }
    assert drawn == expected
    assert set(expected.values()) == {True, False}


def test_both_expectations_are_drawn(changed):
    ax = changed.plot.expectations(axes())
    frame = changed.plot.frame()
    first, second = (line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(first.get_xdata(), frame["first"])
    np.testing.assert_array_equal(second.get_xdata(), frame["second"])


def test_a_series_names_the_largest_changes(series):
    ax = series.plot(axes())
    assert [text.get_text() for text in ax.texts] == ["plain"]
    assert ax.get_title().endswith("; thin: 3 others")


@pytest.mark.parametrize("n", [1, 2, 120])
def test_pictures_and_pages_of_any_size_can_be_written(n, tmp_path):
    one, other, last = valued(n=n), valued(1.0, 1, n), valued(0.0, 2, n)
    found, series = sb.compare(one, other), sb.compare_series([one, other, last])
    found.plot.save(tmp_path / "changes.png")
    found.plot.save(tmp_path / "both.svg", "expectations")
    series.plot.save(tmp_path / "series.pdf")
    found.report(tmp_path / "two.html")
    series.report(tmp_path / "three.html")
    assert all(path.stat().st_size > 500 for path in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 5


def test_wrong_names_and_files_are_refused(changed, tmp_path):
    with pytest.raises(sb.errors.InvalidInput, match="did you mean changes"):
        changed.plot.save(tmp_path / "a.png", "change")
    with pytest.raises(sb.errors.InvalidInput, match="must end in"):
        changed.plot.save(tmp_path / "a.bmp")
    with pytest.raises(sb.errors.InvalidInput, match="cannot be written"):
        changed.report(tmp_path / "no" / "page.html")
    with pytest.raises(sb.errors.InvalidInput, match="name of a file"):
        changed.report(3)
    for bad in ("ab", ("May",), ("May", 3), ("", "June"), None):
        with pytest.raises(sb.errors.InvalidInput, match="labels must be two names; received"):
            sb.compare(valued(), valued(), labels=bad)


def test_a_page_holds_the_answer_and_no_foreign_markup(changed, series):
    for page in (comparison_page(changed), series_page(series)):
        assert "<script" not in page
        assert "\x1b" not in page
        assert "June <b>" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
        assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
        assert not re.search(r"(?:src|href)=\"https?:", page)
    page = comparison_page(changed)
    assert "<strong>1 of 4</strong> changes from" in page
    assert "The largest is <bdi>plain</bdi>, by +" in page
    assert "<strong>1 of 8</strong> changes from" in series_page(series)
    assert comparison_page(changed) == page


def test_nothing_beyond_chance_is_said():
    same = sb.compare(valued(), valued())
    assert "No change from" in comparison_page(same)


def test_valuations_that_estimate_different_things_are_not_called_unchanged():
    found = sb.compare(valued(), valued(2.0, 1, size=5))
    assert not found.tested
    page = comparison_page(found)
    assert "The changes were not tested" in page
    assert "within chance" not in page.partition("How it was compared")[0].replace(
        "exclude 0 within chance", ""
    )
    assert "not tested" in str(found)
    assert "beyond chance:" not in str(found)
    legend = found.plot(axes()).get_legend()
    assert legend is not None
    assert legend.get_texts()[0].get_text().endswith("not tested")
