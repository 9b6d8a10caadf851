"""Compiling: the line that says that it takes a while."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from types import ModuleType
from typing import Any

from numba.core import event

from shapband.kernels.storing import use_files_of_ones_own


def import_compiled(name: str) -> ModuleType:
    """Import a module of compiled kernels; say so if they must be compiled first."""
    _announce_once()
    kernels = "shapband.kernels.compiled."
    module = importlib.import_module(kernels + name)
    use_files_of_ones_own(sys.modules[name] for name in list(sys.modules) if kernels in name)
    return module


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
