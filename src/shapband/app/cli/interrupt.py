"""Signals that end a run: the first one gracefully, the second one immediately."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

INTERRUPTED = 130  # the exit code of a program ended by Ctrl-C
# Windows has no SIGHUP; it sends SIGBREAK when the terminal is closed, and for Ctrl-Break.
_SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
)
_PATIENCE = 1.0  # seconds until a line says that requests are still under way
_NOTICE = "requests under way are finished first; Ctrl-C again leaves at once"
_END = 0  # sent to end the thread; no signal has this number


class Received:
    """The signals that arrive while a block is interruptible; the second one ends the process.

    Python writes the number of every signal to a socket when the signal arrives. A thread reads the
    numbers, so that the second signal ends the process even while the main thread waits in code of
    another language, such as a database driver, and runs no signal handler. It is a socket and no
    pipe, because Windows cannot wait a limited time for a pipe.

    Attributes
    ----------
    numbers : numbers of the signals that arrived, in their order
    socket : end of the pair of sockets that Python writes these numbers to
    """

    def __init__(self, farewell: Callable[[], str]) -> None:
        self.numbers: list[int] = []
        self._farewell = farewell
        self._reading, self.socket = socket.socketpair()
        self.socket.setblocking(False)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait until all signals so far are read."""
        self.socket.send(bytes([_END]))
        self._thread.join()
        self._reading.close()
        self.socket.close()

    def _listen(self) -> None:
        noticed = False
        while True:
            self._reading.settimeout(_PATIENCE if self.numbers and not noticed else None)
            try:
                (number,) = self._reading.recv(1)
            except TimeoutError:
                _say(_NOTICE)
                noticed = True
                continue
            if number == _END:
                return
            self.numbers.append(number)
            if len(self.numbers) > 1:
                _say(self._farewell())
                os._exit(INTERRUPTED)


@contextmanager
def interruptible(farewell: Callable[[], str]) -> Iterator[Received | None]:
    """Let Ctrl-C and other signals raise KeyboardInterrupt, and a second one end the process.

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
    woken = signal.set_wakeup_fd(received.socket.fileno(), warn_on_full_buffer=False)
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
