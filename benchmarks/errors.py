"""What errors cost: the choice of the validation rows, and folding games into an estimate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import shapband as sb
from benchmarks.harness import Row, Spread, emit, interleave
from shapband.estimate.estimator import Estimator
from shapband.sampling.design import Design
from shapband.solvers.base import Solution

ROUNDS = 11
BLACK_BOX_ROUNDS = 5
BLACK_BOX_GAMES = 60
FOLDED = 1024  # games that are folded, in chunks of 64
SAMPLINGS = (
    ("fresh draws", sb.Fresh(60), 15),
    ("pools", sb.Pooled(250, 60), 15),
    ("dealt draws", sb.Pooled(250, 60, replace=False), 15),
)


def wine(n_games: int, *, fixed: bool) -> sb.Valuation:
    task = sb.datasets.wine()
    given: dict[str, Any] = {"sampling": sb.Fresh(60), "solver": sb.Exact(), "n_games": n_games}
    return sb.value(task.providers, task.utility, **given, seed=1, fixed_validation=fixed)


def wine_rows() -> Iterator[Row]:
    """Least squares: all coalitions of ten providers."""
    for n_games, most in ((200, "at most 30 ms"), (1000, "at most 15 %")):
        play = partial(wine, n_games)
        times = both(play, ROUNDS)
        added = times["rows"].minus(times["fixed"])
        share = Spread(tuple(100 * x for x in added.over(times["fixed"]).samples))
        result = added.times(1000).show("ms") if n_games == 200 else share.show("%")
        met = added.median <= 0.03 if n_games == 200 else share.median <= 15
        yield Row(
            f"errors due to the choice of 1,469 validation rows, {n_games:,} wine games",
            f"processor time {times['rows'].show('s')}, with `fixed_validation=True` "
            f"{times['fixed'].show('s')}",
            result,
            most,
            met,
            "the first games are solved again without each of ten folds.",
        )


def both(play: Callable[..., object], rounds: int) -> dict[str, Spread]:
    """Processor times of a valuation whose errors cover the rows, and of one with fixed rows."""
    cases = {"rows": partial(play, fixed=False), "fixed": partial(play, fixed=True)}
    return interleave(cases, rounds, time.process_time)


def black_box_rows() -> Iterator[Row]:
    """Four providers of the breast cancer data, 150 validation rows."""
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = (X[order] - X.mean(axis=0)) / X.std(axis=0), y[order]
    providers = [
        sb.Provider(f"clinic {i}", sb.ArraySource(X[150 + i : 550 : 4], y[150 + i : 550 : 4]))
        for i in range(4)
    ]
    models = (
        ("a tree, accuracy", DecisionTreeClassifier(max_depth=4, random_state=0), "accuracy"),
        ("a tree, AUC", DecisionTreeClassifier(max_depth=4, random_state=0), "roc_auc"),
        ("ridge regression, R²", Ridge(), "r2"),
        ("5 nearest neighbours, accuracy", KNeighborsClassifier(5), "accuracy"),
    )
    for title, model, score in models:
        utility = sb.EstimatorUtility(model, X[:150], y[:150], score=score)

        def play(utility: sb.Utility = utility, *, fixed: bool) -> sb.Valuation:
            given: dict[str, Any] = {"sampling": sb.Fresh(30), "solver": sb.Exact()}
            return sb.value(
                providers, utility, **given, n_games=BLACK_BOX_GAMES, seed=1, fixed_validation=fixed
            )

        times = both(play, BLACK_BOX_ROUNDS)
        ratios = times["rows"].over(times["fixed"])
        share = Spread(tuple(100 * (ratio - 1) for ratio in ratios.samples))
        yield Row(
            f"errors due to the choice of 150 validation rows, black box: {title}",
            f"processor time of {BLACK_BOX_GAMES} games of four providers "
            f"{times['rows'].show('s')}, with `fixed_validation=True` {times['fixed'].show('s')}",
            share.show("%"),
            "at most 3 %",
            share.median <= 3,
            "the predictions of the first 12 games are scored again without each of ten folds, by "
            "scikit-learn, whose fits of this model take little longer than its scores.",
        )


def fold_rows() -> Iterator[Row]:
    """Folding games of ten wine providers into an estimate."""
    found = {title: designed(sampling) for title, sampling, _ in SAMPLINGS}
    cases = {title: partial(fold, *one) for title, one in found.items()}
    times = interleave(cases, ROUNDS, time.process_time)
    for title, _, most in SAMPLINGS:
        each = times[title].times(1e6 / FOLDED)
        yield Row(
            f"folding a game of ten wine providers into the estimate, {title}",
            f"{FOLDED:,} games in {times[title].show('s')} of processor time",
            each.show("µs"),
            f"at most {most} µs",
            each.median <= most,
            "every pool adds its records' influence.",
        )


def designed(sampling: sb.Sampling) -> tuple[Design, Any, Any]:
    """The design of a valuation, and the values of its games."""
    task = sb.datasets.wine()
    given: dict[str, Any] = {"n_games": FOLDED, "keep_games": FOLDED, "seed": 1}
    played = sb.value(
        task.providers, task.utility, sampling=sampling, **given, fixed_validation=True
    )
    return played.design, np.ascontiguousarray(played.games), np.zeros_like(played.games)


def fold(design: Design, values: Any, noise: Any) -> None:
    """Add games in the chunks in which they are played."""
    estimator = Estimator(design)
    for start in range(0, FOLDED, 64):
        games = slice(start, start + 64)
        estimator.add(Solution(values[games], noise[games], 0))
    estimator.estimate()


if __name__ == "__main__":
    emit([*wine_rows(), *black_box_rows(), *fold_rows()])
