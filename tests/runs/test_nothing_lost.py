"""Nothing that was paid for is lost: numbers 7 to 10."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import shapband as sb
from shapband.access.journal import Asked, Failed, Received
from shapband.app.cli.app import app
from shapband.app.config.config import Config
from shapband.errors import RunError, RunFull, SourceError
from shapband.records.batch import Batch
from shapband.runs import database, purchases
from shapband.runs.ledger import Ledger
from shapband.runs.store import RunStore
from tests.conftest import PATIENCE
from tests.runs.small import SmallConfig, assert_same, ignore, resume, start, value_in

QUICK = {"delay": 0.0, "think": 0.0, "n_games": 6}
ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "tests" / "command.py")]
WORTH = sb.FunctionUtility(lambda X, y: float(len(y)))


def batch(records=3, features=2):
    return Batch(np.ones((records, features)), np.ones(records))


@pytest.fixture
def store(tmp_path):
    manifest = {"providers": [f"p{i}" for i in range(5)], "config": None}
    with RunStore.create(tmp_path / "run", manifest) as made, made.lock():
        yield made


@pytest.fixture
def traced(monkeypatch):
    """All statements of all databases."""
    statements: list[str] = []
    real = database._connect

    def connect(path, mode):
        connection = real(path, mode)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(database, "_connect", connect)
    return statements


def transactions(statements):
    """What each transaction inserted into, and whether it waited for the disk."""
    full, tables, found = None, [], []
    for statement in statements:
        if statement.startswith("PRAGMA synchronous"):
            full = statement.endswith("FULL")
        elif statement == "BEGIN IMMEDIATE":
            tables = []
        elif into := re.match(r"INSERT (?:OR REPLACE )?INTO (\w+)", statement):
            tables.append(into[1])
        elif statement == "COMMIT" and tables:
            found.append((tables, full))
            tables = []
    return found


def in_threads(calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    return threads


# Purchases wait for the disk.


def test_7_purchases_and_the_result_wait_for_the_disk_and_games_do_not(tmp_path, traced):
    """Number 7."""
    value_in(tmp_path / "run", QUICK)
    found = transactions(traced)
    waited = {table: {full for tables, full in found if table in tables} for table in
              ("purchases", "games", "result")}  # fmt: skip
    assert waited == {"purchases": {True}, "games": {False}, "result": {True}}
    with RunStore.open(tmp_path / "run") as store:
        (answers,) = store._connection.execute("SELECT COUNT(*) FROM purchases").fetchone()
    assert answers == 12


def test_7_answers_that_arrive_together_share_a_transaction(tmp_path, traced, monkeypatch):
    """Number 7: the disk is slow here, so that answers arrive while it writes."""
    enter = Ledger.enter

    def slowly(*arguments, **options):
        time.sleep(0.05)
        enter(*arguments, **options)

    monkeypatch.setattr(Ledger, "enter", slowly)
    rng = np.random.default_rng(0)
    sources = [sb.ArraySource(rng.normal(size=(9, 1)), rng.normal(size=9)) for _ in range(30)]
    providers = [sb.Provider(f"p{i}", sb.with_delay(s, 0.05)) for i, s in enumerate(sources)]
    sb.value(
        providers, sb.AdditiveUtility(), sampling=sb.Fresh(3), n_games=8, seed=0,
        solver=sb.Permutation(2), run=tmp_path / "run",
    )  # fmt: skip
    groups = [full for tables, full in transactions(traced) if "purchases" in tables]
    assert all(groups)
    with RunStore.open(tmp_path / "run") as store:
        (answers,) = store._connection.execute("SELECT COUNT(*) FROM purchases").fetchone()
        store.verify()
    assert answers == 240
    assert len(groups) < answers / 4


def test_7_one_answer_that_cannot_be_stored_does_not_take_others_with_it(store):
    """Number 7."""
    bought = store.purchases()
    names = ("p0", "p1", "p2")
    bought.record([Asked(name, "draw", 0, 3) for name in names])
    odd = Batch(np.ones((3, 1)), np.array([object()] * 3))
    answers = [Received(n, "draw", 0, odd if n == "p1" else batch(), 0.1) for n in names]
    with pytest.raises(RunError, match="provider 'p1': a run cannot store cells"):
        bought.record(answers)
    assert [bought.recall(name, "draw", 0) is None for name in names] == [False, True, False]
    assert store.unanswered() == 0
    store.verify()


# The reserve and large answers.


def test_8_the_reserve_follows_the_size_of_what_is_bought(store):
    """Number 8."""
    bought = store.purchases()
    file = store.run / "reserve"
    bought.record([Asked("p0", "draw", 0, 10)])
    before = file.stat().st_size
    assert before >= 8_000_000
    bought.record([Received("p0", "draw", 0, batch(10, features=10_000), 0.1)])  # 800,000 bytes
    bought.record([Asked("p0", "draw", 1, 20)])
    bought.record([Asked("p1", "draw", 1, 20)])
    assert file.stat().st_size >= 8_000_000 + 2 * 40 * 80_000
    bought.record([Failed("p0", "draw", 1, "no")])
    bought.record([Failed("p1", "draw", 1, "no")])
    bought.close()
    assert not file.exists()


def test_8_a_large_answer_is_stored_in_parts_and_comes_back_whole(tmp_path, monkeypatch):
    """Number 8."""
    expected = value_in(tmp_path / "whole", QUICK)
    monkeypatch.setattr(purchases, "_PART", 50)
    assert_same(value_in(tmp_path / "parts", QUICK), expected)
    with RunStore.open(tmp_path / "parts") as store:
        store.verify()
        (parts,) = store._connection.execute("SELECT MAX(part) FROM purchases").fetchone()
        assert parts > 3
        bought = purchases.StoredPurchases(store.ledger)
        assert len(bought.recall("endless", "draw", 5)) == 5
    for which in ("part = 2", "part = (SELECT MAX(part) FROM purchases)"):
        shutil.copytree(tmp_path / "parts", tmp_path / "cut", dirs_exist_ok=True)
        with RunStore.open(tmp_path / "cut", write=True) as store:
            store._connection.execute(
                f"DELETE FROM purchases WHERE game = 3 AND provider = 'stock' AND {which}"  # noqa: S608
            )
            with pytest.raises(RunError, match=r"'stock', draw 3\) are altered"):
                store.verify()


def test_8_an_answer_that_cannot_be_stored_is_said_to_be_asked_for_again(store, monkeypatch):
    """Number 8."""
    bought = store.purchases()
    bought.record([Asked("p0", "draw", 0, 3)])

    def enter(*_, **__):
        raise RunFull("the disk of the run is full")

    monkeypatch.setattr(Ledger, "enter", enter)
    lost = (
        r"'p0' for draw 0 were received but could not be stored, and resuming asks for them again"
    )
    with pytest.raises(RunError, match=rf"{lost} .*full"):
        bought.record([Received("p0", "draw", 0, batch(), 0.1)])
    with pytest.raises(RunFull):  # nothing more is bought
        bought.record([Asked("p1", "draw", 0, 3)])


def test_8_no_message_advises_to_buy_again():
    """Number 8: only a run in which nothing was begun may be tried again."""
    advice = [
        line.strip()
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text().splitlines()
        if "try again" in line
    ]
    assert all("nothing was begun, try again" in line for line in advice), advice


# Signals, killed processes and sources that never answer.

SLOW = """
n_games = 100000
seed = 0
providers = [
    { name = "a", source = { kind = "object", object = "slow_sources:source" } },
    { name = "b", source = { kind = "object", object = "slow_sources:source" } },
]
utility = { kind = "object", object = "slow_sources:worth" }
sampling = { kind = "fresh", n_sample = 5 }
budget = { records = 1000000 }
"""
SOURCES = """
import pathlib, time, shapband as sb
def draw(size, rng):
    with open("asked", "a") as log:
        log.write("x")
    time.sleep(0.005)
    return rng.normal(size=(size, 1)), rng.normal(size=size)
def never(size, rng):
    time.sleep(3600)
source = sb.FunctionSource(draw, waits=True)
silent = sb.FunctionSource(never, waits=True)
worth = sb.FunctionUtility(lambda X, y: float(y.mean()))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "slow_sources.py").write_text(SOURCES)
    (tmp_path / "slow.toml").write_text(SLOW)
    return tmp_path


@contextmanager
def playing(folder, *arguments):
    """Run the command line, and wait until a few requests were made."""
    log = folder / "asked"
    log.unlink(missing_ok=True)
    process = subprocess.Popen(  # noqa: S603
        [*COMMAND, *arguments], cwd=folder, text=True, stderr=subprocess.PIPE
    )
    try:
        patience = time.monotonic() + PATIENCE
        while not log.exists() or log.stat().st_size < 20:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < patience
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_9_sigterm_and_sighup_end_a_run_like_ctrl_c(folder):
    """Number 9."""
    bought = 0
    for number, arguments in (
        (signal.SIGTERM, ("run", "slow.toml", "--out", "run")),
        (signal.SIGHUP, ("resume", "run")),
    ):
        with playing(folder, *arguments) as process:
            process.send_signal(number)
            _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, errors
        assert errors.splitlines()[-1] == "interrupted: resume it with: shapband resume run"
        assert "Traceback" not in errors
        run = sb.load(folder / "run")
        run.verify()
        received = int((run.ledger.outcome == "received").sum())
        assert received > bought
        assert run.status.unanswered == 0
        bought = received


WORKERS = """
import os, sys, time
from shapband.engine.workers.local import ProcessWorkers

class Pids:
    def rehearse(self, task): pass
    def set_up_worker(self): pass
    def packed(self, task): return task
    def __call__(self, task):
        time.sleep(0.2)
        return os.getpid()

if __name__ == "__main__":
    workers = ProcessWorkers(2)
    print(*set(workers.map(Pids(), iter(range(8)), 8)), flush=True)
    list(workers.map(Pids(), iter(range(10**6)), 10**6))
"""


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_9_worker_processes_end_with_a_killed_parent(tmp_path):
    """Number 9."""
    (tmp_path / "workers.py").write_text(WORKERS)
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, str(tmp_path / "workers.py")], text=True, stdout=subprocess.PIPE,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )  # fmt: skip
    assert process.stdout is not None
    with process.stdout:
        pids = [int(pid) for pid in process.stdout.readline().split()]
    assert pids
    assert all(map(is_alive, pids))
    process.kill()
    process.wait()
    until = time.monotonic() + 20  # seconds, on a busy machine
    while any(map(is_alive, pids)):
        assert time.monotonic() < until
        time.sleep(0.05)


class Slow(sb.sources.base.GenerativeSource):
    """Answers when it is told to."""

    waits = True
    schema = None

    def __init__(self):
        self.go = threading.Event()
        self.done = threading.Event()

    def draw(self, size, rng):
        self.go.wait(PATIENCE)
        self.done.set()
        return batch(size, 1)


def instant(size, rng):
    return np.ones((size, 1)), np.ones(size)


@pytest.mark.parametrize("others", [0, 1, 5])
@pytest.mark.parametrize("concurrency", [1, 2, 256])
def test_9_a_source_that_never_answers_is_given_up(tmp_path, others, concurrency):
    """Number 9: alone, beside others, and with others that wait for their turn."""
    slow = [Slow(), Slow()][: min(concurrency, others + 1)]
    quick = [sb.FunctionSource(instant, waits=True) for _ in range(others)]
    providers = [sb.Provider(f"p{i}", source) for i, source in enumerate([*slow, *quick])]
    began = time.monotonic()
    with pytest.raises(SourceError, match=r"provider 'p[01]': no answer within 0.2 seconds"):
        sb.value(
            providers, WORTH, sampling=sb.Fresh(2), n_games=4, seed=0, timeout=0.2,
            concurrency=concurrency, run=tmp_path / "run", progress=False,
        )  # fmt: skip
    assert time.monotonic() - began < 30
    before = sb.load(tmp_path / "run").ledger
    failed = before[before.outcome == "failed"]
    assert sorted(failed.providers) == [("p0",), ("p1",)][: len(slow)]  # they fail together
    assert set(failed.note) == {"no answer within 0.2 seconds"}
    for source in slow:  # a late answer is not used
        source.go.set()
        assert source.done.wait(PATIENCE)
    time.sleep(0.02)
    run = sb.load(tmp_path / "run")
    run.verify()
    assert run.ledger.equals(before)
    assert run.status.unanswered == 0


def test_9_a_process_ends_although_a_source_hangs(folder):
    """Number 9."""
    text = SLOW.replace("slow_sources:source", "slow_sources:silent")
    (folder / "silent.toml").write_text("timeout = 0.5\nconcurrency = 1\n" + text)
    done = subprocess.run(  # noqa: S603
        [*COMMAND, "run", "silent.toml", "--out", "run"],
        cwd=folder, text=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "error: provider 'a': no answer within 0.5 seconds"


def test_9_concurrency_and_timeout_stand_in_the_configuration(folder, monkeypatch):
    """Number 9."""
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    plan = Config.parse("timeout = 0.25\nconcurrency = 3\n" + SLOW).build(folder).arguments
    assert (plan.timeout, plan.concurrency) == (0.25, 3)
    for line in ("timeout = 0", "timeout = -1", "concurrency = 0", 'timeout = "x"'):
        with pytest.raises(sb.errors.InvalidInput, match=line.split()[0]):
            Config.parse(f"{line}\n{SLOW}")


# Removed and replaced directories.


def test_10_the_log_of_a_removed_database_is_refused_and_named(tmp_path):
    """Number 10."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.db-wal").write_bytes(b"stale")
    with pytest.raises(RunError, match=r"cannot hold a new run: run.db was removed and run.db-wal"):
        value_in(run, QUICK)
    assert [path.name for path in run.iterdir()] == ["run.db-wal"]
    result = CliRunner().invoke(app, ["show", str(run)])
    assert result.exit_code == 1
    assert "run.db was removed and run.db-wal is left; restore run.db" in result.stderr
    assert (run / "run.db-wal").read_bytes() == b"stale"


def removed(run):
    """Remove a directory to which purchases of the next games are being written."""
    while run.exists():
        shutil.rmtree(run, ignore_errors=True)


def without_database(run):
    (run / "run.db").unlink()


def replaced(run):
    shutil.copytree(run, run.with_name("copy"))
    removed(run)
    run.with_name("copy").rename(run)


@pytest.mark.parametrize("harm", [removed, without_database, replaced])
def test_10_a_directory_that_is_removed_or_replaced_ends_the_run(tmp_path, harm):
    """Number 10."""
    config = SmallConfig.of(**{**QUICK, "n_games": 24, "sampling": "fresh"})
    harmed = []

    def watch(progress):
        if not harmed:
            harmed.append(progress.done)
            harm(tmp_path / "run")

    with pytest.raises(RunError, match="was removed or replaced while the run was being played"):
        start(config, tmp_path, tmp_path / "run", watch)
    assert harmed
    if harm is replaced:
        resume(tmp_path / "run", ignore, SmallConfig)
        sb.load(tmp_path / "run").verify()


def test_10_the_command_ends_with_an_error_when_its_directory_goes(folder):
    """Number 10."""
    with playing(folder, "run", "slow.toml", "--out", "run") as process:
        (folder / "run").rename(folder / "elsewhere")
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "run run was removed or replaced" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    sb.load(folder / "elsewhere").verify()
