"""Inner loops: functions of arrays that return arrays and do not check their arguments.

`compiled` holds the kernels, and `load` returns one of its modules. Each has a readable twin in
NumPy in `tests/reference`; both give identical rows, and the same values to 1e-10 if a game is well
posed. `careful` holds slow fits in NumPy for coalitions whose digits the compiled kernels would
lose. To step through a kernel in a debugger, set numba's ``NUMBA_DISABLE_JIT=1``.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType


@cache
def load(name: str) -> ModuleType:
    """Return the kernel module `name`, compiled when it is first called."""
    from shapband.kernels.compiling import import_compiled  # loads numba, which not all calls need

    return import_compiled(name)
