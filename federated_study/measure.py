"""Values of one population's runs, by every method and exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

import shapband as sb
from federated_study.clients import CLIENTS, NAMES, VALIDATION, Draw, Population
from federated_study.settings import CHECK, CHECKED, METHODS, STEPS, TRUNCATION, Setting
from federated_study.training import (
    SCORES,
    Federation,
    record_alone,
    record_run,
    train_coalitions,
)
from shapband._typing import AnyArray, FloatArray

SHAPLEY = sb.theory.shapley_matrix(CLIENTS)
Scoring: TypeAlias = Callable[[FloatArray, Draw], float]
Values: TypeAlias = dict[str, FloatArray]  # by method, and "exact"
STUDENT = 2.306  # 97.5 % quantile for the 9 pairs of check=20
_LONGEST = 20  # rounds for which presence is drawn, so that shorter runs have the same data


def measure(setting: Setting, pool: int) -> dict[str, Any]:
    """Play the games of one population.

    Returns
    -------
    By score: for "exact" and every method the mean values over games (n,), and for "check OR" and
    "check one-round" what `Runs.check_errors` gives, averaged over games.
    """
    rng = np.random.default_rng(setting.seed(pool))
    population = Population.make(rng)
    rows = population.draw(VALIDATION, rng)
    found: dict[str, list[Values]] = {score: [] for score in SCORES}
    for game in range(setting.games):
        draws = [population.draw_client(setting.family, i, rng) for i in range(CLIENTS)]
        chances = rng.random((_LONGEST, CLIENTS))[: setting.rounds]
        present = chances < setting.participation
        federation = Federation(draws, present, STEPS, setting.rate)
        for score, values in play(federation, rows, pool * setting.games + game).items():
            found[score].append(values)
    return {score: mean_values(games) for score, games in found.items()}


def mean_values(games: list[Values]) -> dict[str, list[float]]:
    """Means over games, by method."""
    return {name: np.mean([one[name] for one in games], axis=0).tolist() for name in games[0]}


def play(federation: Federation, rows: Draw, number: int) -> dict[str, Values]:
    """Values of one game, by score and method."""
    runs = Runs(federation, rows)
    found = {}
    for name, score in SCORES.items():
        exact = np.array([score(model, rows) for model in runs.models])
        values = {"exact": SHAPLEY @ exact}
        values |= {method: runs.recorded(method, score).values for method in METHODS}
        if federation.present.all():
            checks = {one: runs.check_errors(one, score, exact, number) for one in CHECKED}
            values |= {f"check {one}": errors for one, errors in checks.items()}
        found[name] = values
    return found


class Runs:
    """Every coalition's model, the recorded run of everybody, and the round of each one alone."""

    def __init__(self, federation: Federation, rows: Draw) -> None:
        self._rows = rows
        self._run = record_run(federation)
        self._alone = record_alone(federation)
        self.models = train_coalitions(federation)

    def recorded(self, method: str, score: Scoring, **check: Any) -> sb.RecordedValuation:
        """Value the clients by one of the methods."""

        def scored(parameters: list[AnyArray]) -> float:
            return score(parameters[0], self._rows)

        kind: Any = method.removeprefix("truncated ")
        truncation = TRUNCATION if kind != method else None
        rounds = [self._alone] if method == "one-round" else self._run
        known: Any = {"names": NAMES, "truncation": truncation}
        return sb.value_recorded(rounds, scored, method=kind, **known, **check)

    def check_errors(
        self, method: str, score: Scoring, exact: FloatArray, number: int
    ) -> FloatArray:
        """Errors of one run with `check=20`.

        Returns
        -------
        (4,) error of the values and of the corrected values, both relative to the exact values,
        share of clients whose exact value is in the 95 % interval of Student's distribution, and
        number of coalitions retrained.
        """

        def retrain(coalition: tuple[str, ...]) -> float:
            return float(exact[sum(1 << NAMES.index(name) for name in coalition)])

        found = self.recorded(method, score, check=CHECK, retrain=retrain, seed=number)
        table, truth = found.to_frame(), SHAPLEY @ exact
        corrected, errors = table["corrected"].to_numpy(), table["corrected_error"].to_numpy()
        within = np.abs(corrected - truth) <= STUDENT * errors
        apart = [relative_error(found.values, truth), relative_error(corrected, truth)]
        return np.array([*apart, within.mean(), found.retrained])


def relative_error(values: FloatArray, exact: FloatArray) -> float:
    """Σ |value − exact value| / Σ |exact value|, over the clients."""
    return float(np.abs(values - exact).sum() / np.abs(exact).sum())
