"""Peak memory of many games, each size in a fresh process."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.harness import Row, emit, say

SIZES = (1000, 10_000, 100_000)
LIMIT = 400.0
CODE = """
import resource, sys
import shapband as sb
task = sb.datasets.wine()
sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=int(sys.argv[1]), seed=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def peak(n_games: int) -> float:
    """Megabytes that a process holds at most while it values the wine providers.

    This process imports nothing large, because a child starts with the peak of its parent.
    """
    found = subprocess.run(
        [sys.executable, "-c", CODE, str(n_games)], capture_output=True, text=True, check=True
    )
    say(f"  {n_games:,} games: {float(found.stdout):.0f} MB")
    return float(found.stdout)


def rows() -> list[Row]:
    peaks = {n_games: peak(n_games) for n_games in SIZES}
    most = peaks[SIZES[-1]]
    return [
        Row(
            f"peak memory of {SIZES[-1]:,} games of ten providers",
            "; ".join(f"{n:,} games: {found:.0f} MB" for n, found in peaks.items()),
            f"{most:.0f} MB",
            f"under {LIMIT:.0f} MB",
            most < LIMIT,
            f"{SIZES[0]:,} games already take {peaks[SIZES[0]]:.0f} MB, most of it Python, NumPy "
            "and numba.",
        )
    ]


if __name__ == "__main__":
    emit(rows())
