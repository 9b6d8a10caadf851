"""Inner loops: arrays in, arrays out; no policy and no validation.

`plain` and `compiled` hold the same functions under the same names. `load` gives the compiled
ones. The plain ones are their readable reference in NumPy: tests compare the two, and
``SHAPBAND_COMPILED=0`` in the environment makes the library use them, to debug without numba.
Both give the same rows bit for bit, and the same values to 1e-10 where a game is well posed.
"""

from __future__ import annotations

import importlib
import os
from functools import cache
from types import ModuleType


@cache
def load(name: str) -> ModuleType:
    """Give the module of kernels called `name`; which kind is decided once."""
    kind = "plain" if os.environ.get("SHAPBAND_COMPILED") == "0" else "compiled"
    return importlib.import_module(f"shapband.kernels.{kind}.{name}")
