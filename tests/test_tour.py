"""The tour of the commands: its shell runs, prints what it says, and its TOML is sound.

Numbers are not compared, because times differ and machines do; a line "..." stands for any lines.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from shapband.config.config import Config
from tests.conftest import PATIENCE

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(shell|text|toml)\n(.*?)```", PAGE, flags=re.DOTALL)
TOML = [text for kind, text in BLOCKS if kind == "toml"]
BASE = {
    "providers": [{"source": {"kind": "task", "task": "wine"}}],
    "sampling": {"kind": "fresh", "n_sample": 30},
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Put the commands of the tour on the path."""
    folder = tmp_path_factory.mktemp("bin")
    commands = {
        "shapband": f'"{sys.executable}" "{ROOT / "tests" / "command.py"}"',
        "python": f'"{sys.executable}"',
    }
    for name, command in commands.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_the_tour_runs_and_prints_what_it_says(tmp_path, environment):
    printed = ""
    for kind, text in BLOCKS:
        if kind == "shell":
            done = subprocess.run(  # noqa: S603
                ["bash", "-euo", "pipefail", "-c", text],  # noqa: S607
                cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE,
            )  # fmt: skip
            printed = done.stdout + done.stderr
            assert done.returncode == 0, f"{text}\n{printed}"
            assert "Traceback" not in printed
        elif kind == "text":
            check_output(text, printed)


def check_output(expected, printed):
    """Check that the lines appear, in their order."""
    lines = iter([plain(line) for line in in_order_of_streams(printed)])
    for line in expected.splitlines():
        if line != "...":
            assert plain(line) in lines, f"{line!r} is not printed in its place:\n{printed}"


def in_order_of_streams(printed):
    # An error may stand before or after what was echoed about it.
    errors = [line for line in printed.splitlines() if line.startswith("error: ")]
    return errors + [line for line in printed.splitlines() if line not in errors]


def plain(line):
    return " ".join(re.sub(r"[-+]?\d[\d,.]*", "#", line).split())


@pytest.mark.parametrize("text", TOML)
def test_the_toml_of_the_tour_is_sound(text):
    Config.model_validate({**BASE, **tomllib.loads(text)})
