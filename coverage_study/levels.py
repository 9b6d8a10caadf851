"""The measured levels of a setting, and whether they meet their targets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coverage_study.truth import (
    Results,
    expectation_target,
    oracle_half_width,
    variance_target,
)
from shapband._typing import AnyArray, FloatArray

GAMES = (30, 50, 200, 1000)
SKEWED = ("skewed", "one-heavy", "ridge", "rare", "cancer")  # tasks with skewed values
_LEAST_VARIANCE = 85.0  # level of the variance for the provider with the lowest
HEAVY = ("skewed", "one-heavy", "ridge", "rare")  # tasks with heavy tails or rare events
_FIRST_LOOK = 30  # fewest games at which the variance is judged


@dataclass(frozen=True)
class Level:
    """How often intervals held, at one number of games.

    Attributes
    ----------
    games : number of games
    mean : coverage, averaged over providers
    error : its standard error over pools
    worst : coverage of the provider with the lowest
    width : median over pools and providers of the width over that of the oracle
    control : coverage of intervals from the spread of the games alone
    reported : root mean square of the reported standard errors over that of the true errors
    """

    games: int
    mean: float
    error: float
    worst: float
    width: float = np.nan
    control: float = np.nan
    reported: float = np.nan


def expectation_levels(results: Results, fresh: Results) -> list[Level]:
    """Levels of the intervals of the expectation."""
    target = expectation_target(results, fresh)
    return [
        _expectation_level(results, fresh, target, games) for games in GAMES if games in results.at
    ]


def _expectation_level(results: Results, fresh: Results, target: FloatArray, games: int) -> Level:
    at = results.at[games]
    width = (at["high"] - at["low"]) / 2 / oracle_half_width(results, fresh, games)
    alone = np.abs(at["mean"] - target) <= at["alone"]
    true = ((at["mean"] - target) ** 2).mean(axis=0)
    held = _level(games, (at["low"] <= target) & (target <= at["high"]))
    return replace(
        held,
        width=float(np.median(width)),
        control=float(alone.mean()),
        reported=float(np.sqrt((at["error"] ** 2).mean(axis=0) / true).mean()),
    )


def variance_levels(results: Results, fresh: Results) -> list[Level]:
    """Levels of the intervals of the variance."""
    target = variance_target(results, fresh)
    found = []
    for games, at in results.at.items():
        held = (at["variance_low"] <= target) & (target <= at["variance_high"])
        found.append(_level(games, held))
    return found


def variance_ratio(results: Results, fresh: Results) -> float:
    """Mean over pools and providers of the estimated variance over the true one."""
    return float((results.at[results.last]["variance"] / variance_target(results, fresh)).mean())


def _level(games: int, held: AnyArray) -> Level:
    error = held.mean(axis=1).std(ddof=1) / np.sqrt(len(held))
    worst = float(held.mean(axis=0).min())
    return Level(games, float(held.mean()), float(error), worst)


def expectation_misses(task: str, levels: list[Level]) -> list[str]:
    """Which targets the levels miss, in words."""
    found = []
    low, high, least = (92.0, 100.0, 0.0) if task.startswith("synthetic") else (93.0, 97.0, 90.0)
    if task in SKEWED:
        low, high, least = 92.0, 100.0, 88.0
    for level in levels:
        mean, worst = 100 * level.mean, 100 * level.worst
        widest = 1.35 if level.games < 200 else 1.25
        where = f"at {level.games:,}"
        if not low <= mean <= high:
            found.append(f"mean {mean:.1f} {where}")
        if worst < least:
            found.append(f"provider {worst:.1f} {where}")
        if level.width > widest:
            found.append(f"width {level.width:.2f} {where}")
    return found


def variance_range(task: str, sampling: str) -> tuple[float, float] | None:
    """Target of the level of the variance in percent, or None if it is only measured."""
    if sampling in ("fresh", "subsets"):
        return (89.0 if task in HEAVY else 93.0), 100.0
    return None


def variance_misses(task: str, results: Results, levels: list[Level]) -> list[str] | None:
    """Which targets the levels miss, in words; None without targets."""
    wanted = variance_range(task, results.sampling)
    if wanted is None:
        return None
    low, high = wanted
    judged = [level for level in levels if level.games >= _FIRST_LOOK]
    found = [
        f"{100 * level.mean:.1f} at {level.games:,}"
        for level in judged
        if not low <= 100 * level.mean <= high
    ]
    if task in HEAVY or results.sampling == "blocks":
        return found
    alone = [level for level in judged if 100 * level.worst < _LEAST_VARIANCE]
    return found + [f"provider {100 * level.worst:.1f} at {level.games:,}" for level in alone]
