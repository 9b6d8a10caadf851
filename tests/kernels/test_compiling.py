"""When kernels are compiled, what is said about it, and where they are stored."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from tests.conftest import PATIENCE

import shapband as sb
from shapband.kernels import load
from shapband.kernels.compiling import temporary_directory

SAID = "shapband: compiling kernels, once for this version (about 10 s)\n"

# Draws rows with replacement, which needs the smallest of the kernels.
SMALL = """
import numpy as np
from shapband.kernels.rows import with_replacement, without_replacement
words = np.zeros((2, 6), dtype=np.uint64)
with_replacement(words, 5)
with_replacement(words[:, 1:3], 5)
"""


def run(code, **environment):
    kept = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    return subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**kept, **environment}, timeout=PATIENCE,
    )  # fmt: skip


def test_compiling_is_announced_once_and_only_if_it_happens(tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(SMALL, **place).stderr == SAID
    assert run(SMALL, **place).stderr == ""


# As if neither the package directory nor the home directory could be written to: numba then has
# only the place that NUMBA_CACHE_DIR names.
READ_ONLY = """
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = CacheImpl._locator_classes[:1]
"""


def test_kernels_that_cannot_be_stored_are_stored_in_a_temporary_directory(tmp_path):
    first = run(READ_ONLY + SMALL, TMPDIR=str(tmp_path)).stderr
    place = tmp_path / f"shapband-{os.getuid()}"
    assert first.count(f"compiled kernels are stored in {place}") == 1
    assert "set NUMBA_CACHE_DIR" in first
    assert SAID in first
    assert list(place.rglob("*.nbc"))
    assert SAID not in run(READ_ONLY + SMALL, TMPDIR=str(tmp_path)).stderr


@pytest.mark.long
def test_nothing_is_left_to_compile_after_precompile(tmp_path):
    """With the types of real valuations, not with those of the small ones that were compiled."""
    place = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert run(
        "import runpy; runpy.run_module('shapband.precompile', run_name='__main__')", **place
    )
    wine = """
import shapband as sb
task = sb.datasets.wine()
for solver in (sb.Exact(), sb.Permutation(3), sb.BalancedPermutation(10), sb.Strata(60)):
    for sampling in (sb.Fresh(20), sb.Pooled(40, 20), sb.Stratified(40, 20, alpha=0.5)):
        sb.value(task.providers, task.utility, sampling=sampling, solver=solver, n_games=4, seed=0)
task = sb.datasets.synthetic(seed=0)
for solver in (sb.Exact(), sb.Permutation(3), sb.Strata(60)):
    sb.value(task.providers, task.utility, sampling=sb.Fresh(20), solver=solver, n_games=4, seed=0)
"""
    assert SAID not in run(wine, **place).stderr


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
    for sampling in (sb.Fresh(4), sb.Pooled(8, 4), sb.Stratified(8, 4, alpha=0.5), sb.Blocks(8, 4)):
        sb.value(providers, utility, sampling=sampling, solver=sb.Exact(), n_games=3, seed=0)
    assert len(types) == 1


def test_a_directory_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = tmp_path / f"shapband-{os.getuid()}"
    assert temporary_directory() == place
    assert temporary_directory() == place
    assert place.stat().st_mode & 0o777 == 0o700
    place.chmod(0o770)  # others could put code into it
    found = temporary_directory()
    assert found != place
    assert found.stat().st_mode & 0o777 == 0o700
    place.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    place.symlink_to(elsewhere)
    assert temporary_directory() not in (place, elsewhere)
