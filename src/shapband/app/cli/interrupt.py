"""Signals that end a run: the first one gracefully, the second one immediately."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 130  # the exit code of a program ended by Ctrl-C
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 1.0  # seconds until a line says that requests are still under way
_NOTICE = "requests under way are finished first; Ctrl-C again leaves at once"
_END = 0  # written to the pipe to end the thread; no signal has this number


class Received:
    """The signals that arrive while a block is interruptible; the second one ends the process.

    Python writes the number of every signal to a pipe when the signal arrives. A thread reads the
    numbers, so that the second signal ends the process even while the main thread waits in code of
    another language, such as a database driver, and runs no signal handler.

    Attributes
    ----------
    numbers : numbers of the signals that arrived, in their order
    pipe : end of the pipe that Python writes these numbers to
    """

    def __init__(self, farewell: Callable[[], str]) -> None:
        self.numbers: list[int] = []
        self._farewell = farewell
        self._reading, self.pipe = os.pipe()
        os.set_blocking(self.pipe, False)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait until all signals so far are read."""
        os.write(self.pipe, bytes([_END]))
        self._thread.join()
        os.close(self._reading)
        os.close(self.pipe)

    def _listen(self) -> None:
        coming, noticed = select.poll(), False
        coming.register(self._reading, select.POLLIN)
        while True:
            if not coming.poll(1000 * _PATIENCE if self.numbers and not noticed else None):
                _say(_NOTICE)
                noticed = True
                continue
            (number,) = os.read(self._reading, 1)
            if number == _END:
                return
            self.numbers.append(number)
            if len(self.numbers) > 1:
                _say(self._farewell())
                os._exit(INTERRUPTED)


@contextmanager
def interruptible(farewell: Callable[[], str]) -> Iterator[Received | None]:
    """Let Ctrl-C, SIGTERM or SIGHUP raise KeyboardInterrupt, and a second one end the process.

    After the first signal, requests under way are completed, because they may be paid for. The
    second signal prints the line of `farewell` and ends the process at once; a run directory
    survives this, as it survives any crash.

    KeyboardInterrupt is raised when the block ends, if not before: other code may have caught an
    earlier KeyboardInterrupt, Python drops exceptions in finalizers, and a signal may arrive after
    the last line. So a process that received a signal never ends with the exit code 0.
    """
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    received = Received(farewell)
    woken = signal.set_wakeup_fd(received.pipe, warn_on_full_buffer=False)
    before = {one: signal.signal(one, _interrupt) for one in _SIGNALS}
    try:
        yield received
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        signal.set_wakeup_fd(woken)
        received.close()
        if received.numbers and not isinstance(sys.exception(), KeyboardInterrupt):
            raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _say(line: str) -> None:
    with suppress(OSError):  # after SIGHUP the terminal may be gone
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
