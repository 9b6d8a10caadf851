"""A utility with rounds that is simple enough to enumerate: the model is one number.

In a round every member that is present moves the number towards the mean of its own draw, and the
coalition averages what the members present return. The score is minus the squared distance from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import product
from typing import Any

import numpy as np

import shapband as sb
from shapband._typing import BoolArray, FloatArray
from shapband.utilities.rows import Folded


class Drift(sb.Utility):
    """One number, trained in rounds; `training` noise is added in every game if `noise` is set."""

    mergeable = True
    threaded = True

    def __init__(self, rounds: int = 3, step: float = 0.5, noise: float = 0.0) -> None:
        self.rounds = rounds
        self.step = step
        self.noise = noise
        self.scored_after = rounds
        self.empty = -1.0
        if noise:
            self.training = "noise is added to the number"
        self._trained: dict[Any, Any] | None = None

    _counters = (*sb.Utility._counters, "_trained", "trainings")
    trainings = 0

    def summarise(self, batch: sb.Batch) -> Any:
        return float(batch.y.mean()), np.ones(self.rounds, dtype=bool), 0.0

    def with_presence(self, games: Any, present: BoolArray) -> Any:
        assert present.dtype == bool
        assert present.shape == (len(games), self.rounds, len(games[0]))
        return [
            [(mean, there, start) for (mean, _, start), there in zip(game, mask.T, strict=True)]
            for game, mask in zip(games, present, strict=True)
        ]

    def in_games(self, games: Any, names: Any, indices: range, seeds: Any) -> Any:
        if not self.noise:
            return games
        drawn = [seeds.generator("training", "", game).normal() for game in indices]
        return [
            [(mean, there, self.noise * x) for mean, there, _ in game]
            for game, x in zip(games, drawn, strict=True)
        ]

    def evaluate(self, summaries: Any, coalitions: Sequence[int]) -> FloatArray:
        means = [mean for mean, _, _ in summaries]
        mask = np.stack([there for _, there, _ in summaries], axis=1)
        start = summaries[0][2]
        scores = []
        for coalition in coalitions:
            inside = list(sb.extend.members(coalition))
            if not inside:
                scores.append(self.empty)
                continue
            key = (id(summaries), coalition)
            if self._trained is None:
                path = self._train(means, mask, inside, start)
            else:
                if key not in self._trained:
                    self._trained[key] = summaries, self._train(means, mask, inside, start)
                path = self._trained[key][1]
            scores.append(-((path[self.scored_after - 1] - 1.0) ** 2))
        return np.array(scores)

    def _train(self, means: Any, mask: Any, inside: list[int], start: float) -> list[float]:
        type(self).trainings += 1
        number, path = start, []
        for there in mask:
            local = [number + self.step * (means[i] - number) for i in inside if there[i]]
            number = float(np.mean(local)) if local else number
            path.append(number)
        return path

    def after_rounds(self) -> Folded:
        whole = copy(self)
        whole._trained = {}
        parts = []
        for r in range(1, self.rounds + 1):
            part = copy(whole)
            part.scored_after = r
            parts.append(part)
        return Folded(whole, parts, whole._trained.clear)


def exact_values(
    utility: Drift, means: Sequence[float], mask: BoolArray, start: float = 0.0
) -> FloatArray:
    """Shapley values among those present in at least one round, by all orders of joining."""
    from itertools import permutations

    n = len(means)
    there = [i for i in range(n) if mask[:, i].any()]
    values = np.zeros(n)
    orders = list(permutations(there))
    for order in orders:
        before = utility.empty
        for k, i in enumerate(order):
            number = start
            for row in mask:
                near = [
                    number + utility.step * (means[j] - number) for j in order[: k + 1] if row[j]
                ]
                number = sum(near) / len(near) if near else number
            after = -((number - 1.0) ** 2)
            values[i] += (after - before) / len(orders)
            before = after
    return values


def all_masks(rounds: int, n: int) -> list[BoolArray]:
    """All masks of presence: 2**(rounds * n) of them."""
    cells = product([False, True], repeat=rounds * n)
    return [np.array(one, dtype=bool).reshape(rounds, n) for one in cells]


STOCKS = {"a": [0.5, 1.5], "b": [1.0, 3.0], "c": [-1.0, 2.0]}


def small_providers() -> list[sb.Provider]:
    """Three providers with two records each, so that all draws of one record can be listed."""
    return [
        sb.Provider(name, sb.ArraySource(np.zeros((2, 1)), targets))
        for name, targets in STOCKS.items()
    ]


def all_values(utility: Drift, masks: Sequence[BoolArray]) -> FloatArray:
    """Values for all draws of one record and some masks: (n_draws, n_masks, n)."""
    draws = list(product(*STOCKS.values()))
    return np.array([[exact_values(utility, draw, mask) for mask in masks] for draw in draws])
