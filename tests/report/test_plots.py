"""The pictures of a valuation: they show its numbers, at any number of providers."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import shapband as sb
from shapband.report.plots import PICTURES
from shapband.report.rows import honest_axis


def additive(n: int) -> list[sb.Provider]:
    rng = np.random.default_rng(0)
    return [
        sb.Provider(f"clinic {at}", sb.ArraySource(np.zeros((50, 1)), rng.normal(at, 1, 50)))
        for at in range(n)
    ]


@pytest.fixture(scope="module")
def wine() -> sb.Valuation:
    task = sb.datasets.wine()
    return sb.value(task.providers, task.utility, sampling=sb.Pooled(100, 30), n_games=30, seed=0)


@pytest.fixture(scope="module")
def valuations(wine: sb.Valuation) -> dict[int, sb.Valuation]:
    made = {
        n: sb.value(additive(n), sb.AdditiveUtility(), sampling=sb.Fresh(10), n_games=20, seed=0)
        for n in (1, 2, 120)
    }
    return {10: wine, **made}


def axes() -> mpl.axes.Axes:
    return Figure(layout="constrained").subplots()


# Those that a valuation has on request only are drawn in tests of their own.
ALWAYS = [name for name in PICTURES if name not in ("interactions", "by_round")]


@pytest.mark.parametrize("picture", ALWAYS)
@pytest.mark.parametrize("n", [1, 2, 10, 120])
def test_every_picture_can_be_drawn_and_written(valuations, picture, n, tmp_path):
    valuation, out = valuations[n], tmp_path / f"{picture}.png"
    valuation.plot.save(out, picture)
    assert out.read_bytes().startswith(b"\x89PNG")
    least = min(n, 23) if picture == "waterfall" else n  # of many providers, 20 have own steps
    assert len(valuation.plot.frame(picture)) >= least


@pytest.mark.parametrize("suffix", [".svg", ".pdf"])
def test_the_same_picture_is_the_same_bytes(wine, suffix, tmp_path):
    for name in ("one", "two"):
        with mpl.rc_context({"svg.hashsalt": "0"}):
            wine.plot.save(tmp_path / f"{name}{suffix}")
    assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


def test_a_picture_is_written_to_a_file_named_by_a_text(wine, tmp_path):
    wine.plot.save(str(tmp_path / "forest.png"))
    assert (tmp_path / "forest.png").read_bytes().startswith(b"\x89PNG")


def test_the_forest_shows_the_numbers_of_the_valuation_sorted_by_value(wine):
    ax = wine.plot(axes())
    order = np.argsort(-wine.expectation)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [wine.names[at] for at in order]
    (points,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert points.get_xdata() == pytest.approx(wine.expectation[order])
    bars = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    assert bars == pytest.approx(wine.interval()[order])
    bands = np.array([[bar.get_x(), bar.get_x() + bar.get_width()] for bar in ax.patches])
    deviation = wine.standard_deviation[order]
    assert bands.mean(axis=1) == pytest.approx(wine.expectation[order])
    assert np.diff(bands)[:, 0] / 2 == pytest.approx(deviation)


def test_the_order_of_the_providers_can_be_kept(wine):
    for draw in (wine.plot.forest, wine.plot.distribution, wine.plot.variance_sources):
        ax = draw(axes(), sort=False)
        assert [label.get_text() for label in ax.get_yticklabels()] == list(wine.names)


def test_convergence_ends_at_the_intervals_of_the_valuation(wine):
    frame = wine.plot.frame("convergence")
    last = frame[frame["games"] == wine.n_games].set_index("provider").loc[list(wine.names)]
    half = np.diff(wine.interval(), axis=1)[:, 0] / 2
    assert last["half_width"].to_numpy() == pytest.approx(half)
    assert last["expectation"].to_numpy() == pytest.approx(wine.expectation)
    assert set(frame["records"]) == {wine.access.records}


def test_with_fresh_draws_records_grow_with_the_games(valuations):
    frame = valuations[2].plot.frame("convergence")
    assert frame["records"].iloc[0] * 5 == frame["records"].iloc[-1]  # 4 games of 20


def test_the_parts_of_the_error_add_up(wine):
    frame = wine.plot.frame("variance_sources")
    assert frame[["games", "solver", "pools", "validation"]].sum(
        axis=1
    ).to_numpy() == pytest.approx(1.0)
    assert frame["pools"].min() > 0


@pytest.mark.parametrize(
    ("values", "zero_shown"),
    [([0.2, 1.0], True), ([0.9, 1.0], False), ([-1.0, 2.0], True), ([-1.0, -0.95], False)],
)
def test_an_axis_shows_zero_or_says_that_it_does_not(values, zero_shown):
    ax = axes()
    honest_axis(ax, np.array(values))
    low, high = ax.get_xlim()
    assert bool(low <= 0 <= high) is zero_shown
    assert any("does not begin at 0" in text.get_text() for text in ax.texts) is not zero_shown


def test_names_are_not_taken_for_mathematics_and_long_ones_are_cut():
    names = ["$x$ and $", "a" * 200, "b\x1b[2J"]
    providers = [
        sb.Provider(name, sb.ArraySource(np.zeros((9, 1)), np.arange(9.0))) for name in names
    ]
    valuation = sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=10, seed=0)
    figure = Figure(layout="constrained")
    ax = valuation.plot.forest(figure.subplots())
    figure.canvas.draw()
    shown = {label.get_text() for label in ax.get_yticklabels()}
    assert r"\$x\$ and \$" in shown
    assert max(map(len, shown)) <= 32


def test_a_wrong_picture_or_format_is_refused(wine, tmp_path):
    with pytest.raises(sb.errors.InvalidInput, match="did you mean forest"):
        wine.plot.frame("forrest")
    with pytest.raises(sb.errors.InvalidInput, match="must end in"):
        wine.plot.save(tmp_path / "picture.bmp")
    with pytest.raises(sb.errors.InvalidInput, match="cannot be written"):
        wine.plot.save(tmp_path / "no" / "picture.png")


def test_several_valuations_are_drawn_side_by_side(wine, valuations):
    ax = wine.plot.beside("first", {"again": wine}, axes())
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["first", "again"]
    with pytest.raises(sb.errors.InvalidInput, match="the same providers"):
        wine.plot.beside("first", {"other": valuations[2]}, axes())


def test_values_that_never_change_have_no_half_width_to_draw(tmp_path):
    valuation = sb.value(
        additive(3), sb.FunctionUtility(nothing), sampling=sb.Fresh(5), n_games=10, seed=0
    )
    (text,) = valuation.plot.convergence(axes()).texts
    assert text.get_text() == "no half width to draw: all are 0 or not known"


def nothing(X, y):
    return 0.0


@pytest.mark.parametrize("length", [5, 40])
def test_the_legend_is_inside_the_picture(length):
    providers = [
        sb.Provider(f"{at}" + "W" * length, one.source) for at, one in enumerate(additive(3))
    ]
    valuation = sb.value(providers, sb.AdditiveUtility(), sampling=sb.Fresh(10), n_games=20, seed=0)
    figure = Figure(figsize=(9, 3), layout="constrained")
    ax = valuation.plot.forest(figure.subplots())
    figure.draw_without_rendering()
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_window_extent().x1 <= figure.bbox.x1
    first, second = (text.get_window_extent().y0 for text in legend.get_texts())
    assert (abs(first - second) > 5) == (length == 40)  # below each other
