"""A client that harms or cheats: what every method says about it, and what is exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from federated_study.clients import CLIENTS, FEATURES, RECORDS, VALIDATION, Draw, Population
from federated_study.measure import mean_values, play
from federated_study.settings import STEPS
from federated_study.training import Federation
from shapband._typing import FloatArray

ODD = CLIENTS - 1  # the last client is the odd one; all others are alike
RATE, ROUNDS = 0.5, 5
CLAIMED = 10 * RECORDS  # records that a free rider with a large claim says it has
_NOISE = 1.0  # standard deviation of each number in a noisy update
_REVERSED = 3.0  # a poisoned update is this many times the reverse of an honest one
KINDS = {
    "honest": "trains like the others",
    "shuffled labels": "trains on labels in random order",
    "noise": "sends the global model plus random numbers",
    "poison": "sends the global model minus three times its honest update",
    "free rider": "sends the global model back",
    "large claim": "sends the global model back and claims ten times its records",
}


@dataclass(frozen=True)
class OddSetting:
    """A federation with one odd client; attributes as in `Setting`."""

    kind: str
    pools: int
    games: int

    @property
    def name(self) -> str:
        """The name of the setting, also of its file."""
        return f"odd-{self.kind.replace(' ', '-')}"


def odd_settings(*, quick: bool) -> list[OddSetting]:
    """All kinds of odd clients."""
    pools, games = (2, 1) if quick else (6, 8)
    return [OddSetting(kind, pools, games) for kind in KINDS]


@dataclass(frozen=True, eq=False)
class OddFederation(Federation):
    """A federation whose last client behaves in one of the ways of `KINDS`."""

    kind: str
    noise: FloatArray  # (n_rounds, n_parameters) that the client adds, the same for all coalitions

    @property
    def records(self) -> FloatArray:
        found = super().records
        if self.kind == "large claim":
            found[ODD] = CLAIMED
        return found

    def send(self, i: int, at: int, models: FloatArray, steps: int) -> FloatArray:
        trained = super().send(i, at, models, steps)
        if i != ODD or self.kind in ("honest", "shuffled labels"):
            return trained
        if self.kind == "noise":
            return np.asarray(models + self.noise[at])
        return models - _REVERSED * (trained - models) if self.kind == "poison" else models


def measure_odd(setting: OddSetting, pool: int) -> dict[str, Any]:
    """Mean values over the games of one population, by score and method."""
    rng = np.random.default_rng([pool, 26])  # the same data for all kinds
    population = Population.make(rng)
    rows = population.draw(VALIDATION, rng)
    games = []
    for game in range(setting.games):
        draws = [population.draw(RECORDS, rng) for _ in range(CLIENTS)]
        order, noise = rng.permutation(RECORDS), rng.normal(size=(ROUNDS, FEATURES + 1)) * _NOISE
        if setting.kind == "shuffled labels":
            draws[ODD] = Draw(draws[ODD].X, draws[ODD].y[order])
        games.append(play(_federation(draws, setting.kind, noise), rows, game))
    return {score: mean_values([one[score] for one in games]) for score in games[0]}


def _federation(draws: Sequence[Draw], kind: str, noise: FloatArray) -> OddFederation:
    everybody = np.ones((ROUNDS, CLIENTS), dtype=bool)
    return OddFederation(draws, everybody, STEPS, RATE, kind, noise)
