"""Threads that wait for sources, and how many of them may ask the same source."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue

from shapband.access.deliveries import Order


class RequestThreads:
    """Daemon threads, so that a source that never answers cannot block the exit.

    Parameters
    ----------
    most : largest number of threads; a thread is started when all others are busy
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._idle: deque[None] = deque()  # one for each thread that is not busy
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def submit(self, call: Callable[[], None]) -> None:
        """Call a function in a thread. It must not raise."""
        self._calls.put(call)
        if self._count < self._most and not self._one_was_idle():
            self._start()

    def replace_one(self) -> None:
        """Allow one more thread, because the call of another one may never return."""
        self._most += 1
        if not self._calls.empty():
            self._start()

    def close(self) -> None:
        """End the threads, each after its call."""
        for _ in range(self._count):
            self._calls.put(None)

    def _start(self) -> None:
        threading.Thread(target=self._work, daemon=True).start()
        self._count += 1

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            self._idle.append(None)

    def _one_was_idle(self) -> bool:
        try:
            self._idle.pop()
        except IndexError:
            return False
        return True


def gates_of(orders: Sequence[Order]) -> dict[int, threading.Semaphore]:
    """Semaphores that limit the requests to sources that several providers share.

    A source gets no more requests than it answers at once. Sources are keyed by their `id`, because
    a class of the user need not be hashable.
    """
    sources = [order.provider.source for order in orders]
    counts = Counter(id(source) for source in sources)
    return {
        id(source): threading.Semaphore(source.concurrent)
        for source in sources
        if counts[id(source)] > 1
    }
