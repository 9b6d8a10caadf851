"""Which runs this user began on this machine.

A configuration may name objects to import and call, so resuming a run executes what its directory
says. A run of one's own may do that; a directory that came from elsewhere needs the user's word.
The manifests of one's own runs are remembered, by their digest, in the user's state directory.
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
        return  # then resuming asks for --trust, which is safe


def check_trusted(digest: str, objects: list[str], run: Path) -> None:
    """Raise RunError if resuming a run would call objects, and it is not known as one's own."""
    if objects and not (_folder() / digest).exists():
        raise RunError(
            f"the run {run} was not begun by you on this machine, and resuming it calls "
            f"{', '.join(objects)}: read its configuration, then resume it with --trust"
        )


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "shapband" / "runs"
