"""Run directories of older versions: resumed with the same bits, or refused with a way out."""

import gzip
import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import shapband as sb
from shapband.app.config.config import Config
from shapband.codec import decode
from shapband.errors import EvaluationError, RunError, VersionsChanged
from shapband.grouping import Grouping
from shapband.runs import database
from shapband.runs.older import design_of_facts
from shapband.runs.store import RunStore
from shapband.sampling.participation import AVERAGED
from shapband.sampling.shared import Shared
from shapband.utilities.linear import LinearUtility
from tests.conftest import linear_providers
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


@pytest.mark.parametrize("name", [*CHANGED, *KEPT])
def test_the_result_so_far_of_an_unfinished_run_of_0_1_0_is_that_of_its_games(tmp_path, name):
    run = old_run(tmp_path, f"{name}-unfinished")
    so_far = sb.load(run).valuation
    whole = sb.load(old_run(tmp_path, f"{name}-finished")).valuation
    assert (so_far.n_games, so_far.stopped_code) == (4, "unfinished")
    for part in ("names", "seed", "setup", "estimand", "estimand_code"):
        assert getattr(so_far, part) == getattr(whole, part)
    for part in ("draw_sizes", "pool_sizes", "distinct_records"):
        np.testing.assert_array_equal(getattr(so_far, part), getattr(whole, part))
    with RunStore.open(run) as store:
        games, *_ = store.games.read(range(4))
    np.testing.assert_allclose(so_far.expectation, games.mean(axis=0), rtol=1e-9)
    assert (so_far.error["pools"] > 0).any() == (so_far.pool_sizes is not None)


def test_a_run_with_independent_draws_is_finished_with_independent_draws(arguments, tmp_path):
    run = old_run(tmp_path, "subsets-unfinished")
    resumed = sb.value(**arguments["subsets"], run=run)
    finished = sb.load(old_run(tmp_path, "subsets-finished")).valuation
    np.testing.assert_allclose(resumed.games, finished.games, rtol=1e-12, atol=0)
    assert resumed.design.per_shuffle is None
    np.testing.assert_allclose(resumed.standard_error, finished.standard_error, rtol=1e-3)
    assert "the run was begun with shapband" in str(resumed)
    dealt = sb.value(**arguments["subsets"])
    assert dealt.design.per_shuffle == 3
    assert not np.allclose(resumed.games[4:], dealt.games[4:])


@pytest.mark.parametrize("state", ["unfinished", "finished"])
def test_a_run_with_blocks_goes_on_with_the_draws_of_pooled(arguments, tmp_path, state):
    run = old_run(tmp_path, f"blocks-{state}")
    before = sb.load(run).valuation
    assert before.n_games == (4 if state == "unfinished" else 8)
    resumed = sb.value(**arguments["blocks"], run=run)
    plain = sb.value(**arguments["blocks"], fixed_validation=True)
    np.testing.assert_allclose(resumed.games, plain.games, rtol=1e-12, atol=0)
    np.testing.assert_array_equal(before.games, resumed.games[: len(before.games)])
    if state == "unfinished":
        assert before.estimand == resumed.estimand == plain.estimand
        assert before.design.estimand_code == "sources"
        np.testing.assert_allclose(resumed.standard_error, plain.standard_error, rtol=1e-6)


def older_facts():
    """What a run before 0.2.0 recorded, with all that it could record."""
    manifest = {
        "providers": ["a", "b", "c"],
        "seed": 7,
        "setup": {"utility": "made up"},
        "groups": ["g", "g", ""],
        "presence": AVERAGED,
    }
    facts = {
        "draw_sizes": [3, 3, 3],
        "pool_sizes": [9, 9, 9],
        "distinct_records": [9.0, None, 4.0],
        "target": "draws of 3 records",
        "target_code": "population",
        "group": 3,
        "unseen": [1.0, 0.5, 0.0],
        "replace": False,
        "participation": {"kind": "independent", "probability": 0.5},
        "shared_records": [["a", "b", 4, 5], ["a", "c", 4, 5, ["column 'x'"], 0.1, 2.0]],
        "one_target": ["c"],
    }
    return manifest, facts


def test_what_older_runs_record_of_their_games_becomes_a_design():
    manifest, facts = older_facts()
    design = decode(sb.Design, design_of_facts(manifest, facts))
    assert (design.names, design.seed, design.setup) == (("a", "b", "c"), 7, manifest["setup"])
    assert design.draw_sizes.tolist() == [3, 3, 3]
    assert design.pool_sizes.tolist() == [9, 9, 9]
    np.testing.assert_array_equal(design.distinct_records, [9, np.nan, 4])
    assert (design.estimand, design.estimand_code) == ("draws of 3 records", "population")
    assert (design.per_shuffle, design.replace, design.averaged) == (3, False, True)
    assert design.unseen.tolist() == [1.0, 0.5, 0.0]
    assert repr(design.participation) == "Independent(0.5)"
    assert design.grouping == Grouping(("g",), ((0, 1),))
    assert design.shared_records == (
        Shared("a", "b", 4, 5),
        Shared("a", "c", 4, 5, ("column 'x'",), 0.1, 2.0),
    )
    assert design.one_label == ("c",)


@pytest.mark.parametrize("way", [None, 0, "yes"])
def test_an_older_run_must_say_how_records_of_pools_are_chosen(way):
    manifest, facts = older_facts()
    with pytest.raises(ValueError, match=r"Design\.replace is missing, unknown or of another kind"):
        decode(sb.Design, design_of_facts(manifest, {**facts, "replace": way}))
    fresh = {**facts, "unseen": None, "replace": None, "pool_sizes": None}
    assert decode(sb.Design, design_of_facts(manifest, fresh)).unseen is None


def test_a_run_that_this_version_adds_to_is_not_read_by_older_ones(arguments, tmp_path):
    run = old_run(tmp_path, "ridge-unfinished")
    with pytest.warns(VersionsChanged):
        sb.value(**arguments["ridge"], run=run)
    with sqlite3.connect(run / "run.db") as connection:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    assert found == database.FORMAT == 5


def test_a_run_is_finished_with_the_solver_that_an_older_version_chose(tmp_path, monkeypatch):
    """Say that all coalitions of 17 providers were evaluated before; only some would be now."""
    providers, (X, y) = linear_providers(17, 60, 3)
    given = {"sampling": sb.Fresh(10), "n_games": 12, "seed": 2}
    utility, run = sb.LinearUtility(X, y), tmp_path / "run"
    exact = sb.value(providers, utility, **given, solver=sb.Exact())
    with monkeypatch.context() as before:
        choice = sb.Exact(), "enumerating all coalitions costs no more than sampling"
        before.setattr("shapband.engine.arguments.default_solver", lambda *_: choice)
        before.setattr(LinearUtility, "summarise_games", interrupted_after(5))
        with pytest.raises(EvaluationError, match="the fifth"):
            sb.value(providers, utility, **given, run=run, chunk_size=1)
    resumed = sb.value(providers, utility, **given, run=run)
    assert resumed.design.setup["solver"] == "Exact()"
    assert np.array_equal(resumed.games, exact.games)
    named = sb.value(providers, utility, **given)
    assert named.design.setup["solver"].startswith("Arcs(")


def interrupted_after(calls):
    """Summarise some chunks, then fail."""
    right, count = LinearUtility.summarise_games, []

    def summarise_games(self, draws):
        count.append(None)
        if len(count) > calls:
            raise RuntimeError("the fifth")
        return right(self, draws)

    return summarise_games
