"""An interrupted run goes on where it stopped, and ends where it would have ended."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import reproduction
from reproduction.__main__ import main
from reproduction.experiment import Store
from reproduction.run import EXPERIMENTS, run_experiment
from tests.reproduction.tiny import TINY

KEPT = 5
# A process that is killed in the middle of a cell.
_RUN = f"""
import os, signal, sys
from pathlib import Path
from reproduction.run import run_experiment
from reproduction.scalability import Scalability
out = Path(sys.argv[1])
measure = Scalability.measure
def measure_or_die(self, cell):
    if len(list(out.glob("cells/*.json"))) == {KEPT}:
        os.kill(os.getpid(), signal.SIGKILL)
    return measure(self, cell)
Scalability.measure = measure_or_die
run_experiment(Scalability(replications=4, players=(10, 100)), profile="tiny", out=out, seed=0)
"""


def finished(out):
    return {path: path.stat().st_mtime_ns for path in (out / "cells").glob("*.json")}


@pytest.mark.long
def test_a_killed_run_goes_on(tmp_path, found, out):
    killed = subprocess.run([sys.executable, "-c", _RUN, str(tmp_path / "killed")], check=False)  # noqa: S603
    assert killed.returncode == -signal.SIGKILL
    kept = finished(tmp_path / "killed")
    all_cells = len(TINY["scalability"].cells(0))
    assert len(kept) == KEPT < all_cells
    resumed = run_experiment(TINY["scalability"], profile="t", out=tmp_path / "killed", seed=0)
    after = finished(tmp_path / "killed")
    assert len(after) == all_cells
    assert all(after[path] == stamp for path, stamp in kept.items()), "measured again"
    whole = found["scalability"]
    assert resumed.claims == whole.claims
    assert resumed.table == whole.table
    files = [run / "scalability" / "data.csv" for run in (tmp_path / "killed", out)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_half_a_file_is_no_cell(tmp_path):
    store, cell = Store(tmp_path), {"kind": "x", "seed": 1}
    (tmp_path / "x-half.123.part").write_text("{")
    assert store.find(cell) is None
    store.keep(cell, [{"a": [1.5]}], 0.25)
    assert store.find(cell) == ([{"a": [1.5]}], 0.25)
    assert store.find({"kind": "x", "seed": 2}) is None
    assert store.find({"seed": 1, "kind": "x"}) is not None, "the order of settings says nothing"


def test_another_seed_is_other_work():
    experiment = TINY["scalability"]
    assert not [cell for cell in experiment.cells(0) if cell in experiment.cells(1)]
    assert experiment.cells(0) == experiment.cells(0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["exampel"], "invalid choice: 'exampel' (choose from"),
        (["example", "--profile", "tiny"], "invalid choice: 'tiny'"),
        (["example", "--seed", "-1"], "--seed must be 0 or more"),
    ],
)
def test_a_wrong_call_is_refused(tmp_path, capsys, wrong, message):
    with pytest.raises(SystemExit, match="2"):
        main([*wrong, "--out", str(tmp_path / "out")])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_command_runs_one_experiment(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(EXPERIMENTS, "example", {"quick": TINY["example"]})
    main(["example", "--out", str(tmp_path / "out"), "--docs", str(tmp_path)])
    assert "example: 8 claims" in capsys.readouterr().out
    assert (tmp_path / "out" / "example" / "comparison.md").exists()
    assert (tmp_path / "reproduction.md").exists()
    assert (tmp_path / "images" / "reproduction" / "example.png").exists()


def test_the_package_stays_readable():
    folder = Path(reproduction.__file__).parent
    assert max(len(path.read_text().splitlines()) for path in folder.glob("*.py")) <= 400
