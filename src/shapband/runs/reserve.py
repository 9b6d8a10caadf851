"""Disk space set aside, so that what was paid for can be stored when the disk is full."""

from __future__ import annotations

import os
from pathlib import Path

from shapband.runs import database

_BYTES = 8_000_000


class Reserve:
    """A file that is deleted when its space is needed."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._path = run / "reserve"
        self.is_held = False

    def hold(self) -> None:
        """Set the space aside, or raise RunFull."""
        if self.is_held:
            return
        with database.errors(self._run):
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                _set_aside(handle)
            except OSError:
                self.give_up()
                raise
            finally:
                os.close(handle)
        self.is_held = True

    def give_up(self) -> None:
        """Release the space."""
        self._path.unlink(missing_ok=True)
        self.is_held = False


def _set_aside(handle: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, _BYTES)
        return
    left = _BYTES  # macOS has no such call: writing zeros takes the space as well
    while left:
        left -= os.write(handle, bytes(left))
