"""What runs say when they refuse something, word for word."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

import shapband as sb
from shapband.errors import InvalidInput, RunDamaged, RunError
from shapband.records.batch import Batch
from shapband.runs.batches import from_bytes, to_bytes
from shapband.runs.older import check_same_bits
from shapband.runs.plausible import check_choices, check_manifest, check_valuation, readable
from shapband.runs.read import RunStatus, load
from shapband.runs.run import _UTILITY, _changed
from shapband.runs.store import discard_untouched
from shapband.runs.stored import stored_config
from tests.report.made_up import made_up

NEW = "use what the run was begun with, or begin a new run"
X = np.arange(12.0)[:, None]


def play(run: Path, **changes: Any) -> sb.Valuation:
    providers = [
        sb.Provider(name, sb.ArraySource(X, X[:, 0] + at)) for at, name in enumerate(("a", "b"))
    ]
    options = {"sampling": sb.Fresh(4), "n_games": 4, "seed": 3} | changes
    return sb.value(options.pop("providers", providers), sb.AdditiveUtility(), run=run, **options)


@pytest.fixture
def run(tmp_path):
    play(tmp_path / "run")
    return tmp_path / "run"


def refusal(kind: type[Exception], call: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(kind) as refused:
        call(*arguments, **options)
    assert type(refused.value) is kind
    return str(refused.value)


def test_a_run_that_is_continued_with_other_arguments(run):
    cases = {
        "sampling changed since the run {} began, from Fresh(n_sample=4) to Fresh(n_sample=5)": {
            "sampling": sb.Fresh(5)
        },
        "data of provider 'a' changed since the run {} began": {
            "providers": [sb.Provider(name, sb.ArraySource(-X, X[:, 0])) for name in "ab"]
        },
    }
    for said, change in cases.items():
        assert refusal(RunError, play, run, **change) == f"the {said.format(run)}: {NEW}"
    assert refusal(RunError, play, run, seed=4) == (
        f"the seed of the run {run} is 3; received 4: leave it out, or begin a new run"
    )


def test_a_run_cannot_have_fewer_games_than_it_has_played(run):
    assert refusal(RunError, play, run, n_games=3) == (
        f"n_games: the run {run} has played 4 games, more than the 3 asked for: ask for at least "
        "4, or begin a new run"
    )


def test_a_run_from_python_has_no_configuration(run):
    assert refusal(RunError, stored_config, run) == (
        f"the run {run} was begun from Python: call value(..., run={str(run)!r}) with the same "
        "arguments to resume it"
    )


def test_directories_that_cannot_hold_a_run(tmp_path):
    file = tmp_path / "file"
    file.write_text("words")
    assert refusal(RunError, play, file) == (
        f"{file} is a file, and a run needs a directory: choose another"
    )
    assert refusal(RunError, play, tmp_path) == (
        f"{tmp_path} exists and is not a run: it holds 'file'; choose a new or empty directory"
    )
    empty = tmp_path / "empty"
    empty.mkdir()
    assert refusal(RunError, load, empty) == f"{empty} is not a run: it holds no run.db"


def test_a_damaged_result(run):
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute("DELETE FROM result")
    assert refusal(RunDamaged, lambda: load(run).valuation) == (
        f"the result of the run {run} is damaged (it, or the end of the ledger, was altered or "
        "removed): restore run.db from a copy"
    )


def test_errors_of_damaged_data_are_said_with_their_remedy():
    for error in (
        ValueError("odd"),
        KeyError("odd"),
        InvalidInput("odd"),
        ZeroDivisionError("odd"),
    ):
        with pytest.raises(RunDamaged) as damaged, readable(Path("my-run"), "the page"):
            raise error
        odd = "'odd'" if isinstance(error, KeyError) else "odd"
        assert str(damaged.value) == (
            f"the page of the run my-run is damaged ({odd}): restore run.db from a copy"
        )
    with pytest.raises(OSError, match=r"^odd$"), readable(Path("my-run"), "the page"):
        raise OSError("odd")


MANIFEST = {"providers": ["a", "b"], "seed": 1, "n_games": 4, "setup": {"utility": "u"}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": "1"}, "'seed' was altered"),
        ({"seed": True}, "'seed' was altered"),
        ({"n_games": 4.0}, "'n_games' was altered"),
        ({"setup": {"utility": 3}}, "'setup' was altered"),
        ({"setup": []}, "'setup' was altered"),
        ({"config": 3}, "'config' was altered"),
        ({"providers": ["a", 3]}, "'providers' was altered"),
        ({"providers": []}, "there must be at least one provider, and all names must differ"),
        (
            {"providers": ["a", "a"]},
            "there must be at least one provider, and all names must differ",
        ),
        ({"groups": ["g"]}, "groups must have one label for each provider"),
        ({"groups": ["", ""]}, "groups must have one label for each provider"),
    ],
)
def test_manifests_that_no_run_has(change, message):
    check_manifest(MANIFEST)
    check_manifest(MANIFEST | {"groups": ["g", ""], "config": None})
    assert refusal(ValueError, check_manifest, MANIFEST | change) == message


def test_valuations_of_other_runs():
    valuation = made_up(2, names=("a", "b"))
    check_valuation(valuation, {"providers": ["a", "b"]})
    other = {"providers": ["b", "a"]}
    assert refusal(ValueError, check_valuation, valuation, other) == (
        "the valuation has other providers than the run"
    )
    grouped = {"providers": ["a", "b"], "groups": ["g", "g"]}
    assert refusal(ValueError, check_valuation, valuation, grouped) == (
        "the valuation has other groups than the run"
    )


def test_a_shuffle_of_one_game():
    design = SimpleNamespace(per_shuffle=1)
    assert refusal(ValueError, check_choices, design) == "a shuffle has fewer than two games"


@pytest.mark.parametrize(
    ("utility", "solver", "before", "since"),
    [
        (
            sb.LinearUtility(X, X[:, 0]),
            sb.Exact(),
            "0.1.0",
            "0.2.0 the last digits of LinearUtility are different",
        ),
        (
            sb.LogisticUtility(X, np.arange(12) % 2),
            sb.Exact(),
            "0.1.0",
            "0.2.0 LogisticUtility treats ties of scores, and digits lost to rounding, differently",
        ),
        (
            sb.EstimatorUtility(RandomForestRegressor(), X, X[:, 0]),
            sb.Exact(),
            "0.1.0",
            "0.2.0 models with an unset random_state get one from the seed",
        ),
        (sb.AdditiveUtility(), sb.Strata(9), "0.2.0", "0.3.0 Strata computes other values"),
    ],
    ids=["linear", "logistic", "random", "strata"],
)
def test_runs_of_older_versions_whose_values_changed(utility, solver, before, since):
    given = SimpleNamespace(utility=utility, solver=solver)
    message = refusal(RunError, check_same_bits, Path("my-run"), {"shapband": before}, given)
    assert message == (
        f"the run my-run was begun with shapband {before}, and since version {since}: old and new "
        "games must not be mixed. Finish it with the version that began it (pip install "
        f"shapband=={before}), or begin a new run in another directory, which asks the sources "
        "again"
    )
    check_same_bits(Path("my-run"), {"shapband": sb.__version__}, given)


def test_cells_and_columns_that_cannot_be_stored():
    odd = Batch(pd.DataFrame({"a": [{}, {}]}), np.ones(2))
    assert refusal(RunError, to_bytes, odd) == (
        "a run cannot store cells of the type dict: convert them to numbers, strings or a date "
        "column first"
    )
    periods = Batch(pd.DataFrame({"p": pd.period_range("2026", periods=2, freq="M")}), np.ones(2))
    assert refusal(RunError, to_bytes, periods) == (
        "a run cannot store columns of the type period[M]: convert them first"
    )
    assert refusal(RunDamaged, from_bytes, b"").startswith("stored records cannot be read (")


def test_a_run_without_a_result_says_why():
    status = RunStatus("running", {}, sb.AccessReport({}), 1, 4, None, 0, "")
    assert status.no_result == "fewer than two games are done, so there is no result yet"
    later = RunStatus("running", {}, sb.AccessReport({}), 1200, 4000, None, 0, "")
    assert later.no_result == (
        "1,200 games are done; who takes part is decided by a class of your own, which is not "
        "imported here, so there is no result before the end"
    )


@pytest.mark.parametrize("keep", [True, False])
def test_only_a_run_without_requests_and_games_is_discarded(run, tmp_path, keep):
    discard_untouched(run, keep=keep)
    assert load(run).valuation.n_games == 4
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute("DELETE FROM ledger")
    discard_untouched(run, keep=keep)
    assert (run / "run.db").exists()  # its games are still there
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute("DELETE FROM games")
    discard_untouched(run, keep=keep)
    assert run.exists() == keep
    assert list(tmp_path.rglob("*")) == ([run] if keep else [])


def test_a_utility_that_an_older_version_described_differently():
    store = SimpleNamespace(manifest={"versions": {"shapband": "0.1.0"}}, run=Path("my-run"))
    began = "changed since the run my-run began"
    assert str(_changed(store, _UTILITY, "sha256:1", "sha256:2")) == (
        f"the {_UTILITY} {began}: {NEW}. If only their description changed since version 0.1.0, "
        "which cannot be detected, load('my-run') reads a finished run, and version 0.1.0 resumes "
        "this one"
    )
    assert str(_changed(store, "solver", "Exact()", "Known()")) == (
        f"the solver {began}, from Exact() to Known(): {NEW}"
    )
    store.manifest["versions"]["shapband"] = sb.__version__
    assert str(_changed(store, _UTILITY, "sha256:1", "new")) == f"the {_UTILITY} {began}: {NEW}"
