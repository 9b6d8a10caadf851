"""The interface of workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

Answer = TypeVar("Answer")
Made = TypeVar("Made", covariant=True)


class Job(Protocol[Made]):
    """The function that workers apply to every task, in this process or in another."""

    def __call__(self, task: Any) -> Made:
        """Do a task, which may be packed."""

    def packed(self, task: Any) -> Any:
        """Reduce a task to the parts that another process needs."""

    def rehearse(self, task: Any) -> None:
        """Do a small part of a task in this process, so that what it needs is compiled once."""

    def set_up_worker(self) -> None:
        """Prepare a worker process for this job."""


class Workers(ABC):
    """Do tasks and give the results in task order.

    Attributes
    ----------
    n_jobs : how many tasks are done at once

    Examples
    --------
    Workers that count the tasks they did:

    >>> import shapband as sb
    >>> class Counting(sb.Workers):
    ...     n_jobs, done = 1, 0
    ...     def map(self, job, tasks, n_tasks):
    ...         for task in tasks:
    ...             self.done += 1
    ...             yield job(task)
    >>> task, workers = sb.datasets.wine(), Counting()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20,
    ...                      seed=0, chunk_size=5, workers=workers)
    >>> workers.done
    5
    """

    n_jobs: int

    @abstractmethod
    def map(self, job: Job[Answer], tasks: Iterator[Any], n_tasks: int) -> Iterator[Answer]:
        """Apply the job to every task; there are `n_tasks` of them."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *raised: object) -> None:  # noqa: B027  most workers have nothing to end
        """Stop the workers, if any were started."""


def in_order(
    submit: Callable[[Any], Any],
    result: Callable[[Any], Answer],
    cancel: Callable[[Any], object],
    tasks: Iterator[Any],
    ahead: int,
) -> Iterator[Answer]:
    """Submit up to `ahead` tasks before the oldest result, and yield results in task order.

    If the generator is closed early, tasks that still wait are cancelled.
    """
    waiting: deque[Any] = deque()
    try:
        for task in tasks:
            waiting.append(submit(task))
            if len(waiting) > ahead:
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())
    finally:
        for left in waiting:
            cancel(left)
