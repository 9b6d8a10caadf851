"""Completion in shells: the scripts that are shown and installed, and what they complete."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("shapband")
# typer asks which shell runs the command; a test has none.
NAMED = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}


def shapband(*arguments, **environment):
    done = subprocess.run(  # noqa: S603  our own command
        [COMMAND, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_a_script_is_shown_for_each_shell(shell):
    script = shapband("--show-completion", shell, **NAMED)
    assert "_SHAPBAND_COMPLETE" in script
    assert f"complete_{shell}" in script


def completed(script, line):
    """What bash offers at the end of a line, once it has read the script."""
    words = line.split(" ")
    ask = (
        f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}\n"
        f'_shapband_completion {COMMAND}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    bash = shutil.which("bash")
    done = subprocess.run([bash, "-c", ask], capture_output=True, text=True, check=True)  # noqa: S603
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_options():
    script = shapband("--show-completion", "bash", **NAMED)
    assert completed(script, "shapband re") == {"report", "resume"}
    assert completed(script, "shapband payouts my-run --am") == {"--amount"}
    assert completed(script, "shapband xyz") == set()


def test_a_script_is_installed_in_the_home_directory(tmp_path):
    told = shapband("--install-completion", "bash", HOME=str(tmp_path), **NAMED)
    assert "bash completion installed" in told
    (script,) = tmp_path.rglob("*shapband*")
    assert "complete_bash" in script.read_text()
    assert str(script) in (tmp_path / ".bashrc").read_text()
