"""Threads that wait for sources, each request within a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from shapband.errors import SourceError

Answer = TypeVar("Answer")
_LONGEST_WAIT = 1.0  # seconds between two checks of the pending requests


class Overdue(Exception):
    """The answer to a request came after its time limit and is not used."""


@dataclass(eq=False)
class _Task:
    """A call in a thread, and the time at which its current request began."""

    call: Callable[[], Any]
    future: Future[Any]
    since: float | None = None
    name: str = ""
    give_up: Callable[[str], None] | None = None


class RequestThreads:
    """A pool of daemon threads, so that a source that never answers cannot block the exit.

    Parameters
    ----------
    count : threads
    timeout : seconds that a request may take
    """

    def __init__(self, count: int, timeout: float) -> None:
        self._timeout = timeout
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._running: dict[int, _Task] = {}
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, call: Callable[[], Answer]) -> Future[Answer]:
        """Call a function in a thread; the function makes its requests inside `request`."""
        task = _Task(call, Future())
        self._tasks.put(task)
        return task.future

    @contextmanager
    def request(self, name: str, give_up: Callable[[str], None]) -> Iterator[None]:
        """Apply the time limit to a request; if it is exceeded, call `give_up` with the reason."""
        task = self._running.get(threading.get_ident())
        if task is None:  # in the caller's thread, which the user can interrupt
            yield
            return
        task.name, task.give_up, task.since = name, give_up, time.monotonic()
        try:
            yield
        finally:
            task.since = None
            if task.future.done():
                raise Overdue

    def wait(self, futures: Sequence[Future[Any]]) -> None:
        """Wait until every call has ended or has exceeded the time limit of a request."""
        pending = set(futures)
        while pending:
            _, pending = wait(pending, timeout=min(_LONGEST_WAIT, self._timeout / 4))
            self._give_up_overdue()

    def close(self) -> None:
        """Start no further call, and wait for the running ones."""
        for task in self._waiting():
            task.future.cancel()
        for _ in self._threads:
            self._tasks.put(None)
        self.wait([task.future for task in list(self._running.values())])

    def _waiting(self) -> Iterator[_Task]:
        """Take the calls that have not begun out of the queue."""
        try:
            while True:
                task = self._tasks.get_nowait()
                if task is not None:
                    yield task
        except Empty:
            return

    def _give_up_overdue(self) -> None:
        now = time.monotonic()
        for task in list(self._running.values()):
            since, give_up = task.since, task.give_up
            if since is None or give_up is None or now - since < self._timeout:
                continue
            if not task.future.done():
                reason = f"no answer within {self._timeout:g} seconds"
                error = SourceError(f"provider {task.name!r}: {reason}")
                task.future.set_exception(error)
                for other in self._waiting():  # perhaps no thread is left that would begin them
                    other.future.set_exception(error)
                give_up(reason)

    def _work(self) -> None:
        here = threading.get_ident()
        while (task := self._tasks.get()) is not None:
            if not task.future.set_running_or_notify_cancel():
                continue
            self._running[here] = task
            try:
                result = task.call()
                if not task.future.done():
                    task.future.set_result(result)
            except BaseException as error:  # noqa: BLE001  raised where the result is awaited
                if not task.future.done():
                    task.future.set_exception(error)
            finally:
                del self._running[here]
