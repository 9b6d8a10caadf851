"""A lock that lets only one process at a time work in a run directory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shapband.errors import RunError, RunLocked
from shapband.runs.filelocks import can_lock_ranges, try_lock, unlock
from shapband.runs.private import open_private

NAME = "lock"
_PATIENCE = 1.0  # seconds to wait for the lock, which readers hold only for an instant
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
        try:
            yield
        finally:
            unlock(handle)
    finally:
        os.close(handle)


def is_locked(run: Path) -> bool:
    """Whether a process is at work in the run."""
    if not (run / NAME).exists():
        return False
    handle = _open(run, os.O_RDONLY)
    try:
        if not _try(handle, run, shared=True):
            return True
        unlock(handle)
        return False
    finally:
        os.close(handle)


def can_lock(run: Path) -> bool:
    """Whether the file system locks ranges of files, as SQLite does; True if that is not known.

    This locks the lock file, not the database, because closing a file releases all locks that
    this process has on its ranges, including locks of SQLite.
    """
    try:
        handle = open_private(run / NAME, os.O_RDONLY)
    except OSError:
        return True
    try:
        return can_lock_ranges(handle)
    finally:
        os.close(handle)


def _open(run: Path, flags: int) -> int:
    try:
        return open_private(run / NAME, flags)
    except OSError as cause:
        raise RunError(f"the run {run} cannot be locked: {cause.strerror}") from cause


def _wait(handle: int, run: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while not _try(handle, run, shared=False):
        if time.monotonic() > until:
            raise RunLocked(
                f"another process is at work in the run {run}: wait for it to end, or end it"
            )
        time.sleep(_PAUSE)


def _try(handle: int, run: Path, *, shared: bool) -> bool:
    try:
        return try_lock(handle, shared=shared)
    except OSError as cause:
        raise RunError(
            f"the run {run} cannot be locked ({cause.strerror}), which some network and container "
            "file systems do not support: keep the run in a directory on a local disk, or copy it "
            "there"
        ) from cause
