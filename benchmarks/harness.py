"""Functions to repeat, interleave and summarise measurements, for all groups."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

PINNED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Spread:
    """Repeated measurements of one number."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the measurements."""
        return statistics.median(self.samples)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile."""
        if len(self.samples) == 1:
            return self.samples[0], self.samples[0]
        low, _, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return low, high

    def times(self, factor: float) -> Spread:
        """Multiply all measurements by a factor."""
        return Spread(tuple(sample * factor for sample in self.samples))

    def over(self, other: Spread) -> Spread:
        """Ratios of measurements made in the same round."""
        return Spread(tuple(a / b for a, b in zip(self.samples, other.samples, strict=True)))

    def minus(self, other: Spread) -> Spread:
        """Differences of measurements made in the same round."""
        return Spread(tuple(a - b for a, b in zip(self.samples, other.samples, strict=True)))

    def show(self, unit: str = "") -> str:
        """Median and quartiles, such as ``1.23 s (1.20 to 1.31)``."""
        middle = f"{number(self.median)} {unit}".rstrip()
        if len(self.samples) == 1:
            return f"{middle} (once)"
        low, high = self.quartiles
        return f"{middle} ({number(low)} to {number(high)})"


@dataclass(frozen=True)
class Row:
    """One requirement, or one piece of information that has no target.

    Attributes
    ----------
    work : what is done
    measured : the measurements from which the result is computed
    result : the number that is compared with the target
    target : the requirement; empty for information
    met : whether it is met; None for information
    limit : why the target is missed; printed only if it is missed
    """

    work: str
    measured: str
    result: str
    target: str = ""
    met: bool | None = None
    limit: str = ""


@dataclass(frozen=True)
class Table:
    """Many numbers of one kind, which are read side by side.

    Attributes
    ----------
    title : heading
    text : what the numbers are, and how they were measured
    header : names of the columns
    lines : the entries, line by line
    """

    title: str
    text: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


def seconds(
    function: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    started = clock()
    function()
    return clock() - started


def interleave(
    cases: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Spread]:
    """Time every case once per round, so that a slow period of the machine affects all cases.

    Every second round runs in reverse order, so that no case always follows the same one. Before
    the rounds every case is called once, which compiles kernels and fills caches.
    """
    check_pinned()
    for function in cases.values():
        function()
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for round_ in range(repeats):
        names = list(cases) if round_ % 2 == 0 else list(reversed(cases))
        for name in names:
            taken[name].append(seconds(cases[name], clock))
    return {name: Spread(tuple(times)) for name, times in taken.items()}


def check_pinned() -> None:
    """Raise an error unless every library is limited to one thread, for a fair comparison."""
    loose = [name for name in PINNED if os.environ.get(name) != "1"]
    if loose:
        raise RuntimeError(f"set {', '.join(loose)} to 1 first, as run.py does")


def number(value: float) -> str:
    """Format a number with three significant digits, and with commas for thousands."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-3 else f"{value:.2e}"


def say(text: str) -> None:
    """Print a progress message."""
    print(text, file=sys.stderr, flush=True)


def emit(rows: Sequence[Row], tables: Sequence[Table] = ()) -> None:
    """Print the rows and tables as JSON, for `run.py`."""
    parts = {"rows": rows, "tables": tables}
    print(json.dumps({name: [asdict(item) for item in items] for name, items in parts.items()}))
