"""Compiled models on wine, beside the same models fitted by scikit-learn, and beside pyDVL."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

import shapband as sb
from benchmarks.games import check_same, draws_of, records_of
from benchmarks.harness import Row, emit, interleave, say
from benchmarks.peers import pydvl_exact, pydvl_permutations, pydvl_utility

SEED = 1
ROUNDS = 7
SAMPLING = sb.Fresh(60)
PERMUTATIONS = 3  # of a game of black boxes: up to 30 coalitions, of 5.5 providers on average
CHECKED = 4  # providers of the game that pyDVL must solve alike
# The compiled regression solves to a tight tolerance, so its values are compared with such a fit;
# what is timed is scikit-learn's default, which stops earlier.
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
    wanted : times faster than the black box
    """

    name: str
    compiled: Any
    model: Any
    score: str
    classes: int
    n_games: int
    wanted: int


LOGISTIC, RIDGE = sb.LogisticUtility, partial(sb.LinearUtility, alpha=1.0)
LDA = LinearDiscriminantAnalysis
CASES = (
    Case("logistic regression, accuracy", LOGISTIC, LogisticRegression(), "accuracy", 2, 10, 120),
    Case(
        "logistic regression, log loss", LOGISTIC, LogisticRegression(), "neg_log_loss", 2, 10, 100
    ),
    Case("logistic regression, AUC", LOGISTIC, LogisticRegression(), "roc_auc", 2, 10, 100),
    Case(
        "logistic regression, three classes", LOGISTIC, LogisticRegression(), "accuracy", 3, 3, 25
    ),
    Case("ridge regression", RIDGE, Ridge(alpha=1.0), "r2", 0, 200, 1500),
    Case("Gaussian naive Bayes", sb.GaussianNBUtility, GaussianNB(), "accuracy", 2, 20, 400),
    Case("linear discriminant analysis", sb.LDAUtility, LDA(), "accuracy", 2, 20, 250),
)


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
        """Value the first n providers."""
        return sb.value(
            self.providers[:n],
            utility,
            sampling=SAMPLING,
            solver=solver,
            n_games=n_games,
            seed=SEED,
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
    theirs = sb.EstimatorUtility(case.model, wine.X_val, wine.y_val, case.score)
    check(case, wine, ours)
    solver = sb.Permutation(PERMUTATIONS)
    black_box = partial(wine.value, theirs, solver)
    fits = black_box().evaluations
    records = records_of(draws_of(wine.providers, SAMPLING, 1, SEED), 0)
    counted = Calls(get_scorer(case.score))
    peer = pydvl_utility(case.model, counted, wine.X_val, wine.y_val, ours.empty)
    pydvl = partial(pydvl_permutations, records, peer, PERMUTATIONS)
    pydvl()
    pydvl_fits = counted.calls
    compiled = partial(wine.value, ours, sb.Exact(), case.n_games)
    coalitions = compiled().evaluations
    times = interleave({"ours": compiled, "theirs": black_box, "pyDVL": pydvl}, ROUNDS)
    mine = times["ours"].times(1 / coalitions)
    fitted, beside = times["theirs"].times(1 / fits), times["pyDVL"].times(1 / pydvl_fits)
    ratio = fitted.over(mine)
    return Row(
        f"{case.name} on wine: a compiled utility against `EstimatorUtility`, both in `value()`",
        f"{mine.times(1e6).show('µs')} a coalition with `Exact`, all {coalitions:,} of "
        f"{case.n_games} games; {fitted.times(1e3).show('ms')} with `EstimatorUtility` in {fits} "
        f"coalitions of permutations; pyDVL {beside.times(1e3).show('ms')} in {pydvl_fits}",
        f"{ratio.show('×')} faster; {beside.over(mine).show('×')} than pyDVL",
        f"at least {case.wanted:,} ×",
        ratio.median >= case.wanted,
        f"a coalition takes {mine.median * 1e6:.2g} µs, and a fit and score of scikit-learn "
        f"{fitted.median * 1e3:.2g} ms.",
    )


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


class Calls:
    """A score that counts how often it is computed."""

    def __init__(self, score: Any) -> None:
        self.score, self.calls = score, 0

    def __call__(self, model: Any, X: np.ndarray, y: np.ndarray) -> float:
        """Score a fitted model."""
        self.calls += 1
        return float(self.score(model, X, y))


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    emit([row(case) for case in CASES])
