"""A progress bar for long work, on a terminal only."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from shapband.engine import Standing

_PATIENCE = 1.0  # seconds before a bar appears


class GamesProgress:
    """Counts finished games; draws nothing unless it is wanted and the work takes long.

    Parameters
    ----------
    wanted : True shows the bar, False never, None on a terminal after a second
    """

    def __init__(self, wanted: bool | None) -> None:
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._appears = time.monotonic() + (_PATIENCE if wanted is None else 0.0)
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> GamesProgress:
        return self

    def show(self, standing: Standing) -> None:
        """Show how many games are done."""
        if not self._wanted or time.monotonic() < self._appears:
            return
        if self._bar is None:
            self._start(standing.n_games)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=standing.done)

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _start(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            TextColumn("games"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("games", total=total)
        self._bar.start()
