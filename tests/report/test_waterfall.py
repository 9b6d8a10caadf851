"""The waterfall and the beeswarm: their numbers, and what is drawn at any number of providers."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import shapband as sb
from shapband.report.beeswarm import _offsets, beeswarm_frame
from shapband.report.frames import top_rows
from shapband.report.waterfall import waterfall_frame
from tests.conftest import redesigned


def played(n, n_games=20, scale=1.0, names=None, empty=0.0, **options):
    rng = np.random.default_rng(n)
    providers = [
        sb.Provider(
            f"clinic {at}" if names is None else names[at],
            sb.ArraySource(np.arange(30.0)[:, None], scale * rng.normal(at % 7 - 3, 1, 30)),
        )
        for at in range(n)
    ]
    utility = sb.AdditiveUtility(empty=empty)
    options = {"sampling": sb.Fresh(5), "n_games": n_games, "seed": 0} | options
    return sb.value(providers, utility, **options)


def axes():
    return Figure(figsize=(9, 6), layout="constrained").subplots()


@pytest.mark.parametrize("n", [1, 2, 10, 21, 22, 50, 500])
@pytest.mark.parametrize("empty", [0.0, -2.5])
def test_the_steps_lead_from_nobody_to_all(n, empty):
    valuation = played(n, empty=empty)
    frame = waterfall_frame(valuation)
    assert frame["start"].iloc[0] == frame["end"].iloc[0] == empty
    total = empty + valuation.expectation.sum()
    np.testing.assert_allclose(frame["end"].iloc[-1], total, rtol=1e-12)
    inner = frame.iloc[1:-1]
    np.testing.assert_allclose(inner["end"] - inner["start"], inner["step"], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(inner["start"].iloc[1:], inner["end"].iloc[:-1])
    own = inner[~inner.index.str.startswith("the other")]
    assert len(own) == (n if n <= 21 else 20)
    by_name = dict(zip(valuation.names, valuation.expectation, strict=True))
    assert all(row["step"] == by_name[name] for name, row in own.iterrows())
    rest = sorted(set(by_name) - set(own.index), key=valuation.names.index)
    if rest:
        assert inner.index[-1] == f"the other {len(rest)}"
        left = min(abs(by_name[name]) for name in own.index)
        assert all(abs(by_name[name]) <= left for name in rest)


def test_the_total_of_a_waterfall_is_the_value_of_all_records():
    task = sb.datasets.wine()
    valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=8, seed=0)
    frame = waterfall_frame(valuation)
    np.testing.assert_allclose(frame["end"].iloc[-1], valuation.games.sum(axis=1).mean(), rtol=1e-9)


def test_values_that_do_not_sum_to_the_whole_have_no_waterfall():
    with pytest.raises(sb.errors.InvalidInput, match=r"Banzhaf.*use plot\.forest"):
        played(3, index=sb.Banzhaf()).plot.waterfall(axes())
    unsaid = redesigned(played(2), setup={})
    with pytest.raises(sb.errors.InvalidInput, match=r"does not say what v\(∅\) is"):
        unsaid.plot.waterfall(axes())


def test_a_waterfall_draws_its_frame_with_signs():
    valuation = played(10)
    ax = valuation.plot.waterfall(axes())
    frame = valuation.plot.frame("waterfall")
    steps = frame["step"].iloc[1:-1]
    bars = {round(bar.get_y() + bar.get_height() / 2): bar for bar in ax.patches}
    for row, (start, step) in enumerate(zip(frame["start"].iloc[1:-1], steps, strict=True), 1):
        assert bars[row].get_x() == pytest.approx(start)
        assert bars[row].get_width() == pytest.approx(step)
    colours = {bars[row].get_facecolor() for row in bars if steps.iloc[row - 1] < 0}
    assert len(colours) == 1
    assert colours.isdisjoint(
        {bars[row].get_facecolor() for row in bars if steps.iloc[row - 1] > 0}
    )
    texts = [text.get_text() for text in ax.texts][: len(frame)]
    assert [text[0] for text in texts[1:-1]] == ["+" if step >= 0 else "−" for step in steps]


@pytest.mark.parametrize("n", [1, 2, 10, 22, 50, 500])
def test_a_beeswarm_has_one_point_per_game(n):
    valuation = played(n, n_games=12)
    frame = beeswarm_frame(valuation)
    shown, others = top_rows(valuation.expectation)
    for row, at in enumerate(shown):
        points = frame[frame["row"] == row]
        assert set(points["provider"]) == {valuation.names[at]}
        np.testing.assert_array_equal(points["value"], valuation.games[:, at])
    if len(others):
        rest = frame[frame["row"] == len(shown)]
        assert set(rest["provider"]) == {f"the other {len(others)}"}
        assert len(rest) == min(12 * len(others), 1_000)
        assert set(rest["value"]) <= set(valuation.games[:, others].ravel())
    assert frame["offset"].abs().max() <= 0.4


def test_of_many_games_evenly_spaced_ones_are_drawn_and_the_legend_says_so():
    valuation = played(2, n_games=2_500)
    assert beeswarm_frame(valuation).groupby("row").size().tolist() == [1_000, 1_000]
    legend = valuation.plot.beeswarm(axes()).get_legend()
    assert legend is not None
    assert legend.get_texts()[0].get_text() == "value in one game; 1,000 of 2,500 games"


@pytest.mark.parametrize("seed", range(20))
def test_points_of_a_row_do_not_cover_each_other_unless_they_are_equal_to_the_eye(seed):
    rng = np.random.default_rng(seed)
    values = rng.choice([rng.normal(size=200), np.round(rng.normal(size=200), 1)])
    low, high = values.min(), values.max()
    offsets = _offsets(values, low, high)
    places = list(zip(np.floor((values - low) / (high - low) * 160), offsets, strict=True))
    assert len(set(places)) == len(places)
    assert (np.abs(offsets) <= 0.4).all()


def test_a_constant_row_and_huge_values_have_finite_places():
    assert np.isfinite(_offsets(np.full(9, 3.0), 3.0, 3.0)).all()
    assert np.isfinite(_offsets(np.array([-1e308, 0.0, 1e308]), -1e308, 1e308)).all()


def test_games_that_were_averaged_or_not_kept_have_no_beeswarm():
    with pytest.raises(sb.errors.InvalidInput, match="at least 4 games"):
        played(2, keep_games=2).plot.beeswarm(axes())


@pytest.mark.parametrize("picture", ["waterfall", "beeswarm"])
@pytest.mark.parametrize("scale", [1e-12, 1e12, 0.0])
def test_any_scale_and_any_name_can_be_drawn(picture, scale, tmp_path):
    names = ["$x$ and $", "a" * 200, "b\x1b[2J"]
    valuation = played(3, scale=scale, names=names, n_games=40)
    valuation.plot.save(tmp_path / "picture.png", picture)
    figure = Figure(figsize=(9, 3), layout="constrained")
    ax = getattr(valuation.plot, picture)(figure.subplots())
    figure.canvas.draw()
    shown = {label.get_text() for label in ax.get_yticklabels()}
    assert r"\$x\$ and \$" in shown
    assert not any("\x1b" in label for label in shown)
