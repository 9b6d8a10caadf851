"""The path of a new user: from an empty folder to a report by the commands of the README alone."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import PATIENCE
from tests.printed import ROOT, blocks, run_shell

GIT = ["git"]
GIT += ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
# What a clone of the repository would not bring along.
UNTRACKED = shutil.ignore_patterns(".git", ".venv*", "out", "mutants", "__pycache__", ".*_cache")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A repository with the files as they are now, committed or not."""
    folder = tmp_path_factory.mktemp("address") / "repository"
    shutil.copytree(ROOT, folder, ignore=UNTRACKED)
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "now"]):
        subprocess.run([*GIT, *command], cwd=folder, check=True, timeout=PATIENCE)  # noqa: S603
    return folder


@pytest.fixture
def shell(tmp_path):
    """Run one command in an empty folder, and return what it prints."""
    inherited = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH"}  # of a `make test` around this
    environment = {name: value for name, value in os.environ.items() if name not in inherited}
    environment["PYTHON"] = sys.executable

    def run(command, patience=PATIENCE):
        return run_shell(command, tmp_path, environment, patience)

    return run


def two_commands(address):
    """The first shell block of the README, with the address filled in."""
    kinds = blocks(ROOT / "README.md")
    first = next(content for kind, content in kinds if kind == "shell")
    commands = [line.partition("#")[0].strip() for line in first.splitlines()]
    assert len(commands) == 2
    assert sum(command.count("ADDRESS") for command in commands) == 1
    return [command.replace("ADDRESS", str(address)) for command in commands]


def check_report(folder, printed):
    """The files that the README promises are there, and the page has the numbers of the table."""
    readme = (ROOT / "README.md").read_text("utf-8")
    written = re.findall(r"`(demo\.\w+)`", readme)
    assert written == ["demo.png", "demo.html"]
    assert all(str(folder.resolve() / name) in printed for name in written)
    assert (folder / "demo.png").stat().st_size > 10_000
    page = (folder / "demo.html").read_text("utf-8")
    row = next(line for line in printed.splitlines() if line.startswith("alcohol 9.6-10.0"))
    (value, *_) = re.findall(r"\d\.\d{4}", row)
    assert "<h1" in page
    assert "alcohol 9.6-10.0" in page
    assert value in page


def test_two_commands_lead_to_a_report(shell, address, tmp_path):
    clone, demo = two_commands(address)
    shell(clone)
    folder = tmp_path / "shapband"
    use_this_environment(folder)
    check_report(folder, shell(demo))


def use_this_environment(folder):
    """Put the environment of the tests where `make` would install one."""
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (folder / ".venv" / "library").touch()


@pytest.mark.long
def test_two_commands_lead_to_a_report_with_an_environment_of_their_own(shell, address, tmp_path):
    clone, demo = two_commands(address)
    shell(clone)
    folder = tmp_path / "shapband"
    check_report(folder, shell(demo, patience=3 * PATIENCE))
    shutil.rmtree(folder / ".venv")  # more than 1 GB
