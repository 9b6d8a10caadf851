"""The games of the study: providers, a utility, and the sizes of pools and draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

import shapband as sb


@dataclass(frozen=True, eq=False)
class Task:
    """A game to measure on.

    Attributes
    ----------
    name : short name, also of files
    title : the game in a few words
    providers, utility : as for `sb.value`
    n_pool, n_draw : records in a pool and in a draw
    endless : whether the sources are distributions, so that one request may serve many games
    """

    name: str
    title: str
    providers: tuple[sb.Provider, ...]
    utility: sb.Utility
    n_pool: int
    n_draw: int
    endless: bool = False


@cache
def task(name: str) -> Task:
    """Make a task by its name; made once a process."""
    return TASKS[name]()


def _wine_stock() -> Task:
    wine = sb.datasets.wine()
    title = "wine, finite stock"
    return Task("wine-stock", title, wine.providers, wine.utility, 250, 60)


def _wine_replacement() -> Task:
    wine = sb.datasets.wine()
    providers = tuple(_with_replacement(p.name, p.source) for p in wine.providers)
    title = "wine, drawn with replacement"
    return Task("wine-replacement", title, providers, wine.utility, 250, 60)


def _with_replacement(name: str, source: Any) -> sb.Provider:
    records = source.records
    return sb.Provider(name, sb.ArraySource(records.X, records.y, replace=True))


def _additive(name: str, title: str, draw: Callable[[int, int, Any], Any]) -> Task:
    """Ten endless sources; a coalition is worth the sum of the mean targets of its draws."""

    def source(i: int) -> sb.FunctionSource:
        def records(size: int, rng: np.random.Generator) -> tuple[Any, Any]:
            y = draw(i, size, rng)
            return y.reshape(-1, 1), y  # `Stratified` chooses its sizes by the features

        return sb.FunctionSource(records)

    providers = tuple(sb.Provider(f"provider {i}", source(i)) for i in range(10))
    return Task(name, title, providers, sb.AdditiveUtility(), 250, 60, endless=True)


def _gaussian() -> Task:
    title = "additive, Gaussian"
    return _additive("gaussian", title, lambda i, size, rng: rng.normal(i, 1 + 0.2 * i, size))


def _skewed() -> Task:
    title = "additive, lognormal (0.8)"
    return _additive("skewed", title, lambda _, size, rng: rng.lognormal(0.0, 0.8, size))


def _one_heavy() -> Task:
    """One provider with heavy tails among nine quiet ones."""

    def draw(i: int, size: int, rng: Any) -> Any:
        return rng.lognormal(0.0, 1.0, size) if i == 0 else rng.normal(1.0, 0.3, size)

    return _additive("one-heavy", "additive, one lognormal (1.0) of ten", draw)


def _rare() -> Task:
    """Brier score of naive Bayes with two classes, of which one has 5 % of the records."""

    def draw(size: int, rng: Any, apart: float) -> tuple[Any, Any]:
        y = (rng.random(size) < 0.05).astype(np.int64)
        return rng.normal(size=(size, 4)) + apart * y[:, None], y

    X, y = draw(300, np.random.default_rng(505), 1.0)
    utility = sb.GaussianNBUtility(X, y, score="neg_brier_score")
    sources = [sb.FunctionSource(partial(draw, apart=apart)) for apart in (1.2, 1.1, 1.0, 0.9, 0.8)]
    title = "naive Bayes, 5 % positives, Brier score"
    return Task("rare", title, _named(sources), utility, 200, 40, endless=True)


def _ridge() -> Task:
    """R² of ridge regression on targets whose noise is lognormal."""
    slopes = np.array([1.0, -0.5, 0.5, 0.25])

    def draw(size: int, rng: Any, noise: float) -> tuple[Any, Any]:
        X = rng.normal(size=(size, 4))
        return X, X @ slopes + noise * rng.lognormal(0.0, 0.8, size)

    X, y = draw(300, np.random.default_rng(808), 1.0)
    utility = sb.LinearUtility(X, y, score="r2", alpha=5.0)
    sources = [
        sb.FunctionSource(partial(draw, noise=noise)) for noise in (0.5, 1.0, 1.0, 1.5, 2.0, 2.5)
    ]
    title = "ridge, lognormal noise (0.8), R²"
    return Task("ridge", title, _named(sources), utility, 200, 40, endless=True)


def _named(sources: list[sb.FunctionSource]) -> tuple[sb.Provider, ...]:
    return tuple(sb.Provider(f"provider {i}", source) for i, source in enumerate(sources))


def _synthetic_250() -> Task:
    found = sb.datasets.synthetic()
    title = "synthetic, 1 nearest neighbour, pools of 250"
    return Task("synthetic-250", title, found.providers, found.utility, 250, 60, endless=True)


def _synthetic_5000() -> Task:
    found = sb.datasets.synthetic()
    title = "synthetic, 1 nearest neighbour, pools of 5,000"
    return Task("synthetic-5000", title, found.providers, found.utility, 5000, 1000, endless=True)


def _diabetes() -> Task:
    """Least squares on the diabetes data, five providers split by body mass, scored by R²."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    X, y = X[:, [1, 2, 3, 8]], (y - y.mean()) / y.std()
    order = np.random.default_rng(442).permutation(len(y))
    validation, training = order[:142], order[142:]
    utility = sb.LinearUtility(X[validation], y[validation], score="r2")
    parts = np.array_split(training[np.argsort(X[training, 1], kind="stable")], 5)
    title = "diabetes, least squares, R²"
    return Task("diabetes", title, _split(X, y, parts), utility, 200, 40)


def _cancer() -> Task:
    """Accuracy of 3 nearest neighbours on two components of the breast cancer data.

    Three providers have random records, the fourth those with a large first component.
    """
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X = X @ np.linalg.svd(X, full_matrices=False)[2][:2].T
    order = np.random.default_rng(569).permutation(len(y))
    validation, training = order[:80], order[80:]
    utility = sb.NeighborUtility(
        X[validation], y[validation].astype(float), k=3, task="classification"
    )
    parts = np.array_split(training[:360], 3)
    parts.append(training[np.argsort(-X[training, 0], kind="stable")[:120]])
    title = "breast cancer, 3 nearest neighbours, accuracy"
    return Task("cancer", title, _split(X, y.astype(float), parts), utility, 200, 40)


def _friedman() -> Task:
    """R² of least squares on Friedman's function with Laplace noise, from stocks of 300 records."""
    rng = np.random.default_rng(1991)
    X = rng.random((5 * 300 + 250, 5))
    curve = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    y = curve + 5 * X[:, 4] + rng.laplace(size=len(X))
    utility = sb.LinearUtility(X[:250], y[:250], score="r2")
    parts = np.array_split(np.arange(250, len(X)), 5)
    title = "Friedman, least squares, R², finite stock"
    return Task("friedman", title, _split(X, y, parts, replace=False), utility, 200, 40)


def _digits() -> Task:
    """Accuracy of a linear discriminant on four components of the digits, from finite stocks.

    Each of four providers has more of some digits than of others.
    """
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X = X - X.mean(axis=0)
    X = X @ np.linalg.svd(X, full_matrices=False)[2][:4].T / 10
    rng = np.random.default_rng(1797)
    order = rng.permutation(len(y))
    validation, training = order[:200], order[200:]
    utility = sb.LDAUtility(X[validation], y[validation])
    kind = np.argsort(y[training] + 6 * rng.random(len(training)), kind="stable")
    parts = np.array_split(training[kind], 4)
    title = "digits, linear discriminant, accuracy, finite stock"
    return Task("digits", title, _split(X, y, parts, replace=False), utility, 250, 50)


def _three_classes() -> Task:
    """Brier score of naive Bayes with three classes; every provider has one class in plenty."""
    centres = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])

    def draw(size: int, rng: Any, most: int) -> tuple[Any, Any]:
        share = np.full(3, 0.25)
        share[most] = 0.5
        y = rng.choice(3, size=size, p=share)
        return centres[y] + rng.normal(size=(size, 2)), y

    parts = [draw(90, np.random.default_rng([333, most]), most) for most in range(3)]
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    utility = sb.GaussianNBUtility(X, y, score="neg_brier_score")
    sources = [sb.FunctionSource(partial(draw, most=most)) for most in (0, 1, 2, 0)]
    title = "naive Bayes, three classes, Brier score"
    return Task("three-classes", title, _named(sources), utility, 250, 50, endless=True)


def _sine() -> Task:
    """5 nearest neighbours on a sine, whose parts the providers know, with heavy-tailed noise."""

    def draw(size: int, rng: Any, centre: float) -> tuple[Any, Any]:
        X = rng.normal([centre, 0.0], [0.8, 1.0], size=(size, 2))
        return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_t(4, size)

    centres = (-1.0, -0.3, 0.3, 1.0)
    parts = [draw(50, np.random.default_rng([606, i]), x) for i, x in enumerate(centres)]
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    utility = sb.NeighborUtility(X, y, k=5, task="regression")
    sources = [sb.FunctionSource(partial(draw, centre=centre)) for centre in centres]
    title = "sine, 5 nearest neighbours"
    return Task("sine", title, _named(sources), utility, 200, 40, endless=True)


def _counts() -> Task:
    """R² of least squares on Poisson counts, from stocks of 200 to 700 records."""
    rng = np.random.default_rng(707)
    sizes = (200, 300, 400, 500, 600, 700)
    X = rng.normal(size=(300 + sum(sizes), 3))
    y = rng.poisson(np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1])).astype(float)
    utility = sb.LinearUtility(X[:300], y[:300], score="r2")
    ends = 300 + np.cumsum(sizes)
    parts = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    title = "counts, least squares, R², finite stocks"
    return Task("counts", title, _split(X, y, parts, replace=False), utility, 180, 30)


def _split(X: Any, y: Any, parts: list[Any], *, replace: bool = True) -> tuple[sb.Provider, ...]:
    return tuple(
        sb.Provider(f"provider {i}", sb.ArraySource(X[rows], y[rows], replace=replace))
        for i, rows in enumerate(parts)
    )


TASKS: dict[str, Callable[[], Task]] = {
    "wine-stock": _wine_stock,
    "wine-replacement": _wine_replacement,
    "gaussian": _gaussian,
    "skewed": _skewed,
    "one-heavy": _one_heavy,
    "rare": _rare,
    "ridge": _ridge,
    "diabetes": _diabetes,
    "cancer": _cancer,
    "friedman": _friedman,
    "digits": _digits,
    "three-classes": _three_classes,
    "sine": _sine,
    "counts": _counts,
    "synthetic-250": _synthetic_250,
    "synthetic-5000": _synthetic_5000,
}
