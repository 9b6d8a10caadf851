"""An answer that cannot be used is paid for: counted, stored, and not bought again by itself."""

import datetime
import json
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from typer.testing import CliRunner

import shapband as sb
from shapband.app.cli.app import app
from shapband.errors import (
    EvaluationError,
    ProviderLeftOut,
    RunDamaged,
    RunError,
    SourceError,
)

SIZE = 5


class Odd(sb.GenerativeSource):
    """Gives what `spoil` makes of the answer to its third request, until it is corrected."""

    def __init__(self, spoil, waits=True):
        self.spoil, self.waits, self.asked, self.correct = spoil, waits, 0, False

    def draw(self, size, rng):
        self.asked += 1
        X = rng.normal(size=(size, 2))
        if self.asked == 3 or (self.asked > 3 and not self.correct):
            return self.spoil(X)
        return X, X[:, 0]


def holes(X):
    return np.where(X > 5, X, np.nan), X[:, 0]


def few(X):
    return X[:3], X[:3, 0]


def wide(X):
    return np.hstack([X, X]), X[:, 0]


def nothing(X):
    return None


def unstorable(X):
    dates = [datetime.date(2026, 1, 1)] * len(X)
    return pd.DataFrame({"a": X[:, 0], "b": dates}), X[:, 0]


def value(source, run, n_games=4, other=None, **options):
    numbers = np.arange(80.0).reshape(40, 2)
    near = sb.ArraySource(numbers, numbers[:, 0]) if other is None else other
    providers = [sb.Provider("odd", source), sb.Provider("near", near)]
    utility = sb.FunctionUtility(mean_target)
    sampling = options.pop("sampling", sb.Fresh(SIZE))
    return sb.value(
        providers, utility, sampling=sampling, n_games=n_games, seed=1, run=run, **options
    )


def mean_target(X, y):
    return float(y.mean())


@pytest.mark.parametrize(
    ("spoil", "records", "said"),
    [
        (holes, SIZE, "holds NaN or infinite"),
        (few, 3, "gave 3 records where 5 were asked"),
        (wide, SIZE, "4 features"),
        (nothing, SIZE, "return a Batch"),
    ],
)
@pytest.mark.parametrize("waits", [True, False])
def test_a_refused_answer_is_counted_and_not_asked_for_again(tmp_path, spoil, records, said, waits):
    source, run = Odd(spoil, waits), tmp_path / "run"
    with pytest.raises(SourceError, match=said):
        value(source, run)
    refused = sb.load(run).ledger.query("outcome == 'refused'")
    assert refused.records.tolist() == [records]
    asked = source.asked
    for _ in range(2):
        with pytest.raises(RunError, match=f"{said}.*--ask-again.*ask_again=True"):
            value(source, run)
    assert source.asked == asked
    status = sb.load(run).status
    (answer,) = status.refused
    assert (answer.provider, answer.game, answer.asked_again) == ("odd", 2, False)
    received = sb.load(run).ledger.query("outcome == 'received'").records.sum()
    assert status.access.by_provider["odd"].records == records + received
    assert status.unanswered == 0
    sb.load(run).verify()

    source.correct = True
    valuation = value(source, run, ask_again=True)
    assert valuation.access.by_provider["odd"].records == 4 * SIZE + records
    honest = value(Odd(holes, waits), None, n_games=2)
    np.testing.assert_array_equal(valuation.games[:2], honest.games)
    assert sb.load(run).status.refused[0].asked_again
    sb.load(run).verify()


def test_cells_that_a_run_cannot_store_are_counted(tmp_path):
    class Frames(Odd):
        def draw(self, size, rng):
            X = rng.normal(size=(size, 2))
            self.asked += 1
            return (
                unstorable(X) if self.asked == 2 else (pd.DataFrame(X, columns=["a", "b"]), X[:, 0])
            )

    frame = pd.DataFrame(np.arange(80.0).reshape(40, 2), columns=["a", "b"])
    near = sb.FrameSource(frame.assign(y=frame["a"]), "y")
    source, run = Frames(holes), tmp_path / "run"
    with pytest.raises(SourceError, match="column 'b' holds dates"):
        value(source, run, other=near)
    asked = source.asked
    with pytest.raises(RunError, match="--ask-again"):
        value(source, run, other=near)
    assert source.asked == asked
    assert sb.load(run).status.refused[0].records == SIZE


def test_a_function_that_gives_holes_is_paid_too(tmp_path):
    source = sb.FunctionSource(lambda size, rng: (np.full((size, 2), np.nan), np.ones(size)))
    with pytest.raises(SourceError, match="NaN"):
        value(source, tmp_path / "run")
    assert sb.load(tmp_path / "run").status.refused[0].records == SIZE


def test_refused_records_use_up_the_budget(tmp_path):
    budget = sb.Budget(records=4 * 2 * SIZE)  # of four games
    source, run = Odd(holes), tmp_path / "run"
    with pytest.raises(SourceError):
        value(source, run, budget=budget)
    source.correct = True
    valuation = value(source, run, budget=budget, ask_again=True)
    assert valuation.n_games == 3
    assert valuation.access.records <= budget.records


def test_a_refused_pool_is_counted_too(tmp_path):
    source, run = Odd(holes), tmp_path / "run"
    source.asked = 2
    with pytest.raises(SourceError):
        value(source, run, sampling=sb.Pooled(12, SIZE))
    with pytest.raises(RunError, match="12 records for pool 0"):
        value(source, run, sampling=sb.Pooled(12, SIZE))
    source.correct = True
    valuation = value(source, run, sampling=sb.Pooled(12, SIZE), ask_again=True)
    assert valuation.access.by_provider["odd"].records == 24


def test_a_stored_answer_that_was_refused_is_part_of_the_chain(tmp_path):
    run = tmp_path / "run"
    with pytest.raises(SourceError):
        value(Odd(holes), run)
    with sqlite3.connect(run / "run.db") as connection:
        connection.execute("DELETE FROM purchases WHERE purpose LIKE 'refused%'")
    connection.close()
    with pytest.raises(RunDamaged, match="missing"):
        sb.load(run).verify()


# Answers that can be read, but not used by the utility.

FRAME = pd.DataFrame(np.random.default_rng(5).normal(size=(100, 2)), columns=["a", "b"])
SUMS = FRAME["a"].to_numpy() - FRAME["b"].to_numpy()
ROWS = (FRAME[:30] + 0.5, SUMS[:30])  # that score models; no provider holds them


class Shop(sb.FiniteSource):
    """Its third answer lacks one cell, unless it is healthy."""

    size = len(FRAME)

    def __init__(self, healthy, waits=True, wrong=3):
        self.healthy, self.waits, self.wrong, self.asked = healthy, waits, wrong, 0

    def take(self, rows):
        self.asked += 1
        frame = FRAME.iloc[rows].reset_index(drop=True)
        if self.asked == self.wrong and not self.healthy:
            frame.loc[2, "a"] = np.nan
        return frame, SUMS[rows]


def shop(source, run, utility=None, sampling=None, **options):
    near = sb.FrameSource(FRAME.assign(y=SUMS), "y")
    others = [sb.Provider("near", near), sb.Provider("far", sb.with_delay(near, 0))]
    return sb.value(
        [sb.Provider("shop", source), *others],
        sb.LinearUtility(*ROWS) if utility is None else utility,
        sampling=sb.Fresh(SIZE) if sampling is None else sampling,
        n_games=options.pop("n_games", 6),
        seed=0,
        run=run,
        **options,
    )


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize(
    ("sampling", "wrong", "records"),
    [(sb.Fresh(SIZE), 3, SIZE), (sb.Pooled(12, SIZE), 1, 12)],
    ids=["fresh", "pools"],
)
@pytest.mark.parametrize(
    "utility",
    [
        sb.LinearUtility(*ROWS),
        sb.NeighborUtility(*ROWS),
        sb.EstimatorUtility(Ridge(), *ROWS),
    ],
    ids=lambda utility: type(utility).__name__,
)
def test_an_answer_that_the_utility_cannot_take_is_refused(
    tmp_path, utility, sampling, wrong, records, waits
):
    run, given = tmp_path / "run", {"utility": utility, "sampling": sampling}
    with pytest.raises(SourceError, match="provider 'shop': column 'a' holds missing"):
        shop(Shop(False, waits, wrong), run, **given)
    (answer,) = sb.load(run).status.refused
    assert (answer.provider, answer.records, answer.asked_again) == ("shop", records, False)
    healthy = Shop(True, waits)
    with pytest.raises(RunError, match=r"cannot be used: column 'a'.*--ask-again"):
        shop(healthy, run, **given)
    assert healthy.asked == 0
    bought = sb.load(run).ledger.query("outcome == 'received'")
    resumed = shop(healthy, run, **given, ask_again=True)
    direct = shop(Shop(True, waits), None, **given)
    assert resumed.games.tobytes() == direct.games.tobytes()
    used, spent = (found.access.by_provider for found in (resumed, direct))
    assert used["shop"].records == spent["shop"].records + records
    assert used["far"].records == spent["far"].records
    earlier = sum(names == ("shop",) for names in map(tuple, bought.providers))
    assert healthy.asked + earlier == spent["shop"].requests
    sb.load(run).verify()


def test_a_provider_whose_answer_the_utility_cannot_take_is_left_out(tmp_path):
    with pytest.warns(ProviderLeftOut, match="column 'a' holds missing"):
        found = shop(Shop(False), tmp_path / "run", leave_out_failing=True)
    assert found.names == ("near", "far")
    assert sb.load(tmp_path / "run").status.refused[0].records == SIZE


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeRegressor(random_state=0),
        make_pipeline(SimpleImputer(), Ridge()),
        make_pipeline(StandardScaler(), SimpleImputer(), Ridge()),
        make_pipeline(make_column_transformer((SimpleImputer(), ["a", "b"])), Ridge()),
    ],
    ids=["tree", "imputer", "scaler", "columns"],
)
def test_models_that_take_missing_values_get_them(tmp_path, model):
    utility = sb.EstimatorUtility(model, *ROWS)
    assert shop(Shop(False), tmp_path / "run", utility).n_games == 6
    assert sb.load(tmp_path / "run").status.refused == ()


def test_a_model_with_a_value_for_failed_fits_gets_missing_values(tmp_path):
    utility = sb.EstimatorUtility(Ridge(), *ROWS, failed=0.0)
    assert shop(Shop(False), tmp_path / "run", utility).failures > 0


def test_a_check_of_records_that_fails_itself_does_not_refuse_them(tmp_path):
    class Broken(sb.LinearUtility):
        def check_batch(self, batch):
            if len(batch) != len(FRAME):
                raise KeyError("a mistake in the check")

    with pytest.raises(EvaluationError, match="check_batch failed for provider"):
        shop(Shop(True), tmp_path / "run", Broken(*ROWS))
    assert sb.load(tmp_path / "run").status.refused == ()


DATABASE = """
n_games = 6
seed = 0
sampling = { kind = "fresh", n_sample = 20 }
utility = { kind = "linear", validation = { kind = "csv", path = "v.csv", target = "y" } }

[[providers]]
[providers.source]
kind = "sql"
url = "sqlite:///shop.db"
table = "sales"
key = "id"
target = "y"
by = "site"
"""


def test_a_null_in_a_database_is_refused_and_asked_again_after_an_update(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = FRAME.assign(y=SUMS, id=range(100), site=["north", "south"] * 50)
    frame[["a", "b", "y"]].to_csv("v.csv", index=False)
    whole = frame["a"].tolist()
    frame.loc[frame.index % 7 == 0, "a"] = np.nan
    with sqlite3.connect("shop.db") as database:
        frame.to_sql("sales", database, index=False)
    (tmp_path / "shop.toml").write_text(DATABASE)

    def shapband(*arguments):
        return CliRunner().invoke(app, list(arguments))

    begun = shapband("run", "shop.toml", "--out", "q", "--quiet")
    assert begun.exit_code == 1
    assert "column 'a' holds missing" in begun.output
    again = shapband("resume", "q", "--quiet")
    assert again.exit_code == 1
    assert "--ask-again" in again.output
    with sqlite3.connect("shop.db") as database:
        database.executemany(
            "UPDATE sales SET a = ? WHERE id = ?", zip(whole, range(100), strict=True)
        )
    database.close()
    resumed = shapband("resume", "q", "--ask-again", "--json")
    assert resumed.exit_code == 0, resumed.output
    status = sb.load("q").status
    assert status.state == "finished"
    assert status.refused
    assert all(answer.asked_again for answer in status.refused)
    paid = sum(answer.records for answer in status.refused)
    assert sb.load("q").valuation.access.records == 6 * 2 * 20 + paid


CONFIG = """
n_games = 4
seed = 0
sampling = { kind = "fresh", n_sample = 5 }
utility = { kind = "additive" }
providers = [
    { name = "odd", source = { kind = "object", object = "odd:Odd" } },
    { name = "even", source = { kind = "object", object = "odd:Even" } },
]
"""
SOURCES = """
import os, pathlib, time
import numpy as np
import shapband as sb

class Even(sb.GenerativeSource):
    waits = True
    def draw(self, size, rng):
        time.sleep(0.002)
        X = rng.normal(size=(size, 2))
        return X, X[:, 0]

class Odd(Even):
    def draw(self, size, rng):
        with open("asked", "a") as log:
            log.write("x")
        X, y = super().draw(size, rng)
        number = pathlib.Path("asked").stat().st_size
        bad = number == 3 or (number > 3 and not os.path.exists("corrected"))
        return (X * np.nan if bad else X), y
"""


def test_the_commands_show_a_refused_answer_and_ask_again_only_if_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "odd.py").write_text(SOURCES)
    (tmp_path / "odd.toml").write_text(CONFIG)

    def shapband(*arguments):
        return CliRunner().invoke(app, list(arguments))

    assert shapband("run", "odd.toml", "--out", "run", "--quiet").exit_code == 1
    asked = (tmp_path / "asked").stat().st_size
    again = shapband("resume", "run", "--quiet")
    assert again.exit_code == 1
    assert "--ask-again" in again.output
    assert (tmp_path / "asked").stat().st_size == asked
    shown = shapband("show", "run").output
    assert "answers that could not be used: 1, with 5 records" in shown
    assert json.loads(shapband("show", "run", "--json").output)["refused"][0]["records"] == 5
    (tmp_path / "corrected").touch()
    assert shapband("resume", "run", "--quiet", "--ask-again").exit_code == 0
    sys.modules.pop("odd")


@pytest.mark.long
def test_a_refused_answer_survives_kills_at_any_moment(tmp_path):
    (tmp_path / "odd.py").write_text(SOURCES)
    (tmp_path / "odd.toml").write_text(CONFIG.replace("n_games = 4", "n_games = 40"))
    run, rng = tmp_path / "run", np.random.default_rng(0)
    command = [sys.executable, "-m", "shapband"]
    # A process that is killed right after it began a run has not remembered that it did.
    resume = ["resume", "run", "--trust"]
    for attempt in range(8):
        start = ["run", "odd.toml", "--out", "run"] if attempt == 0 else resume
        process = subprocess.Popen(  # noqa: S603  our own command
            [*command, *start, "--quiet"], cwd=tmp_path, stderr=subprocess.PIPE
        )
        if attempt < 7:
            while process.poll() is None and not (run / "run.db").exists():
                time.sleep(0.01)
            time.sleep(float(rng.random()) * 0.05)
            process.kill()
        process.communicate()
        if (run / "run.db").exists():
            sb.load(run).verify()
    if sb.load(run).status.refused:
        asked = (tmp_path / "asked").stat().st_size
        ended = subprocess.run(  # noqa: S603  our own command
            [*command, *resume], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert "--ask-again" in ended.stderr
        assert (tmp_path / "asked").stat().st_size == asked
    (tmp_path / "corrected").touch()
    subprocess.run([*command, *resume, "--ask-again", "--quiet"], cwd=tmp_path, check=True)  # noqa: S603
    status = sb.load(run).status
    assert status.state == "finished"
    assert status.access.by_provider["odd"].records == 5 * (40 + len(status.refused))
