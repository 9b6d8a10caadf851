"""Two workers against one: on long work, and on work too short to share."""

from __future__ import annotations

from functools import partial

import shapband as sb
from benchmarks.harness import Row, Spread, emit, interleave, say

SEED = 1
LONG = ("wine, 10,000 games", "digits network, 16 games")
NOISE = 0.95  # a ratio above this counts as not slower: repeats of equal work differ as much


def wine(n_games: int, n_jobs: int) -> sb.Valuation:
    return sb.value(
        WINE.providers,
        WINE.utility,
        sampling=sb.Fresh(60),
        n_games=n_games,
        seed=SEED,
        n_jobs=n_jobs,
    )


def digits(n_games: int, n_jobs: int) -> sb.Valuation:
    """One permutation a game: ten fits."""
    return sb.value(
        DIGITS.providers,
        DIGITS.utility,
        sampling=sb.Fresh(20),
        solver=sb.Permutation(1),
        n_games=n_games,
        seed=SEED,
        n_jobs=n_jobs,
    )


CASES = (
    ("wine, 2 games", wine, 2, 25),
    ("wine, 20 games", wine, 20, 25),
    ("wine, 200 games", wine, 200, 25),
    ("wine, 1,000 games", wine, 1000, 15),
    ("wine, 10,000 games", wine, 10_000, 5),
    ("digits network, 2 games", digits, 2, 7),
    ("digits network, 16 games", digits, 16, 5),
)


def rows() -> list[Row]:
    gains: dict[str, Spread] = {}
    measured: dict[str, str] = {}
    for name, run, n_games, rounds in CASES:
        times = interleave(
            {"one": partial(run, n_games, 1), "two": partial(run, n_games, 2)}, rounds
        )
        gains[name] = times["one"].over(times["two"])
        one, two = times["one"].times(1e3), times["two"].times(1e3)
        measured[name] = f"one {one.show('ms')}, two {two.show('ms')}"
        say(f"  {name}: {measured[name]}: {gains[name].show('×')}")
    slower = [name for name, gain in gains.items() if gain.median < NOISE]
    listed = "; ".join(f"{name}: {gain.show('×')}" for name, gain in gains.items())
    return [
        *(
            Row(
                f"two workers against one: {name}",
                measured[name],
                f"{gains[name].show('×')} faster",
                "at least 1.7 ×",
                gains[name].median >= 1.7,
                "what one thread alone does (drawing, folding the moments) and the Python "
                "lock between the kernels bound the gain."
                if "wine" in name
                else "games are handed out whole, so the last one may leave a worker idle; "
                "fits differ in length.",
            )
            for name in LONG
        ),
        Row(
            "two workers against one: never slower",
            f"{listed} (below {NOISE} counts as slower)",
            f"{len(slower)} of {len(CASES)} sizes are slower",
            "none",
            not slower,
            f"slower: {', '.join(slower)}. Starting workers and cutting the games into "
            "smaller chunks costs more than the second core gives.",
        ),
    ]


WINE, DIGITS = sb.datasets.wine(), sb.datasets.digits()

if __name__ == "__main__":
    emit(rows())
