"""Small valuations that cover every way to play games, to compare two versions bit by bit.

Every valid triple of sampling, solver and participation is played, and every valid triple of
sampling, solver and index and of sampling, solver and grouping. The utility, the number of
workers and the way the valuation is kept (in memory, in a run, in a run that is resumed) change
from case to case, so that each of them meets many of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import shapband as sb

NAMES = ("ant", "bee", "cat", "dog", "eel", "fox")
N_GAMES = 12
SEED = 7

SAMPLINGS = {
    "fresh": lambda: sb.Fresh(9),
    "fresh by provider": lambda: sb.Fresh({name: 6 + i for i, name in enumerate(NAMES)}),
    "pooled": lambda: sb.Pooled(24, 9),
    "pooled without replacement": lambda: sb.Pooled(24, 9, replace=False),
    "stratified": lambda: sb.Stratified(24, 9, 0.8),
    "blocks": lambda: sb.Pooled(36, 9, replace=False),
}
SOLVERS: dict[str, Callable[[], Any]] = {
    "default": lambda: None,
    "exact": sb.Exact,
    "one permutation": lambda: sb.Permutation(1),
    "permutations": lambda: sb.Permutation(5),
    "balanced": lambda: sb.BalancedPermutation(12),
    "strata": lambda: sb.Strata(30),
}
PARTICIPATIONS: dict[str, Callable[[], Any]] = {
    "everybody": lambda: None,
    "independent": lambda: sb.Independent(0.7),
    "cohort": lambda: sb.Cohort(4),
    "chain": lambda: sb.MarkovChain(join=0.5, stay=0.8),
    "trace": lambda: sb.Trace(np.arange(30).reshape(5, 6) % 4 > 0),
}
INDICES = {"banzhaf": sb.Banzhaf, "beta": lambda: sb.Beta(2.0, 1.0)}
UTILITIES = ("linear", "logistic", "naive bayes", "neighbours", "function", "additive")
CLASSIFIERS = ("logistic", "naive bayes", "neighbours")
WAYS = ("memory", "run", "resumed", "workers")


@dataclass(frozen=True)
class Case:
    """One valuation, named by its parts."""

    sampling: str
    solver: str
    participation: str
    index: str
    grouped: bool
    utility: str
    way: str

    def __str__(self) -> str:
        parts = [self.sampling, self.solver, self.participation, self.index]
        parts += ["groups" if self.grouped else "no groups", self.utility, self.way]
        return ", ".join(parts)

    def play(self, directory: Path) -> sb.Valuation:
        """Play the games; `directory` does not exist yet and keeps the run if there is one."""
        arguments: dict[str, Any] = {
            "sampling": SAMPLINGS[self.sampling](),
            "solver": SOLVERS[self.solver](),
            "participation": PARTICIPATIONS[self.participation](),
            "index": None if self.index == "shapley" else INDICES[self.index](),
            "n_games": N_GAMES,
            "seed": SEED,
            "progress": False,
        }
        players, utility = players_of(self), utility_of(self.utility)
        if self.way == "workers":
            return sb.value(players, utility, n_jobs=2, chunk_size=5, **arguments)
        if self.way == "memory":
            return sb.value(players, utility, **arguments)
        if self.way == "resumed":
            play_half(players, utility, arguments, directory)
        return sb.value(players, utility, run=directory, **arguments)


class _Enough(Exception):
    """Ends a valuation in its middle."""


@contextmanager
def _stop_in_the_middle(_: object) -> Iterator[Callable[[Any], None]]:
    """Stand in for the progress display, which is called after every chunk of games."""

    def watch(progress: Any) -> None:
        if progress.done >= N_GAMES // 2:
            raise _Enough

    yield watch


def play_half(players: Any, utility: Any, arguments: dict[str, Any], directory: Path) -> None:
    """Leave a run in its middle."""
    with patch("shapband._value.progress_display", _stop_in_the_middle), suppress(_Enough):
        sb.value(players, utility, run=directory, chunk_size=4, **arguments)
        raise AssertionError("the run was played to its end")


def players_of(case: Case) -> list[Any]:
    """Six providers of 40 records with two features; two pairs of them are groups if wanted."""
    rng = np.random.default_rng(3)
    providers = []
    for place, name in enumerate(NAMES):
        X = rng.normal(loc=0.2 * place, size=(40, 2))
        y = X @ [1.0, -0.5] + rng.normal(size=40)
        if case.utility in CLASSIFIERS:
            y = (y > 0.1).astype(float)
        providers.append(
            sb.Provider(name, sb.ArraySource(X[:, :1] if case.utility == "additive" else X, y))
        )
    if not case.grouped:
        return providers
    return [sb.Group("insects", providers[:2]), *providers[2:4], sb.Group("others", providers[4:])]


def utility_of(name: str) -> sb.Utility:
    rng = np.random.default_rng(4)
    X = rng.normal(loc=0.5, size=(50, 2))
    y = X @ [1.0, -0.5] + rng.normal(size=50)
    labels = (y > 0.1).astype(float)
    makers: dict[str, Callable[[], sb.Utility]] = {
        "linear": lambda: sb.LinearUtility(X, y),
        "logistic": lambda: sb.LogisticUtility(X, labels, score="neg_log_loss"),
        "naive bayes": lambda: sb.GaussianNBUtility(X, labels),
        "neighbours": lambda: sb.NeighborUtility(X, labels, k=3, task="classification"),
        "function": lambda: sb.FunctionUtility(_learned),
        "additive": sb.AdditiveUtility,
    }
    return makers[name]()


def _learned(X: Any, y: Any) -> float:
    """What a coalition is worth grows with its records, less and less."""
    return float(np.sqrt(len(y)) + np.tanh(y).mean())


def cases() -> Iterator[Case]:
    """All cases; some are refused, and that is their result."""
    plays = [(*triple, "shapley", False) for triple in product(SAMPLINGS, SOLVERS, PARTICIPATIONS)]
    plays += [
        (sampling, solver, participation, index, grouped)
        for sampling, solver in product(SAMPLINGS, SOLVERS)
        for participation, index, grouped in [
            ("everybody", "banzhaf", False),
            ("independent", "beta", False),
            ("chain", "banzhaf", False),
            ("everybody", "shapley", True),
        ]
    ]
    for number, play in enumerate(plays):
        # The counts have no common factor, so every utility meets every way.
        yield Case(*play, utility=UTILITIES[number % 6], way=WAYS[number % 5 % 4])
