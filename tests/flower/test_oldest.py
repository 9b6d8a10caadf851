"""The oldest flwr that pyproject.toml allows passes these tests in an environment of its own."""

import os
import re
import subprocess
import sys

import pytest

from tests.printed import ROOT

PATIENCE = 1800  # seconds; the environment has to be downloaded


def oldest():
    """The lowest version in the extra `flower`."""
    (version,) = re.findall(r'"flwr>=([\d.]+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    return version


@pytest.mark.long
def test_the_oldest_flwr_passes_these_tests(tmp_path):
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)  # noqa: S603
    packages = ["--editable", f"{ROOT}[flower]", f"flwr=={oldest()}", "pytest", "hypothesis"]
    installed = subprocess.run(  # noqa: S603
        [python, "-m", "pip", "install", "--quiet", *packages],
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    if installed.returncode:
        reason = installed.stderr.strip().splitlines()[-1]
        pytest.skip(f"*** NO OLD FLWR: flwr {oldest()} cannot be installed: {reason} ***")
    done = subprocess.run(  # noqa: S603
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/flower"],
        cwd=ROOT, env=os.environ | {"FLWR_TELEMETRY_ENABLED": "0"},
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
