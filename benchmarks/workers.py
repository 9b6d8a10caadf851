"""Two workers compared with one, for long valuations and for very short ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import shapband as sb
from benchmarks.games import draws_of
from benchmarks.harness import Row, Spread, emit, interleave, say
from shapband.kernels.compiled.linear import linear_table

SEED = 1
LONG = ("wine, 10,000 games", "digits network, 60 games")
NOISE = 0.95  # a ratio above this counts as not slower: repeats differ by as much


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
    """Value the digits providers with one permutation, which is ten fits, per game."""
    return sb.value(
        DIGITS.providers,
        DIGITS.utility,
        sampling=sb.Fresh(20),
        solver=sb.Permutation(1),
        n_games=n_games,
        seed=SEED,
        n_jobs=n_jobs,
    )


def two_cores() -> Spread:
    """Speedup of two threads in the kernel alone: the largest gain possible on this machine."""
    utility = WINE.utility
    summaries = utility.summarise_games(draws_of(WINE.providers, sb.Fresh(60), 2000, SEED))
    sums, limits, _ = utility._about_validation(summaries)
    halves = np.array_split(sums, 2)

    def solve(part: np.ndarray) -> None:
        linear_table(part, limits[: len(part)], *utility._form)

    with ThreadPoolExecutor(2) as pool:
        times = interleave(
            {"one": partial(solve, sums), "two": lambda: list(pool.map(solve, halves))}, 9
        )
    return times["one"].over(times["two"])


CASES = (
    ("wine, 2 games", wine, 2, 25),
    ("wine, 20 games", wine, 20, 25),
    ("wine, 200 games", wine, 200, 25),
    ("wine, 1,000 games", wine, 1000, 15),
    ("wine, 10,000 games", wine, 10_000, 5),
    ("digits network, 2 games", digits, 2, 7),
    ("digits network, 16 games", digits, 16, 3),
    ("digits network, 60 games", digits, 60, 3),
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
    machine = two_cores()
    say(f"  two threads in the bare kernel: {machine.show('×')}")
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
                f"two threads in the bare kernel gain {machine.show('×')} in the same run, which "
                "is what the machine had to give.",
            )
            for name in LONG
        ),
        Row(
            "two workers against one: never slower",
            f"{listed} (below {NOISE} counts as slower)",
            f"{len(slower)} of {len(CASES)} sizes are slower",
            "none",
            not slower,
            f"slower: {', '.join(slower)}.",
        ),
        Row(
            "two threads against one in the bare least-squares kernel, 2,000 wine games",
            "a control: what the machine had to give",
            f"{machine.show('×')} faster",
        ),
    ]


WINE, DIGITS = sb.datasets.wine(), sb.datasets.digits()

if __name__ == "__main__":
    emit(rows())
