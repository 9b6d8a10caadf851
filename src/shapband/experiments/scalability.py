"""Table IV: the additive game with up to 1,000 providers, at equal source records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import shapband as sb
from shapband._typing import FloatArray
from shapband.experiments.base import Cell, Experiment, Results, replication_seeds
from shapband.experiments.figures import (
    METHODS,
    NAMES,
    common_legend,
    dress,
    new_figure,
    plain_ticks,
)
from shapband.experiments.findings import Findings
from shapband.experiments.metrics import Measured
from shapband.experiments.scalability_rows import beyond_rows, claims, table_rows
from shapband.experiments.scalability_theory import (
    BLOCK_GAMES,
    FACETS,
    FRESH_GAMES,
    LOCAL_GAMES,
    POOL,
    TARGET,
    Source,
    predicted,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLAYERS = (10, 20, 50, 100, 200, 500, 1000)
_METHODS = ("fresh", "pooled", "stratified", "blocks")
_SOURCE_SEED = 5000  # of the fixed sources, which are the same in every run
_SOURCE_SIZE = 5000
_WORDS = {
    "expectation": "variance of the estimated expectation",
    "variance": "variance of the estimated variance",
    "mae_expectation": "mean absolute error of the expectation",
    "mae_variance": "mean absolute error of the variance",
}


@dataclass(frozen=True)
class Scalability(Experiment):
    """Accuracy and stability of all methods, with exact references, at any number of providers."""

    name = "scalability"
    title = "Up to 1,000 providers"
    where = "Table IV, Section IV-F, third part"

    replications: int = 10
    players: tuple[int, ...] = PLAYERS

    def cells(self, seed: int) -> Sequence[Cell]:
        """One cell for each number of providers, method and replication."""
        return [
            Cell.of(work=n / 100 + 0.05, kind="scalability", n=n, method=method, seed=one)
            for n in self.players
            for method in _METHODS
            for one in replication_seeds(seed, self.replications)
        ]

    def measure(self, cell: Cell) -> dict[str, Any]:
        """Value the additive game, at the common target of 128 records."""
        sampling, games = {
            "fresh": (sb.Fresh(TARGET), FRESH_GAMES),
            "pooled": (sb.Pooled(POOL, TARGET), LOCAL_GAMES),
            "stratified": (sb.Stratified(POOL, TARGET, alpha=0.5), LOCAL_GAMES),
            "blocks": (sb.Blocks(POOL, TARGET), BLOCK_GAMES),
        }[cell["method"]]
        valuation = sb.value(
            _providers(cell["n"]),
            sb.AdditiveUtility(),
            sampling=sampling,
            solver=sb.Permutation(4),
            n_games=games,
            seed=cell["seed"],
            chunk_size=games,  # of one number a provider; the default counts the draws, too
            progress=False,
        )
        return {
            "expectation": valuation.expectation.tolist(),
            "variance": _at_target(valuation, cell["method"]).tolist(),
            "draw_sizes": valuation.draw_sizes.tolist(),
            "records": valuation.access.records,
            "requests": valuation.access.requests,
            "evaluations": valuation.evaluations,
        }

    def conclude(self, results: Results) -> Findings:
        """Set Table IV beside ours."""
        import pandas as pd

        found = {
            (n, method): _metrics(results, n, method) for n in self.players for method in _METHODS
        }
        return Findings(
            claims=claims(found, results, self.players),
            table=table_rows(found),
            beyond=beyond_rows(found, self.players),
            notes=[
                f"{self.replications} replications, as in the paper. Sources of 5,000 Gaussian "
                "records, drawn from with replacement, the same in all replications; they are not "
                "the paper's, so numbers at 10 providers differ by the luck of the sources.",
                "Sampling errors are those of theory: providers are independent here.",
            ],
            data=pd.DataFrame(
                {"n": n, "method": NAMES[method], "metric": facet, "ours": one.ours[facet],
                 "theory": one.theory[facet].value, "theory_error": one.theory[facet].error}
                for (n, method), one in found.items()
                for facet in FACETS
            ),
            figure=draw(found, self.players),
            caption="Points: ours, with one sampling error. Lines: theory; at few providers it "
            "depends on the luck of the sources. All methods take 512 records a provider.",
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Metrics:
    """The four metrics of a method at one number of providers."""

    ours: dict[str, float]
    theory: dict[str, Measured]
    mae: dict[str, FloatArray]  # per replication


def _metrics(results: Results, n: int, method: str) -> Metrics:
    source = source_of(n)
    expectation = results.stack("expectation", n=n, method=method)
    variance = results.stack("variance", n=n, method=method)
    sizes = 1 / (1 / results.stack("draw_sizes", n=n, method=method)).mean(axis=0)
    mae = {
        "mae_expectation": np.abs(expectation - source.mean).mean(axis=1),  # Eq. (20)
        "mae_variance": np.abs(variance - source.value_variance).mean(axis=1),  # Eq. (21)
    }
    ours = {
        "expectation": float(expectation.var(axis=0, ddof=1).mean()),
        "variance": float(variance.var(axis=0, ddof=1).mean()),
        **{name: float(errors.mean()) for name, errors in mae.items()},
    }
    return Metrics(ours, predicted(source, method, sizes, len(expectation)), mae)


@cache
def _records(n: int) -> FloatArray:
    """The fixed sources: (n, 5000) Gaussian records, locations and widths decoupled."""
    rng = np.random.default_rng([_SOURCE_SEED, n])
    means = np.linspace(-3, 3, n)
    widths = rng.permutation(np.geomspace(0.1, 2.0, n))
    return rng.normal(means[:, None], widths[:, None], (n, _SOURCE_SIZE))


def source_of(n: int) -> Source:
    """Exact moments of the sources."""
    records = _records(n)
    centred = records - records.mean(axis=1, keepdims=True)
    return Source(records.mean(axis=1), (centred**2).mean(axis=1), (centred**4).mean(axis=1))


def _providers(n: int) -> list[sb.Provider]:
    return [
        sb.Provider(f"provider {i:04d}", sb.ArraySource(row[:, None], row, replace=True))
        for i, row in enumerate(_records(n))
    ]


def _at_target(valuation: sb.Valuation, method: str) -> FloatArray:
    """The variance estimate, brought to 128 records from the source."""
    variance = valuation.raw_variance
    if method in ("fresh", "blocks") or valuation.pool_sizes is None:
        return variance
    corrected = sb.theory.finite_pool_correction(variance, valuation.pool_sizes)
    return sb.theory.normalise_draw_size(corrected, valuation.draw_sizes, TARGET)


def draw(found: dict[tuple[int, str], Metrics], players: tuple[int, ...]) -> Figure:
    """The four metrics over the number of providers."""
    figure = new_figure(10, 7)
    axes = figure.subplots(2, 2, sharex=True)
    for ax, facet in zip(axes.ravel(), FACETS, strict=True):
        for j, method in enumerate(_METHODS):
            colour, marker, line, filling = METHODS[method]
            theory = [found[n, method].theory[facet] for n in players]
            ax.plot(players, [one.value for one in theory], line, color=colour, linewidth=1)
            ax.errorbar(
                np.array(players) * 1.05 ** (j - 1.5),
                [found[n, method].ours[facet] for n in players],
                yerr=[one.error for one in theory],
                fmt=marker,
                color=colour,
                markerfacecolor=filling,
                markersize=6,
                elinewidth=0.9,
                label=NAMES[method],
            )
        ax.set(xscale="log", yscale="log")
        dress(ax, _WORDS[facet], "providers" if facet.startswith("mae") else "")
        plain_ticks(ax, players)
    common_legend(figure, axes[0, 0], columns=4)
    return figure
