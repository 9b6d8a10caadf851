"""A small run with distant sources that log every request, slow enough to be interrupted.

As a program, ``python -m tests.runs.small start|resume|value RUN OPTIONS`` plays it, from a
description or from Python; it says "ready" when it begins.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shapband as sb
from shapband.app.config.config import Built, Config
from shapband.engine.arguments import check_arguments
from shapband.engine.workers.base import Workers
from shapband.engine.workers.local import LocalWorkers, ProcessWorkers
from shapband.records.batch import Batch
from shapband.records.draws import RandomRows, Stream
from shapband.runs import database
from shapband.runs import run as runs
from shapband.runs.read import RunStatus, load
from shapband.runs.stored import StoredConfig, stored_config
from shapband.seeds import Seeds
from shapband.sources.base import FiniteSource, GenerativeSource

SEED = 11
SIZE = 5  # records in a draw
POOL = 12
STOCK = 40  # records of every finite source
DISTANT = ("endless", "stock")
N = 4
SAMPLINGS = {"fresh": sb.Fresh(SIZE), "pooled": sb.Pooled(POOL, SIZE)}
OPTIONS: Mapping[str, Any] = {
    "sampling": "fresh",
    "workers": "here",
    "n_games": 40,
    "affordable": 24,  # games that the budget pays for
    "delay": 0.004,  # seconds a request
    "think": 0.0005,  # seconds an evaluation
    "seed": SEED,
    "log": "",
    "shift": 0.0,  # added to the records in memory: other data
    "probability": None,  # to take part in a game
    "durable": True,  # False loses purchases with the power, for a control
}


@dataclass(frozen=True)
class SmallConfig:
    """Describes the run as JSON."""

    text: str

    @staticmethod
    def of(**options: Any) -> SmallConfig:
        return SmallConfig(json.dumps({**OPTIONS, **options}))

    def build(self, base: Path) -> Built:
        options = json.loads(self.text)
        log = base / options["log"] if options["log"] else None
        near = sb.ArraySource(_rows(0) + options["shift"], _rows(0)[:, 0] + options["shift"])
        providers = [
            sb.Provider("endless", Endless(log, options["delay"])),
            sb.Provider("near", near),
            sb.Provider("stock", Stock(log, options["delay"])),
            sb.Provider("next", sb.ArraySource(_rows(1), _rows(1)[:, 0])),
        ]
        plan = check_arguments(
            providers,
            sb.FunctionUtility(Thinking(options["think"])),
            sampling=SAMPLINGS[options["sampling"]],
            solver=sb.Permutation(3),
            n_games=options["n_games"],
            seed=options["seed"],
            budget=budget(options),
            participation=participation(options),
        )
        return Built(plan, workers(options["workers"]))


def budget(options: Mapping[str, Any]) -> sb.Budget:
    if options["sampling"] == "fresh":
        return sb.Budget(records=options["affordable"] * N * SIZE)
    return sb.Budget(records=N * POOL, requests=N)


def participation(options: Mapping[str, Any]) -> sb.Independent | None:
    probability = options["probability"]
    return None if probability is None else sb.Independent(probability)


def workers(kind: str) -> Workers:
    if kind == "processes":
        return ProcessWorkers(2)  # however short the run
    return LocalWorkers(1 if kind == "here" else 2, threads=True)


class Thinking:
    """A black box that takes its time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, X: Any, y: Any) -> float:
        time.sleep(self._seconds)
        return float(np.sqrt(len(y)) + y.mean())


class Endless(GenerativeSource):
    """Draws for itself; the state of its generator is its address."""

    waits = True

    def __init__(self, log: Path | None, delay: float) -> None:
        self._log = log
        self._delay = delay

    @property
    def schema(self) -> None:
        return None

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        answer(self._log, self._delay, state_mark(rng))
        X = rng.normal(size=(size, 2))
        return Batch(X, X[:, 0])


class Stock(FiniteSource):
    """Gives the rows it is asked for; they are its address."""

    waits = True

    def __init__(self, log: Path | None, delay: float) -> None:
        self._log = log
        self._delay = delay

    @property
    def size(self) -> int:
        return STOCK

    @property
    def schema(self) -> None:
        return None

    def take(self, rows: Any) -> Batch:
        answer(self._log, self._delay, rows_mark(rows))
        return Batch(_rows(2)[rows], _rows(2)[rows, 0])


def answer(log: Path | None, delay: float, mark: str) -> None:
    """Log a request, which is paid from here on, and take the time to answer it."""
    if log is not None:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{mark}\n".encode())
        os.close(handle)
    time.sleep(delay)


def mark_of(provider: str, purpose: str, game: int) -> str:
    """What a source logs when it is asked for this draw."""
    if provider == "endless":
        return state_mark(Seeds(SEED).generator(purpose, provider, game))
    size = POOL if purpose == "pool" else SIZE
    stream = Stream(Seeds(SEED), purpose, provider, range(game, game + 1))
    return rows_mark(RandomRows(stream, size, STOCK, replace=False).rows()[0])


def state_mark(rng: np.random.Generator) -> str:
    state = rng.bit_generator.state["state"]
    return hashlib.sha256(state["key"].tobytes() + state["counter"].tobytes()).hexdigest()


def rows_mark(rows: Any) -> str:
    return hashlib.sha256(rows.tobytes()).hexdigest()


def _rows(which: int) -> Any:
    return np.random.default_rng(which).normal(loc=which, size=(STOCK, 2))


def ignore(standing: Any) -> None:
    """Watch nothing."""


def assert_same(found: sb.Valuation, expected: sb.Valuation) -> None:
    """Check that two valuations are the same, bit for bit, but for the time they took."""
    assert found.names == expected.names
    sums, others = found.estimate.moments, expected.estimate.moments
    assert sums.n_games == others.n_games
    assert (sums.shuffles is None) == (others.shuffles is None)
    if sums.shuffles is not None:
        assert (sums.shuffles.size, sums.shuffles.count) == (
            others.shuffles.size,
            others.shuffles.count,
        )
        assert sums.shuffles.square.tobytes() == others.shuffles.square.tobytes()
    for name in ("mean", "m2", "m3", "m4", "noise", "noise_m2", "cross_11", "cross_21"):
        assert getattr(sums, name).tobytes() == getattr(others, name).tobytes(), name
    assert found.games.shape == expected.games.shape
    assert found.games.tobytes() == expected.games.tobytes()
    assert found.evaluations == expected.evaluations
    assert found.draw_sizes.tolist() == expected.draw_sizes.tolist()
    assert (found.pool_sizes is None) == (expected.pool_sizes is None)
    for name in ("estimand", "estimand_code", "stopped", "seed", "setup"):
        assert getattr(found, name) == getattr(expected, name)
    assert _counts(found) == _counts(expected)


def _counts(valuation: sb.Valuation) -> dict[str, tuple[int, int]]:
    by_provider = valuation.access.by_provider
    return {name: (used.requests, used.records) for name, used in by_provider.items()}


def start(config: Any, base: Path, out: Path, watch: Any) -> sb.Valuation:
    """Begin a run from a description, as the command line does."""
    built = config.build(base)
    stored = StoredConfig(config.text, base)
    return runs.begin(out, built.arguments, built.workers, watch, stored)


def resume(run: Path, watch: Any, parse: Any = Config.parse, warn: Any = None) -> sb.Valuation:
    """Resume a run from its stored description, as the command line does."""
    finished = runs.finished_valuation(run)
    if finished is not None:
        return finished
    config = stored_config(run)
    built = parse(config.text).build(config.base)
    return runs.resume(run, built.arguments, built.workers, watch, warn)


def value_in(run: Path, options: Mapping[str, Any]) -> sb.Valuation:
    """Begin or resume the run from Python."""
    built = SmallConfig.of(**options).build(run.parent)
    plan = built.arguments
    return sb.value(
        plan.providers,
        plan.utility,
        sampling=plan.sampling,
        solver=plan.solver,
        n_games=plan.n_games,
        seed=plan.seeds.seed,
        budget=plan.budget,
        participation=plan.participation,
        workers=built.workers,
        run=run,
    )


def look(run: Path) -> RunStatus:
    return load(run).status


def play(command: str, run: Path, options: Mapping[str, Any]) -> None:
    if command == "value":
        value_in(run, options)
    elif command == "start":
        start(SmallConfig.of(**options), run.parent, run, ignore)
    else:
        resume(run, ignore, SmallConfig)


def main() -> None:
    command, run, options = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    if not {**OPTIONS, **options}["durable"]:
        real = database.transaction
        database.transaction = lambda connection, durable=True: real(connection, durable=False)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    play(command, run, options)


if __name__ == "__main__":
    main()
