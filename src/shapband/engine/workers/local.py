"""Workers of this machine: the calling process, its threads, or other processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

from shapband.checks import check_whole
from shapband.engine.workers.base import Answer, Job, Workers, in_order
from shapband.engine.workers.processes import ProcessPool, n_idle
from shapband.engine.workers.remote import RemoteWorkers, ShippedJob, opened_result, seal
from shapband.engine.workers.shared import SentJob, SharedJob, pack, share
from shapband.engine.workers.template import can_fork
from shapband.machine import load, usable_cores

# Processes are started if at least this many seconds of work are left. Starting them takes one to
# three seconds on another core, for imports.
_COLD = 4.0
_WARM = 0.1  # the same limit if processes are already running and only need the job
_BIG_TASK = 0.4  # if the first task takes this many seconds, all others are assumed to take as long
_SMALL_TASK = 0.002  # if a task takes fewer seconds, sending it costs more than it saves


class LocalWorkers(Workers):
    """Threads for jobs that release the interpreter lock, processes for those that do not.

    Threads are used from the start. Processes are used if enough work is left; less is enough if
    processes of an earlier valuation are still running. Until a process is ready, the calling
    process does the tasks, so starting processes delays no task.

    Parameters
    ----------
    n_jobs : number of workers; 1 uses the calling process only, -1 means one for each core
    threads : whether threads are enough, because the job releases the interpreter lock
    """

    def __init__(self, n_jobs: int, *, threads: bool) -> None:
        self.n_jobs = resolve_n_jobs(n_jobs)
        self._threads = threads
        self._started: ThreadWorkers | ProcessWorkers | None = None
        self._alone = 0.0  # seconds of tasks done before processes were started

    def map(self, job: Job[Answer], tasks: Iterator[Any], n_tasks: int) -> Iterator[Answer]:
        if self.n_jobs == 1 or n_tasks < 2:
            yield from map(job, tasks)
            return
        if self._threads:
            self._started = self._started or ThreadWorkers(self.n_jobs)
            yield from self._started.map(job, tasks, n_tasks)
            return
        if self._started is None:
            yield from self._until_worth_it(job, tasks, n_tasks)
        if isinstance(self._started, ProcessWorkers):
            yield from self._started.map_with_help(job, tasks)

    def _until_worth_it(
        self, job: Job[Answer], tasks: Iterator[Any], n_tasks: int
    ) -> Iterator[Answer]:
        """Do tasks here until the rest is worth the processes."""
        needed = _WARM if n_idle() >= self.n_jobs else _COLD * _crowding()
        if self._alone >= needed:  # assume that as much work will follow as was done so far
            self._start()
            return
        quickest = float("inf")
        for done, task in enumerate(tasks, start=1):
            began = time.perf_counter()
            with self._starting_meanwhile(max(_BIG_TASK, needed / n_tasks), first=done == 1):
                answer = job(task)
            took = time.perf_counter() - began
            yield answer
            self._alone += took
            # The first task may take long because it imports modules or fills caches.
            if done > 1 or took >= _BIG_TASK:
                quickest = min(quickest, took)
            if _SMALL_TASK <= quickest < float("inf") and quickest * (n_tasks - done) >= needed:
                self._start()
            if self._started is not None:
                return

    @contextmanager
    def _starting_meanwhile(self, seconds: float, *, first: bool) -> Iterator[None]:
        """Start processes if the first task takes so long that there must be enough work."""
        if not first:
            yield
            return
        timer = threading.Timer(seconds, self._start)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _start(self) -> None:
        self._started = self._started or ProcessWorkers(self.n_jobs)

    def __exit__(self, *raised: object) -> None:
        """Stop the workers that were started; processes are kept for the next valuation."""
        if self._started is not None:
            self._started.__exit__(*raised)
            self._started = None


def _crowding() -> float:
    """How many times longer starting takes because other programs use the cores: at least 1."""
    return max(1.0, load() / usable_cores())


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
        self.n_jobs = n_jobs
        self._pool: ProcessPool | None = ProcessPool(n_jobs)

    def map_with_help(self, job: Job[Answer], tasks: Iterator[Any]) -> Iterator[Answer]:
        """Do tasks in processes; as long as no process is ready, do them in this process."""
        shipped = self._shipped(job)

        def result(submitted: tuple[Any, Future[bytes]]) -> Answer:
            task, future = submitted
            if not self._opened().has_loaded(shipped) and future.cancel():
                return job(task)
            return cast(Answer, opened_result(self.result(future)))

        return in_order(
            lambda task: (task, self.submit(shipped, seal(job.packed(task), "a draw"))),
            result,
            lambda submitted: submitted[1].cancel(),
            tasks,
            2 * self.n_jobs,
        )

    def ship(self, job: Job[Any]) -> SharedJob | SentJob:
        """Write the job to memory that every process maps, or pack it for the pipes to them."""
        return share(job) if can_fork() else pack(job)

    def submit(self, shipped: ShippedJob, task: bytes) -> Future[bytes]:
        return self._opened().submit(shipped, task)

    def result(self, handle: Future[bytes]) -> bytes:
        return handle.result()

    def cancel(self, handle: Future[bytes]) -> None:
        handle.cancel()

    def __exit__(self, *raised: object) -> None:
        """Release the processes, which are kept for the next valuation."""
        self._shipped_job = None
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _opened(self) -> ProcessPool:
        self._pool = self._pool or ProcessPool(self.n_jobs)
        return self._pool


def resolve_n_jobs(n_jobs: int) -> int:
    """Check the number of workers; -1 means one for each core."""
    if n_jobs == -1:
        return usable_cores()
    return check_whole("n_jobs", n_jobs, 1, ", or -1 for one worker per core")


def single_threaded_blas(*, mergeable: bool) -> AbstractContextManager[object]:
    """Limit the linear algebra of black boxes to one thread per worker.

    Thousands of small models are fitted, and BLAS threads would compete with the workers for the
    cores.
    """
    if mergeable:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits
