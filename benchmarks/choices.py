"""The solver that is taken without `solver=`, compared with every other solver at equal error.

The squared error of a mean over many games is (variance + noise) / games, so the work for the same
error is (variance + noise) × time of a game. All solvers play the same games, so they share one
variance, which the solver with the least noise shows best. A solver's time is that of many games
less that of two, so that neither the fixed costs of a valuation nor the 8 games in which solvers
are tried are in it: it is the cost of a long valuation.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import shapband as sb
from benchmarks.defaults import DRAW, SEED, squares
from benchmarks.harness import Row, Table, check_pinned, emit, say
from benchmarks.worths import WORTHS, OfWeights, lognormal

NAMES = ("wine-like", "additive", *WORTHS)
SIZES = (6, 12, 30, 100, 300, 1000)
MOST_TIMES = 1.5
FIXED, TRIED = 2, 8  # games whose time is taken off; games of the trial
SHOWN = 16  # games that show the variance, and the noise of the solvers that are near the best
NEAR = 3.0  # solvers whose work is over 3 times that of the best other one are not timed again
ROUNDS = 3
LOOK, LONG = 0.01, 0.1  # seconds that the timed games should take, in a first look and later


@dataclass
class Contender:
    """A solver in the games of one cell.

    Attributes
    ----------
    value : a valuation with it
    seconds : processor time of a game
    noise : mean noise of its values
    spread : mean variance of its values less the noise
    """

    value: Callable[..., sb.Valuation]
    seconds: float = 0.0
    noise: float = 0.0
    spread: float = 0.0

    def look(self, games: int) -> sb.Valuation:
        """Play some games, and take their moments."""
        found = self.value(n_games=games)
        self.noise = float(found.solver_variance.mean())
        self.spread = max(float(found.variance.mean()), 0.0)
        return found

    def timed(self, least: float) -> float:
        """Processor time of a game in a long valuation."""
        games, fixed = 1, min(clock(self.value, FIXED) for _ in range(2))
        # Fixed costs vary by a tenth, so that games must take longer than these.
        least = max(least, fixed)
        while (taken := clock(self.value, FIXED + games) - fixed) < least and games < 4096:
            games *= 4 if taken < least / 4 else 2
        return max(taken, 1e-9) / games


def clock(value: Callable[..., sb.Valuation], games: int) -> float:
    began = time.process_time()
    value(n_games=games)
    return time.process_time() - began


def contenders(n: int) -> list[sb.Solver]:
    """All kinds of solvers; `BalancedPermutation` of 1,000 providers would take 2 million fits."""
    solvers: list[sb.Solver] = [sb.Permutation(count) for count in (4, 16, 64)]
    if n <= 12:
        solvers.append(sb.Exact())
    if n <= 300:
        solvers += [sb.BalancedPermutation(2 * n), sb.Strata(20 * n)]
    if n > 10:
        solvers += [sb.Arcs(count) for count in (8, 20, 80)]
    return [*solvers, sb.Strata(10 * n)]


def play(name: str, n: int) -> Callable[..., sb.Valuation]:
    """A valuation of one kind of game."""
    given = {"sampling": sb.Fresh(DRAW), "seed": SEED}
    if name == "wine-like":
        # The effects of validation rows are left out: solving the first games once more for each
        # fold of the rows would hide the time of a single game.
        return partial(sb.value, *squares(n), **given, fixed_validation=True)
    utility = sb.AdditiveUtility() if name == "additive" else OfWeights(WORTHS[name])
    return partial(sb.value, lognormal(n), utility, **given)


@dataclass(frozen=True)
class Cell:
    """What one kind of game showed with one number of providers.

    Attributes
    ----------
    ratio : work of the default over that of the best other solver
    chosen, best : the two solvers
    trial : time of the first 8 games over that of 8 later ones
    """

    ratio: float
    chosen: str
    best: str
    trial: float


def cell(name: str, n: int) -> Cell:
    value = play(name, n)
    chosen = str(value(n_games=TRIED + 1).setup["solver"])
    made = {repr(solver): solver for solver in contenders(n)}
    made.setdefault(chosen, named(chosen))
    rivals = {key: Contender(partial(value, solver=solver)) for key, solver in made.items()}
    for rival in rivals.values():
        rival.look(FIXED)  # compiles
        rival.seconds = rival.timed(LOOK)
    quietest = min(rivals.values(), key=lambda one: (one.noise, one.seconds))
    quietest.look(SHOWN)
    variance = quietest.spread
    least = min(
        (variance + one.noise) * one.seconds for key, one in rivals.items() if key != chosen
    )
    near = {
        key: one
        for key, one in rivals.items()
        if key == chosen or (variance + one.noise) * one.seconds <= NEAR * least
    }
    for rival in near.values():
        rival.look(SHOWN)
    times: dict[str, list[float]] = {key: [] for key in near}
    for round_ in range(ROUNDS):
        for key in near if round_ % 2 == 0 else reversed(near):
            times[key].append(near[key].timed(LONG))
    work = {key: (variance + one.noise) * min(times[key]) for key, one in near.items()}
    best = min((key for key in work if key != chosen), key=lambda key: work[key])
    trial = min(clock(value, TRIED) for _ in range(3)) / TRIED
    return Cell(work[chosen] / work[best], chosen, best, trial / min(times[chosen]))


def named(text: str) -> sb.Solver:
    """Make a solver from its representation, such as ``Arcs(n_circles=8)``."""
    name, arguments = re.fullmatch(r"(\w+)\((.*)\)", text).groups()  # type: ignore[union-attr]
    pairs = (one.split("=") for one in arguments.split(", ") if one)
    solver: sb.Solver = getattr(sb, name)(**{key: int(value) for key, value in pairs})
    return solver


def rows(names: Sequence[str] = NAMES, sizes: Sequence[int] = SIZES) -> tuple[list[Row], Table]:
    found: dict[tuple[str, int], Cell] = {}
    for n in sizes:
        for name in names:
            one = found[name, n] = cell(name, n)
            say(f"  {name}, n = {n:,}: {one.chosen} {one.ratio:.2f} of {one.best}")
    over = [key for key, one in found.items() if one.ratio > MOST_TIMES]
    worst = max(found, key=lambda key: found[key].ratio)
    listed = "; ".join(
        f"{name}, n = {n:,}: {found[name, n].ratio:.2f} × with {found[name, n].chosen} against "
        f"{found[name, n].best}"
        for name, n in over
    )
    slowest = max(found, key=lambda key: found[key].trial)
    row = Row(
        "work of the default for the same error, over the work of the best of the other solvers",
        f"{len(names)} games × {len(sizes)} numbers of providers, in the long run; "
        f"{len(over)} of {len(found)} above {MOST_TIMES:g} ×; the first {TRIED} games take at most "
        f"{found[slowest].trial * TRIED:.0f} times as long as a later one with "
        f"{found[slowest].chosen}, {slowest[0]}, n = {slowest[1]:,}, fixed costs included",
        f"at most {found[worst].ratio:.2f} ×",
        f"at most {MOST_TIMES:g} ×",
        not over,
        f"{listed}.",
    )
    table = Table(
        "Work of the default over the work of the best other solver",
        "(variance + noise) × processor time of a game after the first 8; below 1 the default was "
        f"better than all. In brackets the default and the best other solver. **Bold**: above "
        f"{MOST_TIMES:g}. With 1,000 providers, `BalancedPermutation` is not among them.",
        ("game", *(f"n = {n:,}" for n in sizes)),
        tuple((name, *(shown(found[name, n]) for n in sizes)) for name in names),
    )
    return [row], table


def shown(one: Cell) -> str:
    ratio = f"{one.ratio:.2f}"
    return f"{f'**{ratio}**' if one.ratio > MOST_TIMES else ratio} ({one.chosen}, {one.best})"


if __name__ == "__main__":
    check_pinned()
    compared, by_game = rows()
    emit(compared, [by_game])
