"""Storing costs little: 1,000 providers and 1,000 games through a run directory."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shapband as sb
from shapband.app.config.config import Built
from shapband.engine.arguments import check_arguments
from shapband.engine.workers.local import LocalWorkers
from shapband.runs import run as run_module
from shapband.runs.purchases import StoredPurchases
from shapband.runs.solved import StoredGames
from shapband.runs.store import RunStore
from tests.runs.small import assert_same, ignore, look, start


class Many:
    """Additive games of many providers with records in memory."""

    text = "many"

    def __init__(self, n: int, n_games: int, sampling: Any) -> None:
        rng = np.random.default_rng(0)
        self.providers = [
            sb.Provider(f"p{i}", sb.ArraySource(rng.normal(size=(60, 1)), rng.normal(size=60)))
            for i in range(n)
        ]
        self.arguments = {
            "providers": self.providers,
            "utility": sb.AdditiveUtility(),
            "sampling": sampling,
            "solver": sb.Permutation(4),
            "n_games": n_games,
            "seed": 0,
        }

    def build(self, base: Path) -> Built:
        return Built(check_arguments(**self.arguments), LocalWorkers(1, threads=True))

    def plain(self) -> sb.Valuation:
        return sb.value(**self.arguments)


def timed(call: Any) -> tuple[tuple[float, float], Any]:
    """Seconds on the clock and of the processor, and what the call gave."""
    clock, processor = time.perf_counter(), time.process_time()
    found = call()
    return (time.perf_counter() - clock, time.process_time() - processor), found


@pytest.mark.parametrize("sampling", [sb.Pooled(40, 20), sb.Fresh(20)], ids=repr)
def test_storing_takes_few_transactions_and_little_room(tmp_path, sampling):
    many = Many(100, 200, sampling)
    statements: list[str] = []
    made = RunStore.purchases

    def traced(store: RunStore) -> Any:
        store._connection.set_trace_callback(statements.append)
        return made(store)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunStore, "purchases", traced)
        found = start(many, tmp_path, tmp_path / "run", ignore)
    assert_same(found, many.plain())
    with RunStore.open(tmp_path / "run") as store:
        entries = sum(1 for _ in store.ledger.entries())
        (chunks,) = store._connection.execute("SELECT COUNT(*) FROM games").fetchone()
    # A transaction for the note, one for each chunk of games, and one for the result.
    assert sum("BEGIN" in statement for statement in statements) == chunks + 2
    assert entries <= 2 * chunks + 3  # draws and games of every chunk, pools, note, result
    # Values and noise of every game, effects of ten folds in twelve of them, entries that name
    # every provider, and half-filled pages.
    room = 2 * 8 * 100 * 200 + 8 * 100 * 10 * 12 + 1000 * entries + 640_000
    assert (tmp_path / "run" / "run.db").stat().st_size < room


@contextmanager
def stopwatch() -> Iterator[Any]:
    """Sum up the time that runs spend on storing: all but settling and playing, and the journal."""
    spent = np.zeros(2)

    def sum_up(call: Any, sign: int) -> Any:
        def summed(*arguments: Any) -> Any:
            seconds, found = timed(lambda: call(*arguments))
            spent[:] += sign * np.array(seconds)
            return found

        return summed

    with pytest.MonkeyPatch.context() as patch:
        for kind, names in (
            (StoredPurchases, ("usage", "unpaid", "taken", "close")),
            (StoredGames, ("begin", "solved", "store_games")),
        ):
            for name in names:
                patch.setattr(kind, name, sum_up(getattr(kind, name), 1))
        patch.setattr(run_module, "play", sum_up(run_module.play, -1))
        patch.setattr(Many, "build", sum_up(Many.build, -1))
        patch.setattr(run_module, "_arguments", sum_up(run_module._arguments, -1))
        patch.setattr(run_module, "begin", sum_up(run_module.begin, 1))
        yield spent


def measure(base: Path, sampling: Any) -> dict[str, Any]:
    """Time with and without a run by turns, and within runs that which is spent on storing.

    The difference of two times of a second each is lost in the noise of a shared machine; the
    share of storing within one time is not.
    """
    many = Many(1000, 1000, sampling)
    many.plain()
    plain, stored, shares = [], [], []
    for turn in range(8):
        seconds, expected = timed(many.plain)
        plain.append(seconds)
        run = base / f"run {turn}"
        with stopwatch() as spent:
            seconds, found = timed(lambda run=run: start(many, base, run, ignore))
        stored.append(seconds)
        shares.append(spent / (seconds - spent))
    assert_same(found, expected)
    (looked, _), status = timed(lambda: look(run))
    assert_same(status.valuation, expected)
    clock, processor = np.median(shares, axis=0)
    return {
        "clock": clock,
        "processor": processor,
        "look": looked,
        "plain": np.median(plain, axis=0).tolist(),
        "stored": np.median(stored, axis=0).tolist(),
    }


@pytest.mark.long
@pytest.mark.parametrize("sampling", ["Pooled(40, 20)", "Fresh(20)"])
def test_a_thousand_by_a_thousand(tmp_path, sampling, capsys):
    # In a process of its own, as a run is, and not in that of the test runner.
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tests.runs.test_load", str(tmp_path), sampling],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout)
    with capsys.disabled():
        sys.stdout.write(f"\n{sampling}: {found}\n")
    assert found["processor"] < 0.10
    assert found["clock"] < 0.15  # waiting for the disk included
    assert found["look"] < 1.0


if __name__ == "__main__":
    SAMPLINGS = {"Pooled(40, 20)": sb.Pooled(40, 20), "Fresh(20)": sb.Fresh(20)}
    sys.stdout.write(json.dumps(measure(Path(sys.argv[1]), SAMPLINGS[sys.argv[2]])))
