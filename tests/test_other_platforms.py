"""Linux is where the tests run; macOS and Windows are simulated by taking away what they lack."""

import ast
import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import shapband
from shapband import machine
from shapband.app.cli import interrupt
from shapband.engine.workers import processes, template
from shapband.engine.workers.local import ProcessWorkers
from shapband.engine.workers.shared import opened, share
from shapband.engine.workers.spawned import Spawner
from shapband.errors import RunError, RunFull, RunLocked, WorkerError
from shapband.kernels import storing
from shapband.runs import database, filelocks
from shapband.runs.lock import is_locked, locked
from shapband.runs.private import open_private
from shapband.runs.reserve import Reserve
from tests.conftest import PATIENCE
from tests.other_platform import MISSING, made_up_msvcrt

SOURCES = Path(shapband.__file__).parent
ROOT = Path(__file__).parents[1]
# Where names that other platforms lack are used, each after a check or in code that needs fork.
GUARDED = {
    "engine/workers/processes.py": {"register_at_fork"},
    "engine/workers/shared.py": {"memfd_create"},
    "engine/workers/template.py": {"register_at_fork", "fork", "WNOHANG"},
    "kernels/storing.py": {"getuid"},
    "machine.py": {"getloadavg", "sched_getaffinity"},
    "runs/private.py": {"fchmod"},
    "runs/reserve.py": {"posix_fallocate"},
}
ELSEWHERE = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
OTHERS = """MAP_SHARED O_CLOEXEC O_NONBLOCK O_SYNC POLLIN SIGALRM SIGCHLD SIGPIPE SIGQUIT
    SIGUSR1 SIGUSR2 WNOHANG alarm chown epoll fdatasync fexecve geteuid getgid getpgid getpriority
    kill killpg lockf mkfifo nice pipe2 pread pwrite sched_setaffinity sendfile setitimer setsid
    MAP_PRIVATE setuid sync uname wait3 wait4 pthread_kill"""
LACKED = {name for names in (OTHERS, *MISSING.values()) for name in names.split()}


def in_another_process(code, cwd, **environment):
    return subprocess.run(  # noqa: S603  our own code
        [sys.executable, "-c", code],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def used_in(file):
    """Attributes of the standard library's system modules that a file uses, and what it imports."""
    attributes, modules = set(), set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("os", "signal", "select", "mmap", "time"):
                attributes.add(node.attr)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module)
    return attributes & LACKED, modules & ELSEWHERE


def test_names_that_other_platforms_lack_are_used_in_known_places_only():
    found, imported = {}, set()
    for file in SOURCES.rglob("*.py"):
        names, modules = used_in(file)
        where = file.relative_to(SOURCES).as_posix()
        if names:
            found[where] = names
        if modules:
            imported.add(where)
    assert found == GUARDED
    assert imported == set()  # runs/filelocks.py imports fcntl by its name


# A whole valuation in a process without these names.

WHOLE = """
import tests.other_platform
import os, sys
import numpy as np, shapband as sb
from shapband.app.cli.app import main
from shapband.engine.workers import template
from shapband.runs.lock import locked

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 2))
a, b = (sb.ArraySource(rows, rows[:, 0]) for rows in (X[:30], X[30:60]))
providers = [sb.Provider("a", a), sb.Provider("b", b)]
utility = sb.LinearUtility(X[60:], X[60:, 0])
whole = sb.value(providers, utility, sampling=sb.Fresh(10), n_games=6, seed=0, run="run")
print(whole.expectation.tolist())
assert not template.can_fork()
try:
    with locked(sb.load("run").path):
        with locked(sb.load("run").path):
            raise AssertionError
except sb.errors.RunLocked:
    print("locked")
sys.argv = ["shapband", "show", "run"]
main()
"""


def test_a_run_without_anything_that_windows_lacks(tmp_path):
    done = in_another_process(WHOLE, tmp_path)
    assert done.returncode == 0, done.stderr
    ordinary = WHOLE.replace("import tests.other_platform\n", "").replace("assert not", "assert")
    (tmp_path / "linux").mkdir()
    linux = in_another_process(ordinary, tmp_path / "linux")
    assert linux.returncode == 0, linux.stderr
    assert done.stdout.splitlines()[:2] == linux.stdout.splitlines()[:2]
    assert "2 providers, 6 games" in done.stdout


# Locks.


@pytest.fixture
def windows_locks(monkeypatch):
    monkeypatch.setattr(filelocks, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", made_up_msvcrt())


def test_a_lock_of_windows_excludes_others_until_it_is_released(tmp_path, windows_locks):
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)
        with pytest.raises(RunLocked, match="another process is at work"), locked(tmp_path):
            pass
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)


HOLD = """
import tests.other_platform
from pathlib import Path
from shapband.runs.lock import locked
with locked(Path(".")):
    print("locked", flush=True)
    input()
"""


def test_a_killed_process_leaves_no_stale_lock(tmp_path, windows_locks):
    holder = subprocess.Popen(  # noqa: S603  our own code
        [sys.executable, "-c", HOLD],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout.readline() == b"locked\n"
        assert is_locked(tmp_path)
    finally:
        holder.kill()
        holder.communicate()
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        pass


def test_a_lock_of_windows_that_fails_is_explained(tmp_path, windows_locks, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(sys.modules["msvcrt"], "locking", fail)
    with pytest.raises(RunError, match="cannot be locked"), locked(tmp_path):
        pass


# Files.


def test_links_are_refused_without_o_nofollow(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_NOFOLLOW")
    monkeypatch.delattr(os, "fchmod")
    (tmp_path / "other").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic link"):
        open_private(tmp_path / "link", os.O_RDWR | os.O_CREAT)
    os.close(open_private(tmp_path / "new", os.O_RDWR | os.O_CREAT))
    assert (tmp_path / "new").exists()


def test_a_directory_that_cannot_be_opened_is_not_synced(tmp_path, monkeypatch):
    def fail(*_):
        raise PermissionError

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(PermissionError):
        database.sync_directory(tmp_path)
    monkeypatch.delattr(os, "O_DIRECTORY")
    database.sync_directory(tmp_path)


def test_a_reserve_is_closed_before_it_is_deleted(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def unlink(path, **_):
        handles = Path("/proc/self/fd")
        assert path.resolve() not in {one.resolve() for one in handles.iterdir()}
        deleted.append(path)

    deleted = []
    monkeypatch.setattr(os, "posix_fallocate", fail)
    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(RunFull):
        Reserve(tmp_path).hold(1)
    assert deleted == [tmp_path / "reserve"]


def test_kernels_are_stored_in_the_cache_directory_of_each_platform(monkeypatch):
    monkeypatch.setattr(storing.config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.setenv("LOCALAPPDATA", "/ann/local")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    found = {}
    for platform in ("linux", "darwin", "win32"):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "platform", platform)
            found[platform] = storing._parent()
    assert found == {
        "linux": Path("/home/ann/.cache/shapband"),
        "darwin": Path("/home/ann/Library/Caches/shapband"),
        "win32": Path("/ann/local/shapband/Cache"),
    }


def test_without_owners_a_directory_is_private_if_it_can_be_written_to(tmp_path, monkeypatch):
    tmp_path.chmod(0o777)
    assert not storing._is_private(tmp_path)
    monkeypatch.setattr(storing.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.delattr(os, "getuid")
    assert storing._is_private(tmp_path)
    assert storing.temporary_directory() == tmp_path / "shapband"
    assert stat.S_ISDIR((tmp_path / "shapband").stat().st_mode)


def test_a_changed_kernel_is_noticed_although_the_ctime_stays(tmp_path, monkeypatch):
    """On Windows the ctime is the time of creation."""

    class Kernel:
        name = "kernel.py"
        changed = 1

        def stat(self):
            return os.stat_result((0, 7, 0, 0, 0, 0, 100, 0, 0, 0), {"st_mtime_ns": self.changed})

    class Folder:
        def glob(self, _):
            return [Kernel()]

    monkeypatch.setattr(storing, "_SOURCES", Folder())
    before = storing._state()
    monkeypatch.setattr(Kernel, "changed", 2)
    assert storing._state() != before


# Processes.


class Job:
    """Sums an array after writing to it, in whatever process it is called."""

    def __init__(self):
        self.numbers = np.ones(300_000)  # more than a megabyte

    def __call__(self, task):
        if task == "die":
            os._exit(3)
        self.numbers[0] += 1.0
        return os.getpid(), float(self.numbers.sum()), task

    def packed(self, task):
        return task

    def rehearse(self, task):
        pass

    def set_up_worker(self):
        pass


def cold():
    processes._idle.clear()
    for one in template._current:
        one.end()
    template._current.clear()


@pytest.fixture
def without_fork(monkeypatch):
    cold()
    monkeypatch.delattr(os, "fork")
    yield
    cold()


def test_processes_are_not_forked_on_macos(monkeypatch):
    assert template.can_fork()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not template.can_fork()


def test_processes_that_are_not_forked_do_the_same_tasks(without_fork):
    with ProcessWorkers(2) as workers:
        answers = list(workers.map(Job(), iter(range(12)), 12))
    assert isinstance(template._current[0], Spawner)
    places = {place for place, _, _ in answers}
    assert os.getpid() not in places
    assert [task for _, _, task in answers] == list(range(12))
    # Each process has its own copy of the array, to which it has added 1 for each of its tasks.
    for place in places:
        sums = [total for where, total, _ in answers if where == place]
        assert sums == [300_001.0 + done for done in range(len(sums))]


def test_a_process_that_was_not_forked_and_ends_is_reported(without_fork):
    with (
        ProcessWorkers(1) as workers,
        pytest.raises(WorkerError, match="a worker process ended: it left with exit code 3"),
    ):
        list(workers.map(Job(), iter(["die"]), 1))


class EndsWhereItIsOpened:
    def __reduce__(self):
        return os._exit, (7,)


def test_a_process_that_cannot_be_started_is_reported(without_fork):
    with pytest.raises(WorkerError, match="cannot be started: a new one left with exit code 7"):
        Spawner(EndsWhereItIsOpened()).start()


ORPHANS = """
import tests.other_platform
import os, time
from shapband.engine.workers.local import ProcessWorkers
from tests.test_other_platforms import Job

class Slow(Job):
    def __call__(self, task):
        if task:
            time.sleep(60)
        return os.getpid()

with ProcessWorkers(1) as workers:
    for place in workers.map(Slow(), iter([0, 1]), 2):
        print(place, flush=True)
        time.sleep(0.2)
        os._exit(0)
"""


def test_processes_that_were_not_forked_end_with_their_parent(tmp_path):
    code = ORPHANS.replace("import tests.other_platform", "import os; del os.fork")
    done = in_another_process(code, tmp_path)
    worker = int(done.stdout)
    until = time.monotonic() + PATIENCE
    while Path(f"/proc/{worker}").exists():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_job_is_shared_without_memfd(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    numbers = np.arange(300_000.0)
    shared = share([numbers])
    (found,) = opened(os.dup(shared.handle), shared.spans)
    np.testing.assert_array_equal(found, numbers)
    assert os.fstat(shared.handle).st_nlink == 0


def test_cores_and_load_where_the_system_does_not_say(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert machine.usable_cores() == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.usable_cores() == 1
    monkeypatch.delattr(os, "getloadavg")
    assert machine.load() == 0.0


# The terminal.


def test_signals_of_each_platform():
    assert interrupt._SIGNALS == (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    code = (
        "import tests.other_platform, signal; signal.SIGBREAK = signal.SIGUSR1\n"
        "from shapband.app.cli import interrupt\n"
        "print([one.name for one in interrupt._SIGNALS])\n"
        "with interrupt.interruptible(lambda: 'bye'):\n"
        "    signal.raise_signal(signal.SIGBREAK)\n"
    )
    done = in_another_process(code, ROOT)
    assert done.stdout == "['SIGINT', 'SIGTERM', 'SIGUSR1']\n"
    assert done.stderr.endswith("KeyboardInterrupt\n")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1"])
def test_output_to_a_file_is_utf8(tmp_path, encoding):
    code = "import typer; from shapband.app.cli import streams; {}typer.echo('v(∅) ± é')"
    good = in_another_process(
        code.format("streams.print_any_character(); "), tmp_path, PYTHONIOENCODING=encoding
    )
    assert (good.stdout, good.returncode) == ("v(∅) ± é\n", 0)
    if encoding == "cp1252":
        bad = in_another_process(code.format(""), tmp_path, PYTHONIOENCODING=encoding)
        assert "UnicodeEncodeError" in bad.stderr
