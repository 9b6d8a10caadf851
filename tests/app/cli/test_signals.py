"""A process that is told to end never ends with status 0, whatever it does at that moment."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from shapband.app.cli.interrupt import interruptible

COMMAND = Path(__file__).parents[2] / "command.py"
CONFIG = """
n_games = 40
seed = 0
sampling = { kind = "fresh", n_sample = 5 }
utility = { kind = "additive" }
providers = [
    { name = "one", source = { kind = "object", object = "stubborn:Stubborn" } },
    { name = "two", source = { kind = "object", object = "stubborn:Stubborn" } },
]
"""
STUBBORN = """
import os, signal, time
import shapband as sb

class Stubborn(sb.GenerativeSource):
    told = False
    def draw(self, size, rng):
        X = rng.normal(size=(size, 2))
        try:
            if not Stubborn.told:
                Stubborn.told = True
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(1.0)
        except BaseException:  # as code that tries again whatever happened
            pass
        time.sleep(0.001)
        return X, X[:, 0]
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "stubborn.py").write_text(STUBBORN)
    (tmp_path / "run.toml").write_text(CONFIG)
    return tmp_path


def begun(folder, *arguments):
    return subprocess.Popen(  # noqa: S603  our own command
        [sys.executable, COMMAND, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_an_interruption_that_other_code_catches_is_raised_at_the_end(number):
    with pytest.raises(KeyboardInterrupt), interruptible(str) as received:
        _catch(number)
    assert received.numbers == [number]


def _catch(number):
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), number)
        time.sleep(1.0)


def test_an_interruption_in_a_finalizer_is_raised_at_the_end(monkeypatch):
    dropped = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: dropped.append(one.exc_type))
    with pytest.raises(KeyboardInterrupt), interruptible(str):
        _collect()
    assert dropped == [KeyboardInterrupt]


def _collect():
    """Let an object end that sends a signal when it does."""

    class Last:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)

    Last()


def test_the_handlers_are_those_of_before_at_the_end():
    before = signal.getsignal(signal.SIGTERM)
    with interruptible(str):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_run_whose_source_catches_the_signal_does_not_end_with_0(folder):
    process = begun(folder, "run", "run.toml", "--out", "run", "--quiet")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "interrupted" in errors


STUCK = """
import ctypes
import shapband as sb

class Stubborn(sb.GenerativeSource):
    def draw(self, size, rng):
        print("asked", flush=True)
        ctypes.CDLL(None).system(b"sleep 20")  # Python runs no handler before it returns
"""


def test_a_second_signal_ends_a_run_whose_source_hangs_outside_of_python(folder):
    (folder / "stubborn.py").write_text(STUCK)
    process = begun(folder, "run", "run.toml", "--out", "run", "--quiet")
    with process:
        assert process.stdout.readline() == "asked\n"
        started = time.monotonic()
        for _ in range(2):
            time.sleep(0.2)
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
        assert time.monotonic() - started < 15
        assert "interrupted: resume it with" in process.stderr.readline()


@pytest.mark.long
def test_sigterm_at_any_moment_does_not_end_with_0(folder):
    (folder / "stubborn.py").write_text(STUBBORN.replace("told = False", "told = True"))
    started = time.monotonic()
    begun(folder, "run", "run.toml", "--out", "whole").communicate()
    whole = time.monotonic() - started
    for moment in range(40):
        process = begun(folder, "run", "run.toml", "--out", f"run-{moment}")
        time.sleep(whole * moment / 40)
        alive = process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert not alive or process.returncode in (130, -signal.SIGTERM), (moment, errors)
