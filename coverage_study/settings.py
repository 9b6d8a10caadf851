"""What is played: every task with every sampling, and how many pools of each."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import shapband as sb
from coverage_study.fresh import BulkFresh
from coverage_study.tasks import TASKS, Task

SAMPLINGS = ("fresh", "pooled", "subsets", "stratified")
GAMES = (10, 30, 50, 200, 1000)
CROSSED_GAMES = 200


@dataclass(frozen=True)
class Setting:
    """One task played with one sampling.

    Attributes
    ----------
    task, sampling : their short names
    pools : independent pools, each of another seed
    games : numbers of games at which the intervals are kept
    """

    task: str
    sampling: str
    pools: int
    games: tuple[int, ...] = GAMES

    @property
    def name(self) -> str:
        """The name of the setting, also of its file."""
        return f"{self.task}-{self.sampling}"

    def seed(self, pool: int) -> int:
        """The seed of a pool; no two settings share one."""
        return (zlib.crc32(self.name.encode()) << 20) + pool


def settings(*, quick: bool) -> list[Setting]:
    """All settings; the quick ones show that everything runs, not what holds."""
    if quick:
        tasks = ("wine-stock", "gaussian", "diabetes")
        return [Setting(task, one, 40, (10, 30, 200)) for task in tasks for one in SAMPLINGS]
    return [_setting(task, one) for task in TASKS for one in SAMPLINGS]


def _setting(task: str, sampling: str) -> Setting:
    """The synthetic task is the slowest: its games end at 200."""
    return Setting(task, sampling, 300, GAMES[:-1] if task.startswith("synthetic") else GAMES)


def sampling(name: str, task: Task) -> sb.Sampling:
    """Make the sampling with the sizes of a task."""
    pool, draw = task.n_pool, task.n_draw
    if name == "fresh":
        return BulkFresh(draw) if task.endless else sb.Fresh(draw)
    if name == "pooled":
        return sb.Pooled(pool, draw)
    if name == "subsets":
        return sb.Pooled(pool, draw, replace=False)
    return sb.Stratified(pool, draw, alpha=0.5)


def sampling_title(name: str, task: Task) -> str:
    """The sampling as it is written in Python."""
    made = sb.Fresh(task.n_draw) if name == "fresh" else sampling(name, task)
    return repr(made)
