"""Sections II-C and III: the worked example, the closed forms, and what the estimators estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import shapband as sb
from shapband._typing import FloatArray
from shapband.experiments.base import Cell, Experiment, Results, replication_seeds
from shapband.experiments.figures import TEXT, dress, new_figure
from shapband.experiments.findings import BETTER, HOLDS, WORSE, Findings, Row, judge
from shapband.moments.decompose import variance_of_variance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WEIGHTS = (1.0, 2.0, 0.5)
_MEANS = (1.0, 2.0, 3.0)
_DEVIATIONS = (1.0, 0.8, 1.5)
_M = 10  # games of a replication, and records of a pool
_ERRORS = 3.5  # at 15 checks, one false alarm in 140 runs


@dataclass(frozen=True)
class Example(Experiment):
    """The worked example, two games in closed form, and repeated estimates of them."""

    name = "example"
    title = "Worked example and closed forms"
    where = "Sections II-C and III"

    replications: int = 4000
    pools: int = 1000

    def cells(self, seed: int) -> Sequence[Cell]:
        """One cell for each way to estimate."""
        one = replication_seeds(seed, 1)[0]
        common = {"replications": self.replications, "seed": one}
        return [
            Cell.of(work=1, kind="additive", **common),
            *(
                Cell.of(work=2, kind="squared", solver=solver, **common)
                for solver in ("exact", "permutation")
            ),
            *(
                Cell.of(work=1, kind="small-pools", method=method, pools=self.pools, seed=one)
                for method in ("pooled", "blocks")
            ),
        ]

    def measure(self, cell: Cell) -> dict[str, Any]:
        """Estimate both moments again and again."""
        if cell["kind"] == "small-pools":
            return _small_pools(cell)
        additive = cell["kind"] == "additive"
        utility = sb.AdditiveUtility(_WEIGHTS) if additive else sb.FunctionUtility(_square)
        solver = sb.Permutation(2) if cell.get("solver") == "permutation" else sb.Exact()
        valuation = sb.value(
            _providers(),
            utility,
            sampling=sb.Fresh(1),
            solver=solver,
            n_games=_M * cell["replications"],
            seed=cell["seed"],
            progress=False,
        )
        games = valuation.games.reshape(-1, _M, len(_MEANS))
        return {
            "expectation": games.mean(axis=1).tolist(),
            "variance": games.var(axis=1, ddof=1).tolist(),
            "overall": valuation.variance.tolist(),
            "overall_error": valuation.variance_standard_error.tolist(),
            "overall_raw": valuation.raw_variance.tolist(),
        }

    def conclude(self, results: Results) -> Findings:
        """Compare with the printed example and with the closed forms."""
        import pandas as pd

        additive = results.one(kind="additive")
        estimates = {name: np.array(additive[name]) for name in ("expectation", "variance")}
        rows = _worked_example()
        return Findings(
            claims=[*rows, *_closed_form_claims(estimates, results)],
            table=[],
            beyond=[_noise_row(results), *_small_pool_rows(results)],
            notes=[
                f"The additive Gaussian game of Examples 2 and 3 with weights {_WEIGHTS}, means "
                f"{_MEANS} and deviations {_DEVIATIONS}; {self.replications:,} replications of "
                f"{_M} games. The second game is worth the square of the sum of its members' "
                "records: its moments follow from Propositions 1 and 2, and permutations are "
                "noisy in it.",
                f"An estimate agrees when it lies within {_ERRORS} standard errors.",
            ],
            data=pd.DataFrame(
                {
                    f"{name}_{i}": estimates[name][:, i]
                    for name in estimates
                    for i in range(len(_MEANS))
                }
            ),
            figure=draw(estimates, results),
            caption="Left and middle: estimates of 10 games each, and the laws that Section III "
            "gives for them. Right: the game worth the square of a sum; two permutations a game "
            "overstate the variance until their noise is removed.",
        )


def _providers() -> list[sb.Provider]:
    return [
        sb.Provider(f"provider {i + 1}", sb.FunctionSource(_Normal(mean, deviation)))
        for i, (mean, deviation) in enumerate(zip(_MEANS, _DEVIATIONS, strict=True))
    ]


@dataclass(frozen=True)
class _Normal:
    mean: float
    deviation: float

    def __call__(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        x = rng.normal(self.mean, self.deviation, size)
        return x.reshape(-1, 1), x


def _square(X: Any, y: Any) -> float:  # noqa: ARG001  a utility sees both
    return float(np.sum(y) ** 2)


def squared_sum() -> sb.theory.ClosedForm:
    """Moments of the game worth (Σ X)², from those of its utilities.

    For jointly normal A and B, Cov(A², B²) = 2 Cov(A, B)² + 4 E[A] E[B] Cov(A, B).
    """
    n = len(_MEANS)
    member = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    mean = member @ np.array(_MEANS)
    covariance = (member * np.array(_DEVIATIONS) ** 2) @ member.T
    means = mean**2 + covariance.diagonal()
    return sb.theory.closed_form(means, 2 * covariance**2 + 4 * np.outer(mean, mean) * covariance)


def _small_pools(cell: Cell) -> dict[str, Any]:
    """Mean variance estimate over many small pools of the additive game."""
    sampling = sb.Pooled(_M, 1) if cell["method"] == "pooled" else sb.Blocks(_M, 1)
    found = [
        sb.value(
            _providers(),
            sb.AdditiveUtility(_WEIGHTS),
            sampling=sampling,
            n_games=2 * _M,
            seed=cell["seed"] + 1 + p,
            progress=False,
        ).variance.tolist()
        for p in range(cell["pools"])
    ]
    return {"variance": found}


def _worked_example() -> list[Row]:
    """Example 1: marginal contributions, their means, and both moments."""
    orders = [[[0, 1, 2], [1, 2, 0]], [[0, 2, 1], [2, 1, 0]]]
    values = [[[2, 5, 9], [1, 6, 9]], [[1, 4, 8], [2, 5, 8]]]
    moments = sb.Moments.of(sb.marginal_contributions(orders, values).mean(axis=1))
    printed = {"expectation": (2.25, 2.75, 3.5), "variance": (0.125, 1.125, 2.0)}
    found = {"expectation": moments.expectation, "variance": moments.raw_variance}
    return [
        Row(
            "II-C",
            f"Example 1: estimated {name}",
            str(printed[name]),
            str(tuple(found[name].tolist())),
            "exact",
            judge(exact=tuple(found[name].tolist()) == printed[name]),
            "the same arithmetic",
        )
        for name in printed
    ]


def _closed_form_claims(estimates: dict[str, FloatArray], results: Results) -> list[Row]:
    exact = sb.theory.additive_gaussian(_MEANS, _DEVIATIONS, _WEIGHTS)
    expectation, variance = estimates["expectation"], estimates["variance"]
    fourth = 3 * exact.variance**2
    second_law = variance_of_variance(fourth, exact.variance, _M)
    squared, seen = squared_sum(), results.one(kind="squared", solver="exact")
    rows = [
        _law("III-A", "E[φ] = w μ, and its estimator is unbiased (Props. 1 and 3)",
             expectation.mean(axis=0), exact.expectation, _error_of_mean(expectation)),
        _law("III-B", "Var(φ) = w² σ², and its estimator is unbiased (Props. 2 and 5)",
             variance.mean(axis=0), exact.variance, _error_of_mean(variance)),
        _law("III-C", "Var of the estimated expectation is Var(φ) / m (Eq. 9)",
             expectation.var(axis=0, ddof=1), exact.variance / _M, _error_of_variance(expectation)),
        _law("III-D", "Var of the estimated variance (Eq. 11)",
             variance.var(axis=0, ddof=1), second_law, _error_of_variance(variance)),
        _law("III-B", "Proposition 2 on a game that is not additive, (Σ X)²",
             np.array(seen["overall"]), squared.variance, np.array(seen["overall_error"])),
    ]  # fmt: skip
    agree = sum(row.verdict == HOLDS for row in rows)
    return [
        *rows,
        Row(
            "Abstract",
            "Closed forms exist, and the empirical estimators are unbiased",
            "proved",
            f"{agree} of {len(rows)} rows of Section III agree",
            "exact",
            judge(exact=agree == len(rows)),
            "checked on two games with known moments",
        ),
    ]


def _law(where: str, what: str, ours: FloatArray, theory: FloatArray, error: FloatArray) -> Row:
    gap = np.abs(ours - theory) / error
    return Row(
        where,
        what,
        "proved",
        _numbers(ours),
        _numbers(theory),
        judge(exact=bool(gap.max() < _ERRORS)),
        f"largest gap {gap.max():.1f} standard errors",
    )


def _numbers(values: FloatArray) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _error_of_mean(samples: FloatArray) -> FloatArray:
    return np.asarray(samples.std(axis=0, ddof=1) / np.sqrt(len(samples)))


def _error_of_variance(samples: FloatArray) -> FloatArray:
    centred = samples - samples.mean(axis=0)
    fourth, second = (centred**4).mean(axis=0), samples.var(axis=0, ddof=1)
    return np.sqrt(variance_of_variance(fourth, second, len(samples)))


def _noise_row(results: Results) -> Row:
    seen = results.one(kind="squared", solver="permutation")
    truth = squared_sum().variance
    raw, corrected = np.array(seen["overall_raw"]) / truth, np.array(seen["overall"]) / truth
    return Row(
        "beyond",
        "(Σ X)² with two permutations a game: estimated variance over the true one",
        "-",
        f"raw {_numbers(raw)}; noise removed {_numbers(corrected)}",
        "1 with the noise removed",
        BETTER if np.abs(corrected - 1).max() < np.abs(raw - 1).max() else WORSE,
        "Eq. (7) is unbiased only for exact games",
    )


def _small_pool_rows(results: Results) -> list[Row]:
    truth = sb.theory.additive_gaussian(_MEANS, _DEVIATIONS, _WEIGHTS).variance
    rows = []
    for method, law in (("pooled", (_M - 1) / _M), ("blocks", 1.0)):
        found = np.array(results.one(kind="small-pools", method=method)["variance"]) / truth
        mean = found.mean(axis=0)
        gap = np.abs(mean - law) / _error_of_mean(found)
        rows.append(
            Row(
                "beyond",
                f"additive game from {method} draws of pools of {_M}: estimated variance over "
                "the true one",
                "-",
                _numbers(mean),
                f"{law:g}",
                BETTER if method == "blocks" else WORSE,
                f"largest gap to theory {gap.max():.1f} standard errors"
                + ("; finite_pool_correction removes the bias" if method == "pooled" else ""),
            )
        )
    return rows


def draw(estimates: dict[str, FloatArray], results: Results) -> Figure:
    """Estimates of provider 1 with their laws, and the variance with and without noise."""
    figure = new_figure(12, 3.9)
    left, middle, right = figure.subplots(1, 3)
    exact = sb.theory.additive_gaussian(_MEANS, _DEVIATIONS, _WEIGHTS)
    _draw_laws(left, middle, estimates, float(exact.expectation[0]), float(exact.variance[0]))
    _draw_noise(right, results)
    return figure


def _draw_laws(
    left: Axes, middle: Axes, estimates: dict[str, FloatArray], mean: float, variance: float
) -> None:
    from scipy import stats

    laws = (stats.norm(mean, np.sqrt(variance / _M)), stats.chi2(_M - 1, scale=variance / (_M - 1)))
    truths = (mean, variance)
    words = ("estimated expectation of provider 1", "estimated variance of provider 1")
    for ax, name, law, truth, word in zip(
        (left, middle), estimates, laws, truths, words, strict=True
    ):
        seen = estimates[name][:, 0]
        ax.hist(seen, bins=50, density=True, color="#b4cae1", label="estimates")
        x = np.linspace(seen.min(), seen.max(), 200)
        ax.plot(x, law.pdf(x), color="#14375e", label="law of Section III")
        ax.axvline(truth, color="#b04a0c", linestyle="--", label="closed form")
        dress(ax, "additive game", word, "density")
        ax.legend(frameon=False, labelcolor=TEXT, fontsize="small")


def _draw_noise(ax: Axes, results: Results) -> None:
    noisy = results.one(kind="squared", solver="permutation")
    exact = results.one(kind="squared", solver="exact")
    truth = squared_sum().variance
    shown = (
        ("raw, two permutations", noisy["overall_raw"], "s", "white", "#b04a0c"),
        ("noise removed", noisy["overall"], "D", "#1c6344", "#1c6344"),
        ("exact games", exact["overall"], "o", "#14375e", "#14375e"),
    )
    for j, (label, values, marker, filling, colour) in enumerate(shown):
        ax.plot(
            np.arange(len(truth)) + 0.12 * (j - 1),
            np.array(values) / truth,
            marker,
            color=colour,
            markerfacecolor=filling,
            markersize=7,
            label=label,
        )
    ax.axhline(1, color="#b04a0c", linestyle="--")
    ax.set_xticks(range(len(truth)), [f"provider {i + 1}" for i in range(len(truth))])
    ax.set_xlim(-0.5, len(truth) - 0.5)
    ax.set_yscale("log")
    ax.set_yticks([1, 1.2, 1.5, 2, 3], ["1", "1.2", "1.5", "2", "3"])
    ax.minorticks_off()
    dress(ax, "game worth the square of the sum", "", "estimated over true variance")
    ax.legend(frameon=False, labelcolor=TEXT, fontsize="small")
