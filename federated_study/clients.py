"""Families of six clients that differ in one way, and draws of their data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shapband._typing import FloatArray

CLIENTS, FEATURES, RECORDS, VALIDATION = 6, 10, 60, 500
NAMES = tuple(f"client {i + 1}" for i in range(CLIENTS))
FAMILIES = ("label noise", "class skew", "size skew")
# What differs from client to client, by family: the probability that a label is wrong, the share
# of positive labels, and the number of records.
WRONG = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
POSITIVE = (0.1, 0.26, 0.42, 0.58, 0.74, 0.9)
SIZES = (10, 20, 40, 80, 160, 320)


@dataclass(frozen=True, eq=False)
class Draw:
    """Records of one client, or validation rows: X (n, 11) with a column of ones, y (n,) 0 or 1."""

    X: FloatArray
    y: FloatArray

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def signed(self) -> FloatArray:
        """X, with the sign of rows of label 0 reversed: a right prediction is positive."""
        return self.X * np.where(self.y == 1, 1.0, -1.0)[:, None]


@dataclass(frozen=True, eq=False)
class Population:
    """A logistic model from which all records are drawn."""

    slopes: FloatArray

    @staticmethod
    def make(rng: np.random.Generator) -> Population:
        """Draw the slopes; their length makes labels follow the features in about 4 of 5 cases."""
        slopes = rng.normal(size=FEATURES)
        return Population(2.0 * slopes / np.linalg.norm(slopes))

    def draw(self, n: int, rng: np.random.Generator) -> Draw:
        """Draw records."""
        X = rng.normal(size=(n, FEATURES))
        y = (rng.random(n) < sigmoid(X @ self.slopes)).astype(float)
        return Draw(np.column_stack([X, np.ones(n)]), y)

    def draw_client(self, family: str, i: int, rng: np.random.Generator) -> Draw:
        """Draw the records of client i of a family."""
        if family == "size skew":
            return self.draw(SIZES[i], rng)
        if family == "label noise":
            drawn = self.draw(RECORDS, rng)
            wrong = rng.random(RECORDS) < WRONG[i]
            return Draw(drawn.X, np.where(wrong, 1 - drawn.y, drawn.y))
        positive = round(POSITIVE[i] * RECORDS)
        stock = self.draw(12 * RECORDS, rng)  # more than enough of both labels
        kept = np.concatenate(
            [
                np.flatnonzero(stock.y == 1)[:positive],
                np.flatnonzero(stock.y == 0)[: RECORDS - positive],
            ]
        )
        return Draw(stock.X[kept], stock.y[kept])


def sigmoid(t: FloatArray) -> FloatArray:
    """1 / (1 + exp(−t)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(t / 2)))
