"""Interactions are drawn as a heat map, and have a section in the report."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import shapband as sb
from shapband.errors import InvalidInput
from shapband.estimate.estimate import Estimate
from shapband.estimate.paired import from_moments
from shapband.report.frames import similar_order
from shapband.report.interactions import interactions_section
from shapband.report.page import page_of
from shapband.valuation.interactions import Interactions
from tests.conftest import linear_providers


@pytest.fixture(scope="module")
def valuation():
    providers, (X, y) = linear_providers(n=4)
    odd = sb.Provider("<b> & $x$", providers[0].source)
    return sb.value(
        [odd, *providers[1:]], sb.LinearUtility(X, y), sampling=sb.Fresh(12), n_games=8, seed=0,
        interactions=True, fixed_validation=True,
    )  # fmt: skip


def made_up(n):
    """Interactions of n providers, those with even and those with odd numbers replace each other.

    The first two are the strongest pair.
    """
    first, second = np.triu_indices(n, 1)
    mean = np.where((first - second) % 2 == 0, -0.2, 0.01)
    mean[0] = -1.0
    games = mean + 0.05 * np.random.default_rng(0).normal(size=(10, len(mean)))
    values = np.ones((10, n)) + 0.1 * np.random.default_rng(1).normal(size=(10, n))
    found = from_moments(Estimate.of(games).moments, Estimate.of(values).moments)
    return Interactions(tuple(f"provider {at}" for at in range(n)), found)


def test_providers_that_replace_each_other_are_neighbours():
    order = similar_order(made_up(8).matrix).tolist()
    assert abs(order.index(0) - order.index(1)) == 1


@pytest.mark.parametrize("n", [2, 10, 60])
def test_the_heat_map_is_drawn_for_any_number_of_providers(n):
    from shapband.report.heat_map import draw_heat_map

    ax = Figure(layout="constrained").subplots()
    found = made_up(n)
    draw_heat_map(ax, found)
    shown = ax.images[0].get_array()
    order = similar_order(found.matrix)
    np.testing.assert_array_equal(np.asarray(shown), found.matrix[np.ix_(order, order)])
    assert len(ax.texts) == (n * (n - 1) if n <= 12 else 0)  # numbers in the cells
    assert len(ax.get_yticklabels()) <= 50


def test_the_picture_is_saved_and_has_a_frame(valuation, tmp_path):
    valuation.plot.save(tmp_path / "pairs.png", "interactions")
    assert (tmp_path / "pairs.png").read_bytes().startswith(b"\x89PNG")
    assert len(valuation.plot.frame("interactions")) == 6


def test_a_valuation_without_interactions_says_how_to_get_them():
    providers, (X, y) = linear_providers(n=2)
    plain = sb.value(
        providers, sb.LinearUtility(X, y), sampling=sb.Fresh(12), n_games=4, seed=0,
        fixed_validation=True,
    )  # fmt: skip
    with pytest.raises(InvalidInput, match=r"use value\(..., interactions=True\)"):
        plain.plot.interactions()
    assert "Who replaces whom" not in page_of(plain)


def test_the_report_has_a_section_on_interactions(valuation):
    page = page_of(valuation)
    assert "Who replaces whom" in page
    assert "&lt;b&gt; &amp; $x$ and site 1: " in page
    assert "<b> &" not in page
    assert " style=" not in page  # the page allows no style but its own


def test_a_long_section_shows_the_strongest_providers_and_pairs():
    section = interactions_section(made_up(60))
    assert len(section.tables[0].rows) == 60
    assert section.chart.count("<rect") == 30 * 29
    assert section.notes[0].startswith("The chart shows the 30 providers")
    assert "provider 0 and provider 1: -1.0" in section.chart
