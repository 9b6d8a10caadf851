"""Run the Python and the shell of the README with the installed shapband.

    python -I release/readme.py

It runs in the environment of this Python, in an empty folder, and compares what is printed with
the README. Blocks that install the library are left out, because it is installed: they are named.
"""

import os
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRINTED = runpy.run_path(str(ROOT / "tests" / "printed.py"))
INSTALLING = re.compile(r"^\s*(git clone|pip install|make|source) ", re.MULTILINE)
PATIENCE = 600  # seconds for a block or a command


def main() -> None:
    page = ROOT / "README.md"
    programs = Path(sys.executable).parent
    ours = dict(os.environ, PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")
    ours.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        checked = PRINTED["check_page"](page, "python", lambda code: run_python(code, folder, ours))
        checked += PRINTED["check_page"](page, "shell", lambda code: run_shell(code, folder, ours))
    print(f"the README runs with the installed package; {checked} outputs compared")
    assert checked, "the README shows no output"


def run_python(code: str, folder: str, environment: dict[str, str]) -> str:
    return called([sys.executable, "-P", "-c", code], folder, environment)


def run_shell(block: str, folder: str, environment: dict[str, str]) -> str:
    """Run the lines of a block, one by one, and return what they print."""
    if INSTALLING.search(block):
        print(f"left out, because it installs the library:\n{block}")
        return ""
    printed = ""
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("shapband watch"):
            printed += watched(line, folder, environment)
        elif line.strip():
            printed += called(["bash", "-euo", "pipefail", "-c", line], folder, environment)
    return printed


def called(command: list[str], folder: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}{done.stderr}"
    return done.stdout


def watched(line: str, folder: str, environment: dict[str, str]) -> str:
    """Start a command that serves a page, load the page, and end the command with Ctrl-C."""
    arguments = line.partition("#")[0].split()
    serving = subprocess.Popen(
        arguments, cwd=folder, env=environment | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        said = serving.stdout.readline()
        (address,) = re.findall(r"http://127\.0\.0\.1:\S+", said)
        with urllib.request.urlopen(address, timeout=PATIENCE) as page:
            assert b"</html>" in page.read()
        serving.send_signal(signal.SIGINT)
        assert serving.wait(PATIENCE) == 0, line
    finally:
        serving.kill()
        serving.communicate()
    return said


if __name__ == "__main__":
    main()
