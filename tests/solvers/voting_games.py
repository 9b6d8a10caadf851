"""Games in which most coalitions are worth 0 or 1, with their exact values for any n.

The value of a coalition depends on its size and on the sum of its members' weights, which are
integers. Counting the coalitions of each size and weight gives the exact values of every index.
"""

from collections.abc import Callable
from math import comb

import numpy as np

import shapband as sb
from shapband.games import Games
from shapband.seeds import Seeds


class WeightGame(sb.Utility):
    """v(S) = worth(size, weight), from a function of two arrays."""

    def __init__(self, weights, worth: Callable) -> None:
        self.weights = np.asarray(weights, dtype=np.int64)
        self.n = len(self.weights)
        sizes, sums = np.ogrid[: self.n + 1, : self.weights.sum() + 1]
        shape = (self.n + 1, self.weights.sum() + 1)
        self.table = np.broadcast_to(np.asarray(worth(sizes, sums), dtype=float), shape)
        self.empty = float(self.table[0, 0])

    def summarise(self, batch):
        return None

    def evaluate(self, summaries, coalitions):
        inside = [[coalition >> i & 1 for i in range(self.n)] for coalition in coalitions]
        return self._worth(np.array(inside))

    def evaluate_rows(self, games, inside, of_game):
        return self._worth(inside.astype(np.int64))

    def evaluate_prefixes(self, games, orders, first):
        sums = np.cumsum(self.weights[orders], axis=2)
        return self.table[np.arange(1, self.n + 1), sums]

    def _worth(self, inside):
        return self.table[inside.sum(axis=1), inside @ self.weights]

    def exact(self, index):
        """Values of the index: (n,); providers of equal weight have equal values."""
        of_weight = {weight: self._exact(weight, index) for weight in set(self.weights.tolist())}
        return np.array([of_weight[weight] for weight in self.weights.tolist()])

    def _exact(self, weight, index):
        """Value of a provider with a weight, from the coalitions of the others."""
        others = self.weights.tolist()
        others.remove(weight)
        width = self.table.shape[1]
        counts = np.zeros((self.n, width))  # coalitions of the others by size and weight
        counts[0, 0] = 1.0
        for other in others:
            counts[1:, other:] += counts[:-1, : width - other].copy()
        shares = counts / np.array([comb(self.n - 1, size) for size in range(self.n)])[:, None]
        added = self.table[1:, weight:] - self.table[:-1, : width - weight]
        return float(index.size_weights(self.n) @ (shares[:, : width - weight] * added).sum(axis=1))

    def copies(self, count, index=None, seed=0):
        """The same game many times, as solvers see it."""
        names = tuple(f"p{i:02}" for i in range(self.n))
        summaries = np.zeros((count, self.n))
        return Games(self, summaries, names, range(count), Seeds(seed), index or sb.Shapley())


def voting_games(n):
    """Thresholds, quotas, vetoes and rare events; the range of the values is 1."""
    weights = np.random.default_rng(n).integers(1, 10, n)
    total = int(weights.sum())
    rest, veto = int(weights[2:].sum()), total + 1
    with_vetoes = np.append([veto, veto], weights[2:])
    return {
        "threshold": WeightGame(np.ones(n), lambda size, _: size >= n // 2),
        "quota 1/2": WeightGame(weights, lambda _, weight: weight >= total // 2),
        "quota 4/5": WeightGame(weights, lambda _, weight: weight >= 0.8 * total),
        "three quotas": WeightGame(
            weights,
            lambda _, w: ((w >= 0.2 * total) + 1.0 * (w >= total / 2) + (w >= 0.8 * total)) / 3,
        ),
        "two vetoes": WeightGame(with_vetoes, lambda _, w: w >= 2 * veto + rest // 2),
        "five together": WeightGame(np.arange(n) < 5, lambda _, weight: weight == 5),
        "exact weight": WeightGame(weights, lambda _, weight: weight == total // 2),
    }
