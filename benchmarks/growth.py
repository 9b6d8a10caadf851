"""Time over the number of providers: the default beside a loop in NumPy, and a chart of both.

The loop is what a competent user would write: all coalitions on merged Gram matrices while they are
few, else random permutations on cumulative sums of Gram matrices. Where both have noise, the loop's
time is for the same error: (variance + noise) × time of its game, over the default's variance +
noise. The chart is docs/images/times.svg.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import numpy as np

import shapband as sb
from benchmarks import baselines
from benchmarks.defaults import DRAW, SEED, squares
from benchmarks.games import draws_of, records_of
from benchmarks.harness import Table, check_pinned, emit, number, say

SIZES = (3, 5, 7, 10, 12, 15, 20, 30, 100, 300, 1000, 3000, 10_000)
ALL_UP_TO = 12  # providers of whom the loop tries all coalitions: more would take seconds
ORDERS = 8  # permutations in a game of the loop
FILE = Path(__file__).resolve().parent.parent / "docs" / "images" / "times.svg"


def games_for(n: int) -> int:
    """Games of a timed valuation: enough for a time, few enough for a minute in all."""
    return max(10, min(400, 12_000 // n))


def per_game(n: int) -> tuple[float, float, float]:
    """Seconds of a game of the default, and variance and noise of its values."""
    providers, utility = squares(n)
    value = partial(sb.value, providers, utility, sampling=sb.Fresh(DRAW), seed=SEED)
    if n <= 1000:
        value(n_games=9)  # compiles
    games = games_for(n)
    began = time.process_time()
    found = value(n_games=games)
    taken = (time.process_time() - began) / games
    variance = float(np.maximum(found.variance, 0.0).mean())
    return taken, variance, float(found.solver_variance.mean())


def by_hand(n: int, variance: float, noise: float) -> float:
    """Seconds of the loop for the error of one game of the default, without drawing records."""
    providers, utility = squares(n)
    records = records_of(draws_of(providers, sb.Fresh(DRAW), 1, SEED), 0)
    X_val, y_val = validation()
    if n <= ALL_UP_TO:
        baselines.from_grams(records, X_val, y_val)
        began = time.process_time()
        baselines.from_grams(records, X_val, y_val)
        return time.process_time() - began
    rng = np.random.default_rng(SEED)
    began = time.process_time()
    baselines.from_orders(
        records, X_val, y_val, rng.permuted(np.tile(np.arange(n), (ORDERS, 1)), axis=1)
    )
    taken = time.process_time() - began
    own = sb.value(
        providers, utility, sampling=sb.Fresh(DRAW), solver=sb.Permutation(ORDERS), n_games=4,
        seed=SEED,
    )  # fmt: skip
    return taken * (variance + float(own.solver_variance.mean())) / (variance + noise)


def validation() -> tuple[np.ndarray, np.ndarray]:
    """Rows like the validation rows; which ones does not change the time."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(1469, 11))
    return X, X.sum(axis=1) + rng.normal(size=1469)


def draw(times: dict[int, tuple[float, float]]) -> None:
    """Draw the chart."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "shapband"
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
    sizes = list(times)
    for place, name, colour, mark in (
        (1, "NumPy loop", "#b04a0c", "s"),
        (0, "shapband, default", "#14375e", "o"),
    ):
        taken = [times[n][place] for n in sizes]
        ax.loglog(sizes, taken, marker=mark, color=colour, label=name, markersize=5)
    ax.axvline(ALL_UP_TO + 0.5, color="#999999", linewidth=0.8, linestyle=":")
    ax.text(ALL_UP_TO + 1, ax.get_ylim()[0] * 1.6, "permutations from here on (loop)",
            fontsize=8, color="#555555")  # fmt: skip
    ax.set_xlabel("providers")
    ax.set_ylabel("processor time per game, seconds")
    ax.set_xticks([3, 10, 30, 100, 300, 1000, 3000, 10_000])
    ax.xaxis.set_major_formatter(mpl.ticker.StrMethodFormatter("{x:,.0f}"))
    ax.minorticks_off()
    ax.grid(visible=True, color="#e5e5e5", linewidth=0.6)
    ax.legend(frameon=False)
    figure.savefig(FILE, metadata={"Date": None})


def table() -> Table:
    times: dict[int, tuple[float, float]] = {}
    lines = []
    for n in SIZES:
        own, variance, noise = per_game(n)
        theirs = by_hand(n, variance, noise)
        times[n] = own, theirs
        say(f"  n = {n:,}: {own * 1e3:.3g} ms, NumPy {theirs * 1e3:.3g} ms")
        lines.append(
            (f"{n:,}", f"{number(own * 1e3)} ms", f"{number(theirs * 1e3)} ms",
             f"{number(theirs / own)} ×")
        )  # fmt: skip
    draw(times)
    return Table(
        "Time over the number of providers, beside a loop in NumPy",
        "Processor time per game of least squares (11 features, draws of 60): the default in "
        "`value()` with drawing, fixed costs and the first 8 games, and a loop in NumPy without "
        f"drawing: up to {ALL_UP_TO} providers all coalitions on merged Gram matrices, then "
        f"{ORDERS} plain permutations per game on cumulative sums, in proportion to equal error. "
        "Most of their noise comes from who is first, because nobody is worth 0; a loop that "
        "balances the positions would have less.",
        ("providers", "default", "NumPy loop", "loop / default"),
        tuple(lines),
    )


if __name__ == "__main__":
    check_pinned()
    emit([], [table()])
