"""Whole valuations by `value()`, beside a slow reference.

A first valuation with a function of one's own shows the records that every game draws: draws depend
on the seed, the sampling and the records, and not on the utility. The reference then fits
scikit-learn's or NumPy's model to every coalition of these records, and averages marginal
contributions over all orders of the providers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

import shapband as sb
from shapband._typing import AnyArray, FloatArray
from tests.differential.cases import stream
from tests.differential.classifiers import discriminant

TOLERANCE = 1e-9  # of values up to 1; relative to larger ones

# The value of the records X, y for the validation rows X_val, y_val.
Score = Callable[[FloatArray, AnyArray, FloatArray, AnyArray], float]


@dataclass(frozen=True)
class Game:
    """A utility, and the same by plain means.

    Attributes
    ----------
    labels : whether targets are labels
    utility : from validation rows
    score : value of records
    empty : value of nobody, from the validation targets
    """

    labels: bool
    utility: Callable[[FloatArray, AnyArray], sb.Utility]
    score: Score
    empty: Callable[[AnyArray], float]


def _least_squares(X: FloatArray, y: AnyArray, rows: FloatArray, targets: AnyArray) -> float:
    design, wanted = (np.column_stack([np.ones(len(A)), A]) for A in (X, rows))
    return float(r2_score(targets, wanted @ np.linalg.lstsq(design, y)[0]))


def _neighbours(X: FloatArray, y: AnyArray, rows: FloatArray, targets: AnyArray) -> float:
    model = KNeighborsRegressor(min(3, len(X)), algorithm="brute").fit(X, y)
    return -float(np.mean((model.predict(rows) - targets) ** 2))


def _bayes(X: FloatArray, y: AnyArray, rows: FloatArray, targets: AnyArray) -> float:
    return float(accuracy_score(targets, GaussianNB().fit(X, y).predict(rows)))


def _discriminant(X: FloatArray, y: AnyArray, rows: FloatArray, targets: AnyArray) -> float:
    logits = discriminant(X, y, 2, rows)  # -inf for a label that is not there
    with np.errstate(over="ignore"):
        chances = 1.0 / (1.0 + np.exp(logits[:, 0] - logits[:, 1]))
    return -float(np.mean((chances - targets) ** 2))


def _range(_: FloatArray, y: AnyArray, *__: Any) -> float:
    return float(y.max() - y.min())


def _most_frequent(y: AnyArray) -> float:
    return float(np.unique(y, return_counts=True)[1].max() / len(y))


GAMES = (
    Game(False, lambda X, y: sb.LinearUtility(X, y, score="r2"), _least_squares, lambda _: 0.0),
    Game(
        False,
        lambda X, y: sb.NeighborUtility(X, y, k=3, task="regression", score="neg_mse"),
        _neighbours,
        lambda y: -float(y.var()),
    ),
    Game(True, sb.GaussianNBUtility, _bayes, _most_frequent),
    Game(
        True,
        lambda X, y: sb.LDAUtility(X, y, score="neg_brier_score"),
        _discriminant,
        lambda y: -float(y.var()),
    ),
    Game(False, lambda *_: sb.FunctionUtility(_range, empty=0.0), _range, lambda _: 0.0),
)


def played(number: int) -> tuple[str, float]:
    """Compare a valuation with its reference; return the outcome and the largest difference."""
    rng = stream("valuations", number)
    game = GAMES[number % len(GAMES)]
    n, d, n_games = int(rng.integers(2, 5)), int(rng.integers(1, 4)), int(rng.integers(2, 7))
    X_val, y_val = _rows(rng, 12, d, game.labels)
    parts = [_rows(rng, int(rng.integers(24, 40)), d, game.labels) for _ in range(n)]
    providers = [sb.Provider(f"p{i}", sb.ArraySource(X, y)) for i, (X, y) in enumerate(parts)]
    options = {
        "sampling": _sampling(rng),
        "solver": sb.Exact(),
        "n_games": n_games,
        "seed": int(rng.integers(1000)),
        "progress": False,
    }
    drawn = _drawn(providers, options, n_games)
    valuation = sb.value(providers, game.utility(X_val, y_val), **options)
    values = np.array([_shapley(game, parts, rows, X_val, y_val) for rows in drawn])
    pairs = [
        (valuation.games, values),
        (valuation.expectation, values.mean(axis=0)),
        (valuation.raw_variance, values.var(axis=0, ddof=1)),
    ]
    if valuation.estimand_code != "sources" or valuation.pool_sizes is None:
        # Draws from pools that stand for the sources have a variance between pools besides.
        pairs.append((valuation.variance, values.var(axis=0, ddof=1)))
    largest = max(
        float((np.abs(ours - theirs) / np.maximum(1.0, np.abs(theirs))).max())
        for ours, theirs in pairs
    )
    return ("equal" if largest <= TOLERANCE else "ours wrong"), largest


def _rows(
    rng: np.random.Generator, count: int, d: int, labels: bool
) -> tuple[FloatArray, AnyArray]:
    X = rng.normal(size=(count, d))
    y = X.sum(axis=1) + rng.normal(size=count)
    if not labels:
        return X, y
    codes = (y > 0).astype(np.int64)
    codes[:2] = 0, 1
    return X, codes


def _sampling(rng: np.random.Generator) -> sb.Sampling:
    kind = rng.integers(4)
    if kind == 0:
        return sb.Fresh(int(rng.integers(8, 20)))
    if kind == 1:
        return sb.Pooled(20, int(rng.integers(8, 11)), replace=False)
    if kind == 2:
        return sb.Pooled(20, int(rng.integers(8, 20)))
    return sb.Stratified(20, 10, alpha=0.9)


def _drawn(
    providers: list[sb.Provider], options: dict[str, Any], n_games: int
) -> list[list[list[int]]]:
    """The rows of every provider in every game: drawn[game][provider]."""
    place = {
        row.tobytes(): (i, r)
        for i, provider in enumerate(providers)
        for r, row in enumerate(provider.source.records.X)
    }
    games: list[list[list[int]]] = []

    def seen(X: FloatArray, y: AnyArray) -> float:
        rows: list[list[int]] = [[] for _ in providers]
        for row in np.ascontiguousarray(X):
            i, r = place[row.tobytes()]
            rows[i].append(r)
        if all(rows):
            games.append(rows)
        return float(len(y))

    sb.value(providers, sb.FunctionUtility(seen), **options, chunk_size=1)
    if len(games) != n_games:
        raise ValueError(f"{len(games)} coalitions of everybody in {n_games} games")
    return games


def _shapley(
    game: Game,
    parts: list[tuple[FloatArray, AnyArray]],
    rows: list[list[int]],
    X_val: FloatArray,
    y_val: AnyArray,
) -> FloatArray:
    """Mean marginal contributions over all orders of the providers."""
    n = len(parts)
    value = {frozenset[int](): game.empty(y_val)}
    for size in range(1, n + 1):
        for inside in combinations(range(n), size):
            X, y = (np.concatenate([parts[i][k][rows[i]] for i in inside]) for k in (0, 1))
            value[frozenset(inside)] = game.score(X, y, X_val, y_val)
    total = np.zeros(n)
    orders = list(permutations(range(n)))
    for order in orders:
        for k, i in enumerate(order):
            total[i] += value[frozenset(order[: k + 1])] - value[frozenset(order[:k])]
    return total / len(orders)
