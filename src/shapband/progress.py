"""The progress display of long work: a live bar on a terminal or in a notebook, lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from shapband.access.budget import Budget
from shapband.access.meter import AccessReport
from shapband.checks import written
from shapband.engine.play import Progress, Watch
from shapband.errors import InvalidInput
from shapband.estimate.estimate import Estimate
from shapband.estimate.intervals import expectation_interval

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_PATIENCE = 1.0  # seconds before the bar appears if `wanted` is None
_LINES = 5.0  # seconds between two plain lines
_FRAMES = 0.2  # seconds between two updates of the bar
_CELLS = 30  # length of the bar in a notebook, in characters
_LEVEL = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class GamesSoFar:
    """What `value` passes to its `callback` after every chunk of games; it may be kept.

    Attributes
    ----------
    names : the providers, in the order of all arrays
    done : games played so far, of `n_games`
    n_games : games to play, as far as the budget allows
    estimate : both moments over the games so far, with their errors
    access : requests, records and seconds so far

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> seen = []
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=40,
    ...                      seed=0, chunk_size=20, callback=seen.append)
    >>> seen[-1]
    <GamesSoFar: 40 of 40, ± 95 % at most 0.0088>
    >>> seen[-1].estimate.expectation.shape
    (10,)
    """

    names: tuple[str, ...]
    done: int
    n_games: int
    estimate: Estimate
    access: AccessReport

    def __repr__(self) -> str:
        half = widest(self.estimate)
        error = "not known yet" if np.isnan(half) else f"{half:.2g}"
        return f"<GamesSoFar: {self.done:,} of {self.n_games:,}, ± 95 % at most {error}>"


def with_callback(watch: Watch, callback: Callable[[GamesSoFar], object] | None) -> Watch:
    """Call the user's function after the display; its errors end the valuation."""
    if callback is None:
        return watch
    if not callable(callback):
        raise InvalidInput(
            f"callback must be a function of one argument, or None; received {written(callback)}"
        )

    def both(progress: Progress) -> None:
        watch(progress)
        # Providers may be left out in the course of a valuation.
        names = tuple(provider.name for provider in progress.access.providers)
        callback(
            GamesSoFar(names, progress.done, progress.n_games, progress.estimate, progress.report)
        )

    return both


def progress_display(wanted: bool | None) -> AbstractContextManager[Watch]:
    """Choose how to show progress on standard error, as `progress` of `value` says."""
    if wanted is False:
        return nullcontext(_ignore)
    if in_notebook():
        return NotebookBar(patience=_PATIENCE if wanted is None else 0.0)
    if sys.stderr.isatty():
        return LiveBar(patience=_PATIENCE if wanted is None else 0.0)
    return nullcontext(_ignore) if wanted is None else PlainLines(sys.stderr)


class Pace:
    """Describes progress; the speed is measured over the games since the first call."""

    def __init__(self) -> None:
        self._from: tuple[float, int] | None = None

    def begin(self, progress: Progress) -> tuple[float, int]:
        """Remember the time and the number of games of the first call."""
        self._from = self._from or (time.monotonic(), progress.done)
        return self._from

    def details(self, progress: Progress) -> str:
        """Everything except the number of games, in one line."""
        since, before = self.begin(progress)
        games = progress.done - before
        left = "time left not known yet"
        if games > 0:
            seconds = (time.monotonic() - since) / games * (progress.n_games - progress.done)
            left = f"{duration(seconds)} left"
        half = widest(progress.estimate)
        error = "not known yet" if np.isnan(half) else f"{half:.2g}"
        usage = format_usage(progress.report, progress.access.budget)
        return f"± 95 % at most {error} · {usage} · {left}"


def widest(estimate: Estimate) -> float:
    """Half width of the widest interval, NaN before there are two games."""
    if estimate.n_games < 2:
        return float("nan")
    low, high = expectation_interval(estimate, _LEVEL).T
    return float(np.max(high - low)) / 2


def format_usage(report: AccessReport, budget: Budget) -> str:
    """Format the records or requests used so far, with their limit.

    Examples
    --------
    >>> from shapband.access.meter import Usage
    >>> format_usage(AccessReport({"a": Usage(3, 1200)}), Budget(records=2500))
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
    """Format a duration in its two largest units.

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
    """A display that writes one line every few seconds, for logs."""

    def __init__(self, out: TextIO, every: float = _LINES) -> None:
        self._out = out
        self._every = every
        self._pace = Pace()
        self._next = time.monotonic() + every

    def __enter__(self) -> Watch:
        return self.show

    def __exit__(self, *raised: object) -> None:
        """Do nothing: no resource is open."""

    def show(self, progress: Progress) -> None:
        """Write a line if it is time for one."""
        self._pace.begin(progress)
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._every
            games = f"{progress.done:,} of {progress.n_games:,} games"
            print(f"{games} · {self._pace.details(progress)}", file=self._out, flush=True)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


class NotebookBar(AbstractContextManager[Watch]):
    """One line below the cell of a notebook, updated in place and removed at the end."""

    def __init__(self, patience: float) -> None:
        self._pace = Pace()
        self._next = time.monotonic() + patience
        self._shown: Any = None

    def __enter__(self) -> Watch:
        return self.show

    def __exit__(self, *raised: object) -> None:
        """Remove the line."""
        if self._shown is not None:
            self._shown.update({"text/plain": ""}, raw=True)

    def show(self, progress: Progress) -> None:
        """Update the line, at most a few times a second."""
        self._pace.begin(progress)
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _FRAMES
        full = _CELLS * progress.done // progress.n_games
        bar = "█" * full + "░" * (_CELLS - full)
        games = f"{progress.done:,} of {progress.n_games:,} games"
        line = {"text/plain": f"{bar} {games} · {self._pace.details(progress)}"}
        if self._shown is None:
            from IPython.display import display

            self._shown = display(line, raw=True, display_id=True)
        else:
            self._shown.update(line, raw=True)


class LiveBar(AbstractContextManager[Watch]):
    """A progress bar and a line of numbers, both removed when the work is done."""

    def __init__(self, patience: float) -> None:
        self._pace = Pace()
        self._live: Live | None = None
        self._next = time.monotonic() + patience
        if patience == 0.0:
            self._start()

    def __enter__(self) -> Watch:
        return self.show

    def __exit__(self, *raised: object) -> None:
        """Remove the bar."""
        if self._live is not None:
            self._live.stop()

    def show(self, progress: Progress) -> None:
        """Update the bar, at most a few times a second."""
        self._pace.begin(progress)
        waits = time.monotonic() < self._next
        if waits and (self._live is None or progress.done < progress.n_games):
            return
        self._next = time.monotonic() + _FRAMES
        if self._live is None:
            self._start()
        self._bar.update(self._task, total=progress.n_games, completed=progress.done)
        if self._live is not None:
            self._live.update(self._picture(self._pace.details(progress)))

    def _start(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(SpinnerColumn(), TextColumn("games"), BarColumn(), MofNCompleteColumn())
        self._task = self._bar.add_task("games", total=None)
        self._live = Live(
            self._picture("asking the sources"),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=8,
        )
        self._live.start()

    def _picture(self, details: str) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        return Group(self._bar, Text(f"  {details}", style="dim", no_wrap=True))


def _ignore(progress: Progress) -> None:
    """Show nothing."""
    del progress
