"""The rows of the source-budget experiment: Table III and Section IV-E beside ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from shapband.experiments import paper
from shapband.experiments.base import Results
from shapband.experiments.figures import NAMES
from shapband.experiments.findings import (
    BETTER,
    DOES_NOT,
    HOLDS,
    IN_RELATION,
    WORSE,
    Row,
    judge,
    percent,
    percent_range,
    scientific,
)
from shapband.experiments.grid import SHORT
from shapband.experiments.metrics import (
    compare,
    paper_agrees,
    paper_ratio_agrees,
    reduction,
    stability,
)
from shapband.experiments.source_budget_numbers import BUDGETS, LOCAL, Found


def claims(found: Found, results: Results) -> list[Row]:
    """Section IV-E, and two sentences of the abstract."""
    return [
        *_count_claims(results),
        *_range_claims(found),
        *_sweep_claims(found),
        _abstract_claim(found),
        _moments_claim(found, results),
    ]


def _count_claims(results: Results) -> list[Row]:
    fresh = results.where(method="fresh", records=BUDGETS[0])[0]
    pooled = results.where(method="pooled", solver="permutation")[0]
    sizes = results.stack("draw_sizes", method="stratified", solver="permutation")
    return [
        Row(
            "IV-E",
            "2,500 records pay for four fresh games; the pools take 2,477 records once",
            "4 games; 2,477",
            f"{fresh['games'][0]} games of {fresh['records']:,} records; {pooled['records']:,}",
            "4 games of 2,400 records; 2,477",
            judge(exact=fresh["games"][0] == 4 and pooled["records"] == 2477),
            "counted at the sources",
        ),
        Row(
            "IV-D",
            "The stratified method reallocates a fixed number of records a game",
            "n n_boot = 600",
            f"{sizes.sum(axis=1).min():.0f} to {sizes.sum(axis=1).max():.0f} in all, "
            f"{sizes.min():.0f} to {sizes.max():.0f} a provider",
            "600 in all, at least 30 a provider",
            judge(exact=bool((sizes.sum(axis=1) == 600).all() and sizes.min() == 30)),
            "in every replication",
        ),
    ]


def _range_claims(found: Found) -> list[Row]:
    rows = []
    for (metric, games), (low, high) in paper.SOURCE_BUDGET_REDUCTIONS.items():
        if games not in found.games:
            continue
        ours = found.all_saved(metric, games, BUDGETS[0])
        as_large = [_as_large(found, metric, k, m, games) for k in found.n_iter for m in LOCAL]
        rows.append(
            Row(
                "IV-E",
                f"With {games} local games the pooled methods lower {SHORT[metric]} under 2,500 "
                "records",
                f"{100 * low:.1f} to {100 * high:.1f} %",
                percent_range(ours),
                percent_range(found.theory_saved(metric, games, BUDGETS[0])),
                judge(exact=all(as_large), relation=min(ours) > 0.5),
                f"{sum(as_large)} of {len(as_large)} reductions are as large as the paper's, or "
                "differ by less than the scatter of its five replications",
            )
        )
    return rows


def _as_large(found: Found, metric: str, k: int, method: str, games: int) -> bool:
    """Whether a reduction is as large as the paper's, but for the scatter of replications."""
    theirs = (paper.SOURCE_BUDGET[metric, k, method, games],
              paper.SOURCE_BUDGET[metric, k, "fresh", 4])  # fmt: skip
    ours = found.measured[metric, k, method, games], found.measured[metric, k, "fresh", 4]
    larger = ours[0].value / ours[1].value < theirs[0] / theirs[1]
    return larger or paper_ratio_agrees(theirs, ours, found.replications)


def _sweep_claims(found: Found) -> list[Row]:
    first, games = BUDGETS[0], found.games
    every = [
        v for metric in SHORT for g in games if g >= 10 for v in found.all_saved(metric, g, first)
    ]
    theory = [v for metric in SHORT for g in games for v in found.theory_saved(metric, g, first)]
    gains = [
        1 - found.measured[m, k, method, games[-1]].value /
        found.measured[m, k, method, games[0]].value
        for m in SHORT for k in found.n_iter for method in LOCAL
    ]  # fmt: skip
    rows = [
        Row(
            "IV-E",
            "More local games generally lower both metrics",
            "generally",
            f"{percent_range(gains)} from {games[0]} to {games[-1]} games",
            "B + (V + C / n_iter) / n_games",
            judge(exact=float(np.mean(np.array(gains) > 0)) > 0.8),
            "at no cost in records",
        ),
        Row(
            "IV-E",
            "All pooled configurations beat the baseline under 2,500 records",
            "all",
            f"{sum(v > 0 for v in every)} of {len(every)}; {percent_range(every)} lower",
            f"{percent_range(theory)} lower",
            judge(exact=min(every) > 0),
            f"from {games[0]} local games on",
        ),
    ]
    for budget, words in ((6_000, "remain superior"), (12_000, "most gains persist"),
                          (30_000, "the advantage narrows or goes")):  # fmt: skip
        if budget in found.budgets:
            rows.append(_budget_claim(found, budget, words))
    return rows


def _budget_claim(found: Found, budget: int, words: str) -> Row:
    pairs = [(metric, g) for metric in SHORT for g in found.games if g >= 50]
    ours = [v for metric, g in pairs for v in found.all_saved(metric, g, budget)]
    theory = [v for metric, g in pairs for v in found.theory_saved(metric, g, budget)]
    before = [v for metric, g in pairs for v in found.all_saved(metric, g, BUDGETS[0])]
    share = float(np.mean(np.array(ours) > 0))
    exact = {6_000: share == 1, 12_000: share > 0.5}.get(budget, np.mean(ours) < np.mean(before))
    return Row(
        "IV-E",
        f"At {budget:,} records for the baseline ({found.baseline_games[budget]} games): {words}",
        words,
        f"pooled lower in {percent(share)} of the settings; {percent_range(ours)} lower",
        f"{percent_range(theory)} lower",
        judge(exact=bool(exact)),
        f"from {min(g for _, g in pairs)} local games on, which still take 2,477 records",
    )


def _abstract_claim(found: Found) -> Row:
    ours = [v for metric in SHORT for v in found.all_saved(metric, found.games[-1], BUDGETS[0])]
    return Row(
        "Abstract",
        "Pooled methods substantially improve stability under constrained source access",
        "80.7 to 98.2 %",
        f"{percent_range(ours)} lower",
        "see IV-E",
        judge(exact=min(ours) > 0.5),
        "both metrics, both methods, both n_iter",
    )


def _moments_claim(found: Found, results: Results) -> Row:
    truth = found.pilots["fresh"]
    means = results.stack("expectation", method="pooled", solver="exact")[:, -1].mean(axis=0)
    off = float(np.abs(means / truth.expectation - 1).max())
    exact = results.stack("variance", method="pooled", solver="exact")[:, -1].mean()
    noisy = [
        results.stack("variance", method="pooled", n_iter=k)[:, -1].mean() / truth.within.mean()
        for k in found.n_iter
    ]
    ratio = exact / truth.within.mean()
    return Row(
        "Abstract",
        "The methods accurately estimate both moments (pooled on wine, against fresh draws)",
        "accurately",
        f"expectation off by at most {percent(off)}; variance {ratio:.2f} of the true one if "
        "games are exact, "
        + ", ".join(f"{r:.2f} with {k} permutations"
                    for r, k in zip(noisy, found.n_iter, strict=True)),
        "1.00 and, with permutations, 1 + C / (n_iter V)",
        judge(exact=off < 0.1 and abs(noisy[0] - 1) < 0.1, relation=off < 0.1),
        "the expectation is; the variance only once permutation noise is removed",
    )  # fmt: skip


def table_row(found: Found, metric: str, k: int, method: str, games: int) -> Row:
    """Set a number of Table III beside ours."""
    theirs = paper.SOURCE_BUDGET[metric, k, method, games]
    base = paper.SOURCE_BUDGET[metric, k, "fresh", 4]
    ours, fresh = found.measured[metric, k, method, games], found.measured[metric, k, "fresh", 4]
    times, reps = f"{theirs / ours.value:.2g} × ours", found.replications
    if paper_agrees(theirs, ours, reps):
        verdict, reason = HOLDS, f"{times}: within the scatter of five replications"
    elif method != "fresh" and paper_ratio_agrees((theirs, base), (ours, fresh), reps):
        verdict, reason = IN_RELATION, f"{times}, but the same part of the baseline"
    elif method != "fresh" and reduction(fresh, ours).value > 1 - theirs / base:
        verdict, reason = IN_RELATION, f"{times}; ours is the smaller part of the baseline"
    else:
        verdict, reason = DOES_NOT, f"{times}, beyond the scatter of five replications"
    return Row(
        "Table III",
        f"{NAMES[method]}, {SHORT[metric]}, {games} games of {k} permutations",
        scientific(theirs),
        str(ours),
        scientific(found.predicted(metric, k, method, games)),
        verdict,
        reason,
    )


def beyond_rows(found: Found, results: Results) -> list[Row]:
    """What the same pools give with better estimators."""
    rows = []
    games = found.games[-1]
    for metric in SHORT:
        base = found.measured[metric, 100, "pooled", games]
        fresh = found.measured[metric, 100, "fresh", 4]
        tried = {
            "pooled, exact": results.stack(metric, method="pooled", solver="exact")[:, -1],
            "disjoint blocks, exact": results.stack(metric, method="blocks", solver="exact")[:, -1],
        }
        if metric == "variance":
            tried["pooled, 100 permutations, their noise removed"] = results.stack(
                "corrected_variance", method="pooled", n_iter=100
            )
        for words, estimates in tried.items():
            one = stability(estimates)
            rows.append(
                Row(
                    "beyond",
                    f"{SHORT[metric]}, 2,477 records, {games} games: {words}",
                    "-",
                    str(one),
                    scientific(found.predicted(metric, None, "pooled", games))
                    if words == "pooled, exact" else "-",
                    compare(reduction(base, one)),
                    f"{reduction(base, one).words} than pooled with 100 permutations, "
                    f"{reduction(fresh, one).words} than the baseline",
                )
            )  # fmt: skip
    return [*rows, _accuracy_row(found, results)]


def _accuracy_row(found: Found, results: Results) -> Row:
    """Root mean squared error of the variance: bias and scatter together."""
    truth = found.pilots["fresh"].within

    def error(estimates: Any) -> float:
        return float(np.sqrt(((estimates - truth) ** 2).mean()))

    tried = {
        "baseline": results.stack("variance", method="fresh", records=BUDGETS[0], n_iter=100)[:, 0],
        "pooled": results.stack("variance", method="pooled", n_iter=100)[:, -1],
        "noise removed": results.stack("corrected_variance", method="pooled", n_iter=100),
        "exact": results.stack("variance", method="pooled", solver="exact")[:, -1],
        "blocks": results.stack("variance", method="blocks", solver="exact")[:, -1],
    }  # fmt: skip
    errors = {words: error(estimates) for words, estimates in tried.items()}
    return Row(
        "beyond",
        "Root mean squared error of the estimated variance under 2,500 records",
        "-",
        ", ".join(f"{words} {scientific(e)}" for words, e in errors.items()),
        f"the variance itself is {scientific(truth.mean())}",
        BETTER if errors["exact"] < errors["pooled"] else WORSE,
        "stability alone hides a bias: 100 permutations add C / 100 to every variance",
    )
