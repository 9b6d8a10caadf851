"""Runs of providers that take part at random: nothing is asked twice, and nobody who is absent."""

import numpy as np
import pandas as pd
import pytest

import shapband as sb
from shapband.errors import RunDamaged, RunError, SourceError
from shapband.seeds import Seeds
from tests.runs.small import assert_same
from tests.runs.test_python_runs import Counting, arguments

NAMES = [*(f"site {i}" for i in range(5)), "far"]
LAWS = [
    sb.Independent(0.6),
    sb.Cohort(3),
    sb.MarkovChain(0.3, 0.8),
    sb.Trace(np.eye(6, dtype=int)[[0, 1, 2, 3, 4, 5, 5]]),
    sb.Trace(pd.DataFrame([[1, 1, 0, 1, 1, 1]] * 2 + [[0, 0, 1, 1, 0, 1]], columns=NAMES)),
]


def present(law):
    return law.present(Seeds(4), NAMES, range(40))


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_a_run_gives_what_a_plain_valuation_gives(tmp_path, law):
    given = arguments(Counting(), participation=law)
    assert_same(sb.value(**given, run=tmp_path / "run"), sb.value(**given))
    run = sb.load(tmp_path / "run")
    run.verify()
    np.testing.assert_array_equal(run.valuation.participation, sb.value(**given).participation)
    asked = dict.fromkeys(NAMES, 0)
    for entry in run.ledger.itertuples():
        if entry.outcome in ("taken", "received"):
            for name in entry.providers:
                asked[name] += entry.requests
    assert list(asked.values()) == present(law).sum(axis=0).tolist()


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("fail_at", [1, 2, 5])
def test_an_interrupted_run_is_resumed_and_buys_nothing_twice(tmp_path, law, fail_at):
    source = Counting(fail_at)
    with pytest.raises(SourceError, match="the line is dead"):
        sb.value(**arguments(source, chunk_size=4, participation=law), run=tmp_path / "run")
    changed = {"chunk_size": 7, "n_jobs": 2, "participation": law}
    found = sb.value(**arguments(source, **changed), run=tmp_path / "run")
    whole = sb.value(**arguments(Counting(), participation=law))
    assert_same(found, whole)
    np.testing.assert_array_equal(found.participation, whole.participation)
    assert source.requests == present(law)[:, -1].sum() + 1  # the failed one is asked again
    ledger = sb.load(tmp_path / "run").ledger
    far = ledger[[names == ("far",) for names in ledger.providers]]
    received = far[far.outcome == "received"].first_game.tolist()
    assert received == np.flatnonzero(present(law)[:, -1]).tolist()


def test_a_budget_is_spent_to_the_same_record_after_an_interruption(tmp_path):
    law, budget = sb.Independent(0.6), sb.Budget(records=600)
    source = Counting(7)
    given = {"participation": law, "budget": budget, "n_games": 500}
    with pytest.raises(SourceError):
        sb.value(**arguments(source, chunk_size=3, **given), run=tmp_path / "run")
    found = sb.value(**arguments(source, **given), run=tmp_path / "run")
    assert_same(found, sb.value(**arguments(Counting(), **given)))
    assert found.access.records <= 600
    assert found.stopped_code == "budget"


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("sampling", [sb.Fresh(8), sb.Pooled(30, 8)], ids=repr)
def test_an_unfinished_run_shows_the_participation_so_far(tmp_path, law, sampling):
    """The utility fails after some evaluations."""
    seen = []

    def worth(X, y):
        seen.append(1)
        if len(seen) > 150:
            raise RuntimeError("broken")
        return float(y.mean())

    given = arguments(utility=sb.FunctionUtility(worth), sampling=sampling)
    given["providers"] = [*given["providers"], sb.Provider("far", given["providers"][0].source)]
    given |= {"participation": law, "chunk_size": 1, "n_games": 200}
    with pytest.raises(sb.errors.EvaluationError):
        sb.value(**given, run=tmp_path / "run")
    shown = sb.load(tmp_path / "run").valuation
    games = shown.n_games
    seen.clear()
    expected = sb.value(**{**given, "n_games": games})
    assert 2 <= games < 200
    np.testing.assert_array_equal(shown.participation, expected.participation)
    np.testing.assert_array_equal(shown.interval(), expected.interval())
    assert shown.estimand == expected.estimand


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (None, sb.Independent(0.8), "participation changed.*from None to Independent"),
        (sb.Independent(0.8), None, "participation changed.*from Independent.* to None"),
        (sb.Independent(0.8), sb.Independent(0.7), "participation changed"),
        (LAWS[3], sb.Trace(np.eye(6)[[1, 0, 2, 3, 4, 5, 5]]), "settings of the participation"),
    ],
)
def test_another_participation_is_refused_by_name(tmp_path, before, after, what):
    sb.value(**arguments(Counting(), participation=before), run=tmp_path / "run")
    with pytest.raises(RunError, match=f"^the {what}.*begin a new run$"):
        sb.value(**arguments(Counting(), participation=after), run=tmp_path / "run")


def test_a_run_of_a_version_without_participation_is_resumed_without_one(tmp_path, monkeypatch):
    from shapband.runs import run as runs

    whole = runs._arguments
    monkeypatch.setattr(
        runs,
        "_arguments",
        lambda plan: {key: text for key, text in whole(plan).items() if "participation" not in key},
    )
    source = Counting(9)
    with pytest.raises(SourceError):
        sb.value(**arguments(source), run=tmp_path / "run")
    monkeypatch.undo()
    with pytest.raises(RunError, match="participation changed"):
        sb.value(**arguments(source, participation=sb.Cohort(2)), run=tmp_path / "run")
    assert_same(
        sb.value(**arguments(source), run=tmp_path / "run"), sb.value(**arguments(Counting()))
    )


@pytest.mark.parametrize(
    "altered",
    [
        {"kind": "independent", "probability": 7},
        {"kind": "independent", "probability": {"nobody": 0.5}},
        {"kind": "else"},
        {"kind": "cohort", "k": "many"},
        {"kind": "trace", "rounds": ["1", "11"], "names": None},
        {"kind": "trace", "rounds": 3, "names": None},
        "cohort",
    ],
)
def test_an_altered_participation_is_damage(tmp_path, altered):
    import json
    import sqlite3

    given = arguments(Counting(9), participation=sb.Cohort(6), chunk_size=2)
    with pytest.raises(SourceError):
        sb.value(**given, run=tmp_path / "run")
    connection = sqlite3.connect(tmp_path / "run" / "run.db")
    with connection:
        (text,) = connection.execute("SELECT json FROM notes WHERE key = 'design'").fetchone()
        design = {**json.loads(text), "participation": altered}
        connection.execute("UPDATE notes SET json = ?", (json.dumps(design),))
    connection.close()
    with pytest.raises(RunDamaged):
        sb.load(tmp_path / "run").status  # noqa: B018
