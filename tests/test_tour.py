"""Pages of commands: their shell prints what they say, and the TOML of the tour is sound."""

import os
import re
import sys
import tomllib

import pytest

from shapband.app.config.config import Config
from tests.conftest import PATIENCE
from tests.printed import ROOT, blocks, check_page, run_shell

TOUR = ROOT / "docs" / "runs.md"
FIRST = ROOT / "docs" / "first-report.md"
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


@pytest.fixture
def shell(tmp_path, environment):
    """Run a block of shell in an empty folder, and return what it prints."""

    def run(block):
        printed = run_shell(block, tmp_path, environment, PATIENCE)
        assert "Traceback" not in printed
        return "".join(line for line in printed.splitlines(True) if PROGRESS not in line)

    return run


def test_the_tour_runs_and_prints_what_it_says(shell):
    assert check_page(TOUR, "shell", shell) == 9


def test_the_first_report_is_what_the_page_says(shell, tmp_path):
    assert check_page(FIRST, "shell", shell) == 1
    report = re.sub(r"\s+", " ", (tmp_path / "report.html").read_text("utf-8"))
    (chance,) = re.findall(r"with a probability of (\d+ %)", FIRST.read_text("utf-8"))
    assert f"it is the largest with a probability of {chance}" in report
    for chapter in re.findall(r'^- "(.*?)"', FIRST.read_text("utf-8"), re.MULTILINE):
        assert f">{chapter}</h2>" in report


@pytest.mark.parametrize("text", TOML)
def test_the_toml_of_the_tour_is_sound(text):
    Config.model_validate({**BASE, **tomllib.loads(text)})
