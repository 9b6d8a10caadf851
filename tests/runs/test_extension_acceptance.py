"""Pools of 250 grow to 400, and 30 games to 60, by Python and command line, killed in between.

The runs end with the bits of direct ones, and nothing is bought twice.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from importlib import util

import pytest

import shapband as sb
from tests.app.cli.test_cli import called
from tests.runs.test_extended_runs import bits, bought_twice

HOSPITALS = '''
"""Six hospitals with 1,000 records each, which log what is bought of them."""
import os, time
from pathlib import Path
import numpy as np
import shapband as sb

LOG = Path(__file__).with_name("log")

def tell(words):
    handle = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, (words + "\\n").encode())
    os.close(handle)

class Far(sb.FiniteSource):
    waits, size, version = True, 1000, "1"

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self._seed, self._X = seed, rng.normal(size=(1000, 3))
        self._y = self._X @ [1.0, -1.0, 0.5] + rng.normal(size=1000)

    def take(self, rows):
        tell(f"{self._seed} {len(rows)} {'-'.join(map(str, rows))}")
        time.sleep(0.1 if len(rows) > 60 else 0.01)
        return self._X[rows], self._y[rows]

def providers():
    return [sb.Provider(f"h{seed}", Far(seed)) for seed in range(6)]

ALL = providers()

def slow(X, y):
    time.sleep(0.003)
    return float(np.mean(y * X[:, 0]))

class Slow(sb.FunctionUtility):
    def __init__(self):
        super().__init__(slow)

def value(run=None, **sizes):
    n_games, n_pool = sizes.get("n_games", 30), sizes.get("n_pool")
    sampling = sb.Fresh(60) if n_pool is None else sb.Pooled(n_pool, 60, replace=False)
    return sb.value(providers(), Slow(), sampling=sampling, solver=sb.Permutation(2), seed=5,
                    n_games=n_games, run=run)
'''
CONFIG = """
n_games = 30
seed = 5
utility = {{ kind = "object", object = "hospitals:Slow" }}
solver = {{ kind = "permutation", n_iter = 2 }}
sampling = {sampling}
providers = [{{ source = {{ kind = "object", object = "hospitals:ALL" }} }}]
"""
POOLED = '{ kind = "pooled", n_pool = 250, n_boot = 60, replace = false }'
# The sampling of the file, arguments before and after, and options of `resume`.
CASES = {
    "games": ('{ kind = "fresh", n_sample = 60 }', {}, {"n_games": 60}, ["--games", "60"]),
    "pools": (POOLED, {"n_pool": 250}, {"n_pool": 400}, ["--n-pool", "400"]),
    "both": (
        POOLED,
        {"n_pool": 250},
        {"n_pool": 400, "n_games": 60},
        ["--n-pool", "400", "--games", "60"],
    ),
}


class Hospitals:
    """A folder with the module, and processes that play in it."""

    def __init__(self, folder, rng):
        self.folder, self._rng, self.kills = folder, rng, 0
        (folder / "hospitals.py").write_text(HOSPITALS)
        self.log = folder / "log"

    def direct(self, **sizes):
        """Play in this process, without a run."""
        spec = util.spec_from_file_location("hospitals", self.folder / "hospitals.py")
        module = util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.tell = lambda words: None
        return module.value(**sizes)

    def killed(self, *words):
        """Start a process, and kill it a while after its first request; whether it had ended."""
        before = self.log.stat().st_size if self.log.exists() else 0
        said = (self.folder / "said").open("w+")
        child = subprocess.Popen(  # noqa: S603
            [sys.executable, *words], cwd=self.folder, stdout=said, stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
        )  # fmt: skip
        said.close()
        while child.poll() is None and (not self.log.exists() or self.log.stat().st_size == before):
            time.sleep(0.01)
        try:
            child.wait(self._rng.uniform(0.0, 1.2))
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            self.kills += 1
            return True
        assert child.returncode == 0, (self.folder / "said").read_text()
        return False


def by_python(sizes):
    words = ", ".join(f"{key}={number}" for key, number in sizes.items())
    return ["-c", f"import hospitals; hospitals.value('run', {words})"]


@pytest.mark.long
@pytest.mark.parametrize("way", ["python", "commands"])
@pytest.mark.parametrize("case", CASES)
def test_killed_extensions_have_the_bits_of_a_direct_run(tmp_path, case, way, capsys):
    sampling, before, after, options = CASES[case]
    at = Hospitals(tmp_path, random.Random(f"{case} {way}"))  # noqa: S311
    run = tmp_path / "run"
    (tmp_path / "run.toml").write_text(CONFIG.format(sampling=sampling))
    commands = ["-m", "shapband", "run", "run.toml", "--out", "run"]
    resume = ["-m", "shapband", "resume", "run"]
    at.killed(*(by_python(before) if way == "python" else commands))
    while not (run / "run.db").exists() or sb.load(run).status.state != "finished":
        at.killed(*(by_python(before) if way == "python" else resume if run.exists() else commands))
    first = sb.load(run).valuation
    at.killed(*(by_python(after) if way == "python" else [*resume, *options]))
    while sb.load(run).status.state != "finished" or not sb.load(run).status.extensions:
        again = [] if sb.load(run).status.extensions else options
        at.killed(*(by_python(after) if way == "python" else [*resume, *again]))
    found = sb.load(run).valuation
    assert bits(found) == bits(at.direct(**after))
    assert bits(first) == bits(at.direct(**before))
    assert bits(found) != bits(first)
    sb.load(run).verify()
    assert bought_twice(run) == []
    used = sb.load(run).status.access.by_provider.values()
    assert {one.records for one in used} == {after.get("n_pool", 60 * after.get("n_games", 30))}
    # Of every provider, at most the request that was under way when a kill came was made again.
    asked = Counter(at.log.read_text().splitlines())
    assert len(asked) == len(sb.load(run).ledger.query("outcome == 'received'"))
    assert sum(asked.values()) - len(asked) <= 6 * at.kills
    assert called("verify", run).exit_code == 0
    with capsys.disabled():
        sys.stdout.write(f"\n{case} by {way}: {at.kills} kills\n")
