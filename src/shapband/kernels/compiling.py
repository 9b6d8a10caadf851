"""Import of compiled kernels, with a line on standard error if they must be compiled first."""

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

    numba calls this listener only when it compiles, not when it loads stored machine code.
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
        """Say nothing: the output that follows shows that compiling has ended."""


_announcer = _Announcer()


@cache
def _announce_once() -> None:
    event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]


def keep_silent() -> None:
    """Announce nothing in this process, because its parent has announced the compilation."""
    _announcer._told = True
