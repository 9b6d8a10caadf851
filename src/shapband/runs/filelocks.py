"""Locks of open files, which the operating system releases when the process ends.

Linux and macOS have `fcntl`, Windows has `msvcrt`. Neither leaves a lock behind, however the
process ends, so there is no rule for stale locks.
"""

from __future__ import annotations

import errno
import importlib
from typing import Any

# Imported by name, because type checkers know each module on its own platform only.
fcntl: Any
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # Windows
    fcntl = None


def try_lock(handle: int, *, shared: bool) -> bool:
    """Lock an open file; return False if another process holds a lock that excludes this one.

    Windows knows no shared locks, so a shared lock excludes others there for as long as it is held.
    """
    if fcntl is None:
        return _try_on_windows(handle)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(handle: int) -> None:
    """Release the lock; to be called before the file is closed.

    Windows may take a while to release the locks of a file that is closed while it is locked.
    """
    if fcntl is None:
        msvcrt: Any = importlib.import_module("msvcrt")
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_UN)


def can_lock_ranges(handle: int) -> bool:
    """Whether the file system locks ranges of files, as SQLite does; True if that is not known."""
    if fcntl is None:
        return True
    try:
        fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as cause:
        return cause.errno in (errno.EAGAIN, errno.EACCES)
    return True


def _try_on_windows(handle: int) -> bool:
    msvcrt: Any = importlib.import_module("msvcrt")
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # one byte, which need not exist
    except PermissionError:
        return False
    return True
