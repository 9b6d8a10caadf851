"""Federated averaging of logistic models in plain NumPy: exact coalitions, and recorded runs.

This shares no code with the library. A model is a vector of slopes with the intercept last, and a
client makes full-batch gradient steps on its mean log loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import shapband as sb
from federated_study.clients import NAMES, Draw, sigmoid
from shapband._typing import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Federation:
    """Clients with their data, who train for some rounds.

    Attributes
    ----------
    draws : of the clients
    present : (n_rounds, n) who is present in each round
    steps : local steps of a client in a round
    rate : learning rate
    """

    draws: Sequence[Draw]
    present: BoolArray
    steps: int
    rate: float

    @property
    def records(self) -> FloatArray:
        """(n,) records that each client says it has."""
        return np.array([len(draw) for draw in self.draws], dtype=float)

    def send(self, i: int, at: int, models: FloatArray, steps: int) -> FloatArray:  # noqa: ARG002
        """What client i sends in a round for each of several models: (n_models, n_parameters)."""
        draw = self.draws[i]
        for _ in range(steps):
            errors = sigmoid(draw.X @ models.T) - draw.y[:, None]
            models = models - self.rate * (errors.T @ draw.X) / len(draw)
        return models

    @property
    def initial(self) -> FloatArray:
        """(n_parameters,) the initial model."""
        return np.zeros(self.draws[0].X.shape[1])


def train_coalitions(federation: Federation) -> FloatArray:
    """Train every coalition: (2**n, n_parameters), indexed by bitmask.

    In each round the members that are present start from the coalition's model, and the new model
    is their average by records. A coalition without a present member keeps its model.
    """
    n = len(federation.draws)
    inside = (np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1
    models = np.tile(federation.initial, (2**n, 1))
    for at, here in enumerate(federation.present):
        weights = inside * (federation.records * here)
        total = weights.sum(axis=1)
        averages = np.zeros_like(models)
        for i in np.flatnonzero(here).tolist():
            own = inside[:, i]
            sent = federation.send(i, at, models[own], federation.steps)
            averages[own] += weights[own, i, None] * sent
        moved = total > 0
        models[moved] = averages[moved] / total[moved, None]
    return models


def record_run(federation: Federation) -> list[sb.RecordedRound]:
    """Train everybody together, and record every round."""
    model, records = federation.initial, federation.records
    rounds = []
    for at, here in enumerate(federation.present):
        places = np.flatnonzero(here).tolist()
        sent = [federation.send(i, at, model[None], federation.steps)[0] for i in places]
        updates = {NAMES[i]: ([one], records[i]) for i, one in zip(places, sent, strict=True)}
        rounds.append(sb.RecordedRound([model], updates))
        if places:
            model = np.average(sent, axis=0, weights=records[places])
    return rounds


def record_alone(federation: Federation) -> sb.RecordedRound:
    """One round in which every client makes as many steps as in all rounds it is present in.

    A client that is never present makes none, and its model is the initial one.
    """
    model, records = federation.initial, federation.records
    steps = federation.steps * federation.present.sum(axis=0)
    updates = {
        NAMES[i]: ([federation.send(i, 0, model[None], int(own))[0]], records[i])
        for i, own in enumerate(steps)
    }
    return sb.RecordedRound([model], updates)


def accuracy(model: FloatArray, rows: Draw) -> float:
    """Share of rows whose label is predicted; ties count one half, as for the initial model."""
    margins = rows.signed @ model
    return float(((margins > 0).sum() + (margins >= 0).sum()) / (2 * len(rows)))


def negative_log_loss(model: FloatArray, rows: Draw) -> float:
    """Mean log likelihood of the labels."""
    margins = rows.signed @ model
    return -float((np.log1p(np.exp(-np.abs(margins))) + np.maximum(-margins, 0.0)).mean())


SCORES = {"accuracy": accuracy, "log loss": negative_log_loss}
