"""A hundred sources that take 20 ms to answer: the time of a game."""

from __future__ import annotations

from functools import partial

import numpy as np

import shapband as sb
from benchmarks.harness import Row, Spread, emit, interleave

SOURCES = 100
DELAY = 0.02  # seconds
N_GAMES = 100
AT_ONCE = 4
ROUNDS = 5
SEED = 1


def value(concurrent: int) -> sb.Valuation:
    """Value additive providers; as many games are in flight as each source answers at once."""
    x = np.random.default_rng(SEED).normal(size=(200, 1))
    near = sb.ArraySource(x, x[:, 0])
    providers = [
        sb.Provider(f"far {i}", sb.with_delay(near, DELAY, concurrent=concurrent))
        for i in range(SOURCES)
    ]
    return sb.value(
        providers,
        sb.AdditiveUtility(),
        sampling=sb.Fresh(60),
        solver=sb.Permutation(1),
        n_games=N_GAMES,
        seed=SEED,
        concurrency=SOURCES * concurrent,
    )


def rows() -> list[Row]:
    times = interleave({"one": partial(value, 1), "four": partial(value, AT_ONCE)}, ROUNDS)
    one, four = (times[name].times(1e3 / N_GAMES) for name in ("one", "four"))
    work = f"{SOURCES} sources that answer after {DELAY * 1e3:.0f} ms each, {N_GAMES} games"
    return [
        row(f"{work}, one game in flight", one, 1, 30),
        row(f"{work}, {AT_ONCE} games in flight (`concurrent={AT_ONCE}`)", four, AT_ONCE, 8),
    ]


def row(work: str, per_game: Spread, at_once: int, most: float) -> Row:
    least = DELAY * 1e3 / at_once
    return Row(
        work,
        f"waiting alone takes {least:g} ms a game; `concurrency={SOURCES * at_once}`",
        f"{per_game.show('ms')} a game",
        f"{'at most' if at_once == 1 else 'below'} {most:g} ms",
        per_game.median <= most if at_once == 1 else per_game.median < most,
        f"{per_game.median - least:.2g} ms a game are spent on other things than waiting.",
    )


if __name__ == "__main__":
    emit(rows())
