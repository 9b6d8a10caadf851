"""How far a run is and how long it still takes: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SECONDS_BETWEEN_LINES = 10.0


class CellsProgress:
    """Counts work done; tells the time left from the pace of this run.

    Parameters
    ----------
    title : what is being worked on
    total : work of all cells
    finished : work of the cells that an earlier run finished
    """

    def __init__(self, title: str, total: float, finished: float) -> None:
        self._title = title
        self._total = total
        self._before = self._done = finished
        self._started = self._spoke = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> CellsProgress:
        if sys.stderr.isatty():
            self._start_bar()
        elif self._before:
            self._say(f"{self._before / self._total:.0%} was finished before")
        return self

    def advance(self, work: float) -> None:
        """Note that a cell is finished."""
        self._done += work
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)
        elif time.monotonic() - self._spoke > _SECONDS_BETWEEN_LINES:
            self._spoke = time.monotonic()
            self._say(f"{self._done / self._total:.0%}, about {in_words(self.seconds_left)} left")

    @property
    def seconds_left(self) -> float:
        """The rest of the work at the pace so far."""
        pace = (time.monotonic() - self._started) / max(self._done - self._before, 1e-9)
        return pace * (self._total - self._done)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if kind is None:
            self._say(f"done in {in_words(time.monotonic() - self._started)}")

    def _say(self, words: str) -> None:
        sys.stderr.write(f"{self._title}: {words}\n")
        sys.stderr.flush()

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn(f"{self._title:<14}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._title, total=self._total)
        self._bar.update(self._task, completed=self._before)
        self._bar.start()


def in_words(seconds: float) -> str:
    """Say a time as a person would.

    Examples
    --------
    >>> in_words(4.2), in_words(75), in_words(4000)
    ('4 s', '1 min 15 s', '1 h 6 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
