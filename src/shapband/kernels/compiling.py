"""Import of compiled kernels, with lines on standard error if they must be compiled first."""

from __future__ import annotations

import gc
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from numba.core import event

from shapband.kernels.storing import use_files_of_ones_own

_PREFIX = "shapband.kernels.compiled."
# Work to compile each kernel with all that it calls, measured as tenths of seconds of processor
# time; `linear_rows` after `linear_arcs`, with which it shares functions. All others take
# LITTLE_WORK.
WORK = {
    "arcs.solve_arcs": 28,
    "bayes._rows": 44,
    "bayes.class_moments": 9,
    "class_scores.score_of": 20,
    "discriminant._rows": 85,
    "discriminant_sums.class_scatter": 24,
    "federated.add_updates": 55,
    "federated_scores._class_scores": 65,
    "federated_scores.error_products": 6,
    "federated_scores.squared_errors": 7,
    "linear.linear_rows": 12,
    "linear.linear_table": 27,
    "linear_arcs.linear_arcs": 30,
    "linear_sums.gram_summaries": 8,
    "linear_sums.recentred": 10,
    "logistic._values": 80,
    "neighbor_lists._scan_spaces": 14,
    "neighbor_scans.scan_points": 14,
    "neighbors._losses": 48,
    "network.loss_and_gradient": 31,
}
LITTLE_WORK = 3.5
PACE = 0.1  # seconds per unit of work until enough kernels were compiled to measure it
_SAMPLE = 10.0  # work that is enough to measure the pace
_BAR = 24  # characters
_REDRAWN = 0.1  # seconds between two changes of the bar


def work_of(function: Callable[..., Any]) -> float:
    """Work to compile the function of a kernel with all that it calls."""
    return WORK.get(_name_of(function), LITTLE_WORK)


def _name_of(function: Callable[..., Any]) -> str:
    """The module and name of a function, such as "shapley.weigh"."""
    return f"{function.__module__}.{function.__name__}".removeprefix(_PREFIX)


def import_compiled(name: str) -> ModuleType:
    """Import a module of compiled kernels; say so if they must be compiled first."""
    _announce_once()
    module = importlib.import_module(_PREFIX + name)
    use_files_of_ones_own(sys.modules[name] for name in list(sys.modules) if _PREFIX in name)
    return module


class Progress:
    """How far the compilation of several kernels is, as a bar on a terminal, or as one line."""

    def __init__(self, announcer: Announcer, kernels: int, work: float) -> None:
        self._announcer, self._work = announcer, work
        self._began = self._shown = time.perf_counter()
        what = "a kernel" if kernels == 1 else f"{kernels} kernels"
        self._what = f"shapband: compiling {what}, once for this version"
        if sys.stderr.isatty():
            self.show(now=True)
        else:
            announcer.write(f"{self._what} (about {max(1, round(self.seconds))} s)")

    @property
    def seconds(self) -> float:
        """Expected seconds from beginning to end, by the pace so far."""
        return self._work * self._announcer.pace()

    def show(self, *, now: bool = False) -> None:
        """Redraw the bar on a terminal, at most every tenth of a second."""
        time_now = time.perf_counter()
        if not sys.stderr.isatty() or (time_now - self._shown < _REDRAWN and not now):
            return
        self._shown = time_now
        part, left = _share_done(time_now - self._began, self.seconds)
        filled = round(part * _BAR)
        bar = "━" * filled + "╌" * (_BAR - filled)
        self._announcer.write(f"{self._what} {bar} about {left} s left")


def _share_done(elapsed: float, expected: float) -> tuple[float, int]:
    """The part of the time that is over, and the full seconds that are left, at least one.

    Examples
    --------
    >>> _share_done(1.0, 4.0)
    (0.25, 3)
    >>> _share_done(9.0, 4.0)
    (0.95, 1)
    """
    return min(elapsed / expected, 0.95), max(1, round(expected - elapsed))


class Announcer(event.Listener):
    """Says on standard error which kernel is being compiled, and how long it will take.

    numba calls this listener only when it compiles, not when it loads stored machine code. It calls
    it for every function that a kernel calls, too. Only the kernel itself is announced, if it is
    the first or takes long. On a terminal the lines replace each other, and the last is erased.

    Garbage is not collected while a kernel is compiled: numba makes so many objects that last until
    its end that looking through them takes a twentieth of the time.
    """

    def __init__(self) -> None:
        self.silent = False
        self._kernels: list[str] = []  # kernels being compiled, each called by the one before it
        self._began: float | None = None
        self._work, self._seconds = 0.0, 0.0  # total of all kernels that were compiled
        self._collects = False
        self._progress: Progress | None = None

    @contextmanager
    def plan(self, kernels: int, work: float) -> Iterator[Progress]:
        """Announce the compilation of kernels, in any process, as one."""
        self._progress = Progress(self, kernels, work)
        try:
            yield self._progress
        finally:
            self._progress = None
            self.write("")

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        self._kernels.append(_name_of(function))
        if len(self._kernels) == 1 and function.__module__.startswith(_PREFIX):
            self._began = time.perf_counter()
            self._collects = gc.isenabled()
            gc.disable()
            if self._progress is None and (self._kernels[0] in WORK or not self._work):
                self.write(_line(self._kernels[0], self.pace()))

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        kernel = self._kernels.pop()
        if not self._kernels and self._began is not None:
            self._work += WORK.get(kernel, LITTLE_WORK)
            self._seconds += time.perf_counter() - self._began
            self._began = None
            if self._collects:
                gc.enable()
            if self._progress is None:
                self.write("")
        if self._progress is not None:
            self._progress.show()

    def pace(self) -> float:
        """Seconds per unit of work, from the kernels compiled so far if they were a fair sample."""
        return self._seconds / self._work if self._work >= _SAMPLE else PACE

    def write(self, text: str) -> None:
        """Write a line; on a terminal, in place of the one before."""
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


ANNOUNCER = Announcer()


@cache
def _announce_once() -> None:
    event.register("numba:compile", ANNOUNCER)  # type: ignore[no-untyped-call]


def keep_silent() -> None:
    """Announce nothing in this process, because its parent has announced the compilation."""
    ANNOUNCER.silent = True
