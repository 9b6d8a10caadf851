"""A memory of the runs that this user began on this machine.

A configuration may name objects to import and call, so resuming a run executes code that its
directory names. This is allowed for the user's own runs. For a directory that came from elsewhere
the user must allow it with --trust. The digests of the manifests of the user's own runs are stored
in the user's state directory.
"""

from __future__ import annotations

import os
from pathlib import Path

from shapband.errors import RunError


def remember(digest: str) -> None:
    """Remember that this user began the run with this manifest."""
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / digest).touch(mode=0o600)
    except OSError:
        return  # without this memory, resuming the run needs --trust


def check_trusted(digest: str, objects: list[str], run: Path) -> None:
    """Raise RunError if resuming a run would call objects, and the user did not begin this run."""
    if objects and not (_folder() / digest).exists():
        raise RunError(
            f"the run {run} was not begun by you on this machine, and resuming it calls "
            f"{', '.join(objects)}: read its configuration, then resume it with --trust"
        )


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "shapband" / "runs"
