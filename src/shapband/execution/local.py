"""Workers of this machine: this process, its threads, or processes of their own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from shapband.checks import check_whole, one_line
from shapband.errors import WorkerError
from shapband.execution.base import Answer, Job, Workers, in_order
from shapband.execution.remote import RemoteWorkers, ShippedJob, perform_sealed

# Seconds of work below which starting workers costs more than they save.
_THREADS_START = 0.01
_PROCESSES_START = 8.0
_WATCH = 1.0  # seconds between two looks whether the parent process is there
_IDLE = 300  # seconds that worker processes stay for the next valuation
_ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")
}


class LocalWorkers(Workers):
    """Threads for jobs that release the interpreter lock, processes for those that do not.

    The first task is done here and timed: if the rest would be finished before workers are up,
    none is started.

    Parameters
    ----------
    n_jobs : workers; 1 does everything here, -1 means one for each core
    threads : whether threads are enough, because the job releases the interpreter lock
    """

    def __init__(self, n_jobs: int, *, threads: bool) -> None:
        self.n_jobs = resolve_n_jobs(n_jobs)
        self._threads = threads
        self._started: Workers | None = None
        self._worth_it: bool | None = None if self.n_jobs > 1 else False

    def map(self, job: Job[Answer], tasks: Iterator[Any], n_tasks: int) -> Iterator[Answer]:
        if self._worth_it is None and n_tasks > 1:
            started = time.perf_counter()
            yield job(next(tasks))
            left = (time.perf_counter() - started) * (n_tasks - 1)
            self._worth_it = left >= (_THREADS_START if self._threads else _PROCESSES_START)
        if not self._worth_it:
            yield from map(job, tasks)
            return
        kind = ThreadWorkers if self._threads else ProcessWorkers
        self._started = self._started or kind(self.n_jobs)
        yield from self._started.map(job, tasks, n_tasks)

    def __exit__(self, *raised: object) -> None:
        """Stop the workers that were started."""
        if self._started is not None:
            self._started.__exit__(*raised)


class ThreadWorkers(Workers):
    """Threads of this process."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._pool = ThreadPoolExecutor(n_jobs)

    def map(self, job: Job[Answer], tasks: Iterator[Any], n_tasks: int) -> Iterator[Answer]:  # noqa: ARG002
        """Apply the job to every task; threads share memory, so nothing is sent."""
        return in_order(
            lambda task: self._pool.submit(job, task),
            lambda future: future.result(),
            lambda future: future.cancel(),
            tasks,
            2 * self.n_jobs,
        )

    def __exit__(self, *raised: object) -> None:
        """Stop the threads."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class ProcessWorkers(RemoteWorkers):
    """Processes of this machine. They are kept for the next valuation."""

    def __init__(self, n_jobs: int) -> None:
        super().__init__()
        from joblib.externals.loky import get_reusable_executor

        self.n_jobs = n_jobs
        self._pool = get_reusable_executor(
            max_workers=n_jobs,
            env=_ONE_THREAD,
            timeout=_IDLE,
            initializer=_end_with_parent,
            initargs=(os.getpid(),),
        )

    def ship(self, sealed: bytes) -> bytes:
        """Send the job with every task: pipes are fast, and no file can be tampered with."""
        return sealed

    def submit(self, shipped: ShippedJob, task: bytes) -> Future[bytes]:
        future: Future[bytes] = self._pool.submit(
            perform_sealed, shipped.token, shipped.place, task
        )
        return future

    def result(self, handle: Future[bytes]) -> bytes:
        try:
            return handle.result()
        except BrokenExecutor as cause:
            raise WorkerError(f"a worker process ended: {one_line(cause)}") from cause

    def cancel(self, handle: Future[bytes]) -> None:
        handle.cancel()


def _end_with_parent(parent: int) -> None:
    """Let a worker process end when its parent does, also if that was killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def resolve_n_jobs(n_jobs: int) -> int:
    """Check the number of workers; -1 means one for each core."""
    if n_jobs == -1:
        return len(os.sched_getaffinity(0))
    return check_whole("n_jobs", n_jobs, 1, ", or -1 for one worker a core")


def single_threaded_blas(*, mergeable: bool) -> AbstractContextManager[object]:
    """Limit the linear algebra of black boxes to one thread per worker.

    Models that are fitted by the thousand are small, and BLAS threads would compete with the
    workers for the cores.
    """
    if mergeable:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits
