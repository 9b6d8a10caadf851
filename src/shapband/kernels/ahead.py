"""Compile the kernels of a valuation before its first game, in two processes if that saves time.

A kernel is compiled by its first call, if it is not stored yet. `compile_ahead` compiles kernels
whose names are known earlier: a second process compiles and stores some of them, while this process
compiles the others. Names and types only save time. A kernel that is missing here, or is listed
with other types than it is called with, is compiled by its first call, as all other kernels are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shapband import kernels
from shapband.machine import usable_cores

_SUMS, _FORM = "f8[:, :, ::1], f8[::1]", "f8[::1], f8[::1], f8, f8[::1], f8"
TYPES = {
    "arcs.solve_arcs": "(i8[:, :, ::1], i8[:, :, ::1], f8[:, ::1], i8[:, :, ::1], f8[::1], f8, "
    "f8[::1], f8[::1], UniTuple(f8, 2), b1)",
    "linear.linear_rows": f"({_SUMS}, u1[:, ::1], i8[::1], {_FORM})",
    "linear.linear_table": f"({_SUMS}, {_FORM})",
    "linear_arcs.linear_arcs": f"({_SUMS}, i8[:, :, ::1], i8[:, ::1], {_FORM})",
    "linear.harmless": "(f8[:, :, ::1], f8[::1], f8, i8, f8)",
    "linear.gram_summaries": "(f8[:, ::1], f8[::1], i8[:, ::1], f8[::1], f8, f8[:, :, ::1], i8)",
    "linear.recentred": "(f8[:, :, ::1], f8[::1], f8[::1])",
    "shapley.weigh": "(f8[:, ::1], f8[::1], f8[::1])",
    "shuffle.first_of_shuffle": "(u8[:, ::1], i8)",
}
SOLVED = {"Exact": ("shapley.weigh",), "Arcs": ("arcs.solve_arcs",)}  # by the name of the solver
# Starting a second process and importing numba take as long as this much work of `WORK`.
_START = 8.0
_PATIENCE = 10.0  # seconds to wait for the second process beyond three times the expected time
_LOOK = 0.05  # seconds between two looks at the second process
_CODE = "import sys; from shapband.kernels.ahead import compile_all; compile_all(sys.argv[1:])"


def compile_ahead(names: Iterable[str]) -> None:
    """Compile those of these kernels that are neither stored nor compiled yet.

    Parameters
    ----------
    names : keys of `TYPES`: a module that `load` returns, and a kernel in it
    """
    missing = [name for name in names if _is_missing(name)]
    if not missing:
        return
    from shapband.kernels.compiling import ANNOUNCER, work_of  # loads numba, as missing kernels do

    work = {name: work_of(_kernel(name).py_func) for name in missing}
    own, others = split(work, processes=_usable_processes())
    longest = sum(work[name] for name in own)
    if others:
        longest = max(longest, _START + sum(work[name] for name in others))
    with _second_process(others) as process, ANNOUNCER.plan(len(missing), longest) as progress:
        compile_all(own)
        if process is not None:
            limit = time.perf_counter() + 3 * progress.seconds + _PATIENCE
            while process.poll() is None and time.perf_counter() < limit:
                progress.show()
                time.sleep(_LOOK)


def split(work: dict[str, float], processes: int) -> tuple[list[str], list[str]]:
    """Divide kernels between this process and another one, so that both end as soon as possible.

    The kernels with the most work are assigned first, each to the process that will end it first.

    Examples
    --------
    >>> split({"small": 3.0, "large": 30.0, "middle": 12.0}, processes=2)
    (['large'], ['middle', 'small'])
    >>> split({"small": 3.0, "large": 30.0, "middle": 12.0}, processes=1)
    (['large', 'middle', 'small'], [])
    """
    parts: tuple[list[str], list[str]] = [], []
    ends = [0.0, _START if processes > 1 else float("inf")]
    for name in sorted(work, key=lambda name: (-work[name], name)):
        at = 0 if ends[0] <= ends[1] else 1
        parts[at].append(name)
        ends[at] += work[name]
    return parts


def compile_all(names: Sequence[str]) -> None:
    """Compile kernels in this process, and store them."""
    from numba.core.sigutils import normalize_signature

    for name in names:
        types, _ = normalize_signature(TYPES[name])  # type: ignore[no-untyped-call]
        _kernel(name).compile(tuple(types))


def _kernel(name: str) -> Any:
    module, function = name.split(".")
    return getattr(kernels.load(module), function)


def _is_missing(name: str) -> bool:
    """Whether a kernel must be compiled; its readable twin, a plain function, need not be."""
    kernel = _kernel(name)
    if not hasattr(kernel, "signatures") or kernel.signatures:
        return False
    return not Path(kernel._cache._cache_file._index_path).exists()


def _usable_processes() -> int:
    """2 if a second process can run beside this one, and store kernels where this one looks."""
    from shapband.kernels.storing import is_shared

    # The executable of a frozen application is the application.
    python = bool(sys.executable) and not getattr(sys, "frozen", False)
    return 2 if usable_cores() > 1 and python and is_shared() else 1


@contextmanager
def _second_process(names: Sequence[str]) -> Iterator[subprocess.Popen[bytes] | None]:
    """A process that compiles kernels; it is ended with the context.

    It is a new process and no fork, because this process may have threads. If it fails, the
    kernels are compiled here when they are called.
    """
    if not names:
        yield None
        return
    from shapband.kernels.storing import directory

    path = os.pathsep.join(place for place in sys.path if place)
    try:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-c", _CODE, *names],
            env=os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(directory().parents[1])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        yield None
        return
    try:
        yield process
    finally:
        process.kill()  # does nothing to a process that has ended
        process.wait()
