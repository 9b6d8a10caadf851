"""What the intervals should hold, and how wide the best possible intervals are."""

from __future__ import annotations

from typing import Any

import numpy as np

from shapband._typing import FloatArray

NORMAL = 1.959963984540054  # 97.5 % quantile
BOOTSTRAP = ("pooled", "stratified")


class Results:
    """The records of a setting as arrays.

    Attributes
    ----------
    sampling : short name of the sampling
    pools : number of pools
    group : games of one shuffle, or None
    at : by number of games and name, (pools, n) arrays of estimates and ends of intervals
    last : the largest number of games
    """

    def __init__(self, sampling: str, document: dict[str, Any]) -> None:
        records = document["records"]
        self.sampling = sampling
        self.pools = len(records)
        self.group: int | None = records[0]["group"]
        self.at: dict[int, dict[str, FloatArray]] = {
            int(games): {name: np.array([one["at"][games][name] for one in records]) for name in at}
            for games, at in records[0]["at"].items()
        }
        self.last = max(self.at)
        self.extra = {
            name: np.array([one[name] for one in records], dtype=np.float64)
            for name in ("sizes", "other_sizes", "crossed")
            if name in records[0]
        }

    @property
    def means(self) -> FloatArray:
        """(pools, n) expectations from all games."""
        return self.at[self.last]["mean"]

    @property
    def within(self) -> FloatArray:
        """(n,) variance across games of one pool, averaged over pools."""
        return np.asarray(self.at[self.last]["within"].mean(axis=0))


def expectation_target(results: Results, fresh: Results) -> FloatArray:
    """What the interval of every pool should hold: (pools, n)."""
    if results.sampling == "stratified":
        return _stratified_target(results)
    if results.sampling == "pooled" or results is fresh:
        return _mean_of_others(results.means)
    return np.broadcast_to(fresh.means.mean(axis=0), results.means.shape)


def _mean_of_others(values: FloatArray) -> FloatArray:
    """For every pool the mean over all other pools, which does not depend on it."""
    return np.asarray((values.sum(axis=0) - values) / (len(values) - 1))


def _stratified_target(results: Results) -> FloatArray:
    """Expectation over all pools at the draw sizes that each pool chose.

    A pool's own mean depends on its records twice: directly, and through the sizes. So each pool
    was also played at the sizes of the next. The expectation is taken to be linear in the
    logarithms of the sizes, because twice as many records add less the more there are. Its slopes
    follow from the change within a pool, in which the error of the pool cancels; its level is the
    mean over the other pools of what they gave at foreign sizes.
    """
    sizes, others = (np.log(results.extra[name]) for name in ("sizes", "other_sizes"))
    crossed = results.extra["crossed"]
    slopes = np.linalg.lstsq(others - sizes, crossed - results.means, rcond=1e-6)[0]
    centre = sizes.mean(axis=0)
    level = _mean_of_others(crossed - (others - centre) @ slopes)
    return np.asarray(level + (sizes - centre) @ slopes)


def variance_target(results: Results, fresh: Results) -> FloatArray:
    """Variance of a game over pools and draws: (n,)."""
    if results.sampling not in BOOTSTRAP:
        return fresh.within
    return results.within + between_pools(results, fresh)


def between_pools(results: Results, fresh: Results) -> FloatArray:
    """Variance over pools of the mean of endlessly many games: (n,)."""
    deviations = results.means - expectation_target(results, fresh)
    spread = deviations.var(axis=0, ddof=1) - results.within / results.last
    return np.asarray(np.maximum(spread, 0.0))


def oracle_half_width(results: Results, fresh: Results, games: int) -> FloatArray:
    """Half width of the interval of one who knows the true variance of the estimate: (n,)."""
    if results is fresh:
        return np.asarray(NORMAL * np.sqrt(fresh.within / games))
    if results.group is not None:
        # The games of a shuffle share no record, so that the sum of two parts does not apply.
        spread = results.at[games]["mean"].std(axis=0, ddof=1)
        return np.asarray(NORMAL * spread)
    between = between_pools(results, fresh)
    return np.asarray(NORMAL * np.sqrt(results.within / games + between))
