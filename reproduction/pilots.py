"""Predictions of theory for a utility, from a pilot experiment with separate seeds.

With V the variance of the exact value across games, C the variance of one permutation's marginal
contribution within a game, and B the variance between pools (0 for fresh draws),

    Var(E) = B + (V + C / n_iter) / n_games.

The pilot plays exact games on several independent sets of pools: V is the variance within a set,
B the variance of the sets' means minus V / n_games; C comes from games solved by permutations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

import shapband as sb
from reproduction.experiment import Cell, Experiment, Record, replication_seeds
from reproduction.frames import rows_of, select
from reproduction.metrics import FloatArray, variance_of_variance
from reproduction.paper import VAR_E
from reproduction.valuations import metrics_table, sampling_of, task_of, valued

_PERMUTATIONS = 100
_PILOTS = 500_000  # first replication of the pilots, so that they share no random stream


@dataclass(frozen=True, eq=False)
class Pilot:
    """The results of a pilot, (n,) each, one number per provider."""

    expectation: FloatArray  # mean of the exact value
    within: FloatArray  # V, variance of the exact value across the games of a pool
    fourth: FloatArray  # fourth central moment of the exact value across the games of a pool
    permutation: FloatArray  # C, variance of a permutation's marginal contribution within a game
    between: FloatArray  # B, variance between pools of the mean over games
    between_variance: FloatArray  # variance between pools of the variance across games

    def predict(self, metric: str, n_games: float, n_iter: int | None) -> float:
        """Predict a metric, averaged over providers; without `n_iter` for exact games."""
        noise = self._noise(n_iter)
        if metric == VAR_E:
            return float((self.between + (self.within + noise) / n_games).mean())
        fourth = self.fourth + 6 * self.within * noise + 3 * noise**2  # of normal noise
        sampling = variance_of_variance(fourth, self.within + noise, n_games)
        return float((self.between_variance + sampling).mean())

    def data_share(self, n_iter: int) -> float:
        """Fraction of the variance of a game's estimate that is due to the data."""
        return float(self.within.mean() / (self.within + self._noise(n_iter)).mean())

    def _noise(self, n_iter: int | None) -> FloatArray:
        return np.zeros_like(self.permutation) if n_iter is None else self.permutation / n_iter


def pilot_cell(seed: int, pools: int, games: int, settings: Mapping[str, Any]) -> Cell:
    """Name a pilot: `games` exact games on each of `pools` independent sets of pools."""
    first = replication_seeds(seed, 1)[0] + _PILOTS
    return {"kind": "pilot", "seed": first, "pools": pools, "games": games, **settings}


def pilot_of(frame: pd.DataFrame, **settings: Any) -> Pilot:
    """Read the only pilot of an experiment with these settings."""
    ((_, row),) = select(frame, kind="pilot", **settings).iterrows()
    return Pilot(*(np.array(row[field.name]) for field in fields(Pilot)))


def table_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Both metrics of every setting with the prediction of theory, NaN without a pilot."""
    table = metrics_table(select(frame, kind="valuation"))
    names = ["task", "method", "n_pool", "n_boot"]
    pilots = {
        key: pilot_of(frame, **dict(zip(names, key, strict=True)))
        for key in set(select(frame, kind="pilot")[names].itertuples(index=False, name=None))
    }
    theory = []
    for row in rows_of(table):
        pilot = pilots.get((row.task, row.method, row.n_pool, row.n_boot))
        if pilot is None or row.solver == "balanced":
            theory.append(np.nan)
        else:
            n_iter = None if row.solver == "exact" else row.n_iter
            theory.append(pilot.predict(row.metric, row.n_games, n_iter))
    return table.assign(theory=theory)


def permuted(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the paper's own solver, which all have a number of permutations."""
    return select(table, solver="permutation").astype({"n_iter": int})


class PilotedExperiment(Experiment):
    """An experiment whose cells are valuations of ready-made tasks, and their pilots."""

    def measure(self, cell: Cell) -> list[Record]:
        return run_pilot(cell) if cell["kind"] == "pilot" else valued(cell)


def run_pilot(cell: Cell) -> list[Record]:
    """Run the pilot of a cell."""
    pools, games = cell["pools"], cell["games"]
    played = [_play(cell, p, sb.Exact()).games for p in range(pools)]
    moments = sb.Estimate.of(np.concatenate(played), per_shuffle=games).moments
    within = moments.raw_variance
    fourth = _fourth_moment(moments.m4 / moments.n_games, within, games)
    between = between_variance = np.zeros_like(within)
    if cell["method"] != "baseline":
        means = np.array([g.mean(axis=0) for g in played])
        variances = np.array([g.var(axis=0, ddof=1) for g in played])
        own = variance_of_variance(fourth, within, games)
        # Not clipped at 0 for each provider: that would bias the average upwards.
        between = means.var(axis=0, ddof=1) - within / games
        between_variance = variances.var(axis=0, ddof=1) - own
    permuted = [
        _play(cell, pools + p, sb.Permutation(_PERMUTATIONS)) for p in range(max(2, pools // 4))
    ]
    permutation = _PERMUTATIONS * np.mean([v.solver_variance for v in permuted], axis=0)
    pilot = Pilot(moments.mean, within, fourth, permutation, between, between_variance)
    return [{name: values.tolist() for name, values in vars(pilot).items()}]


def _play(cell: Cell, index: int, solver: sb.Exact | sb.Permutation) -> sb.Valuation:
    task = task_of(cell["task"])
    return sb.value(
        task.providers,
        task.utility,
        sampling=sampling_of(cell),
        solver=solver,
        n_games=cell["games"],
        seed=cell["seed"] + index,
        progress=False,
    )


def _fourth_moment(plain: FloatArray, variance: FloatArray, m: int) -> FloatArray:
    """Fourth central moment from the mean fourth power of deviations from means of m games.

    E[Σ(x - x̄)⁴] = (m-1)/m² · ((m² - 3m + 3) μ4 + 3(2m - 3) σ⁴). The estimate is kept at or above
    σ⁴, as every fourth moment is.
    """
    unbiased = (plain * m**3 / (m - 1) - 3 * (2 * m - 3) * variance**2) / (m**2 - 3 * m + 3)
    return np.asarray(np.maximum(unbiased, variance**2))
