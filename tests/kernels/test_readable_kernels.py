"""Valuations with the readable kernels in place of the compiled ones have the same values."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
import importlib, json, sys
from shapband import kernels

if sys.argv[1] == "reference":
    kernels.load = lambda name: importlib.import_module(f"tests.reference.{name}")

import numpy as np, shapband as sb
from tests.conftest import linear_providers

providers, (X, y) = linear_providers(n=4, features=2)
games = []
federated = [sb.FederatedUtility("linear", X, y, rounds=rounds) for rounds in (1, 2)]
utilities = sb.LinearUtility(X, y), sb.NeighborUtility(X, y, k=3), sb.AdditiveUtility()
for utility in (*utilities, *federated):
    for sampling in (sb.Fresh(12), sb.Stratified(30, 12, 0.8), sb.Pooled(36, 12, replace=False)):
        for solver in (sb.Exact(), sb.Permutation(3), sb.BalancedPermutation(8)):
            valuation = sb.value(
                providers, utility, sampling=sampling, solver=solver, n_games=5, seed=0
            )
            games.append(valuation.games.tolist())
print(json.dumps([games, "numba" in sys.modules]))
"""


def valued(which):
    done = subprocess.run(  # noqa: S603  our own script
        [sys.executable, "-c", SCRIPT, which],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_the_readable_kernels_give_the_same_valuations():
    plain, plain_numba = valued("reference")
    compiled, compiled_numba = valued("compiled")
    np.testing.assert_allclose(plain, compiled, rtol=0, atol=1e-9)
    assert (plain_numba, compiled_numba) == (False, True)
