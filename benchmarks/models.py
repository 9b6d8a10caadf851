"""Compiled models on wine, beside the same models fitted by scikit-learn, and beside pyDVL."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sklearn
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import shapband as sb
from benchmarks.games import Records, check_same, draws_of, records_of
from benchmarks.harness import Row, emit, interleave, say
from benchmarks.peers import pydvl_coalitions, pydvl_exact, pydvl_utility

SEED = 1
ROUNDS = 5
ALIKE = 0.01  # scores of two solvers that stop early differ by less
FITS = 60  # of 1,023 coalitions, by all but the compiled utility
SAMPLING = sb.Fresh(60)
PERMUTATIONS = 3  # of a game of black boxes: up to 30 coalitions, of 5.5 providers on average
CHECKED = 4  # providers of the game that pyDVL must solve alike
# The compiled regression solves to a tight tolerance, so its values are compared with such a fit;
# what is timed stops earlier, as scikit-learn does by default.
TIGHT = LogisticRegression(solver="newton-cholesky", tol=1e-10)


@dataclass(frozen=True)
class Case:
    """A model, compiled and by scikit-learn.

    Attributes
    ----------
    name : what the row says
    compiled : class of the compiled utility, with its settings
    model : the same model of scikit-learn
    score : name of the score in both
    classes : 2 for quality of at least 6, 3 for at most 5, 6, and at least 7; 0 for the quality
    n_games : games of a timed `value()` of the compiled utility
    wanted : times faster than scikit-learn
    quick : the model with the quickest solver that has the same optimum, if it is another one
    """

    name: str
    compiled: Any
    model: Any
    score: str
    classes: int
    n_games: int
    wanted: int
    quick: Any = None


LOGISTIC, RIDGE = sb.LogisticUtility, partial(sb.LinearUtility, alpha=1.0)
MODEL, NEWTON = LogisticRegression(), LogisticRegression(solver="newton-cholesky")
LDA, LSQR = LinearDiscriminantAnalysis(), LinearDiscriminantAnalysis(solver="lsqr")
CHOLESKY = Ridge(alpha=1.0, solver="cholesky")
CASES = (
    Case("logistic regression, accuracy", LOGISTIC, MODEL, "accuracy", 2, 10, 120, NEWTON),
    Case("logistic regression, log loss", LOGISTIC, MODEL, "neg_log_loss", 2, 10, 100, NEWTON),
    Case("logistic regression, AUC", LOGISTIC, MODEL, "roc_auc", 2, 10, 100, NEWTON),
    Case("logistic regression, three classes", LOGISTIC, MODEL, "accuracy", 3, 3, 25, NEWTON),
    Case("ridge regression", RIDGE, Ridge(alpha=1.0), "r2", 0, 200, 1500, CHOLESKY),
    Case("Gaussian naive Bayes", sb.GaussianNBUtility, GaussianNB(), "accuracy", 2, 20, 400),
    Case("linear discriminant analysis", sb.LDAUtility, LDA, "accuracy", 2, 20, 250, LSQR),
)
# Scores without what scikit-learn's scorers check.
QUICK_SCORES: dict[str, Callable[[Any, np.ndarray, np.ndarray], float]] = {
    "accuracy": lambda model, X, y: float(np.mean(model.predict(X) == y)),
    "neg_log_loss": lambda model, X, y: float(
        np.mean(np.log(model.predict_proba(X)[np.arange(len(y)), y]))
    ),
    "roc_auc": lambda model, X, y: area(model.decision_function(X), y),
    "r2": lambda model, X, y: float(
        1 - np.sum((model.predict(X) - y) ** 2) / np.sum((y - y.mean()) ** 2)
    ),
}


def area(scores: np.ndarray, y: np.ndarray) -> float:
    """Area under the ROC curve from ranks, without ties."""
    ranks = np.empty(len(y))
    ranks[np.argsort(scores)] = np.arange(1, len(y) + 1)
    ones = int(y.sum())
    return float((ranks[y == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(y) - ones)))


class Wine:
    """The wine providers with labels of a kind, and features standardised once for all models."""

    def __init__(self, classes: int) -> None:
        task = sb.datasets.wine()
        scaler = StandardScaler().fit(task.X_val)
        held = [(one.name, one.source.records) for one in task.providers]
        self.providers = [
            sb.Provider(name, sb.ArraySource(scaler.transform(all_.X), labels(all_.y, classes)))
            for name, all_ in held
        ]
        self.X_val, self.y_val = scaler.transform(task.X_val), labels(task.y_val, classes)

    def value(
        self, utility: sb.Utility, solver: Any, n_games: int = 2, n: int = 10
    ) -> sb.Valuation:
        """Value the first n providers.

        The others score a fit once, so the errors do not cover the choice of validation rows: that
        would score every fit of the first 12 games once more without each fold of the rows.
        """
        return sb.value(
            self.providers[:n],
            utility,
            sampling=SAMPLING,
            solver=solver,
            n_games=n_games,
            seed=SEED,
            fixed_validation=True,
        )


def labels(quality: np.ndarray, classes: int) -> np.ndarray:
    if classes == 0:
        return quality
    edges = [6] if classes == 2 else [6, 7]
    return np.digitize(quality, edges)


def row(case: Case) -> Row:
    say(f"  {case.name}")
    wine = Wine(case.classes)
    ours = case.compiled(wine.X_val, wine.y_val, score=case.score)
    check(case, wine, ours)
    records = records_of(draws_of(wine.providers, SAMPLING, 1, SEED), 0)
    chosen = np.random.default_rng(SEED).choice(np.arange(1, 1 << 10), FITS, replace=False)
    joined = [joined_records(records, int(coalition)) for coalition in chosen]
    black_box = sb.EstimatorUtility(case.model, wine.X_val, wine.y_val, case.score)
    draws = [sb.Batch(X, y) for X, y in joined]
    apart = np.subtract(bare_fits(case, wine, joined), [black_box.score(one) for one in draws])
    if not np.abs(apart).max() < ALIKE:
        raise RuntimeError(f"{case.name}: the quick fits differ by {np.abs(apart).max():.2g}")
    peer = pydvl_utility(case.model, get_scorer(case.score), wine.X_val, wine.y_val, ours.empty)
    compiled = partial(wine.value, ours, sb.Exact(), case.n_games)
    coalitions = compiled().evaluations
    times = interleave(
        {
            "ours": compiled,
            "best": partial(bare_fits, case, wine, joined),
            "theirs": lambda: [black_box.score(batch) for batch in draws],
            "pyDVL": pydvl_coalitions(records, peer, chosen),
        },
        ROUNDS,
        time.process_time,
    )
    mine = times["ours"].times(1 / coalitions)
    best, fitted, beside = (times[one].times(1 / FITS) for one in ("best", "theirs", "pyDVL"))
    ratio = best.over(mine)
    return Row(
        f"{case.name} on wine: a compiled utility in `value()` against scikit-learn at its best",
        f"processor time per coalition: {mine.times(1e6).show('µs')} with `Exact`, all "
        f"{coalitions:,} of {case.n_games} games, `fixed_validation=True`; "
        f"{best.times(1e3).show('ms')} for a bare loop of "
        f"`{case.quick or case.model}` over {FITS} random ones, with joined records, without "
        f"checks of parameters and numbers, without a clone or a scorer; "
        f"{fitted.times(1e3).show('ms')} in `EstimatorUtility`, {beside.times(1e3).show('ms')} in "
        "pyDVL, for the same ones",
        f"{ratio.show('×')} faster; {fitted.over(mine).show('×')} than `EstimatorUtility`; "
        f"{beside.over(mine).show('×')} than pyDVL",
        f"at least {case.wanted:,} ×",
        ratio.median >= case.wanted,
        f"the target was set for `EstimatorUtility`, which is {fitted.over(best).median:.1f} "
        "times as slow as the bare loop: it clones, checks and scores like scikit-learn does for "
        "its users.",
    )


def joined_records(records: list[Records], coalition: int) -> Records:
    """Join the records of a coalition, given as a bitmask."""
    inside = [held for i, held in enumerate(records) if coalition >> i & 1]
    return np.concatenate([X for X, _ in inside]), np.concatenate([y for _, y in inside])


def bare_fits(case: Case, wine: Wine, joined: list[Records]) -> list[float]:
    """Fit and score by the quickest way that gives the same optimum."""
    model, score = case.quick or case.model, QUICK_SCORES[case.score]
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        return [score(model.fit(X, y), wine.X_val, wine.y_val) for X, y in joined]


def check(case: Case, wine: Wine, ours: sb.Utility) -> None:
    """Raise an error unless both models, and pyDVL with a few providers, give the same values."""
    model = TIGHT if isinstance(case.model, LogisticRegression) else case.model
    theirs = sb.EstimatorUtility(model, wine.X_val, wine.y_val, case.score)
    solver = sb.Permutation(PERMUTATIONS)
    expected = wine.value(theirs, solver).games[0]
    check_same(f"the compiled utility of {case.name}", wine.value(ours, solver).games[0], expected)
    records = records_of(draws_of(wine.providers[:CHECKED], SAMPLING, 1, SEED), 0)
    scorer = get_scorer(case.score)
    peer = pydvl_utility(model, scorer, wine.X_val, wine.y_val, ours.empty)
    expected = wine.value(ours, sb.Exact(), n=CHECKED).games[0]
    check_same(f"pyDVL with {case.name}", pydvl_exact(records, peer), expected)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    emit([row(case) for case in CASES])
