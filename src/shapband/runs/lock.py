"""One process at a time in a run directory."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shapband.errors import RunError, RunLocked
from shapband.runs.private import open_private

NAME = "lock"
_PATIENCE = 1.0  # seconds; readers hold the lock only for an instant
_PAUSE = 0.02


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Hold the run's lock, or raise RunLocked.

    The operating system releases it when the process ends, however it ends, so no stale lock is
    ever left behind.
    """
    handle = _open(run, os.O_RDWR | os.O_CREAT)
    try:
        _wait(handle, run)
        yield
    finally:
        os.close(handle)


def is_locked(run: Path) -> bool:
    """Whether a process is at work in the run."""
    if not (run / NAME).exists():
        return False
    handle = _open(run, os.O_RDONLY)
    try:
        return not _try(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _open(run: Path, flags: int) -> int:
    try:
        return open_private(run / NAME, flags)
    except OSError as cause:
        raise RunError(f"the run {run} cannot be locked: {cause.strerror}") from cause


def _wait(handle: int, run: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while not _try(handle, fcntl.LOCK_EX):
        if time.monotonic() > until:
            raise RunLocked(
                f"another process is at work in the run {run}: wait for it to end, or end it"
            )
        time.sleep(_PAUSE)


def _try(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
