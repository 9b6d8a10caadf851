"""A small run with distant sources that log every request, slow enough to be interrupted.

As a program, ``python -m tests.runs.small start|resume RUN OPTIONS`` plays it; it says "ready"
when it begins.
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
from shapband._value import settle
from shapband.draws import Chosen, Stream
from shapband.execution.local import LocalWorkers
from shapband.records import Batch
from shapband.runs.built import Built
from shapband.runs.run import resume, start
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
        plan = settle(
            providers,
            sb.FunctionUtility(Thinking(options["think"])),
            sampling=SAMPLINGS[options["sampling"]],
            solver=sb.Permutation(3),
            n_games=options["n_games"],
            seed=options["seed"],
            budget=budget(options),
        )
        return Built(plan, lambda: workers(options["workers"]), fingerprints(providers))


def budget(options: Mapping[str, Any]) -> sb.Budget:
    if options["sampling"] == "fresh":
        return sb.Budget(records=options["affordable"] * N * SIZE)
    return sb.Budget(records=N * POOL, requests=N)


def workers(kind: str) -> LocalWorkers:
    if kind == "here":
        return LocalWorkers(1, threads=True)
    chosen = LocalWorkers(2, threads=kind == "threads")
    chosen._worth_it = True  # however short the run
    return chosen


def fingerprints(providers: list[sb.Provider]) -> dict[str, str]:
    marks = {}
    for provider in providers:
        source = provider.source
        records = source.records if isinstance(source, FiniteSource) else None
        data = b"distant" if records is None else records.X.tobytes() + records.y.tobytes()
        marks[provider.name] = hashlib.sha256(data).hexdigest()
    return marks


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
    return rows_mark(Chosen(stream, size, STOCK, replace=False).rows()[0])


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
    for name in ("n_games", "group", "n_groups"):
        assert getattr(found.moments, name) == getattr(expected.moments, name)
    for name in ("mean", "m2", "m3", "m4", "noise", "noise_m2", "cross_11", "cross_21"):
        bits = getattr(found.moments, name).tobytes()
        assert bits == getattr(expected.moments, name).tobytes(), name
    assert found.games.shape == expected.games.shape
    assert found.games.tobytes() == expected.games.tobytes()
    assert found.evaluations == expected.evaluations
    assert found.draw_sizes.tolist() == expected.draw_sizes.tolist()
    assert (found.pool_sizes is None) == (expected.pool_sizes is None)
    for name in ("target", "stopped", "seed", "setup"):
        assert getattr(found, name) == getattr(expected, name)
    assert _counts(found) == _counts(expected)


def _counts(valuation: sb.Valuation) -> dict[str, tuple[int, int]]:
    by_provider = valuation.access.by_provider
    return {name: (used.requests, used.records) for name, used in by_provider.items()}


def main() -> None:
    command, run, options = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    config = SmallConfig.of(**options)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    if command == "start":
        start(config, run.parent, run, ignore)
    else:
        resume(run, ignore, SmallConfig)


if __name__ == "__main__":
    main()
