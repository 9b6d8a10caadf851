"""An ordered map over chunks of games: here, in threads, or in processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from shapband.errors import InvalidInput

Task = TypeVar("Task")
Result = TypeVar("Result")


def ordered_map(
    function: Callable[[Task], Result], tasks: Iterable[Task], n_jobs: int, *, threads: bool
) -> Iterator[Result]:
    """Apply a function to tasks in `n_jobs` workers, and give the results in task order.

    Tasks are taken a few ahead of the results, never all at once, and always in this thread, so
    that what making a task asks of the sources happens in order.
    """
    if n_jobs == 1:
        yield from map(function, tasks)
        return
    with _workers(n_jobs, threads=threads) as executor:
        ahead: deque[Future[Result]] = deque()
        for task in tasks:
            ahead.append(executor.submit(function, task))
            if len(ahead) > 2 * n_jobs:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def resolve_n_jobs(n_jobs: int) -> int:
    """Check the number of workers; -1 means one for each core."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0 or n_jobs < -1:
        raise InvalidInput(
            "n_jobs must be a whole number of at least 1, or -1 for one worker a core; "
            f"received {n_jobs!r}"
        )
    return len(os.sched_getaffinity(0)) if n_jobs == -1 else n_jobs


def _workers(n_jobs: int, *, threads: bool) -> AbstractContextManager[Executor]:
    if threads:
        return ThreadPoolExecutor(n_jobs)
    from joblib.externals.loky import get_reusable_executor

    # The executor outlives the valuation, so that the next one finds its workers warm.
    return nullcontext(get_reusable_executor(max_workers=n_jobs))
