"""Every experiment in a size of seconds, run once for all tests."""

import pytest

from reproduction.run import run_experiment
from tests.reproduction.tiny import TINY


@pytest.fixture(scope="session")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("reproduction")


@pytest.fixture(scope="session")
def found(out):
    return {
        name: run_experiment(one, profile="tiny", out=out, seed=0) for name, one in TINY.items()
    }
