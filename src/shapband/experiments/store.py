"""Finished cells on disk, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from shapband.experiments.base import Cell, Result


@dataclass(frozen=True)
class Finished:
    """The result of a cell, and how long it took."""

    result: Result
    seconds: float


class Store:
    """One JSON file for each finished cell, named by its settings.

    A file appears whole or not at all: it is written beside its place and then renamed. Cells
    are shared by experiments and profiles, because the same settings are the same work.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, cell: Cell) -> Finished | None:
        """Give what is known of a cell, or None if it is not finished."""
        try:
            document = json.loads(self._path(cell).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return Finished(document["result"], document["seconds"])

    def keep(self, cell: Cell, result: Result, seconds: float) -> None:
        """Write the result of a cell."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(cell)
        beside = path.with_suffix(f".{os.getpid()}.part")
        document = {"settings": json.loads(cell.key), "seconds": seconds, "result": result}
        beside.write_text(json.dumps(document), encoding="utf-8")
        beside.replace(path)

    def _path(self, cell: Cell) -> Path:
        from shapband import __version__

        name = hashlib.sha256(f"{__version__} {cell.key}".encode()).hexdigest()[:20]
        return self._folder / f"{cell['kind']}-{name}.json"
