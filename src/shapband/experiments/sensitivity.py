"""Section IV-F-2 and the fourth figure: pool size, draw size and allocation cap on wine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband.experiments import paper
from shapband.experiments.base import Cell, Experiment, Results, replication_seeds
from shapband.experiments.figures import (
    METHODS,
    METRICS,
    NAMES,
    common_legend,
    dress,
    new_figure,
)
from shapband.experiments.findings import Findings, Row, judge, percent, percent_range, scientific
from shapband.experiments.grid import SHORT
from shapband.experiments.metrics import Measured, compare, reduction, stability
from shapband.experiments.theory import Pilot, pilot_cell, run_pilot
from shapband.experiments.valuations import task_of, valued

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_REFERENCE = (250, 60)
_POOLS = ((180, 60), (250, 60), (350, 60))
_DRAWS = ((250, 40), (250, 60), (250, 80))
_SETTINGS = tuple(dict.fromkeys((*_POOLS, *_DRAWS)))
_ALPHAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_METHODS = ("fresh", "pooled", "stratified")
Key = tuple[str, int, str, tuple[int, int]]  # metric, n_iter, method, (n_pool, n_boot)


@dataclass(frozen=True)
class Sensitivity(Experiment):
    """Both metrics around the reference setting, each beside a baseline of as many records."""

    name = "sensitivity"
    title = "Sensitivity to pool size, draw size and allocation cap"
    where = "Fourth figure, Section IV-F, second part"

    replications: int = 20
    local_games: int = 50
    n_iter: tuple[int, ...] = (100, 1000)
    alphas: tuple[float, ...] = _ALPHAS
    pilot_pools: int = 40

    def cells(self, seed: int) -> Sequence[Cell]:
        """Every setting with every method, and the cap at the reference setting."""
        seeds = replication_seeds(seed, self.replications)
        cells = []
        for pool in _SETTINGS:
            cells += [
                pilot_cell(seed, self.pilot_pools, 25, _settings(method, pool))
                for method in _METHODS
            ]
            cells += [self._cell(k, one, method, pool)
                      for k in self.n_iter for one in seeds for method in _METHODS]  # fmt: skip
        capped = [
            self._cell(k, one, "stratified", _REFERENCE, alpha)
            for alpha in self.alphas[1:]
            for k in self.n_iter
            for one in seeds[: min(5, self.replications)]
        ]
        exact = [
            Cell.of(work=0.1, kind="valuation", solver="exact", games=(self.local_games,),
                    seed=one, task="wine", method=method, n_pool=n_pool, n_boot=n_boot)
            for n_pool, n_boot in _SETTINGS for method in ("pooled", "blocks") for one in seeds
        ]  # fmt: skip
        return [*cells, *capped, *exact]

    def measure(self, cell: Cell) -> dict[str, Any]:
        """Value wine, or run a pilot."""
        return run_pilot(cell) if cell["kind"] == "pilot" else valued(cell)

    def conclude(self, results: Results) -> Findings:
        """Set Section IV-F-2 beside ours."""
        import pandas as pd

        found = Around.of(self, results)
        return Findings(
            claims=[
                *_range_claims(found),
                *_shape_claims(found, results),
                *_cap_claims(self, results),
            ],
            table=[],
            beyond=_beyond(self, found, results),
            notes=[
                f"{self.replications} replications of {self.local_games} local games; the paper "
                "does not print the numbers of this figure.",
                "The baseline of every setting may take as many records as its pools hold: 3 to 6 "
                "games.",
            ],
            data=pd.DataFrame(found.records()),
            figure=draw(found),
            caption="Thin lines and small markers: 100 permutations; thick and large: 1,000. "
            "Grey lines mark the reference setting of 250 and 60 records.",
        )

    def _cell(
        self, k: int, seed: int, method: str, pool: tuple[int, int], alpha: float = 0.5
    ) -> Cell:
        settings = _settings(method, pool, alpha)
        if method == "fresh":
            settings |= {"records": pool_records(pool[0]), "games": (1_000,)}
        else:
            settings["games"] = (self.local_games,)
        return Cell.of(work=0.3 if method == "fresh" else 1.0, kind="valuation", seed=seed,
                       solver="permutation", n_iter=k, **settings)  # fmt: skip


def _settings(method: str, pool: tuple[int, int], alpha: float = 0.5) -> dict[str, Any]:
    settings: dict[str, Any] = {"task": "wine", "method": method, "n_boot": pool[1]}
    if method == "fresh":
        return settings
    settings["n_pool"] = pool[0]
    return settings | {"alpha": alpha} if method == "stratified" else settings


def pool_records(n_pool: int) -> int:
    """Records that pools of this size take on wine; a smaller provider gives all it has."""
    sizes = [getattr(provider.source, "size", n_pool) for provider in task_of("wine").providers]
    return sum(min(n_pool, size) for size in sizes)


@dataclass(frozen=True, eq=False)
class Around:
    """Both metrics of every setting, with theory."""

    n_iter: tuple[int, ...]
    measured: dict[Key, Measured]
    theory: dict[Key, float]

    @staticmethod
    def of(size: Sensitivity, results: Results) -> Around:
        """Work out the metrics."""
        measured: dict[Key, Measured] = {}
        theory: dict[Key, float] = {}
        for pool in _SETTINGS:
            for method in _METHODS:
                settings = _settings(method, pool)
                pilot = Pilot.of(results.where(kind="pilot", **settings)[0])
                if method == "fresh":
                    settings["records"] = pool_records(pool[0])
                settings["solver"] = "permutation"
                for k in size.n_iter:
                    games = results.where(n_iter=k, **settings)[0]["games"][0]
                    for metric in SHORT:
                        key = (metric, k, method, pool)
                        measured[key] = stability(results.stack(metric, n_iter=k, **settings)[:, 0])
                        theory[key] = (
                            pilot.variance_of_expectation(games, k)
                            if metric == "expectation"
                            else pilot.variance_of_variance(games, k)
                        )
        return Around(size.n_iter, measured, theory)

    def saved(self, metric: str) -> tuple[list[float], list[float]]:
        """All reductions of the pooled methods, ours and theory's."""
        ours, theory = [], []
        for (m, k, method, pool), one in self.measured.items():
            if m == metric and method != "fresh":
                base = (metric, k, "fresh", pool)
                ours.append(reduction(self.measured[base], one).value)
                theory.append(1 - self.theory[m, k, method, pool] / self.theory[base])
        return ours, theory

    def lowest(self, metric: str, k: int, method: str, line: tuple[tuple[int, int], ...]) -> int:
        """Which setting of a line has the lowest metric."""
        return int(np.argmin([self.measured[metric, k, method, pool].value for pool in line]))

    def records(self) -> list[dict[str, Any]]:
        """Tidy rows for the data file."""
        return [
            {"metric": SHORT[metric], "n_iter": k, "method": NAMES[method], "n_pool": pool[0],
             "n_boot": pool[1], "ours": one.value, "error": one.error,
             "theory": self.theory[metric, k, method, pool]}
            for (metric, k, method, pool), one in self.measured.items()
        ]  # fmt: skip


def _range_claims(found: Around) -> list[Row]:
    rows = []
    for metric, (low, high) in paper.SENSITIVITY_REDUCTIONS.items():
        ours, theory = found.saved(metric)
        inside = min(ours) >= low
        rows.append(
            Row(
                "IV-F-2",
                f"Across all settings the pooled methods lower {SHORT[metric]}",
                f"{100 * low:.1f} to {100 * high:.1f} %",
                percent_range(ours),
                percent_range(theory),
                judge(exact=inside, relation=min(ours) > 0),
                "inside or beyond the paper's range" if inside else "lower in every setting",
            )
        )
    return rows


def _shape_claims(found: Around, results: Results) -> list[Row]:
    local = ("pooled", "stratified")
    small, middle, large = (
        results.where(method="pooled", solver="permutation", n_pool=n_pool)[0]["records"]
        for n_pool, _ in _POOLS
    )
    gains = [
        1 - found.theory["expectation", k, m, _POOLS[-1]]
        / found.theory["expectation", k, m, _POOLS[0]]
        for k in found.n_iter for m in local
    ]  # fmt: skip
    ours = [
        1 - found.measured["expectation", k, m, _POOLS[-1]].value
        / found.measured["expectation", k, m, _POOLS[0]].value
        for k in found.n_iter for m in local
    ]  # fmt: skip
    winners = {
        found.lowest(metric, k, m, _DRAWS) for metric in SHORT for k in found.n_iter for m in local
    }
    pairs = [
        found.measured["variance", found.n_iter[-1], m, pool].value
        for pool in _SETTINGS for m in local
    ]  # fmt: skip
    stratified = sum(b < a for a, b in zip(pairs[::2], pairs[1::2], strict=True))
    return [
        Row(
            "IV-F-2",
            "Larger pools generally make the expectation more stable (180 to 350)",
            "generally",
            f"{percent_range(ours)} lower",
            f"{percent_range(gains)} lower",
            judge(exact=sum(g > 0 for g in ours) > len(ours) / 2),
            "less variance between pools",
        ),
        Row(
            "IV-F-2",
            "Pools of 350 take 32.3 % more records than pools of 250",
            "2,477 to 3,277: 32.3 %",
            f"{middle:,} to {large:,}: {percent(large / middle - 1)}; pools of 180 take {small:,}",
            "2,477 to 3,277",
            judge(exact=(middle, large) == (2477, 3277)),
            "small providers give all they have",
        ),
        Row(
            "IV-F-2",
            "No tested n_boot uniformly minimises both metrics",
            "none",
            "lowest at n_boot " + ", ".join(str(_DRAWS[j][1]) for j in sorted(winners)),
            "larger draws lower V, and give the baseline fewer games",
            judge(exact=len(winners) > 1),
            "over both metrics, methods and n_iter",
        ),
        Row(
            "IV-F-2",
            f"At {found.n_iter[-1]:,} permutations stratified has the lower Var(Var) more often",
            "more frequently",
            f"in {stratified} of {len(_SETTINGS)} settings",
            "-",
            judge(exact=stratified > len(_SETTINGS) / 2, relation=stratified > 0),
            "competitive, but differences are within the scatter",
        ),
    ]


def _cap_claims(size: Sensitivity, results: Results) -> list[Row]:
    common = {"method": "stratified", "solver": "permutation", "n_pool": 250, "n_boot": 60}
    first = results.stack("draw_sizes", alpha=size.alphas[0], **common)
    largest = int(first.max())
    same = all(
        results.where(alpha=alpha, n_iter=k, **common)
        == results.where(alpha=size.alphas[0], n_iter=k, **common)[
            : len(results.where(alpha=alpha, n_iter=k, **common))
        ]
        for alpha in size.alphas[1:]
        for k in size.n_iter
    )
    return [
        Row(
            "IV-F-2",
            "The largest allocation stays below the cap of 125 at alpha 0.5",
            f"{paper.LARGEST_ALLOCATION} in five replications",
            f"{largest} in {len(first)} valuations",
            "not above 125 while the cap is not active",
            judge(exact=largest < 125),
            "the cap is not active",
        ),
        Row(
            "IV-F-2",
            "Every alpha in [0.5, 1] gives the same allocations and results",
            "identical",
            "identical to the last bit" if same else "they differ",
            "identical while the cap is not active",
            judge(exact=same),
            f"alpha {', '.join(f'{a:g}' for a in size.alphas)}",
        ),
    ]


def _beyond(size: Sensitivity, found: Around, results: Results) -> list[Row]:
    rows = []
    for metric in SHORT:
        for method, words in (("pooled", "pooled"), ("blocks", "disjoint blocks")):
            saved = []
            for pool in _SETTINGS:
                one = stability(
                    results.stack(metric, method=method, solver="exact", n_pool=pool[0],
                                  n_boot=pool[1])[:, 0]
                )  # fmt: skip
                saved.append(reduction(found.measured[metric, size.n_iter[0], "fresh", pool], one))
            worst = min(saved, key=lambda s: s.value)
            base = [found.theory[metric, size.n_iter[0], "pooled", pool] for pool in _SETTINGS]
            rows.append(
                Row(
                    "beyond",
                    f"{SHORT[metric]}: {words}, exact, {size.local_games} games, all settings",
                    "-",
                    f"{percent_range([s.value for s in saved])} lower than the baseline",
                    f"pooled with {size.n_iter[0]} permutations: {scientific(min(base))} to "
                    f"{scientific(max(base))}",
                    compare(worst),
                    "the verdict is that of the worst setting",
                )
            )
    return rows


def draw(found: Around) -> Figure:
    """Both metrics over pool size, left, and draw size, right."""
    figure = new_figure(10, 7)
    axes = figure.subplots(2, 2, sharey="row")
    for row, metric in zip(axes, SHORT, strict=True):
        for ax, line, j in zip(row, (_POOLS, _DRAWS), (0, 1), strict=True):
            _draw_panel(ax, found, metric, line, j)
    common_legend(figure, axes[0, 0], columns=3)
    return figure


def _draw_panel(
    ax: Axes, found: Around, metric: str, line: tuple[tuple[int, int], ...], j: int
) -> None:
    places = [pool[j] for pool in line]
    ax.axvline(_REFERENCE[j], color="#bbbbbb", linewidth=5, zorder=0)
    for k, width in zip(found.n_iter, np.linspace(0.9, 2.0, len(found.n_iter)), strict=True):
        for method in _METHODS:
            colour, marker, style, filling = METHODS[method]
            shown = [found.measured[metric, k, method, pool] for pool in line]
            ax.errorbar(
                places, [one.value for one in shown], yerr=[one.error for one in shown],
                fmt=marker + style, color=colour, markerfacecolor=filling, linewidth=width,
                markersize=3 + 2.5 * width, elinewidth=0.8,
                label=f"{NAMES[method]}, {k:,} permutations",
            )  # fmt: skip
    ax.set_yscale("log")
    ax.set_xticks(places)
    word = "n_pool, draws of 60" if j == 0 else "n_boot, pools of 250"
    dress(ax, "", word if metric == "variance" else "", METRICS[metric] if j == 0 else "")
