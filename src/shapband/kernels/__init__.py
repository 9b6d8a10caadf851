"""Inner loops: arrays in, arrays out; no policy and no validation.

`plain` and `compiled` hold the same functions under the same names. `load` picks one: compiled
where numba is installed, plain where it is missing or the environment says
``SHAPBAND_COMPILED=0``. Both give the same rows bit for bit, and the same values to 1e-10
where a game is well posed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from functools import cache
from types import ModuleType


def use_compiled() -> bool:
    """Whether the compiled kernels are in use."""
    return os.environ.get("SHAPBAND_COMPILED", "1") != "0" and (
        importlib.util.find_spec("numba") is not None
    )


@cache
def load(name: str) -> ModuleType:
    """Give the module of kernels called `name`, compiled if possible; decided once."""
    room = "compiled" if use_compiled() else "plain"
    return importlib.import_module(f"shapband.kernels.{room}.{name}")
