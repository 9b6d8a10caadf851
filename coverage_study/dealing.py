"""How much dealing the draws of `Pooled(replace=False)` lowers the error of the expectation.

``python -m coverage_study.dealing`` prints the table of docs/statistics.md. Every task is played
with dealt, independent and rotated draws, from pools that are the whole stocks. The squared error
of the mean of some consecutive games, times their number, is compared with the variance of single
games: the ratio is 1 for independent draws. The games are those of a complete shuffle, or of as
many rotated shuffles as a shuffle has games.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

import shapband as sb
from shapband._typing import FloatArray
from shapband.records.draws import Draws, FixedRows
from shapband.sampling.base import Purchases

_VALIDATION, _DRAWS = 300, 6  # validation rows, and draws in a stock
_PRIME = 5  # draws of a pool whose draws rotate; the rest of the stock is not used


class DealtTask(NamedTuple):
    """Providers whose stocks are their pools, a utility, and the sizes of draws and of a study."""

    title: str
    providers: Sequence[sb.Provider]
    utility: sb.Utility
    n_boot: int
    n_games: int


@dataclass(frozen=True)
class ChangedDraws(sb.Sampling):
    """The same pools and draw sizes as a `Pooled(replace=False)`, with changed draws."""

    pooled: sb.Pooled
    change: Callable[[sb.Realisation], sb.Realisation]

    def check(self, providers: Sequence[sb.Provider]) -> None:
        """Check what the sampling itself checks."""
        self.pooled.check(providers)

    def purchases(self, providers: Sequence[sb.Provider]) -> Purchases | None:
        """The purchases of the sampling itself."""
        return self.pooled.purchases(providers)

    def prepare(self, access: sb.Access) -> sb.Realisation:
        """Buy the pools, and change how games draw from them."""
        return self.change(self.pooled.prepare(access))


def independent(made: sb.Realisation) -> sb.Realisation:
    """The same pools, with independent draws."""
    return replace(made, design=replace(made.design, per_shuffle=None))


def rotated(made: sb.Realisation) -> sb.Realisation:
    """The same pools, in whose games every two draws of two providers meet equally often.

    The k draws of a shuffle are used k times. From one time to the next, provider i continues i
    draws later, so each of its draws meets another one of every other provider, if k is prime and
    there are at most k providers.
    """
    size = made.design.per_shuffle
    assert size is not None  # noqa: S101  for the type checker
    return RotatedGames(design=replace(made.design, per_shuffle=None), cost=made.cost,
                        pools=made.pools, dealt=made, size=size)  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class RotatedGames(sb.Realisation):
    """Games whose draws are the dealt ones, `size` to a shuffle, in another order."""

    dealt: sb.Realisation
    size: int

    def draws(self, games: range) -> list[Draws]:
        """Choose the rows of dealt games."""
        at, k = np.array(games), self.size
        shuffle, turn, place = at // k**2, at // k % k, at % k
        known = self.dealt.draws(range(k * (int(shuffle.max()) + 1)))
        return [
            Draws(one.batch, FixedRows(one.rows[k * shuffle + (place + i * turn) % k]))
            for i, one in enumerate(known)
        ]


class Saving(NamedTuple):
    """Squared error of dealt games over independent games, and its standard error."""

    ratio: float
    error: float


def saving(
    task: DealtTask, seed: int, change: Callable[[sb.Realisation], sb.Realisation] | None = None
) -> Saving:
    """Measure what dealing, or changed draws, leave of the squared error, over all providers."""
    draws = _PRIME if change is rotated else _DRAWS
    pooled = sb.Pooled(draws * task.n_boot, task.n_boot, replace=False)
    found = sb.value(
        task.providers,
        task.utility,
        sampling=pooled if change is None else ChangedDraws(pooled, change),
        n_games=task.n_games,
        seed=seed,
        solver=sb.Exact(),
        keep_games=task.n_games,
        fixed_validation=True,
    )
    return saving_of(found.games, draws**2 if change is rotated else draws)


def saving_of(games: FloatArray, size: int) -> Saving:
    """The saving that games (n_games, n) in shuffles of `size` show.

    The error is from ten parts of the shuffles, because the values of providers are correlated.
    """
    means = games[: len(games) // size * size].reshape(-1, size, games.shape[1]).mean(axis=1)
    squares = size * (means - means.mean(axis=0)) ** 2 / games.var(axis=0, ddof=1)
    squares = squares.mean(axis=1) * len(means) / (len(means) - 1)
    parts = np.array([part.mean() for part in np.array_split(squares, 10)])
    return Saving(float(squares.mean()), float(parts.std(ddof=1) / np.sqrt(len(parts))))


def _records(n: int, stock: int, target: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    rng = np.random.default_rng(stock)
    X = rng.normal(size=(n * stock + _VALIDATION, 4))
    return X, target(X, rng.normal(size=len(X)))


def _providers(X: Any, y: Any, stock: int) -> list[sb.Provider]:
    parts = np.array_split(np.arange(_VALIDATION, len(y)), (len(y) - _VALIDATION) // stock)
    return [sb.Provider(f"p{i}", sb.ArraySource(X[at], y[at])) for i, at in enumerate(parts)]


def _line(X: Any, noise: Any) -> Any:
    return X @ [1.0, 0.5, -0.5, 0.2] + noise


def _label(X: Any, noise: Any) -> Any:
    return (X[:, 0] + 0.5 * X[:, 1] + noise > 0).astype(float)


def tasks(n_boot: int, *, forests: bool) -> list[DealtTask]:
    """All tasks with draws of a size; forests, which scikit-learn fits, take minutes."""
    stock = _DRAWS * n_boot
    X, y = _records(5, stock, _line)
    known = X[:_VALIDATION], y[:_VALIDATION]
    near = sb.NeighborUtility(*known, k=5, task="regression")
    found = [
        DealtTask("least squares", _providers(X, y, stock), sb.LinearUtility(*known), n_boot, 6000),
        DealtTask("5 nearest neighbours", _providers(X, y, stock), near, n_boot, 1200),
    ]
    X, y = _records(5, stock, _label)
    known, labels = (X[:_VALIDATION], y[:_VALIDATION]), _providers(X, y, stock)
    found += [
        DealtTask("naive Bayes", labels, sb.GaussianNBUtility(*known), n_boot, 3000),
        DealtTask("linear discriminant", labels, sb.LDAUtility(*known), n_boot, 3000),
        DealtTask("logistic regression", labels[:4], sb.LogisticUtility(*known), n_boot, 1200),
    ]
    return found + (_forests(labels[:4], known, n_boot) if forests else [])


def _forests(providers: list[sb.Provider], known: Any, n_boot: int) -> list[DealtTask]:
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=20, max_depth=6)
    boosting = GradientBoostingClassifier(n_estimators=20, max_depth=2)
    return [
        DealtTask(title, providers, sb.EstimatorUtility(model, *known), n_boot, 300)
        for title, model in (("random forest", forest), ("gradient boosting", boosting))
    ]


def main() -> None:
    """Print the table."""
    print("| utility | draws | games | dealt / independent | control | rotated |")
    print("| --- | --- | --- | --- | --- | --- |")
    for task in (one for n_boot in (20, 40) for one in tasks(n_boot, forests=n_boot == 20)):
        found = saving(task, 1), saving(task, 2, independent), saving(task, 3, rotated)
        cells = [f"{one.ratio:.2f} ± {one.error:.2f}" for one in found]
        row = [task.title, f"{task.n_boot} of {_DRAWS * task.n_boot}", f"{task.n_games:,}", *cells]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
