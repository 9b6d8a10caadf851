"""Inner loops: functions of arrays that return arrays and do not check their arguments.

`plain` and `compiled` hold the same functions under the same names. `load` returns the compiled
modules. The plain modules are a readable reference in NumPy: tests compare the two, and
``SHAPBAND_COMPILED=0`` in the environment selects the plain modules, to debug without numba.
Both give identical rows, and the same values to 1e-10 if a game is well posed. Their last bits
differ, so small valuations use the compiled ones too: they keep their bits when they are continued
to more games.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from types import ModuleType


@cache
def load(name: str) -> ModuleType:
    """Return the kernel module `name`: compiled, or plain if ``SHAPBAND_COMPILED`` is 0."""
    if os.environ.get("SHAPBAND_COMPILED") == "0":
        return importlib.import_module(f"shapband.kernels.plain.{name}")
    from shapband.kernels.compiling import import_compiled

    return import_compiled(name)
