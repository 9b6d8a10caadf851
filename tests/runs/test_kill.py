"""Runs that are killed at random moments end with the same bits, and pay nothing twice."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import shapband as sb
from shapband.runs.store import RunStore
from tests.runs import small
from tests.runs.small import SmallConfig, assert_same, ignore, look, resume, start

KINDS = [(s, w) for s in ("fresh", "pooled") for w in ("here", "threads")]
FORKS = multiprocessing.get_context("forkserver")
# Imported once for all processes.
FORKS.set_forkserver_preload(["numba", "tests.runs.small", "tests.runs.test_kill_random_models"])


def play_apart(ready: Connection, command: str, run: Path, options: dict[str, Any]) -> None:
    """What a process that will be killed does."""
    os.setsid()  # so that its worker processes can be killed too
    ready.send("ready")
    small.play(command, run, options)
    os._exit(0)  # multiprocessing would wait for worker processes, which are kept for the next run


class Killed:
    """One run that is killed again and again until it ends."""

    def __init__(self, out: Path, options: dict[str, Any], *, from_python: bool = False) -> None:
        self.out = out
        self.from_python = from_python
        self.log = out.parent / f"{out.name}.log"
        self.options = {**options, "log": self.log.name}
        self.kills = 0
        self.asked_again = 0  # requests made twice, their first answers lost in a kill
        self.unbegun = 0  # kills before there was a run

    def play(self, seconds: float | None) -> bool:
        """Start or resume, and kill after some seconds; give whether it ended before."""
        command = "resume" if (self.out / "run.db").exists() else "start"
        if self.from_python:
            command = "value"
        ready, far = FORKS.Pipe(duplex=False)
        child = FORKS.Process(target=play_apart, args=(far, command, self.out, self.options))
        child.start()
        far.close()
        with ready:
            assert ready.recv() == "ready"
        child.join(seconds)
        if child.exitcode is not None:
            assert child.exitcode == 0
            return True
        child.kill()
        child.join()
        self.kills += 1
        self.check_between()  # its worker processes may still be there
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        return False

    def check_between(self) -> None:
        """After a kill: nothing broken, nothing overspent."""
        if not (self.out / "run.db").exists():
            assert not self.log.exists()
            self.unbegun += 1
            return
        with RunStore.open(self.out) as store:
            store.verify()
        status = look(self.out)
        assert status.state != "running"
        limit = small.budget({**small.OPTIONS, **self.options})
        assert limit.records is not None
        assert status.access.records <= limit.records

    def check_end(self, expected: sb.Valuation) -> None:
        """After the end: same bits, everything received once and never asked for after that."""
        if self.from_python:
            found = small.value_in(self.out, self.options)
        else:
            found = resume(self.out, ignore, SmallConfig)
        assert_same(found, expected)
        with RunStore.open(self.out) as store:
            store.verify()
            entries = list(store.ledger.entries())
        told: dict[tuple[str, str, int], list[str]] = {}
        taken: Counter[tuple[str, str, int]] = Counter()
        for entry in entries:
            games = range(entry.first_game, entry.first_game + entry.requests)
            for name, game in product(entry.providers, games):
                address = (name, entry.purpose, game)
                if entry.outcome == "taken":
                    taken[address] += 1
                else:
                    told.setdefault(address, []).append(entry.outcome)
        assert set(taken.values()) <= {1}
        logged = Counter(self.log.read_text().split())
        for address, outcomes in told.items():
            assert outcomes[-1] == "received"
            assert set(outcomes[:-1]) == {"asked"}
            assert len(outcomes) - 1 <= 1 + self.kills
            assert 1 <= logged[small.mark_of(*address)] <= len(outcomes) - 1
        assert len(logged) == len(told)
        assert len(told) + len(taken) == found.access.requests
        self.asked_again = sum(logged.values()) - len(logged)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The uninterrupted valuations, and how long they take."""
    base = tmp_path_factory.mktemp("whole")
    found = {}
    for kind in small.SAMPLINGS:
        began = time.perf_counter()
        config = SmallConfig.of(**options_of(kind, "here"))
        valuation = start(config, base, base / kind, ignore)
        found[kind] = valuation, time.perf_counter() - began
    return found


def options_of(sampling: str, workers: str) -> dict[str, Any]:
    slow = {"delay": 0.2, "think": 0.002} if sampling == "pooled" else {"delay": 0.015}
    return {"sampling": sampling, "workers": workers, **slow}


def torment(victim: Killed, expected: Any, rng: random.Random, kills: int) -> None:
    """Kill a run up to so many times at random moments; let it end, and check it."""
    valuation, seconds = expected
    ended = False
    while not ended and victim.kills < kills:
        ended = victim.play(rng.uniform(0.0, seconds * (1 - victim.kills / (kills + 1))))
    assert ended or victim.play(None)
    victim.check_end(valuation)


@pytest.mark.parametrize(("sampling", "workers"), KINDS)
def test_a_killed_run_resumes_with_the_same_bits(tmp_path, expected, sampling, workers):
    victim = Killed(tmp_path / "run", options_of(sampling, workers))
    rng = random.Random(f"{sampling} {workers}")  # noqa: S311
    torment(victim, expected[sampling], rng, 2)


@pytest.mark.parametrize(("sampling", "workers"), [("fresh", "here"), ("pooled", "threads")])
def test_a_killed_run_from_python_resumes_with_the_same_bits(tmp_path, expected, sampling, workers):
    victim = Killed(tmp_path / "run", options_of(sampling, workers), from_python=True)
    rng = random.Random(f"python {sampling} {workers}")  # noqa: S311
    torment(victim, expected[sampling], rng, 3)
    assert victim.kills > 0


@pytest.mark.parametrize("workers", ["here", "threads"])
def test_so_does_a_run_of_providers_that_take_part_at_random(tmp_path, workers):
    options = {**options_of("fresh", workers), "probability": 0.6}
    began = time.perf_counter()
    whole = start(SmallConfig.of(**options), tmp_path, tmp_path / "whole", ignore)
    seconds = time.perf_counter() - began
    assert whole.access.requests < whole.n_games * small.N
    rng = random.Random(f"participation {workers}")  # noqa: S311
    torment(Killed(tmp_path / "run", options), (whole, seconds), rng, 2)


def test_a_run_with_worker_processes_resumes_with_the_same_bits(tmp_path, expected):
    victim = Killed(tmp_path / "run", options_of("fresh", "processes"))
    valuation, seconds = expected["fresh"]
    assert victim.play(seconds) or victim.play(None)
    victim.check_end(valuation)


@pytest.mark.long
@pytest.mark.parametrize(("sampling", "workers"), KINDS)
def test_fifty_kills_of_each_kind(tmp_path, expected, sampling, workers, capsys):
    rng = random.Random(f"fifty {sampling} {workers}")  # noqa: S311
    kills, runs, again, unbegun = 0, 0, 0, 0
    while kills < 50:
        # Two workers alternate between threads and processes.
        kind = "processes" if workers == "threads" and runs % 5 == 4 else workers
        victim = Killed(tmp_path / str(runs), options_of(sampling, kind))
        torment(victim, expected[sampling], rng, rng.choice([1, 1, 2, 3]))
        kills, runs = kills + victim.kills, runs + 1
        again, unbegun = again + victim.asked_again, unbegun + victim.unbegun
    tally = {"kills": kills, "runs": runs, "asked again": again, "before the manifest": unbegun}
    with capsys.disabled():
        sys.stdout.write(f"\n{sampling}, {workers}: {tally}\n")
