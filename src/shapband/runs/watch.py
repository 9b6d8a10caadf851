"""What is shown while games are played: a live display, plain lines, or nothing."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import numpy as np

from shapband.access.budget import Budget
from shapband.access.meter import AccessReport
from shapband.engine import Standing, Watch
from shapband.moments.accumulate import Moments
from shapband.moments.intervals import expectation_interval

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.progress import Progress, TaskID

_LINES = 5.0  # seconds between two plain lines
_FRAMES = 0.2  # seconds between two pictures of a live display
_LEVEL = 0.95


def watching(*, quiet: bool) -> AbstractContextManager[Watch]:
    """Choose how to show progress, on standard error: live on a terminal, in lines elsewhere."""
    if quiet:
        return nullcontext(_look_away)
    return LiveDisplay() if sys.stderr.isatty() else PlainLines(sys.stderr)


@dataclass(frozen=True)
class Glance:
    """The figures of one moment.

    Attributes
    ----------
    done, n_games : games played, and to play at most
    width : that of the widest interval for an expectation, NaN while it is not known
    account : records or requests so far, with their limit, in words
    left : seconds until `n_games` at the pace so far, NaN while it is not known
    """

    done: int
    n_games: int
    width: float
    account: str
    left: float

    def details(self) -> str:
        """All but the games, in one line."""
        width = "not known yet" if np.isnan(self.width) else f"{self.width:.4g}"
        return f"widest 95 % interval {width} · {self.account} · {self.time_left()}"

    def time_left(self) -> str:
        """Say how long it will take at most."""
        return "time left not known yet" if np.isnan(self.left) else f"{duration(self.left)} left"


class Pace:
    """Turns standings into glances; the pace is that of the games it has seen being played."""

    def __init__(self) -> None:
        self._from: tuple[float, int] | None = None

    def begin(self, standing: Standing) -> tuple[float, int]:
        """Remember when the first standing was seen, and how many games it had."""
        self._from = self._from or (time.monotonic(), standing.done)
        return self._from

    def glance(self, standing: Standing) -> Glance:
        """Take the figures of a standing."""
        since, before = self.begin(standing)
        done = standing.done
        seconds, games = time.monotonic() - since, done - before
        left = seconds / games * (standing.n_games - done) if games > 0 else float("nan")
        account = accounted(standing.report, standing.access.budget)
        return Glance(done, standing.n_games, widest(standing.moments), account, left)


def widest(moments: Moments) -> float:
    """Width of the widest interval, NaN before there are two games."""
    if moments.n_games < 2:
        return float("nan")
    low, high = expectation_interval(moments, _LEVEL).T
    return float(np.max(high - low))


def accounted(report: AccessReport, budget: Budget) -> str:
    """Say what was used of the budget.

    Examples
    --------
    >>> from shapband.access.meter import Usage
    >>> accounted(AccessReport({"a": Usage(3, 1200)}), Budget(records=2500))
    '1,200 of 2,500 records'
    """
    used = report.total
    limits = [(used.records, budget.records, "records")]
    if budget.requests is not None:
        limits.append((used.requests, budget.requests, "requests"))
    return ", ".join(
        f"{count:,} {unit}" if limit is None else f"{count:,} of {limit:,} {unit}"
        for count, limit, unit in limits
    )


def duration(seconds: float) -> str:
    """Write a time the way one says it.

    Examples
    --------
    >>> duration(7.2), duration(75), duration(7512)
    ('8 s', '1 min 15 s', '2 h 6 min')
    """
    whole = int(np.ceil(seconds))
    minutes, rest = divmod(whole, 60)
    if minutes == 0:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(-(-whole // 60), 60)
    return f"{hours} h {minutes} min"


class PlainLines(AbstractContextManager[Watch]):
    """One line every few seconds, for logs."""

    def __init__(self, out: TextIO, every: float = _LINES) -> None:
        self._out = out
        self._every = every
        self._pace = Pace()
        self._next = time.monotonic() + every

    def __enter__(self) -> Watch:
        return self.show

    def __exit__(self, *raised: object) -> None:
        """Nothing is left open."""

    def show(self, standing: Standing) -> None:
        """Write a line if it is time for one."""
        self._pace.begin(standing)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every
            glance = self._pace.glance(standing)
            line = f"{glance.done:,} of {glance.n_games:,} games · {glance.details()}"
            print(line, file=self._out, flush=True)


class LiveDisplay(AbstractContextManager[Watch]):
    """A bar and a line of figures that vanish when the work is done."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

        self._pace = Pace()
        self._next = 0.0
        self._bar: Progress = Progress(
            SpinnerColumn(), TextColumn("games"), BarColumn(), MofNCompleteColumn()
        )
        self._task: TaskID = self._bar.add_task("games", total=None)
        self._live: Live = Live(
            self._picture("asking the sources"),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=8,
        )

    def __enter__(self) -> Watch:
        self._live.start()
        return self.show

    def __exit__(self, *raised: object) -> None:
        """Take the display away."""
        self._live.stop()

    def show(self, standing: Standing) -> None:
        """Bring the figures up to date, a few times a second."""
        if time.monotonic() < self._next and standing.done < standing.n_games:
            return
        self._next = time.monotonic() + _FRAMES
        glance = self._pace.glance(standing)
        self._bar.update(self._task, total=glance.n_games, completed=glance.done)
        self._live.update(self._picture(glance.details()))

    def _picture(self, details: str) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        return Group(self._bar, Text(f"  {details}", style="dim", no_wrap=True))


def _look_away(standing: Standing) -> None:
    """Show nothing."""
    del standing
