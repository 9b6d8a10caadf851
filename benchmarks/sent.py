"""What is sent to other processes: a module of its own, so that they can import it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import shapband as sb
from benchmarks.games import bare

Coalitions = Sequence[tuple[Any, Any]]


class Heavy(sb.EstimatorUtility):
    """A black box that carries an array of a size it does not need."""

    def __init__(self, model: Any, X_val: Any, y_val: Any, megabytes: int) -> None:
        super().__init__(model, X_val, y_val)
        self.carried = np.random.default_rng(0).random(megabytes * 125_000)


class BareProcesses:
    """Two processes without the library that each fit and score half of some coalitions."""

    def __init__(self, model: Any, X_val: Any, y_val: Any, coalitions: Coalitions) -> None:
        context = multiprocessing.get_context("spawn")
        self._pools = [
            ProcessPoolExecutor(1, context, _keep, (model, X_val, y_val, coalitions[start::2]))
            for start in range(2)
        ]

    def __call__(self) -> None:
        """Make all fits, and wait for both processes."""
        for done in [pool.submit(_fit) for pool in self._pools]:
            done.result()

    def end(self) -> None:
        """End the processes."""
        for pool in self._pools:
            pool.shutdown()


_kept: list[Any] = []


def _keep(*held: Any) -> None:
    _kept[:] = held


def _fit() -> None:
    bare(*_kept)
