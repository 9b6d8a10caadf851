"""The records of the games that `value()` plays, and hand-written loops to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb
from typing import Any

import numpy as np
from sklearn.base import clone

import shapband as sb
from shapband.access.access import Access
from shapband.records.draws import Draws
from shapband.seeds import Seeds

Records = tuple[np.ndarray, np.ndarray]
SPLIT_SEED = 1


def draws_of(
    providers: Sequence[sb.Provider], sampling: Any, n_games: int, seed: int
) -> list[Draws]:
    """Return the draws of `value()` with this seed: one `Draws` per provider."""
    access = Access(providers, Seeds(seed), sb.Budget())
    return sampling.prepare(access).draws(range(n_games))


def records_of(draws: Sequence[Draws], game: int) -> list[Records]:
    """Return the records (X, y) of every provider in one game."""
    batches = [drawn.batch.take(drawn.rows[game]) for drawn in draws]
    return [(batch.X, batch.y) for batch in batches]


def split_wine(n: int, *, by_alcohol: bool, shared: int | None = None) -> list[sb.Provider]:
    """Split the training wines into n providers, by their alcohol content or at random.

    If `shared` is given, every provider has that many wines, those around its place in the order,
    and neighbours share wines.
    """
    sources = [provider.source.records for provider in sb.datasets.wine().providers]
    X = np.concatenate([batch.X for batch in sources])
    y = np.concatenate([batch.y for batch in sources])
    shuffled = np.random.default_rng(SPLIT_SEED).permutation(len(y))
    order = np.argsort(X[:, -1], kind="stable") if by_alcohol else shuffled
    if shared is None:
        parts = np.array_split(order, n)
    else:
        starts = np.linspace(0, len(y) - shared, n).astype(int)
        parts = [order[start : start + shared] for start in starts]
    return [
        sb.Provider(f"part {i}", sb.ArraySource(X[rows], y[rows])) for i, rows in enumerate(parts)
    ]


def refit_exact(records: Sequence[Records], model: Any, X_val: Any, y_val: Any) -> np.ndarray:
    """Exact Shapley values by a plain loop: one fit per coalition, kept in a dictionary."""
    n = len(records)
    memo = {0: 0.0}

    def worth(coalition: int) -> float:
        if coalition not in memo:
            memo[coalition] = refit(records, model, X_val, y_val, coalition)
        return memo[coalition]

    values = np.zeros(n)
    for coalition in range(2**n):
        size = coalition.bit_count()
        for i in range(n):
            if not coalition >> i & 1:
                gain = worth(coalition | 1 << i) - worth(coalition)
                values[i] += gain / (n * comb(n - 1, size))
    return values


def refit(records: Sequence[Records], model: Any, X_val: Any, y_val: Any, coalition: int) -> float:
    """Join the records of a coalition, given as a bitmask, and fit and score a model."""
    inside = [held for i, held in enumerate(records) if coalition >> i & 1]
    X = np.concatenate([X for X, _ in inside])
    y = np.concatenate([y for _, y in inside])
    return inverse_mse(clone(model).fit(X, y), X_val, y_val)


def coalitions_of(value_with: Callable[[sb.Utility], sb.Valuation]) -> list[tuple[Any, Any]]:
    """Collect the records of every coalition that a valuation fits, in its order."""
    seen = []

    def note(X: Any, y: Any) -> float:
        seen.append((X, y))
        return 0.0

    value_with(sb.FunctionUtility(note))
    return seen


def bare(model: Any, X_val: Any, y_val: Any, coalitions: list[tuple[Any, Any]]) -> None:
    """Fit and score the same coalitions, their records already joined."""
    for X, y in coalitions:
        clone(model).fit(X, y).score(X_val, y_val)


def inverse_mse(fitted: Any, X_val: np.ndarray, y_val: np.ndarray) -> float:
    """Score like the paper's tasks: 1 / (1 + MSE)."""
    return float(1.0 / (1.0 + np.mean((fitted.predict(X_val) - y_val) ** 2)))


def check_same(name: str, found: np.ndarray, expected: np.ndarray) -> None:
    """Raise an error if two solutions of the same game differ."""
    worst = float(np.abs(found - expected).max())
    if not worst < 1e-6:
        raise RuntimeError(f"{name} gives other Shapley values: they differ by {worst:.2g}")
