"""Every experiment in a size of seconds, run at most once for all tests."""

import pytest

from reproduction.run import run_experiment
from tests.reproduction.tiny import TINY


class Found(dict):
    """The reports of experiments by name; an experiment runs when a test asks for it."""

    def __init__(self, out):
        self._out = out

    def __missing__(self, name):
        self[name] = run_experiment(TINY[name], profile="tiny", out=self._out, seed=0)
        return self[name]


@pytest.fixture(scope="session")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("reproduction")


@pytest.fixture(scope="session")
def found(out):
    return Found(out)


@pytest.fixture(scope="session")
def all_found(found):
    """For long tests: all experiments together take a minute."""
    return {name: found[name] for name in TINY}
