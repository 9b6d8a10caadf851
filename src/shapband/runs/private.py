"""Files that only their owner can read, for any umask."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def open_private(path: Path, flags: int) -> int:
    """Open a file, or make it, with mode 0600. A symbolic link is refused.

    The directory of a run may come from elsewhere, and a link in it could name any file.
    """
    handle = os.open(path, flags | os.O_NOFOLLOW, 0o600)
    if flags & os.O_CREAT:
        with suppress(PermissionError):  # the file existed before and has another owner
            os.fchmod(handle, 0o600)
    return handle
