"""Providers that hold validation rows are named, however the rows were given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler
from tests.conftest import redesigned
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app
from shapband.errors import HeldRows, InvalidInput
from shapband.records.batch import Batch
from shapband.runs.fingerprints import fingerprint_object
from shapband.sampling.shared import Held, find_copied, format_held, shared_records

RNG = np.random.default_rng(6)


def table(n: int) -> pd.DataFrame:
    frame = pd.DataFrame(RNG.normal(size=(n, 3)), columns=["age", "dose", "days"])
    return frame.assign(stay=frame["age"] - frame["dose"] + RNG.normal(size=n))


NORTH, SOUTH, OTHERS = table(120), table(90), table(80)
FEATURES = ["age", "dose", "days"]
LINE = "held: 90 of 90 validation rows equal records of 'south'"


def providers(**frames: pd.DataFrame) -> list[sb.Provider]:
    return [sb.Provider(name, sb.FrameSource(one, "stay")) for name, one in frames.items()]


def batch(frame: pd.DataFrame) -> Batch:
    return Batch(frame[FEATURES].to_numpy(), frame["stay"].to_numpy())


def value(utility: Any, **options: Any) -> sb.Valuation:
    options = {"sampling": sb.Fresh(20), "n_games": 4, "seed": 0} | options
    return sb.value(providers(north=NORTH, south=SOUTH), utility, **options)


def labels(rows: pd.DataFrame) -> pd.Series:
    return (rows["stay"] > 0).astype(int)


UTILITIES: dict[str, Any] = {
    "neighbours": lambda X, y: sb.NeighborUtility(X, y, k=2),
    "linear": sb.LinearUtility,
    "embedded": lambda X, y: sb.LinearUtility(X, y, embed=StandardScaler().fit(X)),
    "estimator": lambda X, y: sb.EstimatorUtility(LinearRegression(), X, y),
    "recognised": lambda X, y: sb.utility_for(LinearRegression(), X, y),
    "federated": lambda X, y: sb.FederatedUtility(
        "linear", X, y, rounds=1, local_steps=1, learning_rate=0.01
    ),
}
CLASSIFIERS: dict[str, Any] = {
    "logistic": sb.LogisticUtility,
    "discriminant": sb.LDAUtility,
    "network": lambda X, y: sb.NetworkUtility(X, y, hidden=(2,)),
}


@pytest.mark.parametrize("sampling", [sb.Fresh(20), sb.Pooled(60, 20)])
@pytest.mark.parametrize("name", UTILITIES)
def test_validation_rows_of_every_utility_are_compared(name: str, sampling: sb.Sampling) -> None:
    with pytest.warns(HeldRows, match=r"validation: 90 different rows .* provider 'south', so"):
        found = value(UTILITIES[name](SOUTH[FEATURES], SOUTH["stay"]), sampling=sampling)
    assert found.held_rows == (Held("south", 90, 90, chance=2.0),)
    clean = value(UTILITIES[name](OTHERS[FEATURES], OTHERS["stay"]), sampling=sampling)
    assert clean.held_rows == ()  # warnings are errors


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_validation_rows_of_classifiers_are_compared(name: str) -> None:
    frames = {which: rows.assign(stay=labels(rows)) for which, rows in
              {"north": NORTH, "south": SOUTH}.items()}  # fmt: skip
    utility = CLASSIFIERS[name](SOUTH[FEATURES].to_numpy(), labels(SOUTH))
    sources = {which: (rows[FEATURES].to_numpy(), rows["stay"]) for which, rows in frames.items()}
    with pytest.warns(HeldRows):
        found = sb.value(sources, utility, sampling=sb.Fresh(20), n_games=4, seed=0)
    assert [(one.name, one.records) for one in found.held_rows] == [("south", 90)]


def test_held_rows_are_shown_wherever_the_result_is(tmp_path: Path) -> None:
    with pytest.warns(HeldRows) as warned:
        found = value(sb.LinearUtility(SOUTH[FEATURES], SOUTH["stay"]), run=tmp_path / "run")
    assert {one.filename for one in warned} == {__file__}
    assert LINE in str(found)
    paid = sb.payouts(found, 100)
    assert f"{LINE}: models are trained on rows that score them" in str(paid)
    own = "90 of 90 validation rows equal its records: models are trained on rows that score them"
    assert own in paid.statement("south")
    assert "validation rows equal" not in paid.statement("north")
    found.report(tmp_path / "report.html", payouts=paid)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Validation rows that providers hold" in page
    assert "Nothing was found" not in page
    for name in ("south", "north"):
        found.report(tmp_path / f"{name}.html", provider=name)
        told = own in (tmp_path / f"{name}.html").read_text("utf-8")
        assert told == (name == "south")
    assert sb.load(tmp_path / "run").valuation.held_rows == found.held_rows != ()
    assert sb.Valuation.from_json(found.to_json()).held_rows == found.held_rows
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "run")])
    assert LINE in shown.stdout
    assert LINE in sb.load(tmp_path / "run").valuation._repr_html_().replace("&#39;", "'")


def test_a_result_without_held_rows_is_written_as_before() -> None:
    found = value(sb.LinearUtility(OTHERS[FEATURES], OTHERS["stay"]))
    assert "held_rows" not in found.to_json()
    assert sb.Valuation.from_json(found.to_json()).held_rows == ()
    for held in (Held("west", 3, 3), Held("south", 4, 3), Held("south", 0, 3)):
        with pytest.raises(InvalidInput, match=r"^Valuation\.from_json: "):
            sb.Valuation.from_json(redesigned(found, held_rows=(held,)).to_json())


def test_a_plan_and_a_next_batch_name_held_rows() -> None:
    data, rows = {"north": NORTH, "south": SOUTH}, SOUTH.iloc[:60]
    given: dict[str, Any] = {"target": "stay", "validation": rows, "seed": 0}
    with pytest.warns(HeldRows) as warned:
        plan = sb.plan(data, LinearRegression(), error=0.5, **given)
    assert {one.filename for one in warned if one.category is HeldRows} == {__file__}
    assert "held: 60 of 60 validation rows equal records of 'south'" in str(plan)
    with pytest.warns(HeldRows):
        batch = sb.next_batch(data, LinearRegression(), n_games=4, **given)
    assert "held: 60 of 60 validation rows equal records of 'south'" in str(batch)


CONFIG = """
n_games = 4
seed = 0
sampling = { kind = "fresh", n_sample = 20 }

[utility]
kind = "linear"
validation = { kind = "csv", path = "ROWS.csv", target = "stay" }

[[providers]]
name = "north"
source = { kind = "csv", path = "north.csv", target = "stay" }

[[providers]]
name = "south"
source = { kind = "csv", path = "south.csv", target = "stay" }
"""


@pytest.mark.filterwarnings("default::shapband.errors.HeldRows")
@pytest.mark.parametrize("rows", ["south", "others"])
@pytest.mark.parametrize("pooled", [False, True])
def test_a_file_of_a_provider_as_validation_rows_is_named(
    tmp_path: Path, rows: str, pooled: bool
) -> None:
    for name, frame in {"north": NORTH, "south": SOUTH, "others": OTHERS}.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    text = CONFIG.replace("ROWS", rows)
    if pooled:
        text = text.replace('kind = "fresh", n_sample = 20', 'kind = "pooled", n_pool = 60, '
                                                             "n_boot = 20")  # fmt: skip
    (tmp_path / "market.toml").write_text(text)
    run = [str(tmp_path / "market.toml"), "--out", str(tmp_path / "run"), "--quiet"]
    result = CliRunner().invoke(app, ["run", *run])
    assert result.exit_code == 0
    printed = CliRunner().invoke(app, ["payouts", str(tmp_path / "run"), "--amount", "1000"])
    if rows == "south":
        assert result.stderr.startswith("warning: HeldRows: validation: 90 different rows equal")
        assert LINE in printed.stdout
    else:
        assert result.stderr == ""
        assert "held:" not in printed.stdout


def test_copies_of_validation_rows_that_were_changed_are_named() -> None:
    ids = np.arange(90)
    changed = SOUTH.round(2).assign(id=ids + 500)
    with pytest.warns(HeldRows, match=r"\(leaving out column 'id', rounded to about 0.01 stand"):
        found = sb.value(
            providers(north=NORTH.assign(id=np.arange(120)), south=changed),
            sb.LinearUtility(SOUTH.assign(id=ids)[[*FEATURES, "id"]], SOUTH["stay"]),
            sampling=sb.Fresh(20),
            n_games=4,
            seed=0,
        )
    (held,) = found.held_rows
    assert (held.name, held.left_out, held.rounded) == ("south", ("column 'id'",), 0.01)


def test_equal_rows_of_few_possible_values_are_no_copies() -> None:
    """Nearly all rows of this survey equal records of a provider by chance."""

    def survey(n: int) -> Batch:
        answers = RNG.integers(0, 3, (n, 4)).astype(float)
        return Batch(answers[:, :3], answers[:, 3])

    for _ in range(40):
        stocks, rows = [survey(400), survey(150)], survey(100)
        kinds = {(*x, y) for x, y in zip(stocks[0].X.tolist(), stocks[0].y, strict=True)}
        equal = [(*x, y) in kinds for x, y in zip(rows.X.tolist(), rows.y, strict=True)]
        assert np.mean(equal) > 0.9
        assert find_copied(["a", "b"], stocks, rows).held == ()


def test_the_threshold_is_a_third_of_the_smaller_side() -> None:
    wide = np.c_[np.arange(900.0) ** 0.5, RNG.normal(size=(900, 3))]

    def rows(*parts: slice) -> Batch:
        chosen = np.concatenate([wide[part] for part in parts])
        return Batch(chosen[:, 1:], chosen[:, 0])

    stock, fresh = rows(slice(0, 300)), slice(300, 360)
    assert find_copied(["a"], [stock], rows(slice(0, 30), fresh)).held == ()
    (held,) = find_copied(["a"], [stock], rows(slice(0, 35), fresh)).held
    assert held == Held("a", 35, 95, chance=2.0)
    (few,) = find_copied(["a"], [rows(slice(0, 40))], rows(slice(0, 20), slice(300, 800))).held
    assert few == Held("a", 20, 520, chance=2.0)


def test_validation_rows_do_not_change_what_is_found_among_providers() -> None:
    """Six providers have the same records, so only pairs with the first are compared."""
    whole = table(200)
    stocks = [batch(whole.iloc[:60].assign(age=whole["age"].round(3))) for _ in range(6)]
    stocks += [batch(whole.iloc[50:150]), batch(whole.iloc[100:200])]
    names = list("abcdefgh")
    for rows in (batch(whole.iloc[:60]), batch(whole), batch(table(50))):
        assert find_copied(names, stocks, rows).shared == shared_records(names, stocks) != ()
    held = find_copied(names, stocks, batch(whole.iloc[:60])).held
    assert {one.name for one in held} == set("abcdef")


def test_many_holders_are_counted() -> None:
    held = tuple(Held(name, 20, 30) for name in "abcde")
    assert format_held(held).endswith("records of 'c', and 2 more providers")
    assert format_held(()) == ""


def test_the_validation_rows_that_a_utility_remembers_are_no_part_of_its_fingerprint() -> None:
    utility = sb.LinearUtility(OTHERS[FEATURES], OTHERS["stay"])
    before = fingerprint_object(utility)
    assert utility.validation_records is not None
    utility.validation_records = None
    assert fingerprint_object(utility) == before


def test_rows_that_are_held_out_are_warned_about_once() -> None:
    frames = {"north": NORTH, "south": NORTH.round(3)}
    with pytest.warns(HeldRows) as warned:
        sb.value(frames, LinearRegression(), target="stay", validation=0.5, n_games=4, seed=0)
    said = [str(one.message) for one in warned if one.category is HeldRows]
    assert [re.match(r"validation=0.5: ", text) is not None for text in said] == [True]
