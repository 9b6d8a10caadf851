"""One wine game, compared with hand-written programs, pyDVL and shapiq."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from pydvl.utils.caching import InMemoryCacheBackend
from pydvl.valuation import (
    Dataset,
    DeterministicUniformSampler,
    GroupedDataset,
    MinUpdates,
    ModelUtility,
    NoStopping,
    PermutationSampler,
    ShapleyValuation,
    SupervisedScorer,
)
from pydvl.valuation.types import Sample
from shapiq.game_theory.exact import ExactComputer
from sklearn.linear_model import LinearRegression

import shapband as sb
from benchmarks import baselines
from benchmarks.games import (
    Records,
    check_same,
    draws_of,
    inverse_mse,
    records_of,
    refit_exact,
)
from benchmarks.harness import Row, emit, interleave, say

N_GAMES = 200
ROUNDS = 9
SEED = 1
PERMUTATIONS = 100


def grouped(records: list[Records]) -> GroupedDataset:
    """The providers as groups of records."""
    return GroupedDataset(
        np.concatenate([X for X, _ in records]),
        np.concatenate([y for _, y in records]),
        data_groups=np.repeat(np.arange(len(records)), [len(y) for _, y in records]),
    )


def pydvl_values(
    records: list[Records], utility: ModelUtility, sampler: object, stopping: object
) -> np.ndarray:
    """Value the providers as groups of records; without a cache, which pays for `pydvl_best`."""
    train = grouped(records)
    valuation = ShapleyValuation(utility, sampler, is_done=stopping, progress=False)
    result = valuation.fit(train).result
    return result.values[np.argsort(result.indices)]


def pydvl_utility(
    model: Any,
    score: Callable[[Any, np.ndarray, np.ndarray], float],
    X_val: np.ndarray,
    y_val: np.ndarray,
    empty: float = 0.0,
) -> ModelUtility:
    """The score of a model on the validation rows; `empty` is the value of nobody."""
    scorer = SupervisedScorer(score, Dataset(X_val, y_val), default=empty)
    return ModelUtility(model, scorer)


def pydvl_permutations(
    records: list[Records], utility: ModelUtility, permutations: int = PERMUTATIONS
) -> np.ndarray:
    sampler = PermutationSampler(seed=0)
    return pydvl_values(records, utility, sampler, MinUpdates(permutations))


def pydvl_exact(records: list[Records], utility: ModelUtility) -> np.ndarray:
    sampler = DeterministicUniformSampler()
    return pydvl_values(records, utility, sampler, NoStopping(sampler))


def pydvl_coalitions(
    records: list[Records], utility: ModelUtility, coalitions: np.ndarray
) -> Callable[[], list[float]]:
    """Evaluations of these coalitions, bitmasks, by pyDVL's utility alone."""
    here = utility.with_dataset(grouped(records))
    places = np.arange(len(records))
    samples = [Sample(None, places[coalition >> places & 1 == 1]) for coalition in coalitions]
    return lambda: [here(sample) for sample in samples]


class LeastSquares:
    """Least squares for pyDVL, as quick as NumPy allows: normal equations, and no checks."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> LeastSquares:
        Z = np.column_stack([np.ones(len(X)), X])
        self.beta = np.linalg.solve(Z.T @ Z, Z.T @ y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.beta[0] + X @ self.beta[1:]

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        return inverse_mse(self, X, y)


def pydvl_best(records: list[Records], X_val: np.ndarray, y_val: np.ndarray) -> np.ndarray:
    """Exact values by pyDVL's quickest settings: each coalition is fitted once and then cached."""
    scorer = SupervisedScorer(inverse_mse, Dataset(X_val, y_val), default=0.0)
    utility = ModelUtility(
        LeastSquares(),
        scorer,
        cache_backend=InMemoryCacheBackend(),
        clone_before_fit=False,
        show_warnings=False,
    )
    return pydvl_exact(records, utility)


def shapiq_exact(records: list[Records], X_val: np.ndarray, y_val: np.ndarray) -> np.ndarray:
    """Merge Gram matrices for all coalitions at once; shapiq computes the Shapley values."""
    designs = [np.column_stack([np.ones(len(y)), X]) for X, y in records]
    grams = np.stack([Z.T @ Z for Z in designs])
    products = np.stack([Z.T @ y for Z, (_, y) in zip(designs, records, strict=True)])
    Z_val = np.column_stack([np.ones(len(y_val)), X_val])
    A, b, c = Z_val.T @ Z_val / len(y_val), Z_val.T @ y_val / len(y_val), np.mean(y_val**2)

    def worth(coalitions: np.ndarray) -> np.ndarray:
        inside = coalitions.astype(float)
        values = np.zeros(len(inside))
        some = coalitions.any(axis=1)
        gram = np.tensordot(inside[some], grams, axes=1)
        beta = np.linalg.solve(gram, (inside[some] @ products)[:, :, None])[:, :, 0]
        mse = np.einsum("ci,ij,cj->c", beta, A, beta, optimize=True) - 2 * beta @ b + c
        values[some] = 1.0 / (1.0 + mse)
        return values

    return ExactComputer(worth, n_players=len(records))("SV", 1).get_n_order_values(1)


def rows() -> list[Row]:
    logging.disable(logging.WARNING)
    task = sb.datasets.wine()
    sampling = sb.Fresh(60)
    value = partial(
        sb.value, task.providers, task.utility, sampling=sampling, n_games=N_GAMES, seed=SEED
    )
    draws = draws_of(task.providers, sampling, N_GAMES, SEED)
    records = records_of(draws, 0)
    peer = pydvl_utility(LinearRegression(), inverse_mse, task.X_val, task.y_val)
    by_hand = partial(refit_exact, records, LinearRegression(), task.X_val, task.y_val)
    from_grams = partial(shapiq_exact, records, task.X_val, task.y_val)
    tabled = partial(baselines.from_grams, records, task.X_val, task.y_val)
    looped = partial(baselines.from_lstsq, records, task.X_val, task.y_val)
    best = partial(pydvl_best, records, task.X_val, task.y_val)

    say("  do all give the same values for the same game?")
    expected = value().games[0]
    check_same("the refit loop", by_hand(), expected)
    check_same("NumPy on Gram matrices", tabled(), expected)
    check_same("the lstsq loop", looped(), expected)
    check_same("shapiq", from_grams(), expected)
    check_same("pyDVL", pydvl_exact(records, peer), expected)
    check_same("pyDVL at its best", best(), expected)

    say("  timing")
    times = interleave(
        {
            "ours": value,
            "by hand": by_hand,
            "pyDVL": partial(pydvl_permutations, records, peer),
            "pyDVL at its best": best,
            "shapiq": from_grams,
            "NumPy": tabled,
            "lstsq": looped,
        },
        ROUNDS,
    )
    ours = times["ours"].times(1 / N_GAMES)
    rows = []
    for name, what, wanted in (
        ("by hand", "a memoised scikit-learn refit loop, exact", 1500),
        ("pyDVL", f"pyDVL, {PERMUTATIONS} permutations", 2000),
        ("shapiq", "shapiq, exact on merged Gram matrices", 40),
    ):
        ratio = times[name].over(ours)
        rows.append(
            Row(
                f"one wine game, exact, with its drawing, against {what}",
                f"{ours.times(1e6).show('µs')} a game in a `value()` of {N_GAMES}; the other "
                f"{times[name].times(1e3).show('ms')}",
                f"{ratio.show('×')} faster",
                f"at least {wanted:,} ×",
                ratio.median >= wanted,
                f"a whole `value()` spends {ours.median * 1e6:.0f} µs on a game; the next "
                "section says how much of that are its kernels.",
            )
        )
    for name, what in (
        (
            "pyDVL at its best",
            "pyDVL, exact, with normal equations in NumPy as its model and its cache in memory",
        ),
        ("NumPy", "NumPy on Gram matrices with a table of bitmasks, exact"),
        ("lstsq", "a loop of `np.linalg.lstsq` over all coalitions, exact"),
    ):
        rows.append(
            Row(
                f"one wine game, exact, with its drawing, against {what}",
                f"{ours.times(1e6).show('µs')} a game in a `value()` of {N_GAMES}; the other, "
                f"without drawing, {times[name].times(1e3).show('ms')}",
                f"{times[name].over(ours).show('×')} faster",
            )
        )
    return rows


if __name__ == "__main__":
    emit(rows())
