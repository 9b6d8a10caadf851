"""Time games of many features, and print the times and the peak memory of this process as JSON.

python -m benchmarks.wide_game FEATURES ALPHA ROUNDS
"""

from __future__ import annotations

import json
import resource
import sys
from functools import partial

import numpy as np

import shapband as sb
from benchmarks.harness import check_pinned, seconds

FEW = 60  # records of a draw
N_PROVIDERS = 10
N_VALIDATION = 1000
N_GAMES = 2
SEED = 1


def game(d: int, alpha: float, draw: int) -> partial[sb.Valuation]:
    """A `value()` of least squares with d features and draws of a size, with all coalitions."""
    rng = np.random.default_rng(SEED)
    slopes = rng.normal(size=d)

    def records(count: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(count, d))
        return X, X @ slopes + rng.normal(size=count)

    providers = [
        sb.Provider(f"part {i}", sb.ArraySource(*records(2 * draw))) for i in range(N_PROVIDERS)
    ]
    utility = sb.LinearUtility(*records(N_VALIDATION), alpha=alpha)
    return partial(
        sb.value,
        providers,
        utility,
        sampling=sb.Fresh(draw),
        solver=sb.Exact(),
        n_games=N_GAMES,
        seed=SEED,
    )


def main(d: int, alpha: float, rounds: int) -> None:
    check_pinned()
    for draw in (10, 200):  # compiles the kernels of few records and of many
        game(20, alpha, draw)()
    few = game(d, alpha, FEW)
    taken: dict[str, list[float]] = {"few": [seconds(few)], "many": []}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # before many records come
    many = game(d, alpha, 10 * d)
    taken["many"].append(seconds(many))
    for _ in range(rounds - 1):
        taken["few"].append(seconds(few))
        taken["many"].append(seconds(many))
    print(json.dumps(taken | {"peak": peak}))


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
