"""What `Strata` costs: time beside permutations of equal error, time and memory with n = 1,000."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial

import shapband as sb
from benchmarks.games import split_wine
from benchmarks.harness import Row, Spread, interleave, number, say

SEED = 1
ROUNDS = 3
N_GAMES = 10
DRAWS = {30: 60, 100: 20}
BUDGET = 5  # permutations for each provider, whose evaluations `Strata` gets
AFFORDABLE = 6_000_000  # positions in the permutations of a game; more are extrapolated
MANY, EACH = 1000, 20  # providers, and evaluations for each
CODE = """
import json, sys, time
import shapband as sb
from benchmarks.games import split_wine
n, each = map(int, sys.argv[1:])
providers, utility = split_wine(n, by_alcohol=False, shared=60), sb.datasets.wine().utility
def value(n):
    solver, sampling = sb.Strata(each * n), sb.Fresh(20)
    return sb.value(providers[:n], utility, sampling=sampling, solver=solver, n_games=2, seed=1)
value(50)  # loads the kernels
started = time.perf_counter()
found = value(n)
seconds = (time.perf_counter() - started) / 2
# Unlike the peak of getrusage, this one does not begin with that of the parent process.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
error = (found.solver_variance.mean() ** 0.5) / found.expectation.mean()
print(json.dumps([seconds, int(peak.split()[1]) / 1024, error]))
"""


def time_rows() -> list[Row]:
    return [*(_equal_error_row(n) for n in DRAWS), _many_row()]


def _equal_error_row(n: int) -> Row:
    """Time `Strata` and as many permutations as have its solver variance."""
    say(f"  time of Strata and permutations, n = {n}")
    value = partial(
        sb.value,
        split_wine(n, by_alcohol=True),
        sb.datasets.wine().utility,
        sampling=sb.Fresh(DRAWS[n]),
        seed=SEED,
    )
    some = value(solver=sb.Permutation(BUDGET * n), n_games=N_GAMES)
    strata = sb.Strata(round(some.evaluations / N_GAMES))
    found = value(solver=strata, n_games=N_GAMES)
    ratio = float(some.solver_variance.mean() / found.solver_variance.mean())
    wanted = round(BUDGET * n * ratio)
    run = min(wanted, AFFORDABLE // n)
    times = interleave(
        {
            "strata": partial(value, solver=strata, n_games=N_GAMES),
            "permutations": partial(value, solver=sb.Permutation(run), n_games=2),
        },
        ROUNDS,
    )
    ours = times["strata"].times(1 / N_GAMES)
    theirs = times["permutations"].times(wanted / run / 2)
    faster = theirs.over(ours)
    how = "" if run == wanted else f", extrapolated in proportion from {run:,}"
    return Row(
        f"wine by alcohol, n = {n}: `value()` with `Strata` against permutations of equal error",
        f"`Strata({strata.n_evaluations})` {ours.times(1e3).show('ms')} a game; {wanted:,} "
        f"permutations, for the same solver variance, {theirs.show('s')} a game{how}",
        f"{faster.show('×')} faster",
        "at least 20 ×",
        faster.median >= 20,
        f"the solver variance of {BUDGET * n} permutations is only {number(ratio)} × as large.",
    )


def _many_row() -> Row:
    say(f"  n = {MANY:,}")
    command = [sys.executable, "-c", CODE, str(MANY), str(EACH)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, peak, error = json.loads(done.stdout)
    return Row(
        f"wine at random with shared wines, n = {MANY:,}: `Strata({MANY * EACH:,})`, draws of 20",
        f"peak memory {peak:,.0f} MB; solver error {error:.1%} of the mean value",
        f"{Spread((seconds,)).show('s')} a game",
    )
