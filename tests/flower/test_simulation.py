"""Flower's own simulation, with Ray, gives the same values as the grid in this process."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import shapband as sb
import shapband.flower as sf
from tests.flower import plain
from tests.printed import ROOT

PATIENCE = 900  # seconds
QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}


@pytest.mark.long
@pytest.mark.skipif(
    find_spec("ray") is None,
    reason="*** NO RAY: Flower's simulation is not tried; pip install 'flwr[simulation]' ***",
)
def test_values_in_flowers_simulation_are_those_in_this_process():
    done = subprocess.run(
        [sys.executable, "-m", "tests.flower.simulated"],
        cwd=ROOT, env={**os.environ, **QUIET},
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    printed = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " [[" in line)
    assert printed.keys() == {"whole", "drawn"}, done.stderr[-3000:]
    names = plain.NAMES[:2]
    given = (plain.app, names, plain.strategy, plain.initial(), plain.score)
    options = {"num_rounds": 2, "progress": False, "seed": 0}
    whole = sf.value(*given, deterministic=True, n_games=1, **options)
    np.testing.assert_allclose(json.loads(printed["whole"]), whole.games, rtol=0, atol=1e-10)
    records = {name: plain.SIZES[name] for name in names}
    drawn = sf.value(*given, records=records, sampling=sb.Fresh(7), n_games=2, **options)
    np.testing.assert_allclose(json.loads(printed["drawn"]), drawn.games, rtol=0, atol=1e-10)
