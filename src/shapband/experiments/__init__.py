"""Every experiment of the paper, as an ordinary user of the library.

An experiment is a frozen record of its sizes with three methods: `cells` lists the work, `measure`
does one piece of it, `conclude` compares all results with the paper. `run.reproduce` measures the
cells that `store` does not hold yet, so an interrupted run goes on where it stopped, and writes
data, figure and comparison. `page` gathers what all runs in a folder have written. What the
experiments share stands beside them: `metrics` (the paper's, over replications), `theory` (what a
pilot predicts), `paper` (its printed numbers), `findings` (rows and verdicts), `figures`.
"""

from __future__ import annotations

from dataclasses import dataclass

from shapband.experiments.base import Experiment
from shapband.experiments.baseline_grid import BaselineGrid


@dataclass(frozen=True)
class Profiles:
    """One experiment in its two sizes."""

    quick: Experiment
    paper: Experiment


EXPERIMENTS: dict[str, Profiles] = {
    "baseline-grid": Profiles(
        quick=BaselineGrid(replications=20), paper=BaselineGrid(replications=40)
    ),
}
