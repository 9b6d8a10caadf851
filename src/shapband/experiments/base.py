"""The door every experiment has, and the cells that its work is cut into."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from shapband._typing import FloatArray
from shapband.experiments.findings import Findings

Result = Mapping[str, Any]  # what JSON can hold
_SEEDS_APART = 1_000_000  # so that the replications of two seeds never meet
_PILOTS = 500_000  # so that pilots share no stream with what they predict


@dataclass(frozen=True)
class Cell:
    """One piece of work, named by its settings; `work` says how long it takes, roughly."""

    settings: tuple[tuple[str, Any], ...]
    work: float = field(default=1.0, compare=False)

    @staticmethod
    def of(*, work: float = 1.0, **settings: Any) -> Cell:
        """Name a cell by keyword.

        Examples
        --------
        >>> Cell.of(task="wine", seed=3)["seed"]
        3
        """
        return Cell(tuple(sorted(settings.items())), work)

    def __getitem__(self, name: str) -> Any:
        return dict(self.settings)[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Give a setting, or the default if the cell has none of this name."""
        return dict(self.settings).get(name, default)

    @property
    def key(self) -> str:
        """The settings as text: the same for the same work."""
        return json.dumps(dict(self.settings), sort_keys=True)


class Results:
    """The results of cells, found by their settings."""

    def __init__(self, found: Mapping[Cell, Result]) -> None:
        self._found = dict(found)

    def where(self, **settings: Any) -> list[Result]:
        """Give the results of all cells with these settings, in the order of the cells."""
        wanted = settings.items()
        return [r for cell, r in self._found.items() if wanted <= dict(cell.settings).items()]

    def one(self, **settings: Any) -> Result:
        """Give the result of the only cell with these settings."""
        (found,) = self.where(**settings)
        return found

    def stack(self, name: str, **settings: Any) -> FloatArray:
        """Stack one entry of the results over the cells: (n_cells, ...)."""
        return np.array([r[name] for r in self.where(**settings)], dtype=np.float64)


class Experiment(ABC):
    """An experiment of a fixed size: which cells it has, what each measures, what follows.

    Subclasses are frozen records whose fields are the sizes; the profiles differ in nothing else.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    where: ClassVar[str]  # in the paper

    @abstractmethod
    def cells(self, seed: int) -> Sequence[Cell]:
        """List the work."""

    @abstractmethod
    def measure(self, cell: Cell) -> Result:
        """Do one piece of it."""

    @abstractmethod
    def conclude(self, results: Results) -> Findings:
        """Compare with the paper once all cells are measured."""


def replication_seeds(seed: int, count: int) -> list[int]:
    """Seeds of the replications of a run."""
    return [seed * _SEEDS_APART + r for r in range(count)]


def pilot_seed(seed: int) -> int:
    """First seed of the pilots of a run."""
    return seed * _SEEDS_APART + _PILOTS
