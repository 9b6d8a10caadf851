"""The experiments in their two sizes, and the function that runs them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduction.baseline_grid import BaselineGrid
from reproduction.changes import Changed
from reproduction.digits import Digits
from reproduction.example import Example
from reproduction.experiment import Experiment, Store, measure_missing
from reproduction.latency import Latency
from reproduction.pooled_grid import PooledGrid
from reproduction.report import Report, notice, read_report, write, write_page
from reproduction.scalability import Scalability
from reproduction.sensitivity import Sensitivity
from reproduction.source_budget import SourceBudget

EXPERIMENTS: dict[str, dict[str, Experiment]] = {
    "example": {"quick": Example(replications=1000, pools=300), "paper": Example()},
    "baseline-grid": {"quick": BaselineGrid(n_iter=(100, 1000)), "paper": BaselineGrid()},
    "pooled-grid": {"quick": PooledGrid(n_iter=(100, 1000)), "paper": PooledGrid()},
    "source-budget": {"quick": SourceBudget(), "paper": SourceBudget(replications=100)},
    "digits": {
        "quick": Digits(replications=5, classes=4, local_games=20, n_iter=None),
        "paper": Digits(),
    },
    "sensitivity": {"quick": Sensitivity(), "paper": Sensitivity(replications=100)},
    "scalability": {"quick": Scalability(), "paper": Scalability()},
    "latency": {"quick": Latency(), "paper": Latency()},
}


def reproduce(
    names: Sequence[str] = (),
    *,
    profile: str = "quick",
    out: Path,
    seed: int = 0,
    docs: Path | None = None,
    latex: bool = False,
) -> list[Report]:
    """Run experiments of the paper and write the results.

    Parameters
    ----------
    names : which experiments; all of them by default
    profile : "quick" takes minutes, "paper" has the paper's own sizes
    out : folder for cells, data, figures and the page; cells found there are not measured again
    seed : seed of all random streams of the run
    docs : folder to write the page and its figures to as well
    latex : whether to write the tables as LaTeX too

    Returns
    -------
    One report for each experiment that was run.
    """
    reports = [
        run_experiment(EXPERIMENTS[name][profile], profile=profile, out=out, seed=seed, latex=latex)
        for name in names or EXPERIMENTS
    ]
    # The page also shows the experiments that earlier runs wrote to the same folder.
    written = [name for name in EXPERIMENTS if (out / name / "findings.json").exists()]
    known = [read_report(out / name) for name in written]
    write_page(known, out, out / "reproduction.md")
    if docs is not None:
        write_page(known, out, docs / "reproduction.md", docs / "images" / "reproduction")
    return reports


def run_experiment(
    experiment: Experiment, *, profile: str, out: Path, seed: int, latex: bool = False
) -> Report:
    """Run one experiment and write its folder."""
    frame, seconds = measure_missing(experiment, Store(out / "cells"), seed)
    findings = experiment.conclude(frame)
    return write(out / experiment.name, experiment, findings, profile, seed, seconds, latex=latex)


def run_changed(
    changed: Changed, *, profile: str, out: Path, seed: int, latex: bool = False
) -> tuple[Report | None, Path]:
    """Run an experiment with other sizes, and write it to a folder that nothing else reads.

    The page of all experiments does not show it. Cells are shared with the other experiments,
    because they are stored by their settings.

    Returns
    -------
    The report, or None if the paper's numbers cannot be compared with these sizes, and the folder.
    """
    folder = out / "changed" / changed.folder
    experiment = changed.experiment
    frame, seconds = measure_missing(experiment, Store(out / "cells"), seed)
    try:
        findings = experiment.conclude(frame)
    except (ArithmeticError, LookupError, ValueError, AttributeError) as cause:
        # The claims are about the paper's sizes, and need some of its rows and columns.
        folder.mkdir(parents=True, exist_ok=True)
        frame.assign(changed=changed.words).to_csv(folder / "data.csv", index=False)
        reason = f"The paper's claims cannot be compared: {type(cause).__name__}: {cause}"
        text = f"# {experiment.title}\n\n{notice(changed.words)}\n\n{reason}\n"
        (folder / "comparison.md").write_text(text, encoding="utf-8")
        return None, folder
    report = write(folder, experiment, findings, profile, seed, seconds, changed.words, latex=latex)
    return report, folder
