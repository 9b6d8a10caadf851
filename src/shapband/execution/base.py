"""The door every kind of workers has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Protocol, TypeVar

Answer = TypeVar("Answer")


class Task(Protocol):
    """Something that can be done here, or packed and sent away."""

    def packed(self) -> Any:
        """The same task, with only what it needs."""


class Workers(ABC):
    """Do tasks, and give the results in their order.

    Attributes
    ----------
    n_jobs : how many tasks are done at once
    """

    n_jobs: int

    @abstractmethod
    def map(
        self, job: Callable[[Any], Answer], tasks: Iterator[Any], n_tasks: int
    ) -> Iterator[Answer]:
        """Apply the job to every task; there are `n_tasks` of them."""

    def __enter__(self) -> Workers:
        return self

    def __exit__(  # noqa: B027  most workers have nothing to end
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is left running, unless a kind of workers says so."""


def in_order(
    submit: Callable[[Any], Any],
    result: Callable[[Any], Answer],
    tasks: Iterator[Any],
    ahead: int,
) -> Iterator[Answer]:
    """Submit tasks up to `ahead` of the oldest result, and give results in task order."""
    waiting: deque[Any] = deque()
    for task in tasks:
        waiting.append(submit(task))
        if len(waiting) > ahead:
            yield result(waiting.popleft())
    while waiting:
        yield result(waiting.popleft())
