"""The sampling that is chosen if none is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapband as sb
from shapband.errors import InvalidInput
from shapband.inputs.draws import default_sampling


def providers(*sizes: int) -> list[sb.Provider]:
    return [
        sb.Provider(f"p{place}", sb.ArraySource(np.arange(size), np.arange(size)))
        for place, size in enumerate(sizes)
    ]


@pytest.mark.parametrize(
    ("smallest", "drawn", "reason"),
    [
        (2, 1, "half of"),
        (3, 1, "half of"),
        (19, 9, "half of"),
        (20, 10, "half of"),
        (21, 10, "half of"),
        (22, 10, "smallest draw"),
        (39, 10, "smallest draw"),
        (40, 10, "a quarter of"),
        (43, 10, "a quarter of"),
        (44, 11, "a quarter of"),
        (2000, 500, "a quarter of"),
        (2004, 500, "largest draw"),
        (10**5, 500, "largest draw"),
    ],
)
def test_the_draw_is_a_part_of_the_smallest_stock_within_limits(smallest, drawn, reason):
    sampling, why = default_sampling(providers(smallest + 7, smallest))
    assert sampling == sb.Pooled(smallest + 7, drawn, replace=False)
    assert reason in why
    assert f"{smallest:,} records of p1" in why


@given(st.lists(st.integers(2, 300), min_size=1, max_size=5))
def test_the_sampling_fits_all_stocks_and_does_not_depend_on_their_order(sizes):
    players = providers(*sizes)
    sampling, why = default_sampling(players)
    sampling.check(players)
    assert default_sampling(players[::-1]) == (sampling, why)


def test_the_result_names_the_sampling_and_the_reason():
    players = providers(60, 48)
    utility = sb.AdditiveUtility()
    found = sb.value(players, utility, n_games=4, seed=0)
    line = (
        "sampling: Pooled, because none was named and all records are in memory; draws are a "
        "quarter of the smallest stock, 48 records of p1"
    )
    assert line in " ".join(str(found).split())
    named = sb.value(players, utility, sampling=sb.Pooled(60, 12, replace=False), n_games=4, seed=0)
    assert named.games.tolist() == found.games.tolist()
    assert "sampling: " not in str(named)


def test_the_reason_survives_a_run_and_a_document(tmp_path):
    first = sb.value(providers(60, 48), sb.AdditiveUtility(), n_games=4, seed=0, run=tmp_path / "r")
    again = sb.value(providers(60, 48), sb.AdditiveUtility(), n_games=4, seed=0, run=tmp_path / "r")
    loaded = sb.load(tmp_path / "r").valuation
    assert first.setup["sampling_chosen"] == again.setup["sampling_chosen"]
    assert loaded.setup["sampling_chosen"] == first.setup["sampling_chosen"]


def test_a_report_gives_the_reason(tmp_path):
    path = tmp_path / "report.html"
    sb.value(providers(60, 48), sb.AdditiveUtility(), n_games=4, seed=0).report(path)
    assert "Why this sampling" in path.read_text("utf-8")


def test_a_source_with_replacement_needs_a_sampling():
    source = sb.ArraySource([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], replace=True)
    with pytest.raises(InvalidInput, match=r"sampling must be given, .* draws with replacement"):
        sb.value([sb.Provider("north", source)], sb.AdditiveUtility())
