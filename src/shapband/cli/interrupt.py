"""Signals that end a run: the first one in good order, the second one at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 130  # the exit code of a program ended by Ctrl-C
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 1.0  # seconds before the user is told what is waited for


class Received:
    """The signals that came while a block was interruptible."""

    def __init__(self, pipe: int = -1) -> None:
        self._pipe = pipe
        self._numbers: tuple[int, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Their numbers, in the order in which they came."""
        if self._pipe >= 0:
            with suppress(BlockingIOError):  # the pipe is empty
                self._numbers += tuple(os.read(self._pipe, 1_000))
        return self._numbers

    def close(self) -> None:
        """Read the last signals, and close the pipe."""
        pipe, _, self._pipe = self._pipe, self.numbers, -1
        os.close(pipe)


@contextmanager
def interruptible(farewell: Callable[[], str]) -> Iterator[Received]:
    """Let Ctrl-C, SIGTERM or SIGHUP raise KeyboardInterrupt, and a second one end the process.

    After the first, requests under way are completed, because they may be paid for. The second
    does no harm to a run directory, like any other crash; it prints the line of `farewell`.

    KeyboardInterrupt is raised at the latest at the end: code of others may have caught it before,
    Python drops exceptions in finalizers, and a signal may come after the last line. So a process
    that was told to end never ends as if it had not been told.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Received()
        return
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    received = Received(reading)
    notice = threading.Timer(_PATIENCE, _say, [_NOTICE])
    notice.daemon = True

    def at_once(number: int, frame: FrameType | None) -> None:
        del number, frame
        _say(farewell())
        os._exit(INTERRUPTED)

    def in_order(number: int, frame: FrameType | None) -> None:
        del number, frame
        for one in _SIGNALS:
            signal.signal(one, at_once)
        notice.start()
        raise KeyboardInterrupt

    # Python writes the number of every signal to this pipe when it comes, before its handler runs.
    woken = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    before = {one: signal.signal(one, in_order) for one in _SIGNALS}
    try:
        yield received
    finally:
        notice.cancel()
        for one, handler in before.items():
            signal.signal(one, handler)
        signal.set_wakeup_fd(woken)
        received.close()
        os.close(writing)
        if received.numbers and not isinstance(sys.exception(), KeyboardInterrupt):
            raise KeyboardInterrupt


_NOTICE = "requests under way are finished first; Ctrl-C again leaves at once"


def _say(line: str) -> None:
    with suppress(OSError):  # after SIGHUP the terminal may be gone
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
