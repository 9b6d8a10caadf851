"""Overhead of the library over fitting and scoring the digits network."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

import shapband as sb
from benchmarks.harness import Row, Spread, emit, interleave, seconds

N_GAMES = 6
N_ITER = 1
ROUNDS = 11
IMPLAUSIBLE = -5.0  # per cent; a lower overhead means that the two sides did different work
SEED = 1


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


class Clocked(sb.EstimatorUtility):
    """Measures the time of its own fits and scores; the rest is the library's overhead."""

    inside = 0.0

    def score(self, batch: Any) -> float:
        """Fit and score, and add the time taken."""
        found = 0.0

        def fit() -> None:
            nonlocal found
            found = super(Clocked, self).score(batch)

        self.inside += seconds(fit)
        return found


def rest_over_fits(task: Any) -> float:
    """Time of a valuation outside its fits and scores, in per cent of the time within."""
    utility = Clocked(task.utility.estimator, task.X_val, task.y_val)
    whole = seconds(partial(value, task, utility))
    return 100 * (whole - utility.inside) / utility.inside


def rows() -> list[Row]:
    task = sb.datasets.digits()
    coalitions = coalitions_of(task)
    fits = len(coalitions)
    found = value(task, task.utility).evaluations
    if fits != found:
        raise RuntimeError(f"{found} evaluations against {fits} bare fits: not the same work")
    rest = Spread(tuple(rest_over_fits(task) for _ in range(ROUNDS)))
    times = interleave(
        {"value": partial(value, task, task.utility), "bare": partial(bare, task, coalitions)},
        ROUNDS,
    )
    added = times["value"].over(times["bare"])
    percent = Spread(tuple(100 * (ratio - 1) for ratio in added.samples))
    if percent.median < IMPLAUSIBLE:
        raise RuntimeError(f"an overhead of {percent.show('%')}: the two sides are not comparable")
    return [
        Row(
            "overhead of the library over fitting and scoring, digits network",
            f"time of a `value()` with {fits} fits outside of them, over that inside",
            rest.show("%"),
            "below 3 %",
            rest.median < 3,
            "the library is slow between fits.",
        ),
        Row(
            "the same, `value()` against a bare loop over the same fits",
            f"`value()` {times['value'].show('s')}, the bare loop {times['bare'].show('s')}: equal "
            "fits differ by more than what is measured",
            percent.show("%"),
        ),
    ]


if __name__ == "__main__":
    emit(rows())
