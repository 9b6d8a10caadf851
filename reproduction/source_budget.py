"""Table III and the third figure: accuracy for a given budget of source records, on wine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from reproduction import paper
from reproduction.claims import Row, evaluate, scientific
from reproduction.experiment import Cell, Findings, replication_seeds
from reproduction.figures import draw_source_budget
from reproduction.frames import (
    against,
    measured,
    relation_agrees,
    rows_of,
    select,
    stack,
    table_rows,
)
from reproduction.metrics import reduction, stability
from reproduction.paper import VAR_VAR
from reproduction.pilots import Pilot, PilotedExperiment, permuted, pilot_cell, pilot_of, table_of
from reproduction.valuations import BETTER_ESTIMATORS, METRICS

BUDGETS = (2_500, 6_000, 12_000, 30_000)
_LOCAL = ("pooled", "stratified")
_BUDGET_WORDS = {
    6_000: "remain superior",
    12_000: "most gains persist",
    30_000: "the advantage narrows or goes",
}


@dataclass(frozen=True)
class SourceBudget(PilotedExperiment):
    """Fresh games within a budget, compared with local games from one set of pools."""

    name = "source-budget"
    title = "Variance under a budget of source records"
    where = "Table III, third figure, Section IV-E"

    replications: int = 20
    games: tuple[int, ...] = (10, 20, 50, 100, 200)
    n_iter: tuple[int, ...] = (100, 1000)
    budgets: tuple[int, ...] = BUDGETS
    pilot_pools: int = 60
    n_pool: int = 250
    n_boot: int = 60
    alpha: float = 0.5

    def cells(self, seed: int) -> list[Cell]:
        """Every method at both n_iter, the pilots, and the pools used with better estimators."""
        sizes = {"n_pool": self.n_pool, "n_boot": self.n_boot, "alpha": self.alpha}
        pool = {"task": "wine", **sizes}
        local = {"games": self.games}
        tried: list[dict[str, Any]] = [
            {"method": method, "solver": "exact", **local} for method in ("pooled", "blocks")
        ]
        for k in self.n_iter:
            solver = {"solver": "permutation", "n_iter": k}
            fresh = {"method": "baseline", "games": (1_000,), **solver}
            tried += [{"budget": budget, **fresh} for budget in self.budgets]
            tried += [{"method": method, **local, **solver} for method in _LOCAL]
        pilots = [
            pilot_cell(seed, self.pilot_pools, 50, {"method": method, **pool})
            for method in ("baseline", *_LOCAL)
        ]
        return pilots + [
            {"kind": "valuation", "seed": one, **settings, **pool}
            for settings in tried
            for one in replication_seeds(seed, self.replications)
        ]

    def conclude(self, frame: pd.DataFrame) -> Findings:
        table, fresh = table_of(frame), pilot_of(frame, method="baseline")
        valuations = select(frame, kind="valuation")
        numbers = permuted(table)
        # Compare every number with the baseline's numbers at every budget.
        fresh_numbers = select(numbers, method="baseline")
        pairs = against(fresh_numbers, numbers.drop(columns="budget"), on=["metric", "n_iter"])
        by = ["metric", "n_iter", "method", "n_games"]
        printed = paper.SOURCE_BUDGET.merge(select(pairs, budget=BUDGETS[0]), on=by)
        pairs = pairs[pairs.method != "baseline"]
        first = select(pairs, budget=BUDGETS[0])
        return Findings(
            claims=[
                *_counts(valuations),
                *_ranges(printed),
                *_sweep(first, numbers[numbers.method != "baseline"]),
                *_budgets(pairs[pairs.n_games >= 50]),
                *_abstract(first, valuations, fresh),
            ],
            table=table_rows(
                "Table III",
                "{method}, {metric}, {n_games} games of {n_iter} permutations",
                printed,
                same="the same part of the baseline",
                smaller="ours is the smaller part of the baseline",
            ),
            beyond=[*_better(table, valuations), *_accuracy(valuations, fresh)],
            notes=[
                f"{self.replications} replications; the paper has five.",
                "The budget of the pooled methods stays at 2,477 records in the lower panels: "
                "pools of 250 take nearly all that the providers have.",
                "The stratified method changes the draw sizes, so it estimates the moments of "
                "another game; its stability is compared, not its values.",
            ],
            data=table,
            figure=draw_source_budget(pairs),
            caption="Variance of a pooled method over that of the baseline; below 1 pooling wins. "
            "Above: more local games under 2,500 records. Below: a larger budget for the "
            "baseline. Crosses are the paper's.",
        )


def _counts(valuations: pd.DataFrame) -> list[Row]:
    """Records bought, and the draw sizes of the stratified method."""
    fresh = select(valuations, method="baseline", budget=BUDGETS[0]).iloc[0]
    pooled = select(valuations, method="pooled").iloc[0]
    sizes = stack(valuations, "draw_sizes", method="stratified")
    return evaluate(
        "source-budget.counts",
        paid=fresh.n_games,
        records={"baseline": fresh.records, "pooled": pooled.records},
        sums=sizes.sum(axis=1),
        sizes=sizes.ravel(),
    )


def _ranges(printed: pd.DataFrame) -> list[Row]:
    """The reductions under the smallest budget, for each range that the paper prints."""
    rows = []
    for (metric, games), (low, high) in paper.SOURCE_BUDGET_REDUCTIONS.items():
        found = select(printed, metric=metric, n_games=games)
        # At least as large as the paper's reduction, up to the variation over replications.
        as_large = [
            pair.ratio < pair.theirs / pair.theirs_baseline or relation_agrees(pair)
            for pair in rows_of(found)
        ]
        if len(found):
            rows += evaluate(
                "source-budget.range",
                metric=metric,
                games=games,
                low=low,
                high=high,
                found=found,
                as_large=as_large,
                large=sum(as_large),
                settings=len(as_large),
            )
    return rows


def _sweep(pairs: pd.DataFrame, local: pd.DataFrame) -> list[Row]:
    """More local games, and all pooled settings under the smallest budget."""
    least, most = pairs.n_games.min(), pairs.n_games.max()
    ends = (select(local, n_games=games) for games in (least, most))
    return evaluate(
        "source-budget.sweep",
        least=least,
        most=most,
        gains=against(*ends, on=["metric", "n_iter", "method"]).saved,
        wins=(pairs.saved > 0).sum(),
        settings=len(pairs),
        saved=pairs.saved,
        saved_theory=pairs.saved_theory,
    )


def _budgets(pairs: pd.DataFrame) -> list[Row]:
    """Larger budgets for the baseline."""
    rows = []
    for budget in sorted(set(_BUDGET_WORDS) & set(pairs.budget)):
        found = select(pairs, budget=budget)
        rows += evaluate(
            "source-budget.budget",
            budget=int(budget),
            words=_BUDGET_WORDS[budget],
            paid=found.n_games_baseline.iloc[0],
            share=(found.saved > 0).mean(),
            found=found,
            mean_at_first=select(pairs, budget=BUDGETS[0]).saved.mean(),
            least=found.n_games.min(),
        )
    return rows


def _abstract(first: pd.DataFrame, valuations: pd.DataFrame, fresh: Pilot) -> list[Row]:
    """Stability at the most local games, and accuracy of pooled games and of fresh draws."""
    most = first.n_games.max()
    pooled = select(valuations, method="pooled", n_games=most)
    means = stack(pooled, "expectation", solver="exact").mean(axis=0)
    noisy = {
        k: stack(pooled, "variance", n_iter=k).mean() / fresh.within.mean()
        for k in sorted(set(first.n_iter))
    }
    return evaluate(
        "source-budget.abstract",
        saved_at_most=select(first, n_games=most).saved,
        off=np.abs(means / fresh.expectation - 1).max(),
        exact=stack(pooled, "variance", solver="exact").mean() / fresh.within.mean(),
        noisy=next(iter(noisy.values())),
        noisy_words=", ".join(f"{ratio:.2f} with {k} permutations" for k, ratio in noisy.items()),
    )


def _better(table: pd.DataFrame, valuations: pd.DataFrame) -> list[Row]:
    """Results of better estimators with the same pools."""
    rows = []
    games = select(table, method="pooled").n_games.max()
    pooled = select(valuations, method="pooled", n_iter=100, n_games=games)
    corrected = stability(stack(pooled, "corrected_variance"))
    for metric in METRICS:
        found = select(table, metric=metric)
        exact = select(found, solver="exact", n_games=games).set_index("method")
        tried = [
            (f"{words}, exact", measured(exact.loc[[method]]), exact.theory[method])
            for method, words in BETTER_ESTIMATORS.items()
        ]
        if metric == VAR_VAR:
            tried.append(("pooled, 100 permutations, their noise removed", corrected, np.nan))
        base = measured(found, method="pooled", n_iter=100, n_games=games)
        fresh = measured(found, method="baseline", n_iter=100, budget=BUDGETS[0])
        for words, one, theory in tried:
            facts = {"metric": metric, "games": games, "words": words, "theory": theory}
            saved = {"saved": reduction(base, one), "saved_of_baseline": reduction(fresh, one)}
            rows += evaluate("source-budget.better", found=one, **facts, **saved)
    return rows


def _accuracy(valuations: pd.DataFrame, fresh: Pilot) -> list[Row]:
    """Root mean squared error of the variance, which combines bias and standard deviation."""
    budget = select(valuations, method="baseline", budget=BUDGETS[0], n_iter=100)
    most = select(valuations, n_games=select(valuations, method="pooled").n_games.max())
    pooled = select(most, method="pooled")
    tried = {
        "baseline": stack(budget, "variance"),
        "pooled": stack(pooled, "variance", n_iter=100),
        "noise removed": stack(pooled, "corrected_variance", n_iter=100),
        "exact": stack(pooled, "variance", solver="exact"),
        "blocks": stack(most, "variance", method="blocks"),
    }
    errors = {
        words: np.sqrt(((estimates - fresh.within) ** 2).mean())
        for words, estimates in tried.items()
    }
    return evaluate(
        "source-budget.accuracy",
        errors=errors,
        listed=", ".join(f"{words} {scientific(error)}" for words, error in errors.items()),
        truth=fresh.within.mean(),
    )
