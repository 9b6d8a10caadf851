"""plan(), bill() and next_batch() take named data, a model and validation rows as value() does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from tests.counted import Counted

import shapband as sb
from shapband.errors import HeldRows, InvalidInput

RNG = np.random.default_rng(24)
MODEL = LinearRegression()


def stays(n: int) -> pd.DataFrame:
    frame = pd.DataFrame(RNG.normal(size=(n, 2)), columns=["age", "dose"])
    return frame.assign(stay=frame["age"] - frame["dose"] + RNG.normal(size=n))


DATA, ROWS = {"north": stays(90), "south": stays(60)}, stays(50)
PLAYERS = [sb.Provider(name, sb.FrameSource(frame, "stay")) for name, frame in DATA.items()]
UTILITY = sb.utility_for(MODEL, ROWS[["age", "dose"]], ROWS["stay"])
SAMPLING = sb.Pooled(90, 15, replace=False)  # a quarter of 60
NAMED: dict[str, Any] = {"target": "stay", "validation": ROWS}
WHY = "none was named and all records are in memory; draws are a quarter of the smallest stock"


@pytest.fixture(autouse=True)
def quick_pilots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shapband.market.planning.pilot._SHORTEST", 0.1)
    monkeypatch.setattr("shapband.market.planning.pilot._TIME_SHARE", 0.002)


@pytest.mark.parametrize("next_batch", [False, True])
def test_a_bill_of_named_data_is_the_bill_of_the_objects_they_stand_for(next_batch: bool) -> None:
    found = sb.bill(DATA, MODEL, **NAMED, n_games=7, next_batch=next_batch)
    other = sb.bill(PLAYERS, UTILITY, sampling=SAMPLING, n_games=7, next_batch=next_batch)
    assert found.to_frame().equals(other.to_frame())
    assert found.evaluations == other.evaluations
    assert WHY in " ".join(str(found).split())
    assert "sampling:" not in str(other)


def test_a_next_batch_of_named_data_has_the_gains_of_the_objects_they_stand_for() -> None:
    found = sb.next_batch(DATA, MODEL, **NAMED, n_games=8, seed=0)
    other = sb.next_batch(PLAYERS, UTILITY, sampling=SAMPLING, n_games=8, seed=0)
    assert found.gain.tolist() == other.gain.tolist()
    assert found.standard_error.tolist() == other.standard_error.tolist()
    assert WHY in " ".join(str(found).split())
    assert "utility: chosen because it agrees with LinearRegression" in str(found)


def test_a_plan_of_named_data_plays_what_it_recommends() -> None:
    found = sb.plan(DATA, MODEL, **NAMED, error=0.3, seed=0)
    other = sb.plan(PLAYERS, UTILITY, n_sample=15, error=0.3, seed=0)
    assert found.pilot.cost == other.pilot.cost
    assert found.pilot.stocks.tolist() == [90, 60]
    assert f"draws:   15 records per game, because {WHY}, 60 records of south" in str(found)
    assert "draws:" not in str(other)
    valuation = sb.value(DATA, MODEL, **NAMED, **found.recommended.arguments)
    assert valuation.games.tolist() == found.value().games.tolist()


def test_records_held_out_for_a_plan_are_those_of_the_valuation() -> None:
    named = {"target": "stay", "validation": 0.3, "score": "neg_mean_squared_error"}
    found = sb.plan(DATA, MODEL, **named, error=5)  # a seed is made up
    row = found.recommended
    valuation = sb.value(DATA, MODEL, **named, **row.arguments)
    assert valuation.games.tolist() == found.value().games.tolist()
    assert found.pilot.stocks.tolist() == [63, 42]
    assert sb.bill(DATA, MODEL, **named, seed=1).records.tolist() == [63, 42]
    first = sb.next_batch(DATA, MODEL, **named, n_games=6)
    again = sb.next_batch(DATA, MODEL, **named, n_games=6, seed=first.design.seed)
    assert again.gain.tolist() == first.gain.tolist()


@pytest.mark.parametrize("function", [sb.plan, sb.bill, sb.next_batch])
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"target": "stays"}, r"target='stays' is not a column"),
        ({"validation": None}, r"validation must be a data frame, .*; received None"),
        ({"score": "auc"}, r"score='auc'|score must"),
        ({"validation": 30}, r"validation must be .*; received 30: use 0.3 for 30 %"),
    ],
)
def test_mistakes_have_the_errors_of_value(function: Any, changed: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        function(DATA, MODEL, **{**NAMED, **changed})
    with pytest.raises(InvalidInput) as expected:
        sb.value(DATA, MODEL, **{**NAMED, **changed})
    assert str(refused.value) == str(expected.value)


def test_a_distant_source_needs_a_size_of_draws_before_it_is_asked() -> None:
    distant = Counted(sb.FrameSource(DATA["north"], "stay"))
    data = {"north": distant, "south": DATA["south"]}
    message = r"n_sample must be given, because provider 'north' has a Counted.*: pass n_sample=60"
    with pytest.raises(InvalidInput, match=message):
        sb.plan(data, MODEL, **NAMED)
    for function in (sb.bill, sb.next_batch):
        with pytest.raises(InvalidInput, match=r"sampling must be given.*: pass sampling=sb"):
            function(data, MODEL, **NAMED)
    assert distant.asked == 0


@pytest.mark.parametrize("function", [sb.plan, sb.next_batch, sb.value])
def test_a_warning_about_held_rows_points_to_the_caller(function: Any) -> None:
    with pytest.warns(HeldRows) as warned:
        function(DATA, MODEL, target="stay", validation=DATA["north"][:40], seed=0)
    assert {one.filename for one in warned if one.category is HeldRows} == {__file__}
