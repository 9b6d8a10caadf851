"""The template process, from which worker processes are forked.

Starting Python and importing numba and scikit-learn takes seconds of computing time. One process,
the template, does this once and then forks every worker process. It runs no code of the user and
has one thread, so forking it is safe. Forking the calling process, which may have many threads,
would not be. Where processes cannot be forked, `Spawner` starts them one by one.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import recv_handle, send_handle

from shapband.engine.workers.spawned import IDLE, ONE_THREAD, Serve, Spawner, modules_in_use, set_up
from shapband.errors import WorkerError

_WATCH = 1.0  # seconds between two checks that the parent process still exists


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
        arguments = (far, serve, modules_in_use())
        self._process = LokyProcess(target=_be_template, args=arguments, env=ONE_THREAD)
        self._process.start()
        far.close()

    @property
    def usable(self) -> bool:
        """Whether the process is running."""
        return bool(self._process.is_alive())

    def start(self) -> tuple[Connection, int]:
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


def _be_template(pipe: Connection, serve: Serve, modules: list[str]) -> None:
    """Import, then fork a worker process at every request, until the parent has ended."""
    set_up(modules)
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


def can_fork() -> bool:
    """Whether worker processes are forked; Windows cannot, and on macOS system libraries fail."""
    return hasattr(os, "fork") and sys.platform != "darwin"


_current: list[Template | Spawner] = []
_starting = threading.Lock()


def template(serve: Serve) -> Template | Spawner:
    """What starts the worker processes of this process; it is made if there is none."""
    with _starting:
        if not _current or not _current[0].usable:
            _current[:] = [Template(serve) if can_fork() else Spawner(serve)]
        return _current[0]


def _end_all() -> None:
    for one in _current:
        one.end()


# Functions registered last are called first. So `_end_all` ends the template before the exit
# function of multiprocessing would wait for it.
atexit.register(_end_all)
# A fork of this process must not talk to the template of its parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_current.clear)
