"""Reproduce: measure what is missing, conclude, write."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from shapband.errors import InvalidInput
from shapband.experiments import EXPERIMENTS
from shapband.experiments.base import Cell, Experiment, Results
from shapband.experiments.findings import Written
from shapband.experiments.page import write_page
from shapband.experiments.progress import CellsProgress
from shapband.experiments.store import Finished, Store
from shapband.experiments.write import write


def reproduce(
    names: Sequence[str] = (), *, profile: str = "quick", out: Path, seed: int = 0
) -> list[Written]:
    """Run experiments of the paper and write what they found.

    Parameters
    ----------
    names : which experiments; all of them by default
    profile : "quick" takes minutes, "paper" has the paper's own sizes
    out : folder for cells, data, figures and the page; cells found there are not measured again
    seed : every random stream of the run follows from it

    Returns
    -------
    What was found, one record for each experiment.
    """
    unknown = sorted(set(names) - set(EXPERIMENTS))
    if unknown:
        raise InvalidInput(
            f"there is no experiment {unknown[0]!r}: choose from {', '.join(EXPERIMENTS)}"
        )
    found = []
    for name in names or EXPERIMENTS:
        experiment: Experiment = getattr(EXPERIMENTS[name], profile)
        found.append(run_experiment(experiment, profile=profile, out=out, seed=seed))
    write_page(out, out / "reproduction.md")
    return found


def run_experiment(experiment: Experiment, *, profile: str, out: Path, seed: int) -> Written:
    """Run one experiment and write its folder."""
    finished = measure_missing(experiment, Store(out / "cells"), seed)
    findings = experiment.conclude(Results({c: one.result for c, one in finished.items()}))
    seconds = sum(one.seconds for one in finished.values())
    return write(out / experiment.name, experiment, findings, profile, seed, seconds)


def measure_missing(experiment: Experiment, store: Store, seed: int) -> dict[Cell, Finished]:
    """Measure the cells that the store does not hold, and keep each as soon as it is done."""
    cells = experiment.cells(seed)
    found = {cell: store.find(cell) for cell in cells}
    missing = [cell for cell in cells if found[cell] is None]
    total = sum(cell.work for cell in cells)
    before = total - sum(cell.work for cell in missing)
    with CellsProgress(experiment.name, total, before) as progress:
        for cell in missing:
            started = time.perf_counter()
            result = experiment.measure(cell)
            store.keep(cell, result, time.perf_counter() - started)
            found[cell] = store.find(cell)  # as read back, so that a resumed run is the same
            progress.advance(cell.work)
    return {cell: one for cell, one in found.items() if one is not None}
