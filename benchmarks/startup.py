"""Start-up times: the import, the command line, first calls and the demo with a cold cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.harness import Row, Spread, emit, interleave, say, seconds

PYTHON = sys.executable
COMMAND = str(Path(PYTHON).parent / "shapband")
ROUNDS = 15
COLD_ROUNDS = 3
DEMO = Path(__file__).resolve().parent.parent / "examples" / "demo.py"
COMPILING, TABLE = "shapband: compiling", "Shapley values of"  # in lines that the demo prints
FIRST_CALL = """
import sys
import shapband as sb
task = getattr(sb.datasets, sys.argv[1])()
sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=10, seed=1)
"""


def run(*command: str) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def whole(task: str, cache: str) -> float:
    """Total seconds of a new process that values a task once."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [PYTHON, "-c", FIRST_CALL, task]
    return seconds(
        partial(subprocess.run, command, env=environment, stdout=subprocess.DEVNULL, check=True)
    )


def cold_row(task: str) -> Row:
    cold, warm = [], []
    for _ in range(COLD_ROUNDS):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(whole(task, cache))
            warm.append(whole(task, cache))
    say(f"  cold {task}: {cold}")
    return Row(
        f"a process that values ten games of {task}, from start to end",
        f"kernels found in the cache: {Spread(tuple(warm)).show('s')}",
        f"kernels compiled first: {Spread(tuple(cold)).show('s')}",
    )


def demo(cache: str, picture: str) -> dict[str, float]:
    """Run the demo; return the seconds until it prints each of its two first lines."""
    started = time.perf_counter()
    seen: dict[str, float] = {}
    with subprocess.Popen(
        [PYTHON, str(DEMO), picture],
        env=os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            for text in (COMPILING, TABLE):
                if text in line:
                    seen.setdefault(text, time.perf_counter() - started)
    if process.returncode:
        raise RuntimeError(f"the demo ended with {process.returncode}")
    return seen


def demo_rows() -> list[Row]:
    cold, warm = [], []
    for _ in range(COLD_ROUNDS):
        with tempfile.TemporaryDirectory() as place:
            cold.append(demo(place, f"{place}/demo.png"))
            warm.append(demo(place, f"{place}/demo.png"))
    say(f"  demo: cold {cold}, warm {warm}")
    if any(COMPILING in seen for seen in warm):
        raise RuntimeError("the second run of the demo compiled again: it was not warm")
    cases = (
        ("with an empty kernel cache, until it says that it compiles", cold, COMPILING, 3),
        ("with an empty kernel cache, until its first table", cold, TABLE, 8),
        ("with a filled kernel cache, until its first table", warm, TABLE, 3),
    )
    found = []
    for what, runs, text, most in cases:
        taken = Spread(tuple(seen[text] for seen in runs))
        found.append(
            Row(
                f"`examples/demo.py` {what}",
                f"{COLD_ROUNDS} runs in new processes, from their start",
                taken.show("s"),
                f"at most {most} s",
                taken.median <= most,
                "numba compiles 25 functions, which takes 7 to 9 s whatever they are asked to do.",
            )
        )
    return found


def rows() -> list[Row]:
    times = interleave(
        {
            "pass": partial(run, PYTHON, "-c", "pass"),
            "import": partial(run, PYTHON, "-c", "import shapband"),
            "use": partial(run, PYTHON, "-c", "import shapband; shapband.value"),
            "help": partial(run, COMMAND, "--help"),
        },
        ROUNDS,
    )
    bare = times["pass"]
    imported = times["import"].minus(bare)
    used = times["use"].minus(bare)
    helped = times["help"].minus(bare)
    measured = f"`python -c pass` takes {bare.show('s')}"
    return [
        Row(
            "`import shapband`, on top of starting Python",
            measured,
            imported.show("s"),
            "under 0.7 s",
            imported.median < 0.7,
            "the packages that the import needs.",
        ),
        Row(
            "`shapband --help`, on top of starting Python",
            measured,
            helped.show("s"),
            "under 0.3 s",
            helped.median < 0.3,
            "the packages that the command line needs.",
        ),
        Row(
            "`import shapband` and the first use of `shapband.value`, on top of starting Python",
            measured,
            used.show("s"),
        ),
        cold_row("wine"),
        cold_row("synthetic"),
        *demo_rows(),
    ]


if __name__ == "__main__":
    emit(rows())
