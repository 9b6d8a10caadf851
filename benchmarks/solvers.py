"""Solvers at equal numbers of distinct evaluations: how far their values are from the true ones.

Errors do not depend on the load of the machine. What solvers cost in time is in `solver_times`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import shapband as sb
from benchmarks.harness import emit, say
from benchmarks.newest_peers import newest_peers
from benchmarks.oracles import Counted
from benchmarks.solver_games import KINDS, Game, OracleUtility
from benchmarks.solver_results import (
    BALANCED,
    PERMUTATIONS,
    STRATA,
    WINE,
    Results,
    Setting,
    tables,
    target_rows,
)
from benchmarks.solver_times import time_rows

N_GAMES = {10: 10, 16: 5, 30: 3}
REPEATS = {10: 40, 16: 30, 30: 10}  # of our solvers on each game
PEERS = {  # and how often on each game
    "SVARM": 1,
    "KernelSHAP": 1,
    "LeverageSHAP": 1,
    "PolySHAP": 1,
    "OddSHAP": 1,
    "RegressionMSR, linear": 1,
    "RegressionMSR, trees": 2,
}
BUDGETS = (2, 5, 10)  # permutations for each provider
# The truth of games without a table takes so many times the most evaluations. The best peer has
# less error than `Strata` on the synthetic game, so its truth must be better.
LONG, LONGER = 100, {"synthetic": 250}
MANY, MANY_BUDGET, MANY_REPEATS = 300, 2, 3
ROOT = Path(__file__).resolve().parent.parent


def our_solutions(game: Game, budget: int, repeats: int, seed: int) -> dict[str, sb.Solution]:
    """Solve a game repeatedly with each of our solvers, at the evaluations of permutations."""
    games, n_iter = game.copies(repeats, seed), budget * game.n
    permutations = sb.Permutation(n_iter).solve(games)
    return {
        PERMUTATIONS: permutations,
        BALANCED: sb.BalancedPermutation(n_iter).solve(games),
        STRATA: sb.Strata(round(permutations.evaluations / repeats)).solve(games),
    }


def true_values(game: Game, kind: str, seed: int) -> tuple[np.ndarray, float]:
    """The values of a game, and their own root mean squared error."""
    if "table" in game.arrays:
        return sb.Exact().solve(game.copies(1, seed)).values[0], 0.0
    most = max(BUDGETS) * game.n * (game.n - 1)
    long = sb.Strata(LONGER.get(kind, LONG) * most).solve(game.copies(1, seed + 1000))
    return long.values[0], float(np.sqrt(long.noise.mean()))


class Comparison:
    """Plays all games with our solvers, and writes them down for the peers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = Results()
        self.truths: dict[str, np.ndarray] = {}
        self.truth_errors: dict[tuple[str, int], list[float]] = {}
        self.jobs: list[dict[str, Any]] = []

    def play(self, kind: str, n: int) -> None:
        say(f"  {kind}, n = {n}")
        for g, game in enumerate(KINDS[kind](n, N_GAMES[n])):
            name = f"{kind}-{n}-{g}.npz"
            np.savez(self.folder / name, **game.arrays)
            self.truths[name], error = true_values(game, kind, seed=g)
            self.truth_errors.setdefault((kind, n), []).append(error)
            for budget in BUDGETS:
                found = our_solutions(game, budget, REPEATS[n], seed=g)
                evaluations = found[PERMUTATIONS].evaluations / REPEATS[n]
                for method, solution in found.items():
                    share = solution.evaluations / REPEATS[n] / evaluations
                    squares = ((solution.values - self.truths[name]) ** 2).mean(axis=1)
                    self.results.add(Setting(kind, n, budget), method, squares.tolist(), [share])
                self.jobs.append(
                    {
                        "game": name,
                        "seed": g,
                        "kind": kind,
                        "n": n,
                        "budget": budget,
                        "evaluations": round(evaluations),
                        "methods": PEERS,
                    }
                )

    def play_many(self, kind: str) -> None:
        """Play a game that is too large for a long run.

        Our solvers are unbiased, so the errors follow from the spread of their repetitions.
        """
        say(f"  {kind}, n = {MANY}")
        (game,) = KINDS[kind](MANY, 1)
        found = our_solutions(game, MANY_BUDGET, MANY_REPEATS, seed=0)
        for method, solution in found.items():
            deviations = solution.values - solution.values.mean(axis=0)
            squares = (deviations**2).mean(axis=1) * MANY_REPEATS / (MANY_REPEATS - 1)
            share = solution.evaluations / found[PERMUTATIONS].evaluations
            self.results.add(Setting(kind, MANY, MANY_BUDGET), method, squares.tolist(), [share])

    def ask_peers(self, python: Path) -> str:
        """Have the peers solve the same games in their interpreter; return shapiq's version."""
        say("  shapiq")
        (self.folder / "jobs.json").write_text(json.dumps(self.jobs))
        command = [str(python), "-m", "benchmarks.solver_peers", str(self.folder)]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": ""}, check=True)
        answer = json.loads((self.folder / "done.json").read_text())
        with np.load(self.folder / "estimates.npz") as estimates:
            for place, done in enumerate(answer["done"]):
                job = done["job"]
                setting = Setting(job["kind"], job["n"], job["budget"])
                squares = ((estimates[str(place)] - self.truths[job["game"]]) ** 2).mean(axis=1)
                shares = [count / job["evaluations"] for count in done["evaluated"]]
                self.results.add(setting, done["method"], squares.tolist(), shares)
        return str(answer["shapiq"])

    def text(self, version: str | None) -> str:
        """What the table shows."""
        peers = (
            f"those of shapiq {version}, SVARM, KernelSHAP and PolySHAP with pairs of complements"
            if version
            else "none"
        )
        missing = [method for method in PEERS if method not in self.results.methods]
        peers += f" (**not installed: {', '.join(missing)}**)" if missing else ""
        uneven = [f"{method} {share:.3g} ×" for method, share in self.results.uneven().items()]
        return (
            "Root mean squared error over that of plain permutations in the same game, with the "
            "distinct evaluations of 2n / 5n / 10n permutations. Games: "
            + ", ".join(f"{count} with n = {n}" for n, count in N_GAMES.items())
            + f"; peers: {peers}. Truth: exact up to n = 16; with n = 30 `Strata` with at least "
            f"{LONG} × the most evaluations, whose own error is at most {self.truth_share():.2g} "
            f"of the least in the table. With n = {MANY} providers share wines, and there is no "
            f"truth: errors are the spread of {MANY_REPEATS} repetitions, our solvers being "
            f"unbiased, with {MANY_BUDGET}n permutations. The peers would need up to a minute. "
            f"Evaluations that differ by more than 2 %, at most: {', '.join(uneven) or 'none'}."
        )

    def truth_share(self) -> float:
        """Error of the true values over the least error of a method, at worst."""
        return max(
            max(self.truth_errors[setting.kind, setting.n])
            / min(self.results.rmses(setting).values())
            for setting in self.results.settings
            if (setting.kind, setting.n) in self.truth_errors
        )


def check_counts() -> None:
    """Raise an error if our solvers evaluate other numbers of coalitions than they say."""
    (game,) = KINDS["square root"](12, 1)
    for solver in (sb.Permutation(24), sb.BalancedPermutation(24), sb.Strata(200)):
        counted = Counted(game.arrays)
        watched = Game(OracleUtility(counted, game.n), game.summaries, game.n, game.arrays)
        said = solver.solve(watched.copies(1, seed=0)).evaluations
        if said != counted.evaluations:
            raise RuntimeError(f"{solver!r} says {said} evaluations, not {counted.evaluations}")


def main() -> None:
    check_counts()
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(Path(folder))
        for n in N_GAMES:
            for kind in KINDS:
                comparison.play(kind, n)
        comparison.play_many(WINE[0])
        python = newest_peers() or (Path(sys.executable) if find_spec("shapiq") else None)
        version = comparison.ask_peers(python) if python else None
    results = comparison.results
    rows = [*target_rows(results, version), *time_rows()]
    emit(rows, tables(results, comparison.text(version)))


if __name__ == "__main__":
    main()
