"""Workers of this machine: this process, its threads, or processes of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any

from shapband.checks import check_whole
from shapband.execution.base import Answer, Workers, in_order

# Seconds of work below which starting workers costs more than they save.
_THREADS_START = 0.02
_PROCESSES_START = 4.0
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
    threads : whether threads will do
    """

    def __init__(self, n_jobs: int, *, threads: bool) -> None:
        self.n_jobs = resolve_n_jobs(n_jobs)
        self._threads = threads
        self._executor: Executor | None = None
        self._worth_it: bool | None = None if self.n_jobs > 1 else False

    def map(
        self, job: Callable[[Any], Answer], tasks: Iterator[Any], n_tasks: int
    ) -> Iterator[Answer]:
        """Apply the job to every task, here or in workers."""
        if self._worth_it is None and n_tasks > 1:
            started = time.perf_counter()
            yield job(next(tasks))
            left = (time.perf_counter() - started) * (n_tasks - 1)
            self._worth_it = left >= (_THREADS_START if self._threads else _PROCESSES_START)
        if not self._worth_it:
            yield from map(job, tasks)
            return
        executor = self._executor = self._executor or self._start()

        def submit(task: Any) -> Future[Answer]:
            return executor.submit(job, task if self._threads else task.packed())

        yield from in_order(submit, lambda future: future.result(), tasks, 2 * self.n_jobs)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Threads end here; processes stay, so that the next valuation finds them warm."""
        if self._executor is not None and self._threads:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _start(self) -> Executor:
        if self._threads:
            return ThreadPoolExecutor(self.n_jobs)
        from joblib.externals.loky import get_reusable_executor

        executor: Executor = get_reusable_executor(max_workers=self.n_jobs, env=_ONE_THREAD)
        return executor


def resolve_n_jobs(n_jobs: int) -> int:
    """Check the number of workers; -1 means one for each core."""
    if n_jobs == -1:
        return len(os.sched_getaffinity(0))
    return check_whole("n_jobs", n_jobs, 1, ", or -1 for one worker a core")


def calm_blas(*, mergeable: bool) -> AbstractContextManager[object]:
    """Keep the linear algebra of black boxes to one thread a worker.

    Models fitted by the thousand are small: threads of BLAS would only fight over the cores.
    """
    if mergeable:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits
