"""Two worker processes compared with one, for black boxes: logistic regressions on wine."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.linear_model import LogisticRegression

import shapband as sb
from benchmarks.games import bare, coalitions_of
from benchmarks.harness import Row, Spread, emit, interleave, say
from benchmarks.sent import BareProcesses, Heavy

SEED = 1
SIZES = {2: 15, 8: 9, 20: 7, 60: 7, 200: 3}  # games of a valuation, and its rounds
LONG = 200
WARM = tuple(n_games for n_games in SIZES if n_games != LONG)
N_PROVIDERS = 8
NOISE = 0.95  # a ratio above this counts as not slower: repeats differ by as much
MEGABYTES = 160
HEAVY_GAMES = 60
HEAVY_ROUNDS = 3


class Wine:
    """Eight wine providers, labelled by whether the quality is at least 6."""

    def __init__(self) -> None:
        task = sb.datasets.wine()
        held = [(one.name, one.source.records) for one in task.providers[:N_PROVIDERS]]
        centre, scale = task.X_val.mean(axis=0), task.X_val.std(axis=0)
        self.providers = [
            sb.Provider(name, sb.ArraySource((all_.X - centre) / scale, good(all_.y)))
            for name, all_ in held
        ]
        self.X_val, self.y_val = (task.X_val - centre) / scale, good(task.y_val)
        self.model = LogisticRegression()
        self.utility = sb.EstimatorUtility(self.model, self.X_val, self.y_val)

    def value(self, utility: sb.Utility, n_games: int, n_jobs: int) -> sb.Valuation:
        """One permutation, which is eight fits, per game."""
        return sb.value(
            self.providers,
            utility,
            sampling=sb.Fresh(60),
            solver=sb.Permutation(1),
            n_games=n_games,
            seed=SEED,
            n_jobs=n_jobs,
        )


def good(quality: np.ndarray) -> np.ndarray:
    return (quality >= 6).astype(int)


def compare(wine: Wine, utility: sb.Utility, n_games: int, rounds: int) -> dict[str, Spread]:
    one, two = (partial(wine.value, utility, n_games, n_jobs) for n_jobs in (1, 2))
    times = interleave({"one": one, "two": two}, rounds)
    say(f"  {n_games} games: one {times['one'].show('s')}, two {times['two'].show('s')}")
    return times


def size_rows(wine: Wine) -> list[Row]:
    """Sizes in growing order: the first ones find no processes, and the last one starts them."""
    times: dict[str, dict[str, Spread]] = {}
    for n_games, rounds in SIZES.items():
        times[f"{n_games} games"] = compare(wine, wine.utility, n_games, rounds)
    for n_games in WARM:
        found = compare(wine, wine.utility, n_games, SIZES[n_games])
        times[f"{n_games} games, processes already running"] = found
    gains = {name: found["one"].over(found["two"]) for name, found in times.items()}
    control = bare_gain(wine)
    say(f"  bare processes: {control.show('×')}")
    slower = [name for name, gain in gains.items() if gain.median < NOISE]
    long = times[f"{LONG} games"]
    gain = gains[f"{LONG} games"]
    work = f"logistic black boxes, {N_PROVIDERS} providers"
    return [
        Row(
            f"two workers against one: {work}, {LONG} games",
            f"one {long['one'].show('s')}, two {long['two'].show('s')}; two bare processes with "
            f"the same fits gain {control.show('×')}",
            f"{gain.show('×')} faster",
            "at least 1.7 ×",
            gain.median >= 1.7,
            f"two bare processes gain {control.show('×')} in the same run, which is what the "
            "machine had to give.",
        ),
        Row(
            f"two workers against one: {work}, never slower",
            "; ".join(f"{name}: {gain.show('×')}" for name, gain in gains.items())
            + f" (below {NOISE} counts as slower)",
            f"{len(slower)} of {len(gains)} sizes are slower",
            "none",
            not slower,
            f"slower: {', '.join(slower)}.",
        ),
    ]


def bare_gain(wine: Wine) -> Spread:
    """Speedup of two bare processes with the fits of the longest valuation."""
    coalitions = coalitions_of(lambda utility: wine.value(utility, LONG, 1))
    fits = (wine.model, wine.X_val, wine.y_val, coalitions)
    two = BareProcesses(*fits)
    times = interleave({"one": partial(bare, *fits), "two": two}, SIZES[LONG])
    two.end()
    return times["one"].over(times["two"])


def heavy_row(wine: Wine) -> Row:
    utility = Heavy(wine.model, wine.X_val, wine.y_val, MEGABYTES)
    times = compare(wine, utility, HEAVY_GAMES, HEAVY_ROUNDS)
    ideal = times["one"].times(0.5)
    ratio = times["two"].over(ideal)
    return Row(
        f"two workers with a utility of {MEGABYTES} MB, {HEAVY_GAMES} games of logistic black "
        "boxes, processes already running",
        f"{times['two'].show('s')}; ideal is half the time of one worker, {ideal.show('s')}",
        f"{ratio.show('×')} of ideal",
        "at most 1.5 ×",
        ratio.median <= 1.5,
        "the cause has not been looked into.",
    )


if __name__ == "__main__":
    wine = Wine()
    emit([*size_rows(wine), heavy_row(wine)])
