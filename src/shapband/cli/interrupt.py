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


@contextmanager
def interruptible(farewell: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C, SIGTERM or SIGHUP raise KeyboardInterrupt, and a second one end the process.

    After the first, requests under way are completed, because they may be paid for. The second
    does no harm to a run directory, like any other crash; it prints the line of `farewell`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
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

    before = {one: signal.signal(one, in_order) for one in _SIGNALS}
    try:
        yield
    finally:
        notice.cancel()
        for one, handler in before.items():
            signal.signal(one, handler)


_NOTICE = "requests under way are finished first; Ctrl-C again leaves at once"


def _say(line: str) -> None:
    with suppress(OSError):  # after SIGHUP the terminal may be gone
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
