"""What the library adds to fitting and scoring a black box: the network on the digits."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

import shapband as sb
from benchmarks.harness import Row, Spread, emit, interleave

N_GAMES = 6
N_ITER = 1
ROUNDS = 11
IMPLAUSIBLE = -5.0  # per cent; no library makes a fit faster, so the sides did not do the same
SEED = 1


class Instant(BaseEstimator):
    """Fits and scores in no time, so that what is left is the library's own time."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Instant:  # noqa: ARG002
        """Learn nothing."""
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:  # noqa: ARG002
        """Give the same score to all."""
        return 0.5


def value(task: Any, utility: Any) -> sb.Valuation:
    return sb.value(
        task.providers,
        utility,
        sampling=sb.Fresh(20),
        solver=sb.Permutation(N_ITER),
        n_games=N_GAMES,
        seed=SEED,
    )


def coalitions_of(task: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Collect the records of every coalition that the valuation fits, in its order."""
    seen = []

    def note(X: np.ndarray, y: np.ndarray) -> float:
        seen.append((X, y))
        return 0.0

    value(task, sb.FunctionUtility(note))
    return seen


def bare(task: Any, coalitions: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Fit and score the same coalitions, their records already joined."""
    for X, y in coalitions:
        clone(task.utility.estimator).fit(X, y).score(task.X_val, task.y_val)


def rows() -> list[Row]:
    task = sb.datasets.digits()
    coalitions = coalitions_of(task)
    fits = len(coalitions)
    found = value(task, task.utility).evaluations
    if fits != found:
        raise RuntimeError(f"{found} evaluations against {fits} bare fits: not the same work")
    times = interleave(
        {"value": partial(value, task, task.utility), "bare": partial(bare, task, coalitions)},
        ROUNDS,
    )
    added = times["value"].over(times["bare"])
    percent = Spread(tuple(100 * (ratio - 1) for ratio in added.samples))
    if percent.median < IMPLAUSIBLE:
        raise RuntimeError(f"an overhead of {percent.show('%')}: the two sides are not comparable")
    instant = sb.EstimatorUtility(Instant(), task.X_val, task.y_val)
    own = interleave({"own": partial(value, task, instant)}, 25)["own"].times(1 / fits)
    fit = times["bare"].times(1 / fits)
    share = 100 * own.median / fit.median
    return [
        Row(
            "overhead of the library over bare fit-and-score, digits network",
            f"`value()` {times['value'].show('s')}, the same {fits} fits bare "
            f"{times['bare'].show('s')}",
            percent.show("%"),
            "below 3 %",
            percent.median < 3,
            f"timed alone, with an estimator that does nothing, the library takes "
            f"{own.median * 1e6:.0f} µs a fit, {share:.2g} % of a fit.",
        ),
        Row(
            "the library's own time for one fit, with an estimator that does nothing",
            f"one fit of the network and its score take {fit.times(1e3).show('ms')}",
            f"{own.times(1e6).show('µs')}, {share:.2g} % of it",
        ),
    ]


if __name__ == "__main__":
    emit(rows())
