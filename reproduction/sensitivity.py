"""Section IV-F-2 and the fourth figure: pool size, draw size and allocation cap on wine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from reproduction import paper
from reproduction.claims import Row, evaluate
from reproduction.experiment import Cell, Findings, replication_seeds
from reproduction.figures import draw_sensitivity
from reproduction.frames import against, reductions, select, stack
from reproduction.paper import VAR_E, VAR_VAR
from reproduction.pilots import PilotedExperiment, permuted, pilot_cell, table_of
from reproduction.valuations import BETTER_ESTIMATORS, METRICS, task_of

_REFERENCE = (250, 60)  # n_pool and n_boot
_SETTINGS = ((180, 60), _REFERENCE, (350, 60), (250, 40), (250, 80))
_LOCAL = ("pooled", "stratified")


@dataclass(frozen=True)
class Sensitivity(PilotedExperiment):
    """Both metrics around the reference setting, compared with baselines of as many records."""

    name = "sensitivity"
    title = "Sensitivity to pool size, draw size and allocation cap"
    where = "Fourth figure, Section IV-F, second part"

    replications: int = 20
    local_games: int = 50
    n_iter: tuple[int, ...] = (100, 1000)
    alphas: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    pilot_pools: int = 40

    def cells(self, seed: int) -> list[Cell]:
        """Every setting with every method, and the cap at the reference setting."""
        pools: dict[tuple[int, int], dict[str, Any]] = {
            (n_pool, n_boot): {"task": "wine", "n_pool": n_pool, "n_boot": n_boot, "alpha": 0.5}
            for n_pool, n_boot in _SETTINGS
        }
        pilots = [
            pilot_cell(seed, self.pilot_pools, 25, {"method": method, **pool})
            for pool in pools.values()
            for method in ("baseline", *_LOCAL)
        ]
        seeds = replication_seeds(seed, self.replications)
        valuations = [
            {"kind": "valuation", "seed": one, **pool, **settings}
            for pool in pools.values()
            for settings in self._tried(pool["n_pool"])
            for one in seeds
        ]
        capped: list[Cell] = [
            {**settings, "kind": "valuation", "seed": one, **pools[_REFERENCE], "alpha": alpha}
            for settings in self._tried(_REFERENCE[0])
            if settings["method"] == "stratified"
            for alpha in self.alphas[1:]
            for one in seeds[:5]
        ]
        return [*pilots, *valuations, *capped]

    def _tried(self, n_pool: int) -> list[dict[str, Any]]:
        """Methods and solvers that every setting is valued with."""
        local = {"games": (self.local_games,)}
        fresh = {"method": "baseline", "budget": pool_records(n_pool), "games": (1_000,)}
        permuted = [{"solver": "permutation", "n_iter": k} for k in self.n_iter]
        return [
            *({**fresh, **solver} for solver in permuted),
            *({"method": method, **local, **solver} for method in _LOCAL for solver in permuted),
            *({"method": method, **local, "solver": "exact"} for method in ("pooled", "blocks")),
        ]

    def conclude(self, frame: pd.DataFrame) -> Findings:
        table = table_of(frame)
        around = select(table, alpha=0.5)
        numbers = permuted(around)
        fresh, local = (rows for _, rows in numbers.groupby(numbers.method != "baseline"))
        return Findings(
            claims=[
                *_ranges(against(fresh, local, on=["metric", "n_iter", "n_pool", "n_boot"])),
                *_claims(local, select(frame, kind="valuation")),
            ],
            table=[],
            beyond=_better(around, self.local_games, self.n_iter[0]),
            notes=[
                f"{self.replications} replications of {self.local_games} local games; the paper "
                "does not print the numbers of this figure.",
                "The baseline of every setting may take as many records as its pools hold: 3 to 6 "
                "games.",
            ],
            data=table,
            figure=draw_sensitivity(numbers, _REFERENCE),
            caption="Thin lines and small markers: 100 permutations; thick and large: 1,000. "
            "Grey lines mark the reference setting of 250 and 60 records.",
        )


def pool_records(n_pool: int) -> int:
    """Records that pools of this size take on wine; a smaller provider gives all of its records."""
    sizes = [getattr(provider.source, "size", n_pool) for provider in task_of("wine").providers]
    return sum(min(n_pool, size) for size in sizes)


def _ranges(pairs: pd.DataFrame) -> list[Row]:
    """All reductions of the pooled methods against baselines of as many records."""
    rows = []
    for metric, (low, high) in paper.SENSITIVITY_REDUCTIONS.items():
        found = select(pairs, metric=metric)
        inside = 100 * found.saved.min() >= low
        rows += evaluate(
            "sensitivity.range",
            metric=metric,
            low=low,
            high=high,
            found=found,
            inside=inside,
            reason="inside or beyond the paper's range" if inside else "lower in every setting",
        )
    return rows


def _claims(local: pd.DataFrame, valuations: pd.DataFrame) -> list[Row]:
    pools = (select(local, metric=VAR_E, n_boot=60, n_pool=n_pool) for n_pool in (180, 350))
    gains = against(*pools, on=["n_iter", "method"])
    draws = select(local, n_pool=250).reset_index()
    lowest = draws.groupby(["metric", "n_iter", "method"]).ours.idxmin()
    winners = sorted(set(draws.n_boot[lowest]))
    many = local.n_iter.max()
    settled = select(local, metric=VAR_VAR, n_iter=many)
    by_method = settled.pivot(index=["n_pool", "n_boot"], columns="method", values="ours")
    bought = select(valuations, method="pooled", n_boot=60)
    small, middle, large = bought.groupby("n_pool").records.first()
    capped = select(valuations, method="stratified", n_pool=250, n_boot=60)
    first, *others = (group for _, group in capped.groupby("alpha"))
    same = all(_same_results(first, other) for other in others)
    return evaluate(
        "sensitivity.claims",
        gains=gains.saved,
        gains_theory=gains.saved_theory,
        small=small,
        middle=middle,
        large=large,
        more=large / middle - 1,
        winners=winners,
        listed=", ".join(str(n_boot) for n_boot in winners),
        many=many,
        stratified=(by_method.stratified < by_method.pooled).sum(),
        settings=len(by_method),
        largest=int(stack(first, "draw_sizes").max()),
        valuations=len(first),
        same=same,
        same_words="identical to the last bit" if same else "they differ",
        alphas=", ".join(f"{alpha:g}" for alpha in sorted(set(capped.alpha))),
    )


def _same_results(first: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether the results with another alpha are equal to those with the first alpha."""
    pairs = other.merge(first, on=["seed", "n_iter"], suffixes=("", "_first"))
    results = ("n_games", "expectation", "variance", "corrected_variance", "draw_sizes", "records")
    return len(pairs) == len(other) and all(
        (pairs[name] == pairs[f"{name}_first"]).all() for name in results
    )


def _better(around: pd.DataFrame, games: int, few: int) -> list[Row]:
    """Compare exact values of the same pools with the baselines of all settings."""
    fresh = select(around, method="baseline", n_iter=few)
    rows = []
    for metric in METRICS:
        found = select(around, metric=metric)
        for method, words in BETTER_ESTIMATORS.items():
            exact = select(found, method=method, solver="exact")
            pairs = against(fresh, exact, on=["metric", "n_pool", "n_boot"])
            rows += evaluate(
                "sensitivity.better",
                metric=metric,
                words=words,
                games=games,
                few=few,
                saved=pairs.saved,
                pooled=select(found, method="pooled", n_iter=few).theory,
                worst=min(reductions(pairs), key=lambda saved: saved.value),
            )
    return rows
