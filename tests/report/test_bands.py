"""The picture of bands: what is drawn, and that it is drawn where the numbers say."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle
from matplotlib.text import Text

import shapband as sb
from shapband.errors import InvalidInput
from shapband.report.bands import Bands, bands_of, draw_bands


def around(level: float) -> sb.ArraySource:
    rng = np.random.default_rng(int(level))
    return sb.ArraySource(np.zeros((40, 1)), level + rng.normal(size=40))


NAMES = ("north", "south", "west")
PROVIDERS = [sb.Provider(name, around(i + 1.0)) for i, name in enumerate(NAMES)]


def valued(providers: list[sb.Provider] = PROVIDERS, seed: int = 0) -> sb.Valuation:
    return sb.value(
        providers,
        sb.AdditiveUtility(),
        sampling=sb.Fresh(5),
        solver=sb.Exact(),
        n_games=8,
        seed=seed,
    )


def axes() -> Axes:
    return Figure(figsize=(9, 4), layout="constrained").subplots()


def words(ax: Axes) -> str:
    return "\n".join(text.get_text() for text in ax.findobj(Text) if isinstance(text, Text))


def test_the_numbers_are_those_of_the_valuation() -> None:
    valuation = valued()
    bands = bands_of({"fresh": valuation})
    deviation = np.sqrt(valuation.variance)
    assert bands.names == NAMES
    assert bands.labels == ("fresh",)
    np.testing.assert_array_equal(bands.expectation[0], valuation.expectation)
    np.testing.assert_array_equal(bands.interval[0], valuation.interval(0.95))
    np.testing.assert_allclose(bands.spread[0, :, 0], valuation.expectation - deviation)
    np.testing.assert_allclose(bands.spread[0, :, 1], valuation.expectation + deviation)


def test_the_level_moves_the_interval_and_not_the_spread() -> None:
    valuation = valued()
    narrow, wide = bands_of({"v": valuation}, level=0.5), bands_of({"v": valuation}, level=0.99)
    assert np.all(np.diff(narrow.interval) < np.diff(wide.interval))
    np.testing.assert_array_equal(narrow.spread, wide.spread)


def test_valuations_are_matched_by_name_and_the_first_sets_the_order() -> None:
    bands = bands_of({"one way": valued(), "other way": valued(PROVIDERS[::-1])})
    assert bands.names == NAMES
    # Streams are addressed by name, so the order of the providers changes nothing.
    np.testing.assert_allclose(bands.expectation[0], bands.expectation[1])
    np.testing.assert_allclose(bands.interval[0], bands.interval[1])
    np.testing.assert_allclose(bands.spread[0], bands.spread[1])


def test_other_providers_need_another_picture() -> None:
    with pytest.raises(InvalidInput, match="'few' differs from the first in west"):
        bands_of({"all": valued(), "few": valued(PROVIDERS[:2])})


@pytest.mark.parametrize("count", [0, 5])
def test_as_many_valuations_as_can_be_told_apart(count: int) -> None:
    valuation = valued()
    with pytest.raises(InvalidInput, match=f"1 to 4 .* received {count}"):
        bands_of({str(i): valuation for i in range(count)})


def test_a_band_reaches_one_standard_deviation_to_both_sides() -> None:
    bands, ax = bands_of({"a": valued(seed=0), "b": valued(seed=1)}), axes()
    draw_bands(ax, bands, x_label="worth")
    drawn = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    ends = np.array([[p.get_x(), p.get_x() + p.get_width()] for p in drawn]).reshape(2, 3, 2)
    middles = np.array([p.get_y() + p.get_height() / 2 for p in drawn]).reshape(2, 3)
    np.testing.assert_allclose(ends, bands.spread)
    np.testing.assert_array_equal(middles.round(), [[0, 1, 2]] * 2)
    assert np.all(middles[0] < middles[1])


def test_a_bar_reaches_the_ends_of_the_interval() -> None:
    bands, ax = bands_of({"v": valued()}), axes()
    draw_bands(ax, bands, x_label="worth")
    (bars,) = (found for found in ax.collections if isinstance(found, LineCollection))
    np.testing.assert_allclose(np.array(bars.get_segments())[:, :, 0], bands.interval[0])
    points = np.asarray(ax.lines[0].get_xdata(), dtype=np.float64)
    np.testing.assert_allclose(points, bands.expectation[0])


def test_names_labels_and_meanings_are_written() -> None:
    ax = axes()
    draw_bands(ax, bands_of({"fresh": valued(), "again": valued(seed=1)}), x_label="worth in euro")
    assert [label.get_text() for label in ax.get_yticklabels()] == list(NAMES)
    assert ax.get_xlabel() == "worth in euro"
    for part in ("fresh", "again", "one standard deviation", "95 % interval", "do not narrow"):
        assert part in words(ax)
    assert "not known" not in words(ax)


def test_the_first_provider_is_on_top() -> None:
    ax = axes()
    draw_bands(ax, bands_of({"v": valued()}), x_label="worth")
    bottom, top = ax.get_ylim()
    assert top < 0 < len(NAMES) - 1 < bottom


def test_an_unknown_spread_has_no_band_and_the_legend_says_so() -> None:
    bands, ax = bands_of({"v": valued()}), axes()
    spread = bands.spread.copy()
    spread[0, 1] = np.nan
    draw_bands(ax, replace(bands, spread=spread), x_label="worth")
    assert len(ax.patches) == 2
    assert "no band: not known yet" in words(ax)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_the_legends_fit_in_the_figure(m: int) -> None:
    ax = axes()
    valuation = valued()
    draw_bands(ax, bands_of({f"way {i}": valuation for i in range(m)}), x_label="worth")
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    legends = [found.get_window_extent() for found in ax.findobj(Legend)]
    assert len(legends) == 2
    for box in legends:
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height


def test_bands_keep_clear_of_the_edges() -> None:
    bands, ax = bands_of({"v": valued()}), axes()
    draw_bands(ax, bands, x_label="worth")
    left, right = ax.get_xlim()
    assert left < bands.spread.min()
    assert bands.spread.max() < right


def test_one_provider_is_enough() -> None:
    one = np.array([[0.5]])
    bands = Bands(
        ("only",), ("v",), 0.95, one, one[..., None] + [-0.1, 0.1], one[..., None] + [-1, 1]
    )
    ax = axes()
    draw_bands(ax, bands, x_label="worth")
    assert len(ax.patches) == 1


def test_importing_shapband_or_this_module_does_not_import_matplotlib() -> None:
    code = "import sys, shapband, shapband.report.bands; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
