"""Tasks whose validation rows are a sample: every repetition draws other rows of a population."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

import shapband as sb
from shapband._typing import AnyArray, FloatArray

_MANY = 20_000  # rows of a population that is generated


@dataclass(frozen=True, eq=False)
class Population:
    """A game to measure on, and the population of its validation rows.

    Attributes
    ----------
    title : the game in a few words
    providers : as for `sb.value`
    X, y : the population of validation rows; samples are drawn with replacement
    scored_on : makes the utility from validation rows
    n_pool, n_draw : records in a pool and in a draw
    endless : whether the sources are distributions, so that one request may serve many games
    """

    title: str
    providers: Sequence[sb.Provider]
    X: FloatArray
    y: AnyArray
    scored_on: Callable[[Any, Any], sb.Utility]
    n_pool: int
    n_draw: int
    endless: bool = False

    @property
    def known(self) -> sb.Utility:
        """The utility on all rows of the population, which gives the truth."""
        return self.scored_on(self.X, self.y)

    def sampled(self, n_rows: int, seed: int) -> sb.Utility:
        """The utility on a random sample of validation rows."""
        rows = np.random.default_rng(seed).integers(len(self.y), size=n_rows)
        return self.scored_on(self.X[rows], self.y[rows])


@cache
def population(name: str) -> Population:
    """Make a population by its name; made once a process."""
    return POPULATIONS[name]()


def _wine() -> Population:
    wine = sb.datasets.wine()
    stocks: list[Any] = [provider.source for provider in wine.providers]
    X = np.concatenate([wine.X_val, *(stock.records.X for stock in stocks)])
    y = np.concatenate([wine.y_val, *(stock.records.y for stock in stocks)])
    return Population("wine", wine.providers, X, y, sb.LinearUtility, 250, 60)


def _bayes() -> Population:
    """Two classes that overlap; providers differ in how far apart their classes are."""

    def draw(size: int, rng: Any, apart: float) -> tuple[Any, Any]:
        y = (rng.random(size) < 0.4).astype(np.int64)
        return rng.normal(size=(size, 3)) + apart * y[:, None], y

    X, y = draw(_MANY, np.random.default_rng(31), 0.8)
    sources = [sb.FunctionSource(partial(draw, apart=apart)) for apart in (1.2, 1.0, 0.8, 0.5, 0.2)]
    title = "naive Bayes, accuracy"
    return Population(title, _named(sources), X, y, sb.GaussianNBUtility, 150, 20, endless=True)


def _logistic() -> Population:
    """Brier score of logistic regression on two components of the breast cancer data."""
    X, y, parts = _cancer()
    scored_on = partial(sb.LogisticUtility, score="neg_brier_score")
    title = "breast cancer, logistic regression, Brier score"
    return Population(title, _stocks(X, y, parts), X, y, scored_on, 120, 30)


def _tree() -> Population:
    """Accuracy of a tree of scikit-learn on the same data."""
    from sklearn.tree import DecisionTreeClassifier

    X, y, parts = _cancer()
    scored_on = partial(sb.EstimatorUtility, DecisionTreeClassifier(max_depth=3, random_state=0))
    title = "black box: breast cancer, tree, accuracy"
    return Population(title, _stocks(X, y, parts), X, y, scored_on, 120, 30)


def _ridge() -> Population:
    """R² of a ridge regression of scikit-learn on Friedman's function with skewed noise."""
    from sklearn.linear_model import Ridge

    def draw(size: int, rng: Any, noise: float) -> tuple[Any, Any]:
        X = rng.random((size, 3))
        curve = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 5 * X[:, 2]
        return X, curve + noise * (rng.exponential(size=size) - 1)

    X, y = draw(_MANY, np.random.default_rng(32), 1.0)
    sources = [sb.FunctionSource(partial(draw, noise=noise)) for noise in (0.5, 1.0, 2.0, 4.0)]
    scored_on = partial(sb.EstimatorUtility, Ridge())
    title = "black box: ridge of scikit-learn, R²"
    return Population(title, _named(sources), X, y, scored_on, 120, 20, endless=True)


def _cancer() -> tuple[Any, Any, list[Any]]:
    """Two components of the breast cancer data, and the records of four providers.

    Three providers have random records. The fourth has 100 random records and 40 malignant ones
    with an extreme first component.
    """
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X = X @ np.linalg.svd(X, full_matrices=False)[2][:2].T
    order = np.random.default_rng(33).permutation(len(y))
    X[:, 0] *= np.sign(X[y == 1, 0].mean())  # benign records, y = 1, have the larger component
    extreme = order[np.argsort(X[order, 0], kind="stable")[:40]]
    rest = order[~np.isin(order, extreme)]
    parts = [rest[at : at + 140] for at in (0, 140, 280)]
    parts.append(np.concatenate([rest[420:520], extreme]))
    return X, y, parts


def _named(sources: list[sb.FunctionSource]) -> list[sb.Provider]:
    return [sb.Provider(f"provider {i}", source) for i, source in enumerate(sources)]


def _stocks(X: Any, y: Any, parts: list[Any]) -> list[sb.Provider]:
    return [
        sb.Provider(f"provider {i}", sb.ArraySource(X[rows], y[rows]))
        for i, rows in enumerate(parts)
    ]


POPULATIONS: dict[str, Callable[[], Population]] = {
    "wine": _wine,
    "bayes": _bayes,
    "logistic": _logistic,
    "tree": _tree,
    "ridge": _ridge,
}
