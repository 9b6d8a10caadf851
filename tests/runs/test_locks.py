"""File systems that cannot lock files: a run is not begun there, and a finished one can be read."""

import errno
import fcntl
import os

import numpy as np
import pytest

import shapband as sb
from shapband.app.cli.views import shown
from shapband.errors import RunError
from shapband.report.page import write_page


def value(run):
    numbers = np.arange(60.0).reshape(30, 2)
    providers = [sb.Provider(name, sb.ArraySource(numbers, numbers[:, 0])) for name in "ab"]
    utility = sb.AdditiveUtility()
    return sb.value(providers, utility, sampling=sb.Fresh(5), n_games=4, seed=0, run=run)


@pytest.fixture(params=[errno.ENOLCK, errno.ENOTSUP, errno.EIO], ids=errno.errorcode.get)
def without_locks(request, monkeypatch):
    def fail(*_):
        raise OSError(request.param, os.strerror(request.param))

    def switch():
        monkeypatch.setattr(fcntl, "flock", fail)
        monkeypatch.setattr(fcntl, "lockf", fail)

    return switch


def test_a_lock_that_fails_is_explained(tmp_path, without_locks):
    without_locks()
    with pytest.raises(RunError, match=r"cannot be locked.*keep the run in a directory on a local"):
        value(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_read_without_a_lock(tmp_path, without_locks):
    run = tmp_path / "run"
    found = value(run)
    without_locks()
    assert "finished" in shown(run, as_json=False)
    sb.load(run).verify()
    write_page(tmp_path / "page.html", found, status=sb.load(run).status)
    np.testing.assert_array_equal(sb.load(run).valuation.games, found.games)
    np.testing.assert_array_equal(value(run).games, found.games)
    assert {path.name for path in run.iterdir()} == {"run.db", "lock"}


def test_a_run_on_a_read_only_disk_is_read_without_a_lock(tmp_path, without_locks):
    run = tmp_path / "run"
    value(run)
    without_locks()
    run.chmod(0o500)
    try:
        sb.load(run).verify()
        assert sb.load(run).status.state == "finished"
    finally:
        run.chmod(0o700)
