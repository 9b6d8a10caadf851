"""A killed valuation of a model with an unset `random_state` resumes with the same bits."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import shapband as sb
from shapband.engine.workers.local import LocalWorkers, ProcessWorkers
from shapband.records.batch import Batch
from tests.conftest import PATIENCE
from tests.runs.small import answer, assert_same, look, state_mark
from tests.runs.test_kill import FORKS

GAMES = 12
STORED = 2  # games that are stored before the kill
HELD = 10  # the request that is not answered until the kill: the run cannot end before


class Far(sb.GenerativeSource):
    """A distant source that logs its requests, and holds one back while a file is there."""

    waits = True
    schema = None

    def __init__(self, folder: Path) -> None:
        self.log, self.hold = folder / "requests.log", folder / "hold"

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        answer(self.log, 0.0, state_mark(rng))
        while self.hold.exists() and len(self.log.read_text().split()) >= HELD:
            time.sleep(0.001)
        return labelled(size, rng)


def labelled(size: int, rng: np.random.Generator) -> Batch:
    """Records of two classes that overlap, so that the values depend on the forest."""
    X = rng.normal(size=(size, 3))
    return Batch(X, (X[:, 0] + rng.normal(size=size) > 0).astype(float))


def value(folder: Path, n_jobs: int, random_state: int | None = None) -> sb.Valuation:
    """Begin, resume or read the run in a folder."""
    rng = np.random.default_rng(0)
    near, validation = labelled(30, rng), labelled(30, rng)
    forest = RandomForestClassifier(n_estimators=3, random_state=random_state)
    return sb.value(
        [
            sb.Provider("far", Far(folder)),
            sb.Provider("near", sb.ArraySource(near.X, near.y)),
        ],
        sb.EstimatorUtility(forest, validation.X, validation.y),
        sampling=sb.Fresh(10),
        n_games=GAMES,
        seed=5,
        # `n_jobs=2` would start processes only for longer runs.
        workers=LocalWorkers(1, threads=False) if n_jobs == 1 else ProcessWorkers(n_jobs),
        run=folder / "run",
    )


def value_apart(folder: Path, n_jobs: int) -> None:
    """What another process does."""
    os.setsid()  # so that its worker processes can be killed too
    value(folder, n_jobs)
    os._exit(0)  # multiprocessing would wait for worker processes, which are kept for the next run


def games_stored(folder: Path) -> int:
    return look(folder / "run").done if (folder / "run" / "run.db").exists() else 0


def kill_in_the_middle(folder: Path, n_jobs: int) -> None:
    """Play the run in another process, and kill that with SIGKILL once some games are stored."""
    Far(folder).hold.touch()
    child = FORKS.Process(target=value_apart, args=(folder, n_jobs))
    child.start()
    try:
        patience = time.monotonic() + PATIENCE
        while games_stored(folder) < STORED:
            assert child.exitcode is None
            assert time.monotonic() < patience
            time.sleep(0.02)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.join()
    assert child.exitcode == -signal.SIGKILL
    Far(folder).hold.unlink()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> sb.Valuation:
    return value(tmp_path_factory.mktemp("whole"), 1)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_killed_run_of_an_unseeded_forest_resumes_with_the_same_bits(
    tmp_path, uninterrupted, n_jobs
):
    kill_in_the_middle(tmp_path, n_jobs)
    assert STORED <= games_stored(tmp_path) < GAMES
    resumed = FORKS.Process(target=value_apart, args=(tmp_path, n_jobs))
    resumed.start()
    resumed.join(PATIENCE)
    assert resumed.exitcode == 0
    assert_same(value(tmp_path, 1), uninterrupted)
    sb.load(tmp_path / "run").verify()


def test_the_random_state_of_a_forest_changes_its_values(tmp_path, uninterrupted):
    """A control: without this, resuming with other random states could give the same bits."""
    seeded = value(tmp_path, 1, random_state=0)
    assert (seeded.games != uninterrupted.games).mean() > 0.5
