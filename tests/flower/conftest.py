"""Tests of shapband.flower. Without flwr only one of them is left, whose reason says so."""

import importlib.util
import os
from pathlib import Path

import pytest

# flwr reads this when it is imported. Nothing here should send anything, and this makes sure.
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

if importlib.util.find_spec("flwr") is None:
    found = (path.name for path in Path(__file__).parent.glob("*.py"))
    collect_ignore = sorted({*found} - {"test_installed.py"})


@pytest.fixture(autouse=True)
def quiet_flower(caplog):
    caplog.set_level("ERROR", logger="flwr")
