"""What must be the same in two valuations, so that their difference is tested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app
from tests.conftest import redesigned

RNG = np.random.default_rng(3)
COLUMNS = ["age", "dose"]


def stays(n: int, shift: float = 0.0) -> pd.DataFrame:
    frame = pd.DataFrame(RNG.normal(size=(n, 2)), columns=COLUMNS)
    stay = frame["age"] - frame["dose"] + (0.1 + shift) * RNG.normal(size=n)
    return frame.assign(stay=stay, cost=9 - 2 * stay - 3 * frame["dose"])


FRAMES = {"north": stays(80), "south": stays(80, 3.0), "west": stays(80)}
ROWS = stays(100)


def value(
    model: Any = None,
    target: str = "stay",
    seed: int = 0,
    rows: pd.DataFrame = ROWS,
    **options: Any,
) -> sb.Valuation:
    data = {name: frame[[*COLUMNS, target]] for name, frame in FRAMES.items()}
    options = {"score": "r2", "sampling": sb.Fresh(30), "n_games": 20} | options
    return sb.value(
        data,
        LinearRegression() if model is None else model,
        target=target,
        validation=rows[[*COLUMNS, target]],
        seed=seed,
        **options,
    )


def of_arrays(utility: sb.Utility, seed: int = 0, target: str = "stay") -> sb.Valuation:
    data = {name: (one[COLUMNS].to_numpy(), one[target]) for name, one in FRAMES.items()}
    return sb.value(data, utility, sampling=sb.Fresh(30), n_games=20, seed=seed)


def linear(**options: Any) -> sb.Utility:
    return sb.LinearUtility(ROWS[COLUMNS].to_numpy(), ROWS["stay"], **options)


def warned(found: sb.Comparison | sb.SeriesComparison) -> list[str]:
    return [note for note in found.notes if note.startswith("warning")]


def test_other_target_columns_are_not_tested() -> None:
    error = {"score": "neg_mean_squared_error"}
    first, second = value(**error), value(target="cost", **error)
    assert (first.setup["target"], second.setup["target"]) == ("stay", "cost")
    found = sb.compare(first, second)
    (said,) = warned(found)
    assert said.startswith(
        "warning: no provider is flagged, because the values are about different targets, 'stay' "
        "and 'cost': use the same column"
    )
    assert not found.tested
    assert not found.beyond_chance.any()
    assert "no difference was tested" in str(found)
    assert "differ beyond chance" not in str(found)
    # The control: the same numbers under one name are tested, and differ.
    renamed = redesigned(second, setup={**second.setup, "target": "stay"})
    again = sb.compare(first, renamed)
    assert (again.tested, warned(again)) == (True, [])
    assert again.beyond_chance.any()


def test_a_target_that_one_valuation_does_not_know_is_not_compared() -> None:
    known, unknown = value(), of_arrays(sb.utility_for(
        LinearRegression(), ROWS[COLUMNS].to_numpy(), ROWS["stay"], "r2"), seed=1)  # fmt: skip
    assert "target" not in unknown.setup
    assert sb.compare(known, unknown).tested
    assert sb.compare(unknown, known).tested


def test_sources_name_their_target(tmp_path: Path) -> None:
    frame = FRAMES["north"][[*COLUMNS, "stay"]]
    frame.to_parquet(tmp_path / "north.parquet")
    sources: list[sb.Source] = [
        sb.FrameSource(frame, "stay"),
        sb.FileSource(tmp_path / "north.parquet", target="stay"),
        sb.with_delay(sb.FrameSource(frame, "stay"), 0.0),
    ]
    assert [source.target for source in sources] == ["stay"] * 3
    assert sb.ArraySource([[1.0]], [2.0]).target is None
    held = value(rows=ROWS)
    assert held.setup["target"] == "stay"
    mixed = [
        sb.Provider("north", sources[0]),
        sb.Provider("south", sb.FrameSource(FRAMES["south"][[*COLUMNS, "cost"]], "cost")),
    ]
    options: dict[str, Any] = {"sampling": sb.Fresh(9), "n_games": 2, "seed": 0}
    assert "target" not in sb.value(mixed, linear_on_frames(), **options).setup


def linear_on_frames() -> sb.Utility:
    return sb.LinearUtility(ROWS[COLUMNS], ROWS["stay"])


def test_held_out_rows_keep_the_name_of_the_target() -> None:
    data = {name: frame[[*COLUMNS, "stay"]] for name, frame in FRAMES.items()}
    found = sb.value(data, Ridge(), target="stay", validation=0.3, n_games=4, seed=0)
    assert found.setup["target"] == "stay"


def test_other_scores_are_not_tested() -> None:
    first, second = of_arrays(linear()), of_arrays(linear(score="neg_mse"), seed=1)
    found = sb.compare(first, second)
    assert warned(found)[0] == (
        "warning: no provider is flagged, because the values are parts of different scores, "
        "1 / (1 + MSE) and negative mean squared error: use the same score for both"
    )
    assert not any(note.startswith("note: the score") for note in found.notes)
    assert not found.tested
    assert not found.beyond_chance.any()


def test_another_model_under_the_same_score_is_tested_with_a_note() -> None:
    tree = DecisionTreeRegressor(max_depth=1, random_state=0)
    first, second = value(), value(tree, n_games=12)
    found = sb.compare(first, second)
    assert found.tested
    assert warned(found) == []
    assert found.beyond_chance.any()
    assert "note: the model differs: linear regression and DecisionTreeRegressor" in found.notes
    series = sb.compare_series({"May": first, "June": second, "July": value(seed=2)})
    assert series.tested.all()
    told = "note: the model of June differs: linear regression and DecisionTreeRegressor"
    assert [note for note in series.notes if "model" in note] == [told]


def test_another_value_of_nobody_is_not_tested_but_that_of_other_rows_is() -> None:
    plain, moved = of_arrays(linear()), of_arrays(linear(empty=0.25), seed=1)
    (said,) = warned(sb.compare(plain, moved))
    assert "nobody is worth different things, v(∅) = 0 and v(∅) = 0.25, which moves all" in said
    dummy = of_arrays(linear(empty="baseline"), seed=1)
    assert not sb.compare(plain, dummy).tested
    shifted = sb.LinearUtility(ROWS[COLUMNS].to_numpy(), ROWS["stay"] * 1.1, empty="baseline")
    others = of_arrays(shifted, seed=2)
    assert dummy.setup["empty"] != others.setup["empty"]
    assert sb.compare(dummy, others).tested


def constant(X: Any, y: Any) -> float:
    return float(len(y) > 0)


def test_utilities_without_a_score_must_be_the_same() -> None:
    def total(X: Any, y: Any) -> float:
        return float(y.sum())

    one, again = (of_arrays(sb.FunctionUtility(total), seed=seed) for seed in (0, 1))
    assert sb.compare(one, again).tested
    other = of_arrays(sb.FunctionUtility(constant), seed=1)
    (said,) = warned(sb.compare(one, other))
    assert "the function total (FunctionUtility) and of the function constant (" in said
    assert not sb.compare(one, of_arrays(linear())).tested
    # Results of earlier versions name neither the model nor the score.
    scored = of_arrays(linear(), seed=1)
    setup = {word: text for word, text in scored.setup.items() if word not in ("model", "score")}
    old = redesigned(scored, setup=setup)
    assert sb.compare(of_arrays(linear()), old).tested


@pytest.mark.parametrize("since", ["first", "previous"])
def test_a_series_tests_only_what_is_the_same(since: Any) -> None:
    months = {"May": value(), "June": value(target="cost"), "July": value(target="cost", seed=1)}
    found = sb.compare_series(months, since=since)
    assert found.tested.tolist() == [False, since == "previous"]
    assert not found.beyond_chance[0].any()
    assert len(warned(found)) == 2 - (since == "previous")
    assert "no provider of June is flagged, because the values are about diff" in warned(found)[0]


def test_the_command_follows(tmp_path: Path) -> None:
    for name, target in {"one": "stay", "two": "cost", "three": "cost"}.items():
        value(target=target, seed=len(name), run=tmp_path / name)
    runs = [str(tmp_path / name) for name in ("one", "two", "three")]
    pair = json.loads(CliRunner().invoke(app, ["compare", *runs[:2], "--json"]).stdout)
    assert pair["tested"] is False
    assert not any(row["beyond_chance"] for row in pair["providers"])
    assert "about different targets" in pair["notes"][0]
    options = ["--json", "--since", "previous"]
    series = json.loads(CliRunner().invoke(app, ["compare", *runs, *options]).stdout)
    assert list(series["tested"].values()) == [False, True]


def test_a_run_that_was_begun_without_the_name_of_its_target_is_resumed(tmp_path: Path) -> None:
    """Runs of earlier versions do not name the target; their data are compared by fingerprints."""
    data = {name: frame[[*COLUMNS, "stay"]] for name, frame in FRAMES.items()}
    given = sb.value(list(named(data)), linear_on_frames(), sampling=sb.Fresh(9), n_games=4,
                     seed=0, run=tmp_path / "run")  # fmt: skip
    for source in (one.source for one in named(data)):
        assert source.target == "stay"
    unnamed = list(named(data))
    for one in unnamed:
        one.source.target = None
    again = sb.value(unnamed, linear_on_frames(), sampling=sb.Fresh(9), n_games=6, seed=0,
                     run=tmp_path / "run")  # fmt: skip
    assert again.games[:4].tolist() == given.games.tolist()


def named(data: dict[str, pd.DataFrame]) -> list[sb.Provider]:
    return [sb.Provider(name, sb.FrameSource(frame, "stay")) for name, frame in data.items()]
