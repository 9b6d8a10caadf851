"""The template process, from which worker processes are forked.

Starting Python and importing numba and scikit-learn takes seconds of computing time. One process,
the template, does this once and then forks every worker process. It runs no code of the user and
has one thread, so forking it is safe. Forking the calling process, which may have many threads,
would not be.
"""

from __future__ import annotations

import atexit
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import recv_handle, send_handle

import numpy as np

from shapband.errors import WorkerError
from shapband.kernels import rows

Serve = Callable[[Connection], None]

IDLE = 300  # seconds that idle processes are kept for the next valuation
_WATCH = 1.0  # seconds between two checks that the parent process still exists
_ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")
}


class Template:
    """The template process, as its parent sees it.

    Parameters
    ----------
    serve : function that a worker process calls with its end of the pipe
    """

    def __init__(self, serve: Serve) -> None:
        # Processes of loky do not import the main script again, unlike processes of the standard
        # library: a script or a notebook needs no `if __name__ == "__main__"`.
        from joblib.externals.loky.backend.process import LokyProcess

        self._lock = threading.Lock()
        self._pipe, far = Pipe()
        arguments = (far, serve, _modules_in_use())
        self._process = LokyProcess(target=_be_template, args=arguments, env=_ONE_THREAD)
        self._process.start()
        far.close()

    @property
    def usable(self) -> bool:
        """Whether the process is running."""
        return bool(self._process.is_alive())

    def fork(self) -> tuple[Connection, int]:
        """Request a worker process; return the pipe to it and its process id."""
        near, far = Pipe()
        try:
            with self._lock:
                self._pipe.send("fork")
                send_handle(self._pipe, far.fileno(), self._process.pid)
                return near, self._pipe.recv()
        except (OSError, EOFError) as cause:
            near.close()
            raise WorkerError("worker processes cannot be started: their template ended") from cause
        finally:
            far.close()

    def exit_code(self, pid: int) -> int | None:
        """Exit code of a worker process, -n if signal n ended it; None if it is not known."""
        try:
            with self._lock:
                self._pipe.send(pid)
                code: int | None = self._pipe.recv()
        except (OSError, EOFError):
            return None
        return code

    def end(self) -> None:
        """End the process; its workers end too, within a second."""
        self._pipe.close()
        self._process.terminate()


def _modules_in_use() -> list[str]:
    """The modules of this package and of scikit-learn in use here, which jobs will need too.

    Other packages are left out: some start threads when they are imported, and a process with
    threads must not be forked.
    """
    names = list(sys.modules)
    learn = [name for name in names if name.startswith("sklearn.") and name.count(".") == 1]
    return [*(name for name in names if name.startswith("shapband.")), *learn]


def _import(modules: list[str]) -> None:
    """Import modules, and let numba set up what all compiled functions share."""
    for name in modules:
        with suppress(ImportError):  # a job that needs the module will raise the error itself
            importlib.import_module(name)
    rows.with_replacement(np.zeros((1, 1), dtype=np.uint64), 1)


def _be_template(pipe: Connection, serve: Serve, modules: list[str]) -> None:
    """Import, then fork a worker process at every request, until the parent has ended."""
    from shapband.kernels.compiling import keep_silent

    keep_silent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt ends
    _import(modules)
    children: dict[int, int | None] = {}
    try:
        while pipe.poll(IDLE) or _reap(children):
            if not pipe.poll():
                continue
            wanted = pipe.recv()
            if wanted == "fork":
                _fork(pipe, serve, children)
            else:
                pipe.send(_exit_code(children, wanted))
    except (OSError, EOFError):
        return  # the parent has ended


def _fork(pipe: Connection, serve: Serve, children: dict[int, int | None]) -> None:
    """Fork a worker process that is given its end of a pipe."""
    handle = recv_handle(pipe)
    template = os.getpid()
    pid = os.fork()
    if pid:
        os.close(handle)
        children[pid] = None
        pipe.send(pid)
        return
    try:
        pipe.close()
        _end_with(template)
        serve(Connection(handle))
    finally:
        os._exit(0)


def _exit_code(children: dict[int, int | None], pid: int) -> int | None:
    """How a child ended; a child that has closed its pipe ends within a moment."""
    until = time.monotonic() + _WATCH
    while _reap(children) and children.get(pid) is None and time.monotonic() < until:
        time.sleep(0.01)
    return children.get(pid)


def _reap(children: dict[int, int | None]) -> bool:
    """Note how children ended; return whether any child is left."""
    while any(code is None for code in children.values()):
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return True
        children[pid] = os.waitstatus_to_exitcode(status)
    return False


def _end_with(parent: int) -> None:
    """Let this process end when its parent does, even if the parent was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_current: list[Template] = []
_starting = threading.Lock()


def template(serve: Serve) -> Template:
    """The template process of this process; it is started if there is none."""
    with _starting:
        if not _current or not _current[0].usable:
            _current[:] = [Template(serve)]
        return _current[0]


def _end_all() -> None:
    for one in _current:
        one.end()


# Functions registered last are called first. So `_end_all` ends the template before the exit
# function of multiprocessing would wait for it.
atexit.register(_end_all)
# A fork of this process must not talk to the template of its parent.
os.register_at_fork(after_in_child=_current.clear)
