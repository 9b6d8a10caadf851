"""Section IV-F-1: ten digit classes as providers, a neural network as the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import shapband as sb
from shapband.experiments import paper
from shapband.experiments.base import Cell, Experiment, Results, replication_seeds
from shapband.experiments.figures import METHODS, METRICS, NAMES, dress, new_figure
from shapband.experiments.findings import ALIKE, BETTER, Findings, Row, judge, percent, scientific
from shapband.experiments.grid import SHORT
from shapband.experiments.metrics import (
    Measured,
    Reduction,
    compare,
    paper_agrees,
    paper_ratio_agrees,
    reduction,
    stability,
)
from shapband.experiments.valuations import sampling_of, solver_of, summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_N_BOOT, _N_POOL, _FRESH_GAMES = 60, 300, 5
_METHODS = ("fresh", "pooled", "stratified", "blocks")


@dataclass(frozen=True)
class Digits(Experiment):
    """Five fresh games against many local ones from pools that take as many draws."""

    name = "digits"
    title = "Handwritten digits and a neural network"
    where = "Section IV-F, first part"

    replications: int = 5
    classes: int = 10
    local_games: int = 50
    n_iter: int | None = 20  # balanced permutations; None solves every game exactly
    n_jobs: int = 2

    def cells(self, seed: int) -> Sequence[Cell]:
        """One cell for each method and replication."""
        common: dict[str, Any] = {
            "kind": "digits",
            "classes": self.classes,
            "n_boot": _N_BOOT,
            "n_pool": _N_POOL,
            "alpha": 0.5,
            "solver": "exact" if self.n_iter is None else "balanced",
            "n_iter": self.n_iter,
        }
        cells = []
        for one in replication_seeds(seed, self.replications):
            for method in _METHODS:
                games = _FRESH_GAMES if method == "fresh" else self.local_games
                cells.append(Cell.of(work=games, method=method, games=(games,), seed=one, **common))
        return [Cell.of(kind="digits-accuracy"), *cells]

    def measure(self, cell: Cell) -> dict[str, Any]:
        """Value the classes, or test the network on all training images."""
        if cell["kind"] == "digits-accuracy":
            return {"accuracy": _accuracy()}
        valuation = sb.value(
            _providers(cell["classes"]),
            sb.datasets.digits().utility,
            sampling=sampling_of(cell),
            solver=solver_of(cell),
            n_games=cell["games"][0],
            seed=cell["seed"],
            n_jobs=self.n_jobs,
            progress=False,
        )
        return summary(valuation, cell["games"])

    def conclude(self, results: Results) -> Findings:
        """Set the reductions of the section beside ours."""
        import pandas as pd

        measured = {
            (method, metric): stability(
                results.stack(metric, kind="digits", method=method)[:, 0, : self.classes]
            )
            for method in _METHODS
            for metric in SHORT
        }
        return Findings(
            claims=[*_fixed_claims(self, results), *_reduction_claims(self, measured)],
            table=_table(self, measured),
            beyond=_beyond(self, measured, results),
            notes=[_size_note(self), "All draws are with replacement: a class has about 125 "
                   "training images, fewer than the 300 draws of a pool."],
            data=pd.DataFrame(
                {"method": NAMES[method], "metric": SHORT[metric], "ours": one.value,
                 "error": one.error}
                for (method, metric), one in measured.items()
            ),
            figure=draw(measured, self.local_games),
            caption="Variance of each method over that of five fresh games, at as many source "
            "draws. Crosses are the paper's.",
        )  # fmt: skip


@cache
def _providers(classes: int) -> tuple[sb.Provider, ...]:
    """The first digit classes as sources that are drawn from with replacement."""
    again = []
    for provider in sb.datasets.digits().providers[:classes]:
        source = provider.source
        assert isinstance(source, sb.ArraySource)  # noqa: S101  for the type checker
        again.append(
            sb.Provider(
                provider.name, sb.ArraySource(source.records.X, source.records.y, replace=True)
            )
        )
    return tuple(again)


def _accuracy() -> float:
    """Test accuracy of the network trained on all training images."""
    task = sb.datasets.digits()
    everything = [p.source.records for p in _providers(10) if isinstance(p.source, sb.ArraySource)]
    X = np.concatenate([np.asarray(batch.X) for batch in everything])
    y = np.concatenate([batch.y for batch in everything])
    assert isinstance(task.utility, sb.EstimatorUtility)  # noqa: S101  for the type checker
    return task.utility.score(sb.Batch(X, y))


def _size_note(size: Digits) -> str:
    solved = "solved exactly" if size.n_iter is None else f"by {size.n_iter} balanced permutations"
    reduced = "" if size.classes == 10 else (
        f" The first {size.classes} of the ten classes only: a game of ten takes hundreds of fits."
    )  # fmt: skip
    return (
        f"{size.replications} replications, {size.local_games} local games, {solved}; the paper "
        f"does not say how many permutations it takes.{reduced}"
    )


def _fixed_claims(size: Digits, results: Results) -> list[Row]:
    accuracy = results.one(kind="digits-accuracy")["accuracy"]
    records = {m: results.where(kind="digits", method=m)[0]["records"] for m in _METHODS}
    asked = size.classes * _N_POOL
    return [
        Row(
            "IV-F-1",
            "Trained on all training images the network is accurate",
            percent(paper.DIGITS_ACCURACY),
            percent(accuracy),
            "-",
            judge(exact=abs(accuracy - paper.DIGITS_ACCURACY) < 0.01),
            "540 test images: one of them is 0.2 points",
        ),
        Row(
            "IV-F-1",
            "Five fresh games take as many draws as the pools",
            "3,000 for ten classes",
            f"{records['fresh']:,} and {records['pooled']:,} for {size.classes} classes",
            f"{asked:,}",
            judge(exact=records["fresh"] == records["pooled"] == asked),
            "counted at the sources",
        ),
    ]


def _reduction_claims(size: Digits, measured: dict[tuple[str, str], Measured]) -> list[Row]:
    rows = []
    for (method, metric), theirs in paper.DIGITS_REDUCTIONS.items():
        fresh, local = measured["fresh", metric], measured[method, metric]
        saved = reduction(fresh, local)
        agrees = paper_ratio_agrees((1 - theirs, 1.0), (local, fresh), size.replications)
        clear = saved.value > 2 * saved.error
        rows.append(
            Row(
                "IV-F-1",
                f"The {method} method lowers {SHORT[metric]} at the same number of draws",
                percent(theirs),
                str(saved),
                _theory(size, metric),
                judge(exact=agrees and clear, relation=saved.value > 0),
                _reason(saved, agrees=agrees, clear=clear),
            )
        )  # fmt: skip
    better = sum(
        measured["stratified", metric].value < measured["pooled", metric].value for metric in SHORT
    )
    rows.append(
        Row(
            "IV-F-1",
            "Stratified allocation improves further on pooling",
            "56.7 and 77.9 % against 53.1 and 74.5 %",
            f"in {better} of 2 metrics",
            "nothing says so in general",
            judge(exact=better == 2, relation=better == 1),
            "differences between the two are far below the scatter of the replications",
        )
    )
    return rows


def _reason(saved: Reduction, *, agrees: bool, clear: bool) -> str:
    if not clear:
        return "lower, but no clear difference at so few replications" if saved.value > 0 else (
            "not lower here"
        )  # fmt: skip
    return "as the paper says, within the scatter" if agrees else "clearly lower, by another amount"


def _theory(size: Digits, metric: str) -> str:
    """Bounds: local games share the pool's error fully (linear utilities) or not at all."""
    games = size.local_games
    if metric == "expectation":
        best = 1 - _FRESH_GAMES / games
        linear = 1 - _FRESH_GAMES * (_N_BOOT / _N_POOL + 1 / games)
    else:
        best = 1 - (_FRESH_GAMES - 1) / (games - 1)
        linear = 1 - (_FRESH_GAMES - 1) / 2 * (2 / (games - 1) + 2 / (_N_POOL - 1))
    return f"{percent(linear)} if values were linear in the records, at most {percent(best)}"


def _table(size: Digits, measured: dict[tuple[str, str], Measured]) -> list[Row]:
    rows = []
    for metric, theirs in paper.DIGITS_BASELINE.items():
        ours = measured["fresh", metric]
        agrees = paper_agrees(theirs, ours, size.replications)
        rows.append(
            Row(
                "IV-F-1",
                f"baseline, {SHORT[metric]}, {_FRESH_GAMES} games",
                scientific(theirs),
                str(ours),
                "-",
                judge(exact=agrees, relation=size.classes < 10),
                f"{theirs / ours.value:.2g} × ours"
                + (f"; ours has {size.classes} classes" if size.classes < 10 else ""),
            )
        )
    return rows


def _beyond(size: Digits, measured: dict[tuple[str, str], Measured], results: Results) -> list[Row]:
    rows = []
    for metric in SHORT:
        saved = reduction(measured["fresh", metric], measured["blocks", metric])
        rows.append(
            Row(
                "beyond",
                f"{SHORT[metric]}: disjoint blocks of the same pools, {size.local_games} games",
                "-",
                str(measured["blocks", metric]),
                "-",
                compare(saved),
                f"{saved.words} than the baseline",
            )
        )
    means = {m: results.stack("variance", kind="digits", method=m).mean() for m in _METHODS}
    clean = {
        m: results.stack("corrected_variance", kind="digits", method=m).mean() for m in _METHODS
    }
    rows.append(
        Row(
            "beyond",
            "Mean estimate of the variance, solver noise included and removed",
            "-",
            "; ".join(f"{NAMES[m]} {scientific(means[m])}, {scientific(clean[m])}" for m in means),
            "equal if games are exact",
            BETTER if size.n_iter else ALIKE,
            "fresh and blocks estimate the same variance; a bootstrap has its own",
        )
    )
    return rows


def draw(measured: dict[tuple[str, str], Measured], games: int) -> Figure:
    """Both metrics of every method over the baseline's."""
    figure = new_figure(9, 3.8)
    for ax, metric in zip(figure.subplots(1, 2, sharey=True), SHORT, strict=True):
        for place, method in enumerate(_METHODS):
            saved = reduction(measured["fresh", metric], measured[method, metric])
            colour, marker, _, filling = METHODS[method]
            ax.errorbar(
                1 - saved.value, place, xerr=0 if method == "fresh" else saved.error, fmt=marker,
                color=colour, markerfacecolor=filling, markersize=8, elinewidth=1.2,
            )  # fmt: skip
            if (method, metric) in paper.DIGITS_REDUCTIONS:
                ax.plot(1 - paper.DIGITS_REDUCTIONS[method, metric], place, "x", color="black",
                        markersize=9)  # fmt: skip
        words = [f"{NAMES[m]}, {_FRESH_GAMES if m == 'fresh' else games} games" for m in _METHODS]
        ax.set_yticks(range(len(_METHODS)), words)
        ax.set_ylim(len(_METHODS) - 0.5, -0.5)
        ax.set_xscale("log")
        ax.axvline(1, color="#999999", linewidth=1)
        dress(ax, METRICS[metric], "part of the baseline's")
    return figure
