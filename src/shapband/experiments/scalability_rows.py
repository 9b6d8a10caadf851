"""The rows of the scalability experiment: Table IV and its section beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from shapband._typing import FloatArray
from shapband.experiments import paper
from shapband.experiments.base import Results
from shapband.experiments.figures import NAMES
from shapband.experiments.findings import (
    BETTER,
    WORSE,
    Row,
    judge,
    percent,
    percent_range,
    scientific,
)
from shapband.experiments.metrics import Measured, paired_interval
from shapband.experiments.scalability_theory import FACETS, LOCAL_GAMES

_LOCAL = ("pooled", "stratified")
_ERRORS = 3.5  # at 112 checks, one false alarm in 19 runs
_SHORT = {
    "expectation": "Var(E)",
    "variance": "Var(Var)",
    "mae_expectation": "MAE of E",
    "mae_variance": "MAE of Var",
}


class Metrics(Protocol):
    """The four metrics of a method at one number of providers."""

    @property
    def ours(self) -> dict[str, float]:
        """What was measured."""

    @property
    def theory(self) -> dict[str, Measured]:
        """What theory says, with the sampling error of the measurement."""

    @property
    def mae(self) -> dict[str, FloatArray]:
        """Both errors in every replication."""


Found = Mapping[tuple[int, str], Metrics]


def claims(found: Found, results: Results, players: tuple[int, ...]) -> list[Row]:
    """Section IV-F-3, one sentence at a time."""
    return [
        _theory_claim(found, players),
        _trend_claim(found, players),
        *_expectation_claims(found, players),
        *(_reduction_claim(found, players, *key) for key in paper.SCALABILITY_REDUCTIONS),
        _interval_claim(found, players),
        *_count_claims(results, players),
    ]


def table_rows(found: Found) -> list[Row]:
    """Set every number of Table IV beside ours."""
    rows = []
    for (n, method), printed in paper.SCALABILITY.items():
        if (n, method) not in found:
            continue
        for facet, theirs in zip(FACETS, printed, strict=True):
            ours, theory = found[n, method].ours[facet], found[n, method].theory[facet]
            # Both runs scatter about the theory of their own sources, which differ at small n.
            near = abs(theirs - ours) <= 3 * np.sqrt(2) * theory.error
            rows.append(
                Row(
                    "Table IV",
                    f"{n:,} providers, {NAMES[method]}, {_SHORT[facet]}",
                    scientific(theirs),
                    scientific(ours),
                    str(theory),
                    judge(exact=bool(near), relation=abs(theirs / ours - 1) < 0.5),
                    f"{theirs / ours:.2f} × ours"
                    + ("" if near else "; the sources are not the paper's"),
                )
            )
    return rows


def _off(metrics: Metrics, facet: str) -> float:
    theory = metrics.theory[facet]
    return abs(metrics.ours[facet] - theory.value) / theory.error


def _theory_claim(found: Found, players: tuple[int, ...]) -> Row:
    off = [_off(one, facet) for one in found.values() for facet in FACETS]
    return Row(
        "Abstract",
        "The methods accurately estimate both moments (additive game, exact references)",
        "accurately",
        f"all four metrics at {len(players)} numbers of providers within {max(off):.1f} sampling "
        "errors of theory",
        f"within {_ERRORS} in 18 of 19 runs",
        judge(exact=max(off) < _ERRORS),
        f"{len(off)} numbers checked, blocks included",
    )


def _trend_claim(found: Found, players: tuple[int, ...]) -> Row:
    first, last = players[0], players[-1]
    ratios = [
        found[last, m].ours[facet] / found[first, m].ours[facet]
        for m in ("fresh", *_LOCAL)
        for facet in FACETS
    ]
    return Row(
        "IV-F-3",
        f"None of the four metrics grows with the number of providers ({first} to {last:,})",
        "no systematic growth",
        f"{min(ratios):.2f} to {max(ratios):.2f} times",
        "constant but for the sources",
        judge(exact=max(ratios) < 1.5),
        "providers do not interact in an additive game",
    )


def _expectation_claims(found: Found, players: tuple[int, ...]) -> list[Row]:
    gaps, inside, ratios = [], 0, []
    for n in players:
        base = found[n, "fresh"]
        for method in _LOCAL:
            other = found[n, method]
            differences = other.mae["mae_expectation"] - base.mae["mae_expectation"]
            low, high = paired_interval(differences)
            inside += low <= 0 <= high
            gaps.append(other.ours["mae_expectation"] / base.ours["mae_expectation"] - 1)
            ratios.append(other.ours["expectation"] / base.ours["expectation"])
    theory = [
        found[n, m].theory["expectation"].value / found[n, "fresh"].theory["expectation"].value
        for n in players
        for m in _LOCAL
    ]
    pairs = len(gaps)
    worst = max(_off(found[n, m], "mae_expectation") for n in players for m in ("fresh", *_LOCAL))
    return [
        Row(
            "IV-F-3",
            "The expectation's error differs from the baseline's by at most 4.2 %",
            "at most 4.2 %",
            f"at most {percent(max(abs(g) for g in gaps))}",
            f"{percent_range([np.sqrt(t) - 1 for t in theory])} more",
            judge(exact=max(abs(g) for g in gaps) <= 0.042, relation=worst < _ERRORS),
            "theory agrees with the paper; ten replications of 10 providers scatter more",
        ),
        Row(
            "IV-F-3",
            "The paired 95 % intervals of these differences hold zero at every n",
            "all",
            f"{inside} of {pairs}",
            "not where providers are many: the difference is small, but not zero",
            judge(exact=inside == pairs),
            "local games add their own error to that of the pool, which shows once it is measured "
            "well enough",
        ),
        Row(
            "IV-F-3",
            "Var(E) of the pooled methods is 0.85 to 1.13 times the baseline's",
            "0.85 to 1.13",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
            f"{min(theory):.2f} to {max(theory):.2f}",
            judge(exact=min(ratios) > 0.8 and max(ratios) < 1.2, relation=max(ratios) < 2),
            "ten replications leave about 20 % of scatter at 10 providers",
        ),
    ]


def _reduction_claim(found: Found, players: tuple[int, ...], method: str, facet: str) -> Row:
    low, high = paper.SCALABILITY_REDUCTIONS[method, facet]
    ours = [1 - found[n, method].ours[facet] / found[n, "fresh"].ours[facet] for n in players]
    theory = [
        1 - found[n, method].theory[facet].value / found[n, "fresh"].theory[facet].value
        for n in players
    ]
    wide = 0.05  # the paper's own scatter at 10 providers
    return Row(
        "IV-F-3",
        f"The {method} method lowers the {_SHORT[facet]} against the baseline",
        f"{100 * low:.1f} to {100 * high:.1f} %",
        percent_range(ours),
        percent_range(theory),
        judge(exact=min(ours) > low - wide, relation=min(ours) > 0.5),
        f"at all {len(players)} numbers of providers",
    )


def _interval_claim(found: Found, players: tuple[int, ...]) -> Row:
    ends = []
    for n in players:
        base = found[n, "fresh"].mae["mae_variance"]
        ends += [paired_interval(base - found[n, m].mae["mae_variance"])[0] for m in _LOCAL]
    clear = sum(end > 0 for end in ends)
    return Row(
        "IV-F-3",
        "The paired 95 % intervals of all variance-MAE improvements exclude zero",
        "all",
        f"{clear} of {len(ends)}",
        "all: the gain is many errors wide",
        judge(exact=clear == len(ends)),
        f"lowest end {scientific(min(ends))}",
    )


def _count_claims(results: Results, players: tuple[int, ...]) -> list[Row]:
    counts = {m: [results.where(n=n, method=m)[0] for n in players] for m in ("fresh", *_LOCAL)}
    requests = [
        (a["requests"], b["requests"])
        for a, b in zip(counts["fresh"], counts["pooled"], strict=True)
    ]
    sizes = [np.array(r["draw_sizes"]) for n in players
             for r in results.where(n=n, method="stratified")]  # fmt: skip
    whole = all(size.sum() == 128 * len(size) for size in sizes)
    low, high = min(size.min() for size in sizes), max(size.max() for size in sizes)
    per_player = [r["evaluations"] / n for r, n in zip(counts["pooled"], players, strict=True)]
    fresh = [r["evaluations"] / n for r, n in zip(counts["fresh"], players, strict=True)]
    records = {r["records"] // n for m in counts for r, n in zip(counts[m], players, strict=True)}
    return [
        Row(
            "IV-F-3",
            "All methods take 512 n records; pooling takes n requests in place of 4 n",
            "512 n; 75 % fewer",
            f"{', '.join(map(str, sorted(records)))} n; "
            f"{percent_range([1 - b / a for a, b in requests])} fewer",
            "512 n; 75 %",
            judge(exact=records == {512} and requests == [(4 * n, n) for n in players]),
            "counted at the sources",
        ),
        Row(
            "IV-F-3",
            "Allocations range from 64 to 256 records and sum to 128 n",
            "64 to 256, 128 n",
            f"{low} to {high}, " + ("128 n" if whole else "another sum"),
            "64 to 256, 128 n",
            judge(exact=(low, high) == (64, 256) and whole),
            "in every replication",
        ),
        Row(
            "IV-F-3",
            "Costs grow linearly: 16 n evaluations for the baseline, 200 n for the others",
            "16 n, 200 n",
            f"{min(fresh):.1f} to {max(fresh):.1f} n, {min(per_player):.1f} to "
            f"{max(per_player):.1f} n",
            f"at most 16 n, {4 * LOCAL_GAMES} n",
            judge(exact=max(fresh) <= 16 and 0.8 * 200 < min(per_player) <= 200),
            "a coalition that comes up twice in a game is evaluated once, so slightly fewer",
        ),
    ]  # fmt: skip


def beyond_rows(found: Found, players: tuple[int, ...]) -> list[Row]:
    """Disjoint blocks of the same pools."""
    rows = []
    for facet in FACETS:
        ours = [1 - found[n, "blocks"].ours[facet] / found[n, "pooled"].ours[facet]
                for n in players]  # fmt: skip
        theory = [
            1 - found[n, "blocks"].theory[facet].value / found[n, "pooled"].theory[facet].value
            for n in players
        ]
        rows.append(
            Row(
                "beyond",
                f"{_SHORT[facet]}: disjoint blocks of the same pools, against bootstrap draws",
                "-",
                _change(ours),
                _change(theory),
                BETTER if min(theory) > 0 else WORSE,
                "12 shuffles of 4 games; no correction is needed, more shuffles cost no records",
            )
        )
    return rows


def _change(saved: Sequence[float]) -> str:
    """Say how much lower, or higher if all are."""
    if max(saved) < 0:
        return f"{percent_range([-s for s in saved])} higher"
    return f"{percent_range(saved)} lower"
