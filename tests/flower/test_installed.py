"""Says that the tests of shapband.flower are left out if flwr is not installed."""

from importlib.metadata import version
from importlib.util import find_spec

import pytest


@pytest.mark.skipif(
    find_spec("flwr") is None,
    reason="*** NO FLWR: all tests of shapband.flower are LEFT OUT; "
    "pip install 'shapband[flower]' ***",
)
def test_flwr_is_not_older_than_the_oldest_that_is_allowed():
    assert [int(part) for part in version("flwr").split(".")[:2]] >= [1, 24]
