"""Valuations as a user types them, without `solver=`: times by the number of providers.

Least squares with 11 features, 1,469 validation rows and draws of 60 from arrays.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import shapband as sb
from benchmarks.harness import Row, Table, check_pinned, emit, number, say
from benchmarks.worths import lognormal

FEATURES, VALIDATION, DRAW = 11, 1469, 60
# Games by the number of providers, and the milliseconds that a game may take.
GAMES = {10: 400, 15: 400, 30: 200, 100: 100, 300: 60, 1000: 30, 3000: 24, 10_000: 24}
MOST = {100: 5.0, 300: 30.0, 1000: 250.0, 10_000: 15_000.0}
MOST_NOISE, MOST_MEMORY = 0.1, 2.0
ADDITIVE, ADDITIVE_GAMES, MOST_ADDITIVE = 10_000, 100, 5.0
SEED = 1


def squares(n: int) -> tuple[list[sb.Provider], sb.Utility]:
    """Providers of records like wines, and least squares."""
    rng = np.random.default_rng(SEED)
    slopes = rng.normal(size=FEATURES)

    def records(count: int, shift: float, noise: float) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(count, FEATURES)) + shift * rng.normal(size=FEATURES)
        own = slopes + 0.4 * shift * rng.normal(size=FEATURES)
        return X, X @ own + noise * rng.normal(size=count)

    sources = [sb.ArraySource(*records(200, 0.5, float(rng.uniform(0.5, 2)))) for _ in range(n)]
    providers = [sb.Provider(f"p{i:05d}", source) for i, source in enumerate(sources)]
    return providers, sb.LinearUtility(*records(VALIDATION, 0.0, 1.0))


def seconds_per_game(value: Callable[..., sb.Valuation], games: int) -> tuple[float, sb.Valuation]:
    """Processor time of one game in a valuation of many, the best of three."""
    value(n_games=9)
    taken = []
    for _ in range(3):
        began = time.process_time()
        found = value(n_games=games)
        taken.append((time.process_time() - began) / games)
    return min(taken), found


def noise_of(found: sb.Valuation) -> tuple[float, float]:
    """Mean variance of the values, and mean noise of the solver."""
    variance = float(np.maximum(found.variance, 0.0).mean())
    return variance, float(found.solver_variance.mean())


def growth() -> tuple[list[Row], Table]:
    rows: list[Row] = []
    lines: list[tuple[str, ...]] = []
    for n, games in GAMES.items():
        providers, utility = squares(n)
        value = partial(sb.value, providers, utility, sampling=sb.Fresh(DRAW), seed=SEED)
        began = time.process_time()
        if n < 3000:
            taken, found = seconds_per_game(value, games)
        else:  # once, with the fixed costs
            found = value(n_games=games)
            taken = (time.process_time() - began) / games
        variance, noise = noise_of(found)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
        chosen = found.setup["solver"]
        say(f"  n = {n:,}: {taken * 1e3:.2f} ms, {chosen}, noise {noise / variance:.3f}")
        lines.append(
            (f"{n:,}", f"{number(taken * 1e3)} ms", f"`{chosen}`", f"{noise / variance:.3f}",
             f"{peak:.2f} GB")
        )  # fmt: skip
        if n in MOST:
            memory = n < max(GAMES) or peak <= MOST_MEMORY
            met = taken * 1e3 <= MOST[n] and noise <= MOST_NOISE * variance and memory
            rows.append(
                Row(
                    f"least squares without `solver=`, {n:,} providers, processor time per game",
                    f"{chosen}; noise {noise / variance:.3f} of the variance; peak {peak:.2f} GB",
                    f"{number(taken * 1e3)} ms",
                    f"at most {MOST[n]:g} ms, noise {MOST_NOISE:g}, {MOST_MEMORY:g} GB",
                    met,
                    "see the table of defaults.",
                )
            )
    table = Table(
        "Defaults by the number of providers",
        "Least squares with 11 features, 1,469 validation rows, `Fresh(60)` from arrays; processor "
        "time; noise of the solver as a part of the variance of the values.",
        ("providers", "per game", "solver", "noise", "peak so far"),
        tuple(lines),
    )
    return rows, table


def additive() -> Row:
    many = lognormal(ADDITIVE)
    sb.value(many[:20], sb.AdditiveUtility(), sampling=sb.Fresh(DRAW), n_games=2, seed=SEED)
    began = time.process_time()
    sb.value(many, sb.AdditiveUtility(), sampling=sb.Fresh(DRAW), n_games=ADDITIVE_GAMES, seed=SEED)
    taken = time.process_time() - began
    say(f"  additive: {taken:.1f} s")
    return Row(
        f"additive game without `solver=`, {ADDITIVE:,} providers, {ADDITIVE_GAMES} games",
        "draws of 60 from arrays, `Fresh`; processor time of `value()`, without making the sources",
        f"{number(taken)} s",
        f"below {MOST_ADDITIVE:g} s",
        taken < MOST_ADDITIVE,
        "see where the time goes by providers.",
    )


if __name__ == "__main__":
    check_pinned()
    times, by_size = growth()
    emit([*times, additive()], [by_size])
