"""Kernels that are compiled before the first game, by one or two processes."""

import io
import os
import sys

import numpy as np
import pytest
from numba.core.sigutils import normalize_signature
from tests.kernels.test_compiling import run

from shapband.kernels import ahead, load
from shapband.kernels.compiling import WORK, Announcer

# Values providers by `Exact` and `Arcs`, and prints the types that kernels were compiled for.
BOTH = """
import numpy as np
import shapband as sb
from shapband.kernels import ahead, load

rng = np.random.default_rng(0)
X = rng.normal(size=(31, 40, 2))
y = X.sum(axis=2) + rng.normal(size=(31, 40))
providers = [sb.Provider(f"p{i}", sb.ArraySource(X[i], y[i])) for i in range(30)]
utility = sb.LinearUtility(X[-1], y[-1])
for given, solver in ((providers[:4], sb.Exact()), (providers, sb.Arcs(8))):
    sb.value(given, utility, sampling=sb.Fresh(20), solver=solver, n_games=2, seed=0)
for name in ahead.TYPES:
    module, kernel = name.split(".")
    for types in getattr(load(module), kernel).signatures:
        print(name, types)
"""

# Values four providers, and prints what was compiled in this process and the values.
FOUR = """
import sys
import numpy as np
from numba.core import event

class Printer(event.Listener):
    def on_start(self, event):
        print("compiled", event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass

event.register("numba:compile", Printer())
import shapband as sb

{change}
rng = np.random.default_rng(0)
X = rng.normal(size=(5, 40, 2))
y = X.sum(axis=2) + rng.normal(size=(5, 40))
providers = [sb.Provider(f"p{{i}}", sb.ArraySource(X[i], y[i])) for i in range(4)]
utility = sb.LinearUtility(X[-1], y[-1])
result = sb.value(providers, utility, sampling=sb.Fresh(20), n_games=5, seed=0)
print("values", result.expectation.tobytes().hex())
"""
NEEDED = {
    "first_of_shuffle", "gram_summaries", "recentred", "harmless", "linear_table", "weigh",
}  # fmt: skip


def test_kernels_are_compiled_ahead_for_the_types_that_they_are_called_with():
    found = run(BOTH).stdout.splitlines()
    expected = [f"{name} {normalize_signature(types)[0]}" for name, types in ahead.TYPES.items()]
    assert sorted(found) == sorted(expected)


def four(tmp_path, change=""):
    """Kernels compiled by the process itself, the values, and what was said."""
    done = run(FOUR.format(change=change), NUMBA_CACHE_DIR=str(tmp_path))
    lines = [line.split() for line in done.stdout.splitlines()]
    compiled = {name for kind, name in lines if kind == "compiled"} & NEEDED
    return compiled, lines[-1], done.stderr


@pytest.mark.long
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_two_processes_share_the_work_and_give_the_values_of_one(tmp_path):
    both, values, said = four(tmp_path)
    assert both
    assert both < NEEDED
    assert said.startswith("shapband: compiling 6 kernels, once for this version (about ")
    assert said.count("\n") == 1
    stored = {file.name.split(".")[1].split("-")[0] for file in tmp_path.rglob("*.nbi")}
    assert stored == NEEDED
    assert four(tmp_path) == (set(), values, "")
    # If the second process fails, this one compiles all kernels.
    alone = four(tmp_path / "other", "sys.executable = '/bin/false'")
    assert alone[:2] == (NEEDED, values)


@pytest.mark.parametrize("change", ["one core", "frozen", "no interpreter", "not shared"])
def test_one_process_compiles_if_a_second_one_would_not_help(monkeypatch, change):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert ahead._usable_processes() == 2
    if change == "one core":
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    if change == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    if change == "no interpreter":
        monkeypatch.setattr(sys, "executable", None)
    if change == "not shared":
        monkeypatch.setattr("shapband.kernels.storing.is_shared", lambda: False)
    assert ahead._usable_processes() == 1


def test_no_division_of_kernels_ends_much_sooner():
    """Compared with all divisions of ten kernels."""
    names = list(WORK)[:10]
    work = {name: float(WORK[name]) for name in names}
    own, others = ahead.split(work, processes=2)
    assert sorted(own + others) == sorted(names)
    total = sum(work.values())
    firsts = [
        sum(work[name] for at, name in enumerate(names) if mask >> at & 1)
        for mask in range(1 << len(names))
    ]
    best = min(max(first, ahead._START + total - first) for first in firsts)
    found = max(sum(map(work.get, own)), ahead._START + sum(map(work.get, others)))
    assert found <= 1.15 * best


def test_a_part_of_kernels_cannot_be_called_from_python():
    with pytest.raises(TypeError, match="not callable"):
        load("linear")._finite(2.0)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_a_bar_that_is_erased_at_the_end(monkeypatch):
    clock = iter(np.arange(0.0, 100.0, 0.5))
    monkeypatch.setattr("shapband.kernels.compiling.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Announcer().plan(3, work=40.0) as progress:
        for _ in range(20):
            progress.show()
    shown = sys.stderr.getvalue().split("\r\033[K")[1:]
    assert shown.pop() == ""
    assert all(line.startswith("shapband: compiling 3 kernels, once for") for line in shown)
    filled = [line.count("━") for line in shown]
    assert filled == sorted(filled)
    assert filled[0] < 5
    assert max(map(len, shown)) < 100
    left = [int(line.split()[-3]) for line in shown]
    assert left[0] == 4
    assert left[-1] == 1
