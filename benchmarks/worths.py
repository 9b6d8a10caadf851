"""Games of known kinds whose players are providers with random weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import shapband as sb

SEED = 1
Worth = Callable[[np.ndarray, np.ndarray], np.ndarray]


class OfWeights(sb.Utility):
    """A function of which members there are and of their weights, the means of their draws."""

    mergeable = True

    def __init__(self, worth: Worth) -> None:
        self.worth = worth

    def summarise(self, batch: sb.Batch) -> float:
        """The weight of a provider in one game."""
        return float(batch.y.mean())

    def evaluate(self, summaries: list[float], coalitions: list[int]) -> np.ndarray:
        rows = np.array([[c >> i & 1 for i in range(len(summaries))] for c in coalitions])
        return self.worth(np.asarray(summaries), rows.astype(float)) * (rows.any(axis=1))

    def evaluate_rows(
        self, games: list[list[float]], inside: np.ndarray, of_game: np.ndarray
    ) -> np.ndarray:
        values = np.empty(len(inside))
        for g in np.unique(of_game):
            rows = of_game == g
            values[rows] = self.worth(np.asarray(games[g]), inside[rows].astype(float))
        return values


def lognormal(n: int) -> list[sb.Provider]:
    """Providers of 200 numbers each, with lognormal means and lognormal numbers."""
    rng = np.random.default_rng(SEED)
    ys = np.exp(rng.normal(size=(n, 1)) / 2 + rng.normal(size=(n, 200)))
    return [sb.Provider(f"p{i:04d}", sb.ArraySource(y[:, None], y)) for i, y in enumerate(ys)]


WORTHS: Mapping[str, Worth] = {
    "threshold": lambda w, rows: (rows @ w >= w.sum() / 2) * 1.0,
    "veto": lambda w, rows: rows[:, 0] * rows[:, 1] * (rows @ w),
    "square root": lambda w, rows: np.sqrt(rows @ w),
    # The results of these two were in sight when the rule was changed, so they are no independent
    # check of it.
    "gloves": lambda w, rows: np.minimum(rows[:, ::2] @ w[::2], rows[:, 1::2] @ w[1::2]),
    "half full": lambda w, rows: 1 / (1 + np.exp(-12 * (rows @ w / w.sum() - 0.5))),
    # These two were not looked at before the rule was fixed.
    "best": lambda w, rows: (rows * w).max(axis=1),
    "ring": lambda w, rows: (rows * np.roll(rows, 1, axis=1)) @ np.sqrt(w * np.roll(w, 1)),
}
