"""Threads that wait for sources."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue


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
            threading.Thread(target=self._work, daemon=True).start()
            self._count += 1

    def close(self) -> None:
        """End the threads, each after its call."""
        for _ in range(self._count):
            self._calls.put(None)

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
