"""The tour of the commands: its shell runs, prints what it says, and its TOML is sound."""

import os
import subprocess
import sys
import tomllib

import pytest

from shapband.config.config import Config
from tests.conftest import PATIENCE
from tests.printed import ROOT, blocks, check_page

TOUR = ROOT / "docs" / "runs.md"
PROGRESS = " games · "  # in lines that only slow runs print
TOML = [text for kind, text in blocks(TOUR) if kind == "toml"]
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
    def run(block):
        done = subprocess.run(  # noqa: S603
            ["bash", "-euo", "pipefail", "-c", block],  # noqa: S607
            cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, f"{block}\n{done.stdout}"
        assert "Traceback" not in done.stdout
        return "".join(line for line in done.stdout.splitlines(True) if PROGRESS not in line)

    assert check_page(TOUR, "shell", run) == 7


@pytest.mark.parametrize("text", TOML)
def test_the_toml_of_the_tour_is_sound(text):
    Config.model_validate({**BASE, **tomllib.loads(text)})
