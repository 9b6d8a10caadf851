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
from shapband.experiments.digits import Digits
from shapband.experiments.example import Example
from shapband.experiments.latency import Latency
from shapband.experiments.pooled_grid import PooledGrid
from shapband.experiments.scalability import Scalability
from shapband.experiments.sensitivity import Sensitivity
from shapband.experiments.source_budget import SourceBudget


@dataclass(frozen=True)
class Profiles:
    """One experiment in its two sizes."""

    quick: Experiment
    paper: Experiment


EXPERIMENTS: dict[str, Profiles] = {
    "example": Profiles(quick=Example(replications=1000, pools=300), paper=Example()),
    "baseline-grid": Profiles(quick=BaselineGrid(n_iter=(100, 1000)), paper=BaselineGrid()),
    "pooled-grid": Profiles(quick=PooledGrid(n_iter=(100, 1000)), paper=PooledGrid()),
    "source-budget": Profiles(quick=SourceBudget(), paper=SourceBudget(replications=100)),
    "digits": Profiles(
        quick=Digits(replications=5, classes=4, local_games=20, n_iter=None), paper=Digits()
    ),
    "sensitivity": Profiles(quick=Sensitivity(), paper=Sensitivity(replications=100)),
    "scalability": Profiles(quick=Scalability(), paper=Scalability()),
    "latency": Profiles(quick=Latency(), paper=Latency()),
}
