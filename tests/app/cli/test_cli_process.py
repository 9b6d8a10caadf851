"""The commands as programs: what only a real process shows."""

import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import PATIENCE

COMMAND = [sys.executable, str(Path(__file__).parents[2] / "command.py")]
SLOW = """
n_games = {games}
seed = 0
providers = [
    {{ name = "a", source = {{ kind = "object", object = "slow_sources:source" }} }},
    {{ name = "b", source = {{ kind = "object", object = "slow_sources:source" }} }},
]
utility = {{ kind = "object", object = "slow_sources:worth" }}
sampling = {{ kind = "fresh", n_sample = 5 }}
budget = {{ records = 1000000 }}
"""
SOURCES = """
import pathlib, time, shapband as sb
asked = pathlib.Path("asked")
def draw(size, rng):
    asked.touch()
    time.sleep(0.02)
    return rng.normal(size=(size, 1)), rng.normal(size=size)
source = sb.FunctionSource(draw, waits=True)
def wait(size, rng):
    asked.touch()
    time.sleep(3600)
silent = sb.FunctionSource(wait, waits=True)
worth = sb.FunctionUtility(lambda X, y: float(y.mean()))
"""


@pytest.fixture
def folder(tmp_path):
    """A run that takes its time, and one that takes too long."""
    (tmp_path / "slow_sources.py").write_text(SOURCES)
    (tmp_path / "slow.toml").write_text(SLOW.format(games=64))
    (tmp_path / "endless.toml").write_text(SLOW.format(games=1_000_000))
    stubborn = SLOW.format(games=1_000_000).replace("slow_sources:source", "slow_sources:silent")
    (tmp_path / "stubborn.toml").write_text(stubborn)
    return tmp_path


def begun(folder, *arguments, **options):
    command = [*COMMAND, *arguments]
    return subprocess.Popen(command, cwd=folder, text=True, **options)  # noqa: S603


def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from shapband.app.cli.app import main\n"
        "sys.argv = ['shapband', '--help']\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'numpy', 'pandas', 'pydantic', 'scipy', 'numba', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)  # noqa: S603


def test_python_m_shapband_is_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "shapband", "--version"], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("shapband ")


@contextmanager
def playing(folder, config):
    """Begin a run, and wait until it has asked its first questions."""
    process = begun(folder, "run", config, "--out", "run", stderr=subprocess.PIPE)
    try:
        patience = time.monotonic() + PATIENCE
        while not (folder / "asked").exists():
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < patience
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_ctrl_c_ends_a_run_with_advice(folder):
    with playing(folder, "endless.toml") as process:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130, errors
        assert errors.splitlines()[-1] == "interrupted: resume it with: shapband resume run"
        assert "Traceback" not in errors


def test_a_second_ctrl_c_does_not_wait_for_the_sources(folder):
    with playing(folder, "stubborn.toml") as process:
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert "Ctrl-C again leaves at once" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert errors == "interrupted: resume it with: shapband resume run\n"


def test_a_log_gets_no_control_characters(folder):
    process = begun(
        folder, "run", "slow.toml", "--out", "run", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert out.startswith("run run: finished\n")
    assert "\x1b" not in out + errors


def test_a_terminal_gets_a_live_display(folder):
    ours, theirs = pty.openpty()
    process = begun(
        folder, "run", "slow.toml", "--out", "run",
        stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(ours)
    text = shown.decode()
    assert out.startswith("run run: finished\n")
    for expected in ("games", "/64", "± 95 % at most", "of 1,000,000 records", "left"):
        assert expected in text


def test_quiet_says_nothing(folder):
    process = begun(
        folder, "run", "slow.toml", "--out", "run", "--quiet",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 0


def test_a_reader_that_leaves_early_is_no_error(folder):
    begun(folder, "run", "slow.toml", "--out", "run", "--quiet").wait(timeout=PATIENCE)
    process = begun(
        folder, "export", "run", "--format", "csv", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait(timeout=PATIENCE)
