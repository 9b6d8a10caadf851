"""Compiling: where compiled kernels are stored, and the line that says that it takes a while."""

from __future__ import annotations

import importlib
import os
import stat
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core import config, event

_NO_PLACE = "no locator available"  # numba: neither the package nor the home can be written to


def import_compiled(name: str) -> ModuleType:
    """Import a module of compiled kernels; if they cannot be stored, store them elsewhere."""
    _announce_once()
    module = f"shapband.kernels.compiled.{name}"
    try:
        return importlib.import_module(module)
    except RuntimeError as cause:
        if _NO_PLACE not in str(cause):
            raise
        _store_in_temporary_directory()
    return importlib.import_module(module)


class _Announcer(event.Listener):
    """Says once on standard error that kernels are being compiled.

    numba tells this listener when it really compiles, not when it finds compiled code.
    """

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: Any) -> None:
        compiled = event.data["dispatcher"].py_func.__module__
        if not self._told and compiled.startswith("shapband."):
            self._told = True
            sys.stderr.write("shapband: compiling kernels, once for this version (about 10 s)\n")
            sys.stderr.flush()

    def on_end(self, event: Any) -> None:
        """Say nothing: what follows shows that it is done."""


_announcer = _Announcer()


@cache
def _announce_once() -> None:
    event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]


def keep_silent() -> None:
    """Announce nothing, in a process whose parent has announced it."""
    _announcer._told = True


def _store_in_temporary_directory() -> None:
    place = temporary_directory()
    config.CACHE_DIR = str(place)  # type: ignore[attr-defined]
    os.environ["NUMBA_CACHE_DIR"] = str(place)  # for worker processes
    warnings.warn(
        f"compiled kernels are stored in {place}, because neither the package directory nor the "
        "home directory can be written to: set NUMBA_CACHE_DIR to a directory that stays",
        stacklevel=2,
    )


def temporary_directory() -> Path:
    """A directory that this user alone can write to, the same for the next process if possible.

    Compiled code is read from it, so a directory of somebody else must not be used.
    """
    place = Path(tempfile.gettempdir()) / f"shapband-{os.getuid()}"
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="shapband-"))
    private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    if private and found.st_uid == os.getuid() and os.access(place, os.W_OK):
        return place
    return Path(tempfile.mkdtemp(prefix="shapband-"))
