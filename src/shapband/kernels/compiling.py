"""Import of compiled kernels, with lines on standard error if they must be compiled first."""

from __future__ import annotations

import importlib
import sys
import time
from functools import cache
from types import ModuleType
from typing import Any

from numba.core import event

from shapband.kernels.storing import use_files_of_ones_own

_PREFIX = "shapband.kernels.compiled."
# Work to compile each kernel with all that it calls, measured as tenths of seconds of processor
# time. All others take LITTLE_WORK.
WORK = {
    "arcs.solve_arcs": 40,
    "bayes._rows": 45,
    "bayes.class_moments": 10,
    "class_scores.score_of": 38,
    "discriminant._rows": 170,
    "discriminant_sums.class_scatter": 75,
    "linear.linear_rows": 14,
    "linear.linear_table": 43,
    "linear_arcs.linear_arcs": 52,
    "linear_sums.gram_summaries": 10,
    "linear_sums.recentred": 11,
    "logistic._values": 160,
    "neighbor_lists._scan_spaces": 14,
    "neighbor_scans.scan_points": 14,
    "neighbors._losses": 54,
    "network.loss_and_gradient": 31,
}
LITTLE_WORK = 5
PACE = 0.06  # seconds per unit of work until enough kernels were compiled to measure it
_SAMPLE = 10.0  # work that is enough to measure the pace


def import_compiled(name: str) -> ModuleType:
    """Import a module of compiled kernels; say so if they must be compiled first."""
    _announce_once()
    module = importlib.import_module(_PREFIX + name)
    use_files_of_ones_own(sys.modules[name] for name in list(sys.modules) if _PREFIX in name)
    return module


class Announcer(event.Listener):
    """Says on standard error which kernel is being compiled, and how long it will take.

    numba calls this listener only when it compiles, not when it loads stored machine code. It calls
    it for every function that a kernel calls, too. Only the kernel itself is announced, if it is
    the first or takes long. On a terminal the lines replace each other, and the last is erased.
    """

    def __init__(self) -> None:
        self.silent = False
        self._kernels: list[str] = []  # being compiled: a kernel, and what it calls
        self._began: float | None = None
        self._work, self._seconds = 0.0, 0.0  # of all kernels that were compiled

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        self._kernels.append(f"{function.__module__}.{function.__name__}".removeprefix(_PREFIX))
        if len(self._kernels) == 1 and function.__module__.startswith(_PREFIX):
            self._began = time.perf_counter()
            if self._kernels[0] in WORK or not self._work:
                self._write(_line(self._kernels[0], self._pace()))

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        kernel = self._kernels.pop()
        if not self._kernels and self._began is not None:
            self._work += WORK.get(kernel, LITTLE_WORK)
            self._seconds += time.perf_counter() - self._began
            self._began = None
            self._write("")

    def _pace(self) -> float:
        """Seconds per unit of work, from the kernels compiled so far if they were a fair sample."""
        return self._seconds / self._work if self._work >= _SAMPLE else PACE

    def _write(self, text: str) -> None:
        if self.silent:
            return
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{text}")
        elif text:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def _line(kernel: str, pace: float) -> str:
    seconds = max(1, round(WORK.get(kernel, LITTLE_WORK) * pace))
    return f"shapband: compiling {kernel}, once for this version (about {seconds} s)"


_announcer = Announcer()


@cache
def _announce_once() -> None:
    event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]


def keep_silent() -> None:
    """Announce nothing in this process, because its parent has announced the compilation."""
    _announcer.silent = True
