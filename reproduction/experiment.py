"""The base class of experiments, the cells of their work, and the files that store cells."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from matplotlib.figure import Figure

import shapband as sb
from reproduction.claims import Row

Cell = dict[str, Any]  # the settings of one unit of work; `kind` names the type of work
Record = dict[str, Any]  # one measurement, as JSON values
_SEEDS_APART = 1_000_000  # difference of replication seeds, so that two seeds share none
_SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True)
class Findings:
    """The results of an experiment."""

    claims: Sequence[Row]  # one row for each sentence of the paper
    table: Sequence[Row]  # one row for each number in its tables
    beyond: Sequence[Row]  # results of other estimators, which are not in the paper
    notes: Sequence[str]  # remarks on the settings
    data: pd.DataFrame  # every measured number, in tidy form
    figure: Figure
    caption: str  # what the figure shows


class Experiment(ABC):
    """An experiment of a fixed size.

    Subclasses are frozen dataclasses whose fields are the sizes; profiles differ only in sizes.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    where: ClassVar[str]  # in the paper

    @abstractmethod
    def cells(self, seed: int) -> list[Cell]:
        """List the cells to measure."""

    @abstractmethod
    def measure(self, cell: Cell) -> list[Record]:
        """Measure one cell."""

    @abstractmethod
    def conclude(self, frame: pd.DataFrame) -> Findings:
        """Compare the measurements with the paper; the frame has one row per record of a cell."""


def replication_seeds(seed: int, count: int) -> list[int]:
    """Seeds of the replications of a run."""
    return [seed * _SEEDS_APART + r for r in range(count)]


class Store:
    """One JSON file for each finished cell, so that an interrupted run can be resumed.

    A file is written under a temporary name and then renamed, so it is never incomplete. Cells
    with the same settings are shared by experiments and profiles.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, cell: Cell) -> tuple[list[Record], float] | None:
        """Return the records of a finished cell and the seconds it took, or None."""
        try:
            document = json.loads(self._path(cell).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return document["records"], document["seconds"]

    def keep(self, cell: Cell, records: list[Record], seconds: float) -> None:
        """Write a finished cell."""
        self._folder.mkdir(parents=True, exist_ok=True)
        beside = self._path(cell).with_suffix(f".{os.getpid()}.part")
        document = {"settings": cell, "seconds": seconds, "records": records}
        beside.write_text(json.dumps(document), encoding="utf-8")
        beside.replace(self._path(cell))

    def _path(self, cell: Cell) -> Path:
        text = f"{sb.__version__} {json.dumps(cell, sort_keys=True)}"
        name = hashlib.sha256(text.encode()).hexdigest()[:20]
        return self._folder / f"{cell['kind']}-{name}.json"


def measure_missing(experiment: Experiment, store: Store, seed: int) -> tuple[pd.DataFrame, float]:
    """Measure the cells that the store does not hold, and store each as soon as it is done.

    Returns the frame of all records with their settings, and the total seconds of all cells.
    """
    cells = experiment.cells(seed)
    started = spoke = time.monotonic()
    for done, cell in enumerate(cells):
        if time.monotonic() - spoke > _SECONDS_BETWEEN_LINES:
            spoke = time.monotonic()
            _say(f"{experiment.name}: {done} of {len(cells)} cells after {spoke - started:.0f} s")
        if store.find(cell) is None:
            before = time.perf_counter()
            records = experiment.measure(cell)
            store.keep(cell, records, time.perf_counter() - before)
    _say(f"{experiment.name}: done in {time.monotonic() - started:.0f} s")
    # New cells are read back, too, so that a resumed run concludes from the same numbers.
    kept = [(cell, found) for cell in cells if (found := store.find(cell)) is not None]
    rows = [{**cell, **record} for cell, (records, _) in kept for record in records]
    return pd.DataFrame(rows, dtype=object), sum(seconds for _, (_, seconds) in kept)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
