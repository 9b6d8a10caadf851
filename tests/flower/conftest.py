"""Tests of shapband.flower; without flwr they are skipped, and pytest says so."""

import importlib.util
import os

import pytest

# flwr reads this when it is imported. Nothing here should send anything, and this makes sure.
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

MISSING = importlib.util.find_spec("flwr") is None
if MISSING:
    collect_ignore_glob = ["test_*.py"]


def pytest_report_header():
    return "*** NO FLWR: the tests of shapband.flower are LEFT OUT ***" if MISSING else None


@pytest.fixture(autouse=True)
def quiet_flower(caplog):
    caplog.set_level("ERROR", logger="flwr")
