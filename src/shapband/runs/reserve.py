"""Disk space set aside, so that paid records can be stored even when the disk is full."""

from __future__ import annotations

import os
from pathlib import Path

from shapband.runs import database
from shapband.runs.private import open_private

_PART = 1 << 20  # bytes that are written at once
_LEAST = 8_000_000  # bytes that are always set aside, for the ledger and the manifest


class Reserve:
    """A file that is deleted when its space is needed."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._path = run / "reserve"
        self.held = 0  # bytes set aside

    def hold(self, size: int) -> None:
        """Set space aside for `size` bytes in addition to the minimum, or raise RunFull."""
        if self.covers(size):
            return
        wanted = _LEAST + size
        with database.errors(self._run):
            handle = open_private(self._path, os.O_RDWR | os.O_CREAT)
            try:
                try:
                    _set_aside(handle, wanted)
                finally:
                    os.close(handle)  # Windows does not delete a file that is open
            except OSError:
                self.give_up()
                raise
        self.held = wanted

    def covers(self, size: int) -> bool:
        """Whether enough space is set aside for `size` bytes."""
        return _LEAST + size <= self.held

    def give_up(self) -> None:
        """Release the space."""
        self._path.unlink(missing_ok=True)
        self.held = 0


def _set_aside(handle: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
        return
    left = size  # macOS and Windows have no fallocate: write zeros instead
    while left:
        left -= os.write(handle, bytes(min(left, _PART)))
