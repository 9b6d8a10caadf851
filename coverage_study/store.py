"""Runs the pools of a setting in processes, and keeps the results of each setting as JSON."""

from __future__ import annotations

import datetime
import json
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

_PACKAGES = ("shapband", "numpy", "scipy", "scikit-learn", "numba")
_BATCH = 5  # pools that a process plays before it reports


class Store:
    """A folder with one file of results for each setting.

    Parameters
    ----------
    folder : where the files are
    jobs : processes that play; 1 plays in this one
    fresh : whether to play and measure again what is there already
    again : whether to measure again, from the games that are there
    """

    def __init__(
        self, folder: Path, jobs: int = 1, *, fresh: bool = False, again: bool = False
    ) -> None:
        self._folder = folder
        self._jobs = jobs
        self._fresh = fresh
        self._again = again

    @property
    def games(self) -> Path:
        """The folder of the games that were played."""
        return self._folder / "games"

    def has(self, name: str) -> bool:
        """Whether a setting was measured."""
        return (self._folder / f"{name}.json").exists()

    def read(self, name: str) -> dict[str, Any] | None:
        """Results of a setting, or None if it was not measured."""
        path = self._folder / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def measure(self, name: str, setting: Any, play: Callable[[Any, int], Any]) -> None:
        """Play all pools of a setting, unless a file has the results of the same number."""
        known = None if self._fresh or self._again else self.read(name)
        if known is not None and known["pools"] >= setting.pools:
            _say(f"{name}: kept, from {known['date']}\n")
            return
        if self._fresh:
            shutil.rmtree(self.games / name, ignore_errors=True)
        started, records = time.perf_counter(), []
        for part in self._parts(setting, play):
            records += part
            taken = time.perf_counter() - started
            left = taken * (setting.pools / len(records) - 1)
            _say(f"\r{name}: {len(records)} of {setting.pools} pools, {left:.0f} s left  ")
        _say(f"\r{name}: {setting.pools} pools in {taken:.0f} s             \n")
        document = {
            "pools": setting.pools,
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "versions": versions(),
            "seconds": round(taken, 1),
            "records": records,
        }
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{name}.json"
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(document), encoding="utf-8")
        unfinished.replace(path)

    def _parts(self, setting: Any, play: Callable[[Any, int], Any]) -> Iterator[list[Any]]:
        """Records in the order of the pools, in parts, so that progress can be shown."""
        starts = range(0, setting.pools, _BATCH)
        parts = [range(at, min(at + _BATCH, setting.pools)) for at in starts]
        if self._jobs == 1:
            yield from (_play_part(play, setting, part) for part in parts)
            return
        with ProcessPoolExecutor(self._jobs, get_context("spawn")) as processes:
            waiting = [processes.submit(_play_part, play, setting, part) for part in parts]
            yield from (part.result() for part in waiting)


def versions() -> str:
    """Python and the packages that the numbers depend on."""
    told = [f"{package} {version(package)}" for package in _PACKAGES]
    return ", ".join([f"Python {platform.python_version()}", *told])


def _play_part(play: Callable[[Any, int], Any], setting: Any, pools: range) -> list[Any]:
    return [play(setting, pool) for pool in pools]


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
