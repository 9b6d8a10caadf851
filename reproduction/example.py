"""Sections II-C and III: the worked example, the closed forms, and tests of the estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import shapband as sb
from reproduction.claims import HOLDS, Row, evaluate
from reproduction.experiment import Cell, Experiment, Findings, Record, replication_seeds
from reproduction.figures import draw_example
from reproduction.frames import select, stack
from reproduction.metrics import FloatArray, variance_of_variance

_WEIGHTS, _MEANS, _DEVIATIONS = (1.0, 2.0, 0.5), (1.0, 2.0, 3.0), (1.0, 0.8, 1.5)
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

    def cells(self, seed: int) -> list[Cell]:
        """One cell for each estimator."""
        (one,) = replication_seeds(seed, 1)
        games = {"replications": self.replications, "seed": one}
        pools = {"kind": "small-pools", "pools": self.pools, "seed": one}
        return [
            {"kind": "additive", "solver": "exact", **games},
            *({"kind": "squared", "solver": s, **games} for s in ("exact", "permutation")),
            *({"method": method, **pools} for method in ("pooled", "blocks")),
        ]

    def measure(self, cell: Cell) -> list[Record]:
        if cell["kind"] == "small-pools":
            return _small_pools(cell)
        additive = cell["kind"] == "additive"
        valuation = sb.value(
            _providers(),
            sb.AdditiveUtility(_WEIGHTS) if additive else sb.FunctionUtility(_square),
            sampling=sb.Fresh(1),
            solver=sb.Permutation(2) if cell["solver"] == "permutation" else sb.Exact(),
            n_games=_M * cell["replications"],
            seed=cell["seed"],
            progress=False,
        )
        if additive:
            groups = valuation.games.reshape(-1, _M, len(_MEANS))
            estimates = zip(groups.mean(axis=1), groups.var(axis=1, ddof=1), strict=True)
            return [{"expectation": e.tolist(), "variance": v.tolist()} for e, v in estimates]
        return [
            {
                "variance": valuation.variance.tolist(),
                "error": valuation.variance_standard_error.tolist(),
                "raw_variance": valuation.raw_variance.tolist(),
            }
        ]

    def conclude(self, frame: pd.DataFrame) -> Findings:
        additive = select(frame, kind="additive")
        estimates = {name: stack(additive, name) for name in ("expectation", "variance")}
        noisy, exact = (
            select(frame, kind="squared", solver=solver).iloc[0]
            for solver in ("permutation", "exact")
        )
        laws = _laws(**estimates, squared=exact)
        agree = sum(row.verdict == HOLDS for row in laws)
        truth = squared_sum().variance
        ratios = {
            "raw, two permutations": np.array(noisy.raw_variance) / truth,
            "noise removed": np.array(noisy.variance) / truth,
            "exact games": np.array(exact.variance) / truth,
        }
        return Findings(
            claims=[
                *_worked_example(),
                *laws,
                *evaluate("example.abstract", agree=agree, laws=len(laws)),
            ],
            table=[],
            beyond=[*_noise(*ratios.values()), *_small_pool_rows(frame)],
            notes=[
                f"The additive Gaussian game of Examples 2 and 3 with weights {_WEIGHTS}, means "
                f"{_MEANS} and deviations {_DEVIATIONS}; {self.replications:,} replications of "
                f"{_M} games. The second game is worth the square of the sum of its members' "
                "records: its moments follow from Propositions 1 and 2, and permutations are "
                "noisy in it.",
                f"An estimate agrees when it lies within {_ERRORS} standard errors.",
            ],
            data=pd.DataFrame(
                np.hstack(list(estimates.values())),
                columns=[f"{name}_{i}" for name in estimates for i in range(len(_MEANS))],
            ),
            figure=draw_example(estimates, additive_game(), _M, ratios),
            caption="Left and middle: estimates of 10 games each, and the laws that Section III "
            "gives for them. Right: the game worth the square of a sum; two permutations per game "
            "overstate the variance until their noise is removed.",
        )


@dataclass(frozen=True)
class _Normal:
    mean: float
    deviation: float

    def __call__(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        x = rng.normal(self.mean, self.deviation, size)
        return x.reshape(-1, 1), x


def _providers() -> list[sb.Provider]:
    laws = [_Normal(*moments) for moments in zip(_MEANS, _DEVIATIONS, strict=True)]
    return [
        sb.Provider(f"provider {i}", sb.FunctionSource(law)) for i, law in enumerate(laws, start=1)
    ]


def _square(X: Any, y: Any) -> float:  # noqa: ARG001  a utility receives both
    return float(np.sum(y) ** 2)


def _small_pools(cell: Cell) -> list[Record]:
    """Variance estimates over many small pools of the additive game."""
    sampling = sb.Pooled(_M, 1) if cell["method"] == "pooled" else sb.Pooled(_M, 1, replace=False)
    records = []
    for pool in range(cell["pools"]):
        valuation = sb.value(
            _providers(),
            sb.AdditiveUtility(_WEIGHTS),
            sampling=sampling,
            n_games=2 * _M,
            seed=cell["seed"] + 1 + pool,
            progress=False,
        )
        records.append({"variance": valuation.variance.tolist()})
    return records


def additive_game() -> sb.theory.ClosedForm:
    """Moments of the game worth a weighted sum."""
    return sb.theory.additive_gaussian(_MEANS, _DEVIATIONS, _WEIGHTS)


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


def _worked_example() -> list[Row]:
    """Example 1: marginal contributions, their means, and both moments."""
    orders = [[[0, 1, 2], [1, 2, 0]], [[0, 2, 1], [2, 1, 0]]]
    values = [[[2, 5, 9], [1, 6, 9]], [[1, 4, 8], [2, 5, 8]]]
    estimate = sb.Estimate.of(sb.extend.marginal_contributions(orders, values).mean(axis=1))
    expectation, variance = estimate.expectation.tolist(), estimate.raw_variance.tolist()
    return evaluate("example.example", expectation=tuple(expectation), variance=tuple(variance))


def _laws(expectation: FloatArray, variance: FloatArray, squared: Any) -> list[Row]:
    """Estimates, the moments that Section III gives for them, and the errors of the estimates."""
    exact = additive_game()
    second_law = variance_of_variance(3 * exact.variance**2, exact.variance, _M)
    spread_e, spread_v = (sample.var(axis=0, ddof=1) for sample in (expectation, variance))
    error_e, error_v = _error_of_variance(expectation), _error_of_variance(variance)
    laws = {
        "mean": (expectation.mean(axis=0), exact.expectation, _error_of_mean(expectation)),
        "variance": (variance.mean(axis=0), exact.variance, _error_of_mean(variance)),
        "var_e": (spread_e, exact.variance / _M, error_e),
        "var_var": (spread_v, second_law, error_v),
        "square": (squared.variance, squared_sum().variance, np.array(squared.error)),
    }
    facts = {
        f"{name}_{fact}": value
        for name, (ours, theory, error) in laws.items()
        for fact, value in (
            ("ours", _numbers(ours)),
            ("theory", _numbers(theory)),
            ("gap", (np.abs(ours - theory) / error).max()),
        )
    }
    return evaluate("example.laws", errors=_ERRORS, **facts)


def _numbers(values: FloatArray) -> str:
    return ", ".join(f"{value:.4g}" for value in values)


def _error_of_mean(samples: FloatArray) -> FloatArray:
    return np.asarray(samples.std(axis=0, ddof=1) / np.sqrt(len(samples)))


def _error_of_variance(samples: FloatArray) -> FloatArray:
    centred = samples - samples.mean(axis=0)
    fourth, second = (centred**4).mean(axis=0), samples.var(axis=0, ddof=1)
    return np.sqrt(variance_of_variance(fourth, second, len(samples)))


def _noise(raw: FloatArray, corrected: FloatArray, _: FloatArray) -> list[Row]:
    words = {"raw_words": _numbers(raw), "corrected_words": _numbers(corrected)}
    return evaluate("example.noise", raw=raw, corrected=corrected, **words)


def _small_pool_rows(frame: pd.DataFrame) -> list[Row]:
    rows = []
    for method, law, remedy in (
        ("pooled", (_M - 1) / _M, "; finite_pool_correction removes the bias"),
        ("blocks", 1.0, ""),
    ):
        found = stack(frame, "variance", kind="small-pools", method=method)
        ratios = found / additive_game().variance
        rows += evaluate(
            "example.small-pools",
            method=method,
            m=_M,
            ours=_numbers(ratios.mean(axis=0)),
            law=law,
            gap=(np.abs(ratios.mean(axis=0) - law) / _error_of_mean(ratios)).max(),
            remedy=remedy,
        )
    return rows
