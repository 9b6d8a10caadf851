"""Additive games with ten to ten thousand providers: the time must be linear in their number."""

from __future__ import annotations

from functools import partial

import numpy as np

import shapband as sb
from benchmarks.harness import Row, Spread, emit, interleave, number, say, seconds

COUNTS = (10, 30, 100, 300, 1000, 3000, 10_000)
PATIENCE = {"pooled": 45.0, "fresh": 10.0}  # seconds; a size that would take longer is not run
N_GAMES = 50
N_ITER = 4
ROUNDS = 5
LONG = 4.0  # seconds; a size that takes longer is timed once
SEED = 1


class Gaussian:
    """Draws numbers that are their own targets."""

    def __init__(self, mean: float, deviation: float) -> None:
        self.mean, self.deviation = mean, deviation

    def __call__(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw `size` numbers."""
        x = rng.normal(self.mean, self.deviation, size)
        return x[:, None], x


def providers(n: int) -> list[sb.Provider]:
    """The paper's game of many providers: means in [-3, 3], standard deviations in [0.1, 2]."""
    means, deviations = np.linspace(-3, 3, n), np.geomspace(0.1, 2.0, n)
    return [
        sb.Provider(f"g{i}", sb.FunctionSource(Gaussian(float(mean), float(deviation))))
        for i, (mean, deviation) in enumerate(zip(means, deviations, strict=True))
    ]


def measure(
    sampling: sb.Pooled | sb.Fresh, patience: float, solver: sb.Solver | None
) -> dict[int, Spread]:
    """Time growing numbers of providers until the next one would take too long."""
    taken: dict[int, Spread] = {}
    for n in COUNTS:
        value = partial(
            sb.value,
            providers(n),
            sb.AdditiveUtility(),
            sampling=sampling,
            solver=solver,
            n_games=N_GAMES,
            seed=SEED,
        )
        if _expected(taken, n) > patience:
            break
        first = seconds(value)
        if first < LONG:
            taken[n] = interleave({"value": value}, ROUNDS)["value"]
        else:
            taken[n] = Spread((first,))
        say(f"  {sampling!r}, n = {n:,}: {taken[n].show('s')}")
    return taken


def _expected(taken: dict[int, Spread], n: int) -> float:
    """Seconds that n providers would take, extrapolated from the last two sizes."""
    if len(taken) < 2:
        return 0.0
    (a, ta), (b, tb) = [(size, times.median) for size, times in taken.items()][-2:]
    return float(tb * (n / b) ** (np.log(tb / ta) / np.log(b / a)))


def rows() -> list[Row]:
    permutations = sb.Permutation(N_ITER)
    pooled = measure(sb.Pooled(512, 128), PATIENCE["pooled"], permutations)
    default = measure(sb.Pooled(512, 128), PATIENCE["pooled"], None)
    slope = _slope(pooled)
    skipped = [n for n in COUNTS if n not in pooled]
    listed = "; ".join(f"{n:,}: {times.show('s')}" for n, times in pooled.items())
    missing = (
        f"; not run, because each would take over {PATIENCE['pooled']:.0f} s: "
        + ", ".join(f"{n:,}" for n in skipped)
        if skipped
        else ""
    )
    work = f"additive game, {N_GAMES} games × {N_ITER} permutations, draws of 128 from pools of 512"
    thousand = pooled.get(1000)
    fresh = measure(sb.Fresh(128), PATIENCE["fresh"], permutations)
    return [
        Row(
            f"{work}, n = {COUNTS[0]} to {COUNTS[-1]:,} providers",
            f"{listed}{missing}",
            f"slope {number(slope)} of log time over log n",
            "0.9 to 1.1",
            0.9 <= slope <= 1.1 and not skipped,
            f"from the largest but one to the largest size run the slope is "
            f"{number(_slope(dict(list(pooled.items())[-2:])))}.",
        ),
        Row(
            f"{work}, n = 1,000",
            f"as above, `Permutation({N_ITER})`; without `solver=`, which is exact here, "
            f"{default[1000].show('s')}",
            thousand.show("s") if thousand else "not run",
            "under 1 s",
            thousand is not None and thousand.median < 1,
            "see the slope.",
        ),
        Row(
            f"additive game without `solver=`, {N_GAMES} games, draws of 128 from pools of 512",
            "; ".join(f"{n:,}: {times.show('s')}" for n, times in default.items()),
            f"slope {number(_slope(default))}; exact, where `Permutation({N_ITER})` has noise",
        ),
        Row(
            f"the same with `Permutation({N_ITER})` and fresh draws of 128 from functions, called "
            f"{N_GAMES} × n times",
            "; ".join(f"{n:,}: {times.show('s')}" for n, times in fresh.items()),
            f"slope {number(_slope(fresh))}",
        ),
    ]


def _slope(taken: dict[int, Spread]) -> float:
    sizes = np.log(list(taken))
    times = np.log([spread.median for spread in taken.values()])
    return float(np.polyfit(sizes, times, 1)[0])


if __name__ == "__main__":
    emit(rows())
