"""shapiq's estimators of Shapley values, in the interpreter that has shapiq.

``python -m benchmarks.solver_peers FOLDER`` reads ``jobs.json`` and the games (`oracles.py`) from a
folder, and writes ``estimates.npz`` and ``done.json`` to it. It needs neither shapband nor numba.
"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from shapiq import approximator

from benchmarks.oracles import Arrays, Counted

MOST_TERMS = 500  # of PolySHAP, whose least squares take seconds beyond it

# Pairs of complements are not the default of SVARM, KernelSHAP and PolySHAP, but mostly lower
# their errors here. All other settings are the defaults.


def _svarm(n: int, evaluations: int, seed: int) -> Any:  # noqa: ARG001
    return approximator.SVARM(n, pairing_trick=True, random_state=seed)


def _kernel(n: int, evaluations: int, seed: int) -> Any:  # noqa: ARG001
    return approximator.KernelSHAP(n, pairing_trick=True, random_state=seed)


def _leverage(n: int, evaluations: int, seed: int) -> Any:  # noqa: ARG001
    return approximator.LeverageSHAP(n, random_state=seed)


def _poly(n: int, evaluations: int, seed: int) -> Any:
    """Terms of up to three providers; with complements two give the same as KernelSHAP."""
    terms = max(n + 1, min(evaluations // 5, MOST_TERMS))
    return approximator.PolySHAP(
        n, max_order=3, max_terms=terms, pairing_trick=True, random_state=seed
    )


def _odd(n: int, evaluations: int, seed: int) -> Any:  # noqa: ARG001
    return approximator.OddSHAP(n, random_state=seed)


def _linear(n: int, evaluations: int, seed: int) -> Any:  # noqa: ARG001
    return approximator.RegressionMSR(n, "SV", proxy_model="linear", random_state=seed)


def _trees(n: int, evaluations: int, seed: int) -> Any:  # noqa: ARG001
    from xgboost import XGBRegressor

    model = XGBRegressor(random_state=seed, n_jobs=1)  # the default surrogate, on one thread
    return approximator.RegressionMSR(n, "SV", proxy_model=model, random_state=seed)


METHODS: dict[str, Callable[[int, int, int], Any]] = {
    "SVARM": _svarm,
    "KernelSHAP": _kernel,
    "LeverageSHAP": _leverage,
    "PolySHAP": _poly,
    "OddSHAP": _odd,
    "RegressionMSR, linear": _linear,
    "RegressionMSR, trees": _trees,
}


def estimates_of(method: str, job: dict[str, Any], arrays: Arrays) -> tuple[np.ndarray, list[int]]:
    """Shapley values (repeats, n), and the numbers of distinct coalitions that they took."""
    values, evaluated = [], []
    for repeat in range(job["methods"][method]):
        game = Counted(arrays)
        seed = 1000 * job["seed"] + repeat  # games must not share coalitions: errors would agree
        solver = METHODS[method](job["n"], job["evaluations"], seed)
        budget = job["evaluations"] + 1  # shapiq counts nobody too
        found = solver.approximate(budget=budget, game=game)
        values.append(found.get_n_order_values(1))
        evaluated.append(game.evaluations)
    return np.array(values), evaluated


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    estimates: dict[str, np.ndarray] = {}
    done = []
    for job in json.loads((folder / "jobs.json").read_text()):
        with np.load(folder / job["game"]) as stored:
            arrays = dict(stored)
        for method in filter(is_installed, job["methods"]):
            values, evaluated = estimates_of(method, job, arrays)
            estimates[str(len(done))] = values
            done.append({"job": job, "method": method, "evaluated": evaluated})
    np.savez(folder / "estimates.npz", **estimates)
    version = importlib.metadata.version("shapiq")
    (folder / "done.json").write_text(json.dumps({"shapiq": version, "done": done}))


@cache
def is_installed(method: str) -> bool:
    """Whether this version of shapiq has the method, and what the method needs is installed."""
    try:
        METHODS[method](10, 100, 0)
    except (AttributeError, ImportError) as cause:
        print(f"  {method} is not measured: {cause}", file=sys.stderr, flush=True)
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]))
