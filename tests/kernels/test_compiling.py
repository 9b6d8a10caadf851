"""When kernels are compiled, and what is said about it."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from tests.conftest import PATIENCE

import shapband as sb
from shapband.kernels import load
from shapband.kernels.compiling import LITTLE_WORK, PACE, WORK, Announcer

SAID = "shapband: compiling shuffle.below, once for this version (about 1 s)\n"

# Draws rows with replacement, which needs the smallest of the kernels.
SMALL = """
import numpy as np
from shapband.kernels.rows import with_replacement, without_replacement
words = np.zeros((2, 6), dtype=np.uint64)
with_replacement(words, 5)
with_replacement(words[:, 1:3], 5)
"""


def run(code, seconds=PATIENCE, **environment):
    kept = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**kept, **environment}, timeout=seconds,
    )  # fmt: skip


def test_compiling_is_announced_once_and_only_if_it_happens(tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(SMALL, **place).stderr == SAID
    assert run(SMALL, **place).stderr == ""


# Values small providers in the plainest way, and prints each function that was compiled: how deep
# it is below a kernel that Python calls, its module and its name.
PLAIN = """
import os
os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}})  # one core: no second process compiles
import numpy as np
from numba.core import event

class Printer(event.Listener):
    depth = 0

    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        print(self.depth, function.__module__, function.__name__)
        self.depth += 1

    def on_end(self, event):
        self.depth -= 1

event.register("numba:compile", Printer())
import shapband as sb

rng = np.random.default_rng(0)
X = rng.normal(size=(31, 40, 2))
quantities = X.sum(axis=2) + rng.normal(size=(31, 40))
labels = (quantities > 0).astype(int)
y = labels if "{utility}" in ("LogisticUtility", "GaussianNBUtility") else quantities
providers = [sb.Provider(f"p{{i}}", sb.ArraySource(X[i], y[i])) for i in range({n})]
utility = sb.{utility}(X[-1], y[-1]{more})
sb.value(providers, utility, sampling=sb.Fresh(20), n_games=2, seed=0)
"""
DRAWN = {"shuffle.first_of_shuffle"}
LINEAR = DRAWN | {"linear_sums.gram_summaries", "linear_sums.recentred", "linear_doubts.harmless"}
TABLE, ARCS = {"shapley.weigh"}, {"arcs.solve_arcs"}
LINEAR_ARCS = LINEAR | ARCS | {"linear.linear_rows", "linear_arcs.linear_arcs"}
K = ", k=3, task='regression'"
NEIGHBORS = DRAWN | {"neighbor_scans.scan_points"}
LOGISTIC = DRAWN | {"class_scores.score_of", "logistic._values"}
BAYES = DRAWN | {"class_scores.score_of", "bayes.class_moments", "bayes._rows"}
SLOW = ("numba.cpython.unicode", "numba.misc.quicksort")  # of error messages, and of np.sort


@pytest.mark.parametrize(
    ("utility", "more", "n", "kernels"),
    [
        ("LinearUtility", "", 4, LINEAR | TABLE | {"linear.linear_table"}),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                ("LinearUtility", "", 30, LINEAR_ARCS),
                ("NeighborUtility", K, 4, NEIGHBORS | TABLE | {"neighbors._losses"}),
                ("NeighborUtility", K, 30, NEIGHBORS | ARCS | {"neighbors._losses"}),
                ("GaussianNBUtility", "", 4, BAYES | TABLE),
                ("GaussianNBUtility", "", 30, BAYES | ARCS | {"arc_sums.arc_sums"}),
                ("LogisticUtility", "", 4, LOGISTIC | TABLE),
            )
        ),
    ],
)  # fmt: skip
def test_a_valuation_compiles_the_kernels_that_it_needs_and_each_function_once(
    tmp_path, utility, more, n, kernels
):
    code = PLAIN.format(utility=utility, more=more, n=n)
    lines = run(code, NUMBA_CACHE_DIR=str(tmp_path)).stdout.splitlines()
    compiled = [tuple(line.split()) for line in lines]
    own = [
        (depth, f"{module}.{name}".removeprefix("shapband.kernels.compiled."))
        for depth, module, name in compiled
        if module.startswith("shapband.")
    ]
    assert {name for depth, name in own if depth == "0"} == kernels
    assert len({name for _, name in own}) == len(own)
    assert not [module for _, module, _ in compiled if module in SLOW]


def test_the_work_of_compiling_is_listed_for_kernels_that_exist():
    for name in WORK:
        module, kernel = name.split(".")
        assert hasattr(load(module), kernel)


def test_the_announced_seconds_follow_the_work_done_so_far(monkeypatch, capsys):
    """At first from a fixed pace, then from the pace that was measured."""
    clock = iter([0.0, 30.0, 30.0, 31.0, 31.0, 40.0])
    monkeypatch.setattr("shapband.kernels.compiling.time.perf_counter", lambda: next(clock))
    announcer = Announcer()
    table, rows = load("linear").linear_table, load("linear").linear_rows
    weigh = load("shapley").weigh  # takes too little time to be announced
    for kernel, inner in ((table, weigh), (weigh, table), (rows, weigh)):
        announcer.on_start(SimpleNamespace(data={"dispatcher": kernel}))
        announcer.on_start(SimpleNamespace(data={"dispatcher": inner}))
        announcer.on_end(None)
        announcer.on_end(None)
    first = round(WORK["linear.linear_table"] * PACE)
    pace = 31.0 / (WORK["linear.linear_table"] + LITTLE_WORK)
    then = round(WORK["linear.linear_rows"] * pace)
    assert then > round(WORK["linear.linear_rows"] * PACE)
    assert capsys.readouterr().err.splitlines() == [
        f"shapband: compiling linear.linear_table, once for this version (about {first} s)",
        f"shapband: compiling linear.linear_rows, once for this version (about {then} s)",
    ]


# Compiles ahead, and names the kernels that were not compiled; inlined ones never are.
AHEAD = """
import importlib, pkgutil, runpy
from numba.core.registry import CPUDispatcher
import shapband.kernels.compiled as kernels
runpy.run_module("shapband.precompile", run_name="__main__")
for found in pkgutil.iter_modules(kernels.__path__):
    module = importlib.import_module(f"{kernels.__name__}.{found.name}")
    for name, kernel in vars(module).items():
        if isinstance(kernel, CPUDispatcher) and kernel.targetoptions.get("inline") != "always":
            if not kernel.signatures:
                print(found.name, name)
"""

VALUATIONS = """
import numpy as np
import shapband as sb

def value(providers, utility, *solvers):
    for solver in solvers:
        for sampling in (sb.Fresh(20), sb.Pooled(40, 20), sb.Stratified(40, 20, alpha=0.5)):
            sb.value(providers, utility, sampling=sampling, solver=solver, n_games=4, seed=0)

wine = sb.datasets.wine()
value(
    wine.providers, wine.utility,
    sb.Exact(), sb.Permutation(3), sb.BalancedPermutation(20), sb.Strata(60),
)
task = sb.datasets.synthetic(seed=0)
value(task.providers, task.utility, sb.Exact(), sb.Permutation(3), sb.Strata(60))
sb.value(
    wine.providers, wine.utility, sampling=sb.Pooled(40, 20),
    participation=sb.Independent(0.8), n_games=4, seed=0,
)
X_val, y_val = wine.X_val[:200], wine.y_val[:200]
value(wine.providers[:4], sb.LinearUtility(X_val, y_val, alpha=1.0), sb.Exact(), sb.Permutation(3))
sb.value(
    wine.providers, sb.LinearUtility(X_val, y_val), sampling=sb.Fresh(5), n_games=4, seed=0
)
for options in ({"k": 3}, {"k": 30}, {"k": 3, "weights": "distance"}):
    for task in ("regression", "classification"):
        utility = sb.NeighborUtility(X_val, y_val, task=task, **options)
        value(wine.providers[:4], utility, sb.Exact(), sb.Permutation(3))
for score in ("accuracy", "neg_log_loss", "neg_brier_score"):
    for make in (sb.LogisticUtility, sb.LDAUtility, sb.GaussianNBUtility):
        utility = make(wine.X_val, wine.y_val, score=score)
        value(wine.providers[:4], utility, sb.Exact(), sb.Permutation(3))
value(wine.providers[:4], sb.NetworkUtility(X_val, y_val, (5,), max_iter=5), sb.Exact())
"""


@pytest.mark.long
def test_nothing_is_left_to_compile_after_precompile(tmp_path):
    """With the types of real valuations, not with those of the small ones that were compiled."""
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(AHEAD, seconds=1800, **place).stdout == "shapband: all kernels are compiled\n"
    assert run(VALUATIONS, seconds=1800, **place).stderr == ""


@pytest.mark.parametrize(
    ("module", "name"),
    [("shuffle", "below"), ("shuffle", "first_of_shuffle"), ("linear", "linear_table")],
)
def test_a_kernel_is_always_called_with_the_same_types(monkeypatch, module, name):
    """It would be compiled again for others, such as for an array that is not contiguous."""
    kernel, types = getattr(load(module), name), set()

    def called(*arguments):
        types.add(tuple(map(str, map(numba.typeof, arguments))))
        return kernel(*arguments)

    monkeypatch.setattr(load(module), name, called)
    rng = np.random.default_rng(0)
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(rng.normal(size=(9, 2)), rng.normal(size=9)))
        for i in range(3)
    ]
    utility = sb.LinearUtility(rng.normal(size=(20, 2)), rng.normal(size=20))
    for sampling in (
        sb.Fresh(4),
        sb.Pooled(8, 4),
        sb.Stratified(8, 4, alpha=0.5),
        sb.Pooled(8, 4, replace=False),
    ):
        sb.value(providers, utility, sampling=sampling, solver=sb.Exact(), n_games=3, seed=0)
    assert len(types) == 1
