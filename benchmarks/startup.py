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
OWN, OTHER = "own", "other"  # processor time until the table, of the demo and of its processes
DEMO_IMPORTS = "import matplotlib.figure, rich.table, shapband; shapband.value; shapband.datasets"
COMPILE = "import sys; from shapband.kernels.ahead import compile_all; compile_all(sys.argv[1:])"
# Prints the kernels that the demo compiles before its first game, for this process and for the
# second one.
DIVIDE = """
from shapband.kernels import ahead, load
from shapband.kernels.compiling import work_of
import shapband
task = shapband.datasets.wine()
names = "shuffle.first_of_shuffle", *task.utility.kernels_ahead("Exact", 60), "shapley.weigh"
work = {name: work_of(ahead._kernel(name).py_func) for name in names}
for part in ahead.split(work, processes=2):
    print(*part)
"""
# Values a task with a utility as a new user would.
FIRST_UTILITY = """
import sys
import numpy as np, shapband as sb
name, n = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(n + 1, 100, 5))
y = X.sum(axis=2) + rng.normal(size=(n + 1, 100))
if name not in ("LinearUtility", "NeighborUtility"):
    y = (y > 0).astype(int)
options = {"k": 5, "task": "regression"} if name == "NeighborUtility" else {}
providers = [sb.Provider(f"p{i}", sb.ArraySource(X[i], y[i])) for i in range(n)]
utility = getattr(sb, name)(X[-1], y[-1], **options)
sb.value(providers, utility, sampling=sb.Fresh(60), n_games=2, seed=0)
"""
UTILITIES = {
    "least squares, 4 providers": ("LinearUtility", "4"),
    "least squares, 30 providers": ("LinearUtility", "30"),
    "five neighbours, 4 providers": ("NeighborUtility", "4"),
    "naive Bayes, 4 providers": ("GaussianNBUtility", "4"),
    "logistic regression, 4 providers": ("LogisticUtility", "4"),
    "discriminant analysis, 4 providers": ("LDAUtility", "4"),
}
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


def demo(cache: str, picture: str, python: str = PYTHON) -> dict[str, float]:
    """Run the demo; return the seconds until it prints each of its two first lines.

    The processor times until its first table are returned too.
    """
    started = time.perf_counter()
    seen: dict[str, float] = {}
    with subprocess.Popen(
        [python, str(DEMO), picture],
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
            if TABLE in line:
                seen[OWN], seen[OTHER] = processor_times(process.pid)
    if process.returncode:
        raise RuntimeError(f"the demo ended with {process.returncode}")
    return seen


def processor_times(pid: int) -> tuple[float, float]:
    """Seconds of processor time of a running process, and of its processes that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, waited = (int(fields[at]) + int(fields[at + 1]) for at in (11, 13))
    tick = os.sysconf("SC_CLK_TCK")
    return own / tick, waited / tick


def floor(cache: str) -> float:
    """Processor time to import what the demo needs and compile its kernels in two processes.

    It is the time of the longer process: the wall clock time if both start at once, each on a core
    of its own.
    """
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    divided = subprocess.run(
        [PYTHON, "-c", DIVIDE], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    own, others = (line.split() for line in divided.stdout.splitlines())
    processes = [
        subprocess.Popen([PYTHON, "-c", code, *names], env=environment, stderr=subprocess.DEVNULL)
        for code, names in ((f"{DEMO_IMPORTS}; {COMPILE}", own), (COMPILE, others))
    ]
    taken = []
    for process in processes:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError("a process that measures the floor failed")
        taken.append(used.ru_utime + used.ru_stime)
    return max(taken)


def until_table(cold: dict[str, float], warm: dict[str, float]) -> float:
    """Processor time until the table on the longer way, through the demo or its second process."""
    return warm[OWN] + max(cold[OWN] - warm[OWN], cold[OTHER])


def utility_rows() -> list[Row]:
    """Processor time of a process that values once with an empty kernel cache, by utility."""
    found = []
    for what, (name, n) in UTILITIES.items():
        times = []
        for _ in range(COLD_ROUNDS):
            with tempfile.TemporaryDirectory() as cache:
                times.append(processor_time(cache, name, n))
        taken = Spread(tuple(times))
        say(f"  first valuation, {what}: {times}")
        found.append(
            Row(
                f"a first valuation with an empty kernel cache: {what}",
                f"{COLD_ROUNDS} new processes, processor time of the process itself, which waits "
                "for the second one that compiles",
                taken.show("s"),
                "at most 10 s",
                taken.median <= 10,
                "numba takes this long to compile the kernels.",
            )
        )
    return found


def processor_time(cache: str, *arguments: str) -> float:
    """Seconds of processor time of a process that values once, without its own processes."""
    code = f"{FIRST_UTILITY}\nimport time; print(time.process_time())"
    done = subprocess.run(
        [PYTHON, "-c", code, *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return float(done.stdout)


def clone_row() -> Row:
    """Time from ``git clone`` to the first table of the demo, beside pip alone."""
    root = DEMO.parent.parent
    with tempfile.TemporaryDirectory() as place:
        clone, python = f"{place}/clone", f"{place}/clone/.venv/bin/python"
        started = time.perf_counter()
        run("git", "clone", "--quiet", str(root), clone)
        run(sys.executable, "-m", "venv", f"{clone}/.venv")
        pip = seconds(partial(run, python, "-m", "pip", "install", "--quiet", "--editable", clone))
        before = time.perf_counter() - started
        table = demo(f"{place}/cache", f"{place}/demo.png", python)[TABLE]
    return Row(
        "from `git clone` to the first table of the demo, with an empty kernel cache",
        f"pip alone: {pip:.1f} s; the demo until its table: {table:.1f} s",
        f"{before + table:.1f} s (once)",
    )


def demo_rows() -> list[Row]:
    cold, warm, floors = [], [], []
    for _ in range(COLD_ROUNDS):
        with tempfile.TemporaryDirectory() as place:
            cold.append(demo(place, f"{place}/demo.png"))
            warm.append(demo(place, f"{place}/demo.png"))
        with tempfile.TemporaryDirectory() as place:
            floors.append(floor(place))
    say(f"  demo: cold {cold}, warm {warm}, floor {floors}")
    if any(COMPILING in seen for seen in warm):
        raise RuntimeError("the second run of the demo compiled again: it was not warm")
    cases = (
        ("with an empty kernel cache, until it says that it compiles", cold, COMPILING, 3),
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
                "the packages that the demo imports.",
            )
        )
    tables = Spread(tuple(map(until_table, cold, warm)))
    lowest, clock = Spread(tuple(floors)), Spread(tuple(seen[TABLE] for seen in cold))
    factor = tables.over(lowest)
    found.append(
        Row(
            "`examples/demo.py` with an empty kernel cache, until its first table",
            "processor time of the longer of two processes; floor, imports and compiling alone: "
            f"{lowest.show('s')}; the demo takes {factor.show()} times as long; by the clock "
            f"{clock.show('s')}",
            tables.show("s"),
            "at most 4 s, or 1.3 times the floor",
            tables.median <= 4 or factor.median <= 1.3,
            "the second process starts after the imports, and two kernels of pools are compiled "
            "when they are needed.",
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
        *utility_rows(),
        clone_row(),
    ]


if __name__ == "__main__":
    emit(rows())
