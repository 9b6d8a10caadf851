"""Federated averaging in a plain loop over coalitions, rounds, members and steps.

It shares no code with the library: gradients are written out for one model at a time, and scores
are those of scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss, r2_score, roc_auc_score


@dataclass
class Loop:
    """Settings of the training; `layers` are the first weights: (matrix (out, in), intercepts)."""

    model: str
    n_labels: int = 0
    rounds: int = 5
    local_steps: int = 5
    learning_rate: float = 0.1
    aggregation: str = "records"
    proximal: float = 0.0
    momentum: float = 0.0
    records_per: str = "game"
    layers: list[Any] = field(default_factory=list)

    @property
    def outputs(self) -> int:
        many = self.model == "softmax" or (self.model == "network" and self.n_labels > 2)
        return self.n_labels if many else 1

    def initial(self, n_features: int) -> list[Any]:
        """Weights and intercepts of every layer, one after the other."""
        if self.layers:
            return [part.copy() for layer in self.layers for part in layer]
        return [np.zeros((self.outputs, n_features)), np.zeros(self.outputs)]

    def train(self, members: list[tuple[Any, Any]], present: Any, n_features: int) -> list[Any]:
        """Parameters after each round, beginning with the initial ones."""
        current = self.initial(n_features)
        velocity = [np.zeros_like(part) for part in current]
        history = [current]
        for round_ in range(self.rounds):
            found = []
            for (X, y), here in zip(members, present[round_], strict=True):
                size = len(y)
                if self.records_per == "round":
                    size //= self.rounds
                    X, y = (one[round_ * size : (round_ + 1) * size] for one in (X, y))
                if here and size:
                    weight = size if self.aggregation == "records" else 1
                    found.append((weight, self.locally(current, X, y)))
            if found:
                total = sum(weight for weight, _ in found)
                mean = [
                    sum(weight * own[p] for weight, own in found) / total
                    for p in range(len(current))
                ]
                velocity = [
                    self.momentum * v + (new - old)
                    for v, new, old in zip(velocity, mean, current, strict=True)
                ]
                current = [old + v for old, v in zip(current, velocity, strict=True)]
            history.append(current)
        return history

    def locally(self, start: list[Any], X: Any, y: Any) -> list[Any]:
        """The parameters of one client after its local steps."""
        own = [part.copy() for part in start]
        for _ in range(self.local_steps):
            gradient = self.gradient(own, X, y)
            own = [
                part - self.learning_rate * (slope + self.proximal * (part - origin))
                for part, slope, origin in zip(own, gradient, start, strict=True)
            ]
        return own

    def outputs_of(self, parameters: list[Any], X: Any) -> list[Any]:
        """The inputs, and the outputs of every layer."""
        found = [X]
        for at in range(0, len(parameters), 2):
            z = found[-1] @ parameters[at].T + parameters[at + 1]
            found.append(np.maximum(z, 0.0) if at + 2 < len(parameters) else z)
        return found

    def gradient(self, parameters: list[Any], X: Any, y: Any) -> list[Any]:
        """The gradient of the mean loss."""
        values = self.outputs_of(parameters, X)
        z = values[-1]
        if self.model == "linear":
            error = z - y[:, None]
        elif self.outputs == 1:
            error = 1.0 / (1.0 + np.exp(-np.clip(z, -700, 700))) - y[:, None]
        else:
            error = np.exp(z - z.max(axis=1, keepdims=True))
            error /= error.sum(axis=1, keepdims=True)
            error[np.arange(len(y)), y.astype(int)] -= 1.0
        error = error / len(y)
        slopes: list[Any] = []
        for at in range(len(parameters) - 2, -1, -2):
            inputs = values[at // 2]
            slopes = [error.T @ inputs, error.sum(axis=0), *slopes]
            error = (error @ parameters[at]) * (inputs > 0)
        return slopes

    def score(self, parameters: list[Any], X: Any, y: Any, score: str) -> float:
        """The score of a model on validation rows; labels are 0, 1, ..."""
        z = self.outputs_of(parameters, X)[-1]
        if self.model == "linear":
            mse = np.mean((z[:, 0] - y) ** 2)
            known = {"inverse_mse": 1 / (1 + mse), "neg_mse": -mse, "r2": r2_score(y, z[:, 0])}
            return float(known[score])
        if self.outputs == 1:
            z = np.column_stack([np.zeros(len(z)), z[:, 0]])
        chances = np.exp(z - z.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        labels = np.arange(self.n_labels)
        if score == "accuracy":
            return float(accuracy_score(y, z.argmax(axis=1)))
        if score == "neg_log_loss":
            return -float(log_loss(y, chances, labels=labels))
        if score == "roc_auc":
            return float(roc_auc_score(y, z[:, 1] - z[:, 0]))
        if self.n_labels == 2:
            return -float(brier_score_loss(y, chances[:, 1]))
        return -float(np.mean(((chances - np.eye(self.n_labels)[y]) ** 2).sum(axis=1)))


def loop_table(
    loop: Loop, clients: list[tuple[Any, Any]], X: Any, y: Any, score: str, present: Any = None
) -> Any:
    """Scores after 0, 1, ... rounds of all coalitions: (1 + rounds, 2**n), by bitmask."""
    return np.stack(
        [
            [loop.score(parameters, X, y, score) for parameters in history]
            for history in loop_histories(loop, clients, X.shape[1], present)
        ],
        axis=1,
    )


def loop_histories(
    loop: Loop, clients: list[tuple[Any, Any]], n_features: int, present: Any = None
) -> list[list[Any]]:
    """The parameters of all coalitions, by bitmask, after 0, 1, ... rounds."""
    n = len(clients)
    here = np.ones((loop.rounds, n), bool) if present is None else present
    members = [[i for i in range(n) if mask >> i & 1] for mask in range(2**n)]
    return [
        loop.train([clients[i] for i in places], here[:, places], n_features) for places in members
    ]
