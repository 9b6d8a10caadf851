"""Workers of this machine: when processes are used, what is sent to them, and how they end."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from tests.conftest import PATIENCE, linear_providers

import shapband as sb
from shapband.engine.workers import local, processes, template
from shapband.engine.workers.local import LocalWorkers, ProcessWorkers
from shapband.errors import WorkerError


class Pid:
    """A job that tells where it is done."""

    def __init__(self, seconds=0.0, here=0.0, load=b""):
        self.seconds, self.here, self.load, self.home = seconds, here, load, os.getpid()

    def __call__(self, task):
        time.sleep(self.here if os.getpid() == self.home else self.seconds)
        if callable(task):
            task()
        return os.getpid()

    def packed(self, task):
        return task

    def rehearse(self, task):
        pass

    def set_up_worker(self):
        pass


@pytest.fixture
def calm(monkeypatch):
    """As if no other program used the cores."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))


def cold():
    """Let the next workers be new processes."""
    processes._idle.clear()
    for one in template._current:
        one.end()
    template._current.clear()


def warm(n):
    """Have idle processes ready."""
    with ProcessWorkers(n) as workers:
        list(workers.map(Pid(seconds=0.05), iter(range(4 * n)), 4 * n))
    until = time.monotonic() + PATIENCE
    while processes.n_idle() < n:
        assert time.monotonic() < until
        time.sleep(0.01)


def done(job, n_tasks, n_jobs=2):
    with LocalWorkers(n_jobs, threads=False) as workers:
        return list(workers.map(job, iter(range(n_tasks)), n_tasks))


def test_little_work_starts_no_process(calm):
    cold()
    assert set(done(Pid(here=0.01), 20)) == {os.getpid()}
    assert not template._current


def test_the_same_work_uses_processes_that_are_up(calm):
    warm(2)
    before = template._current[0]
    where = done(Pid(seconds=0.01, here=0.01), 60)
    assert len(set(where) - {os.getpid()}) == 2
    assert where[:2] == [os.getpid()] * 2  # until the tasks are known to be worth it
    assert template._current == [before]
    assert set(done(Pid(), 3)) == {os.getpid()}


def test_tiny_tasks_stay_here(calm):
    warm(2)
    assert set(done(Pid(), 400)) == {os.getpid()}


def test_a_crowded_machine_asks_for_more_work(monkeypatch):
    cores = len(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "getloadavg", lambda: (5.0 * cores, 0.0, 0.0))
    assert local._crowding() == 5.0
    monkeypatch.setattr(os, "getloadavg", lambda: (0.5 * cores, 0.0, 0.0))
    assert local._crowding() == 1.0


def test_processes_start_during_a_long_first_task(calm, monkeypatch):
    """The first of eight tasks shows that there is enough work before it is finished."""
    cold()
    started = threading.Event()
    start = LocalWorkers._start

    def tell(self):
        started.set()
        start(self)

    monkeypatch.setattr(LocalWorkers, "_start", tell)

    where = []

    def tasks():
        yield lambda: started.wait(PATIENCE)
        yield from until_elsewhere(where)

    with LocalWorkers(2, threads=False) as workers:
        for place in workers.map(Pid(here=0.01), tasks(), 200):
            where.append(place)  # noqa: PERF402  `tasks` looks at it
    assert started.is_set()
    assert where[0] == os.getpid()
    assert set(where) - {os.getpid()}


def until_elsewhere(where):
    """Tasks, until one was done in another process."""
    until = time.monotonic() + PATIENCE
    while set(where) <= {os.getpid()} and time.monotonic() < until:
        yield 0


def test_earlier_stages_count(calm, monkeypatch):
    """Each stage alone is too short for processes that are not up."""
    cold()
    monkeypatch.setattr(local, "_COLD", 0.2)
    where = []
    with LocalWorkers(2, threads=False) as workers:
        for _ in until_elsewhere(where):
            where.extend(workers.map(Pid(here=0.01), iter(range(8)), 8))
    assert where[:16] == [os.getpid()] * 16
    assert set(where) - {os.getpid()}


def test_a_job_is_shared_once_with_each_process(monkeypatch):
    shared, sent = [], []
    share, send = processes.WorkerProcess._share, processes.WorkerProcess._send

    def count(self, shipped):
        shared.append(id(self))
        share(self, shipped)

    def weigh(self, shipped, task):
        sent.append(len(task))
        send(self, shipped, task)

    monkeypatch.setattr(processes.WorkerProcess, "_share", count)
    monkeypatch.setattr(processes.WorkerProcess, "_send", weigh)
    job = Pid(seconds=0.01, load=b"x" * 1_000_000)
    with ProcessWorkers(2) as workers:
        for _ in range(2):  # two stages
            list(workers.map(job, iter(range(20)), 20))
    assert 1 <= len(shared) == len(set(shared)) <= 2  # on a busy machine one may do all
    assert len(sent) == 40
    assert sum(sent) < 40 * 100


def test_a_killed_process_is_an_error_and_is_replaced():
    class Deadly(Pid):
        def __call__(self, task):
            os.kill(os.getpid(), signal.SIGKILL)

    with (
        ProcessWorkers(2) as workers,
        pytest.raises(WorkerError, match=r"a worker process ended: it was killed by SIGKILL"),
    ):
        list(workers.map(Deadly(), iter(range(4)), 4))
    with ProcessWorkers(2) as workers:
        assert os.getpid() not in set(workers.map(Pid(), iter(range(8)), 8))


def test_processes_leave_those_of_scikit_learn_alone():
    """`GridSearchCV` uses joblib's processes, which exist once in a process."""
    providers, (X, y) = linear_providers(n=2)

    def search():
        return GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, n_jobs=2, cv=2).fit(X, y)

    def value():
        utility = sb.FunctionUtility(lambda X, y: float(os.getpid()))
        with ProcessWorkers(2) as workers:
            found = sb.value(
                providers, utility, sampling=sb.Fresh(5), n_games=4, seed=0, workers=workers
            )
        assert not np.isin(found.games.sum(axis=1), os.getpid()).any()

    search()
    value()
    search()
    value()


SCRIPT = """
import os, time
import shapband as sb
from shapband.engine.workers.local import ProcessWorkers

class Mine:
    packed = staticmethod(lambda task: task)
    rehearse = staticmethod(lambda task: None)
    set_up_worker = staticmethod(lambda: None)
    def __call__(self, task):
        return os.environ["OPENBLAS_NUM_THREADS"], os.getpid()

workers = ProcessWorkers(2)
found = list(workers.map(Mine(), iter(range(6)), 6))
assert {threads for threads, _ in found} == {"1"}
print(*{pid for _, pid in found})
if CLOSE:
    workers.__exit__()
"""


@pytest.mark.parametrize("close", [True, False])
def test_a_script_without_a_guard_ends_with_its_processes(tmp_path, close):
    """Classes of the main script are sent, the script is not run again, and nothing is left."""
    (tmp_path / "script.py").write_text(SCRIPT.replace("CLOSE", str(close)))
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"}, timeout=PATIENCE,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    (line,) = ended.stdout.splitlines()
    until = time.monotonic() + PATIENCE
    while any(Path(f"/proc/{pid}").exists() for pid in line.split()):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_threads_take_the_first_task_too():
    home = threading.current_thread()

    class Thread(Pid):
        def __call__(self, task):
            return threading.current_thread()

    with LocalWorkers(2, threads=True) as workers:
        assert home not in set(workers.map(Thread(), iter(range(4)), 4))
