"""Many slow sources in a run: the time is that of the sources, not that of the bookkeeping."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(__file__).parents[1] / "command.py"
LATENCY, GAMES, MOST = 0.05, 100, 1.6
SOURCES = f"""
import numpy as np, shapband as sb
rng = np.random.default_rng(0)
everyone = [
    sb.Provider(
        f"p{{i}}",
        sb.with_delay(sb.ArraySource(rng.normal(size=(50, 2)), rng.normal(size=50)), {LATENCY}),
    )
    for i in range(200)
]
"""
CONFIG = f"""
n_games = {GAMES}
seed = 0
sampling = {{ kind = "fresh", n_sample = 5 }}
utility = {{ kind = "additive" }}
solver = {{ kind = "permutation", n_iter = 2 }}
[[providers]]
source = {{ kind = "object", object = "far:everyone" }}
"""


@pytest.mark.long
def test_9_two_hundred_slow_sources_take_little_longer_than_one(tmp_path):
    """Number 9. The other processes of a busy machine are in this time too."""
    (tmp_path / "far.py").write_text(SOURCES)
    (tmp_path / "far.toml").write_text(CONFIG)

    def shapband(*arguments):
        return subprocess.run(  # noqa: S603  our own command
            [sys.executable, COMMAND, *arguments], cwd=tmp_path, check=True, capture_output=True
        ).stdout

    shapband("run", "far.toml", "--out", "run", "--quiet")
    seconds = json.loads(shapband("show", "run", "--json"))["seconds"]
    assert seconds < MOST * LATENCY * GAMES
