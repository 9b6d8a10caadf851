"""Files that only their owner can read, for any umask."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path


def open_private(path: Path, flags: int) -> int:
    """Open a file, or make it, with mode 0600. A symbolic link is refused.

    The directory of a run may come from elsewhere, and a link in it could name any file. Windows
    cannot refuse links while it opens a file, so there the path is looked at before. It has no
    modes either: a file is as private as the directory it is in.
    """
    if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    if flags & os.O_CREAT and hasattr(os, "fchmod"):
        with suppress(PermissionError):  # the file existed before and has another owner
            os.fchmod(handle, 0o600)
    return handle
