"""Run directories of older versions: resumed with the same bits, or refused with a way out."""

import gzip
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import shapband as sb
from shapband.app.config.config import Config
from shapband.errors import RunError, VersionsChanged
from shapband.runs import database
from tests.runs.old.make import cases

OLD = Path(__file__).parent / "old"

CONFIG = """
n_games = 4
seed = 3
sampling = { kind = "fresh", n_sample = 20 }
providers = [{ source = { kind = "task", task = "wine" } }]
"""


def test_an_old_run_is_refused_and_its_configuration_can_be_had(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    connection = sqlite3.connect(run / "run.db")
    with connection:
        connection.execute("PRAGMA application_id = 0x53484250")
        connection.execute("PRAGMA user_version = 1")
        connection.execute("CREATE TABLE manifest (key TEXT PRIMARY KEY, json TEXT NOT NULL)")
        connection.execute("INSERT INTO manifest VALUES ('config', ?)", (json.dumps(CONFIG),))
    with pytest.raises(RunError, match="begin the run again from its configuration"):
        sb.load(run)
    (text,) = connection.execute("SELECT json FROM manifest WHERE key = 'config'").fetchone()
    connection.close()
    assert Config.parse(json.loads(text)).n_games == 4


# Runs of version 0.1.0, which tests/runs/old/make.py wrote there.
CHANGED = {
    "linear": "the last digits of LinearUtility",
    "strata": "Strata computes other values",
    "auc": "treats ties of scores",
    "logistic": "LogisticUtility treats ties of scores",
    "neighbors": "NeighborUtility treats ties of scores",
    "tree": "models with an unset random_state",
}
KEPT = ("ridge",)


@pytest.fixture(scope="module")
def arguments():
    return cases()


def old_run(folder, name):
    run = folder / name
    run.mkdir()
    (run / "run.db").write_bytes(gzip.decompress((OLD / f"{name}.db.gz").read_bytes()))
    return run


@pytest.mark.parametrize("name", CHANGED)
def test_an_unfinished_run_of_0_1_0_whose_bits_changed_is_refused(arguments, tmp_path, name):
    run = old_run(tmp_path, f"{name}-unfinished")
    with pytest.raises(RunError, match=f"shapband 0.1.0.*{CHANGED[name]}.*shapband==0.1.0"):
        sb.value(**arguments[name], run=run)
    assert sb.load(run).status.done == 4
    sb.load(run).verify()


@pytest.mark.parametrize("name", KEPT)
def test_an_unfinished_run_of_0_1_0_is_finished_with_the_same_bits(arguments, tmp_path, name):
    run = old_run(tmp_path, f"{name}-unfinished")
    with pytest.warns(VersionsChanged, match="shapband from 0.1.0 to"):
        resumed = sb.value(**arguments[name], run=run)
    finished = sb.load(old_run(tmp_path, f"{name}-finished")).valuation
    assert resumed.games[:4].tobytes() == finished.games[:4].tobytes()  # the stored ones
    assert resumed.games[4:].tobytes() == sb.value(**arguments[name]).games[4:].tobytes()
    # Another processor wrote the finished run, so linear algebra may differ in its last bits.
    np.testing.assert_allclose(resumed.games, finished.games, rtol=1e-12, atol=0)
    sb.load(run).verify()


@pytest.mark.parametrize("name", [*CHANGED, *KEPT])
def test_a_finished_run_of_0_1_0_is_read_as_before(tmp_path, name):
    run = sb.load(old_run(tmp_path, f"{name}-finished"))
    run.verify()
    assert run.status.state == "finished"
    assert run.valuation.n_games == 8
    run.valuation.report(tmp_path / "page.html")
    assert "8" in (tmp_path / "page.html").read_text()


def test_a_run_that_this_version_adds_to_is_not_read_by_older_ones(arguments, tmp_path):
    run = old_run(tmp_path, "ridge-unfinished")
    with pytest.warns(VersionsChanged):
        sb.value(**arguments["ridge"], run=run)
    with sqlite3.connect(run / "run.db") as connection:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    assert found == database.FORMAT == 3
