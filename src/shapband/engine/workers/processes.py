"""Worker processes of this machine, each connected by its own pipe.

A job is shared with a process once, before its first task, and has no file on the disk. A process
serves one valuation at a time and is then kept for the next one, until it has been idle for some
minutes or the parent process ends. These are not joblib's processes, which scikit-learn may be
using in the parent process.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from queue import SimpleQueue

from shapband.engine.workers.remote import ShippedJob, perform_prepared, prepare
from shapband.engine.workers.shared import SentJob, SharedJob, opened, received
from shapband.engine.workers.spawned import IDLE
from shapband.engine.workers.template import template
from shapband.errors import WorkerError

_FRESH = 0.8 * IDLE  # a process idle for more seconds is not used, because it may be ending
_MOMENT = 0.1  # seconds to wait for processes that are about to become idle


class WorkerProcess:
    """A process that performs tasks, as its parent sees it."""

    def __init__(self) -> None:
        self._template = template(_serve)
        self._pipe, self._pid = self._template.start()
        self._token: str | None = None
        self._last_used = time.monotonic()

    @property
    def usable(self) -> bool:
        """Whether the process is running, and will be for the next task."""
        ended = self._pipe.poll()  # true only if the pipe is closed, as idle processes send nothing
        return not ended and time.monotonic() - self._last_used < _FRESH

    def load(self, shipped: ShippedJob) -> bytes:
        """Send the job unless the process has it; return b"", or the error from opening the job."""
        if shipped.token == self._token:
            return b""
        failed = self._answer(lambda: self._share(shipped))
        if not failed:
            self._token = shipped.token
        return failed

    def perform(self, shipped: ShippedJob, task: bytes) -> bytes:
        """Do a task of the job that was loaded."""
        return self._answer(lambda: self._send(shipped, task))

    def _share(self, shipped: ShippedJob) -> None:
        job: SharedJob | SentJob = shipped.place
        if isinstance(job, SharedJob):
            self._pipe.send((shipped.token, "shared", job.spans))
            send_handle(self._pipe, job.handle, self._pid)
            return
        self._pipe.send((shipped.token, "sent", job.sizes))
        for part in job.parts:
            self._pipe.send_bytes(part)

    def _send(self, shipped: ShippedJob, task: bytes) -> None:
        self._pipe.send((shipped.token, "task", None))
        self._pipe.send_bytes(task)

    def _answer(self, ask: Callable[[], None]) -> bytes:
        try:
            ask()
            answer = self._pipe.recv_bytes()
        except (OSError, EOFError) as cause:
            raise WorkerError(f"a worker process ended: {self._how_it_ended()}") from cause
        self._last_used = time.monotonic()
        return answer

    def _how_it_ended(self) -> str:
        code = self._template.exit_code(self._pid)
        if code is None:
            return "the cause is not known"
        if code >= 0:
            return f"it left with exit code {code}"
        return f"it was killed by {signal.Signals(-code).name}; memory may have run out"


class ProcessPool:
    """Performs tasks in processes, which take them in the order of their submission.

    Every worker process has a thread in this process that waits for its answers. A task begins
    only when its process has the job, so a task can be cancelled and done elsewhere while processes
    are still starting.

    Parameters
    ----------
    n_processes : processes; idle ones of earlier pools are used first
    """

    def __init__(self, n_processes: int) -> None:
        self._calls: SimpleQueue[tuple[Future[bytes], ShippedJob, bytes] | None] = SimpleQueue()
        self._loaded: set[str] = set()
        template(_serve)  # start the template now, while the first tasks are made
        taken = _take_idle(n_processes)
        given = [*taken, *[None] * (n_processes - len(taken))]
        self._threads = [threading.Thread(target=self._work, args=(p,), daemon=True) for p in given]
        for thread in self._threads:
            thread.start()

    def has_loaded(self, shipped: ShippedJob) -> bool:
        """Whether some process has the job, so that its tasks are being done."""
        return shipped.token in self._loaded

    def submit(self, shipped: ShippedJob, task: bytes) -> Future[bytes]:
        """Submit a task; the future's result is its pickled outcome."""
        future: Future[bytes] = Future()
        self._calls.put((future, shipped, task))
        return future

    def close(self) -> None:
        """Give the processes to later pools, each after its task."""
        for _ in self._threads:
            self._calls.put(None)
        until = time.monotonic() + _MOMENT
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self, process: WorkerProcess | None) -> None:
        while (call := self._calls.get()) is not None:
            future, shipped, task = call
            if future.cancelled():
                continue
            try:
                process = process if process and process.usable else WorkerProcess()
                failed = process.load(shipped)
                self._loaded.add(shipped.token)
                if future.set_running_or_notify_cancel():
                    future.set_result(failed or process.perform(shipped, task))
            except Exception as error:  # noqa: BLE001  raised where the result is awaited
                if future.running() or future.set_running_or_notify_cancel():
                    future.set_exception(error)
        if process:
            with _lock:
                _idle.append(process)


def n_idle() -> int:
    """Number of processes that are running and wait for work."""
    with _lock:
        return sum(process.usable for process in _idle)


_lock = threading.Lock()
_idle: list[WorkerProcess] = []
# A fork of this process must not use the processes of its parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


def _take_idle(count: int) -> list[WorkerProcess]:
    """Take idle processes, as many as there are, up to `count`."""
    with _lock:
        usable = [process for process in _idle if process.usable]
        taken, _idle[:] = usable[:count], usable[count:]
    return taken


def _serve(pipe: Connection) -> None:
    """Serve requests of the parent, until it has ended or no request has come for a while."""
    try:
        while pipe.poll(IDLE):
            token, what, layout = pipe.recv()
            if what == "task":
                answer = perform_prepared(token, pipe.recv_bytes())
            elif what == "shared":
                answer = prepare(token, partial(opened, recv_handle(pipe), layout))
            else:
                answer = prepare(token, partial(received, pipe, layout))
            pipe.send_bytes(answer)
    except (OSError, EOFError):
        return  # the parent has ended
