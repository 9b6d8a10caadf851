"""Worker processes that are started one by one, where they cannot be forked from a template.

Each is a new interpreter that imports what jobs need, which takes one to three seconds.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

import numpy as np

from shapband.errors import WorkerError
from shapband.kernels import rows

Serve = Callable[[Connection], None]

IDLE = 300  # seconds that idle processes are kept for the next valuation
ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")
}
_WAIT = 1.0  # seconds to wait for the exit code of a process that has closed its pipe


class Spawner:
    """Starts worker processes, and knows how they ended.

    Parameters
    ----------
    serve : function that a worker process calls with its end of the pipe
    """

    usable = True

    def __init__(self, serve: Serve) -> None:
        self._serve = serve
        # A worker process by its id, and a pipe whose other end tells it that this process lives.
        self._started: dict[int, tuple[Any, Connection]] = {}
        self._lock = threading.Lock()

    def start(self) -> tuple[Connection, int]:
        """Start a worker process; return the pipe to it and its process id."""
        from joblib.externals.loky.backend.process import LokyProcess

        near, far = Pipe()
        watched, alive = Pipe(duplex=False)
        arguments = (far, watched, self._serve, modules_in_use())
        process = LokyProcess(target=_be_worker, args=arguments, env=ONE_THREAD)
        with self._lock:
            process.start()
            self._started[process.pid] = process, alive
        far.close()
        watched.close()
        try:
            # Windows keeps the far end open here until the process has taken it, so the pipe alone
            # would not show that the process ended before.
            if near not in wait([near, process.sentinel]):
                raise EOFError
            near.recv()
        except (OSError, EOFError) as cause:
            near.close()
            code = self.exit_code(process.pid)
            raise WorkerError(
                f"worker processes cannot be started: a new one left with exit code {code}"
            ) from cause
        return near, process.pid

    def exit_code(self, pid: int) -> int | None:
        """Exit code of a worker process, -n if signal n ended it; None if it is not known."""
        with self._lock:
            process, _ = self._started[pid]
        process.join(_WAIT)
        code: int | None = process.exitcode
        return code

    def end(self) -> None:
        """End all worker processes."""
        with self._lock:
            for process, alive in self._started.values():
                alive.close()
                process.terminate()


def modules_in_use() -> list[str]:
    """The modules of this package and of scikit-learn in use here, which jobs will need too.

    Other packages are left out: some start threads when they are imported, and a process with
    threads must not be forked.
    """
    names = list(sys.modules)
    learn = [name for name in names if name.startswith("sklearn.") and name.count(".") == 1]
    return [*(name for name in names if name.startswith("shapband.")), *learn]


def set_up(modules: list[str]) -> None:
    """Prepare a new process: import modules, and let numba set up what compiled functions share."""
    from shapband.kernels.compiling import keep_silent

    keep_silent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt ends
    for name in modules:
        with suppress(ImportError):  # a job that needs the module will raise the error itself
            importlib.import_module(name)
    rows.with_replacement(np.zeros((1, 1), dtype=np.uint64), 1)


def _be_worker(pipe: Connection, parent: Connection, serve: Serve, modules: list[str]) -> None:
    """Serve tasks until the parent process has ended, even if it was killed."""
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    pipe.send("started")
    set_up(modules)
    serve(pipe)


def _end_with(parent: Connection) -> None:
    """Wait until the other end of a pipe is closed, which happens when the parent ends."""
    with suppress(OSError, EOFError):
        parent.recv_bytes()
    os._exit(1)
