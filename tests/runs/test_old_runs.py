"""Run directories of format 1, written by version 0.1.0 before format 2, are still read.

`format_1.tar.gz` holds the same wine valuation twice: finished, and interrupted after 32 of its 80
games.
"""

import sqlite3
import tarfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import shapband as sb
from shapband.errors import RunError
from tests.runs.small import ignore, look, resume


@pytest.fixture
def old(tmp_path):
    with tarfile.open(Path(__file__).parent / "format_1.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def resumed(run):
    with warnings.catch_warnings():  # another machine may have other versions
        warnings.simplefilter("ignore", sb.errors.VersionsChanged)
        return resume(run, ignore)


def test_old_runs_are_shown_and_verified(old):
    for name, state, done in (("finished", "finished", 80), ("interrupted", "interrupted", 32)):
        run = sb.load(old / name)
        run.verify()
        assert (run.status.state, run.status.done) == (state, done)
        assert run.valuation.n_games == done
        assert run.valuation.access.records == 600
    assert "conditional on the pools of 60" in str(sb.load(old / "finished").valuation)
    assert sb.load(old / "finished").valuation.stopped_code == "unknown"


def test_an_old_run_is_resumed_to_the_same_result(old):
    found, expected = resumed(old / "interrupted"), look(old / "finished").valuation
    assert found.games[:32].tobytes() == expected.games[:32].tobytes()
    np.testing.assert_allclose(found.games, expected.games, rtol=1e-9)
    np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-9)
    assert found.access.requests == expected.access.requests == 10


def test_an_old_run_whose_validation_rows_cannot_be_compared_is_refused(old):
    connection = sqlite3.connect(old / "interrupted" / "run.db")
    with connection:
        connection.execute("UPDATE manifest SET json = '\"sha256:0\"' WHERE key = 'validation'")
    connection.close()
    with pytest.raises(RunError, match=r"begun by an older version.*begin it again"):
        resumed(old / "interrupted")
