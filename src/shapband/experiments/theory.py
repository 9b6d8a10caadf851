"""What theory predicts for a utility, from a pilot with seeds of its own.

With V the variance of the exact value across games, C the variance of one permutation's marginal
contribution within a game, and B the variance between pools (0 for fresh draws),

    Var(E) = B + (V + C / n_iter) / n_games.

The pilot plays exact games on several independent sets of pools: V is the variance within them,
B what their means vary beyond V / n_games. C comes from a few games solved by permutations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import shapband as sb
from shapband._typing import FloatArray
from shapband.experiments.base import Cell, Result, pilot_seed
from shapband.experiments.valuations import sampling_of, task_of
from shapband.moments.decompose import fourth_moment, variance_of_variance

_PERMUTATIONS = 100


@dataclass(frozen=True, eq=False)
class Pilot:
    """What a pilot learned, per provider (n,).

    Attributes
    ----------
    expectation : mean of the exact value
    within : V, variance of the exact value across the games of a pool
    fourth : fourth central moment of the same
    permutation : C, variance of one permutation's marginal contribution within a game
    between : B, variance between pools of the mean over games
    between_variance : variance between pools of the variance across games
    """

    expectation: FloatArray
    within: FloatArray
    fourth: FloatArray
    permutation: FloatArray
    between: FloatArray
    between_variance: FloatArray

    @staticmethod
    def of(result: Result) -> Pilot:
        """Read the result of a pilot cell."""
        return Pilot(**{name: np.array(values) for name, values in result.items()})

    def variance_of_expectation(self, n_games: int, n_iter: int | None) -> float:
        """Predict Var(E), averaged over providers; without `n_iter` for exact games."""
        return float((self.between + (self.within + self._noise(n_iter)) / n_games).mean())

    def variance_of_variance(self, n_games: int, n_iter: int | None) -> float:
        """Predict Var(Var), averaged over providers, taking permutation noise for normal."""
        noise = self._noise(n_iter)
        fourth = self.fourth + 6 * self.within * noise + 3 * noise**2
        sampling = variance_of_variance(fourth, self.within + noise, n_games)  # Eq. (11)
        return float((self.between_variance + sampling).mean())

    def data_share(self, n_iter: int) -> float:
        """Part of the variance of a game's estimate that is due to the data."""
        return float(self.within.mean() / (self.within + self._noise(n_iter)).mean())

    def _noise(self, n_iter: int | None) -> FloatArray:
        return np.zeros_like(self.permutation) if n_iter is None else self.permutation / n_iter


def pilot_cell(seed: int, pools: int, games: int, settings: Mapping[str, Any]) -> Cell:
    """Name a pilot: `games` exact games on each of `pools` independent sets of pools."""
    return Cell.of(
        work=pools * games / 400,
        kind="pilot",
        seed=pilot_seed(seed),
        pools=pools,
        games=games,
        **settings,
    )


def run_pilot(cell: Cell) -> dict[str, Any]:
    """Run the pilot of a cell."""
    pools, games = cell["pools"], cell["games"]
    played = [_games(cell, cell["seed"] + p, games, sb.Exact()).games for p in range(pools)]
    moments = sb.Moments.of(np.concatenate(played), group=games)
    within = moments.raw_variance
    fourth = fourth_moment(moments.m4, within, moments.n_games, moments.n_groups)
    if cell["method"] == "fresh":
        between = between_variance = np.zeros_like(within)
    else:
        means = np.array([g.mean(axis=0) for g in played])
        variances = np.array([g.var(axis=0, ddof=1) for g in played])
        own = variance_of_variance(fourth, within, games)
        # Not cut off at 0 for each provider: that would bias their average upwards.
        between = means.var(axis=0, ddof=1) - within / games
        between_variance = variances.var(axis=0, ddof=1) - own
    permuted = [
        _games(cell, cell["seed"] + pools + p, games, sb.Permutation(_PERMUTATIONS))
        for p in range(max(2, pools // 4))
    ]
    permutation = _PERMUTATIONS * np.mean([v.solver_variance for v in permuted], axis=0)
    return {
        "expectation": moments.expectation.tolist(),
        "within": within.tolist(),
        "fourth": fourth.tolist(),
        "permutation": permutation.tolist(),
        "between": between.tolist(),
        "between_variance": between_variance.tolist(),
    }


def _games(cell: Cell, seed: int, games: int, solver: sb.Exact | sb.Permutation) -> sb.Valuation:
    task = task_of(cell["task"])
    return sb.value(
        task.providers,
        task.utility,
        sampling=sampling_of(cell),
        solver=solver,
        n_games=games,
        seed=seed,
        progress=False,
    )
