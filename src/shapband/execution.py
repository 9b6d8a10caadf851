"""An ordered map over chunks of games: here, in threads, or in processes."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, Self, TypeVar

from shapband.checks import check_whole

Task = TypeVar("Task", bound="Packable")
Result = TypeVar("Result")

# Seconds of work below which starting workers costs more than they save.
_THREADS_START = 0.02
_PROCESSES_START = 4.0
_ONE_THREAD = {
    f"{library}_NUM_THREADS": "1"
    for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM")
}


class Packable(Protocol):
    """A task that can leave this process."""

    def packed(self) -> Self:
        """The same task, with only what it needs."""


def ordered_map(
    function: Callable[[Task], Result],
    tasks: Iterator[Task],
    n_tasks: int,
    n_jobs: int,
    *,
    threads: bool,
) -> Iterator[Result]:
    """Apply a function to tasks in `n_jobs` workers, and give the results in task order.

    The first task is done here and timed: if the rest would be finished before workers are up,
    no worker is started. Tasks are taken a few ahead of the results, never all at once, and
    always in this thread, so that what making a task asks of the sources happens in order.
    """
    if n_jobs == 1 or n_tasks == 1:
        yield from map(function, tasks)
        return
    started = time.perf_counter()
    yield function(next(tasks))
    left = (time.perf_counter() - started) * (n_tasks - 1)
    if left < (_THREADS_START if threads else _PROCESSES_START):
        yield from map(function, tasks)
        return
    with _workers(n_jobs, threads=threads) as executor:
        ahead: deque[Future[Result]] = deque()
        for task in tasks:
            ahead.append(executor.submit(function, task if threads else task.packed()))
            if len(ahead) > 2 * n_jobs:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


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


def _workers(n_jobs: int, *, threads: bool) -> AbstractContextManager[Executor]:
    if threads:
        return ThreadPoolExecutor(n_jobs)
    from joblib.externals.loky import get_reusable_executor

    # The executor outlives the valuation, so that the next one finds its workers warm.
    return nullcontext(get_reusable_executor(max_workers=n_jobs, env=_ONE_THREAD))
