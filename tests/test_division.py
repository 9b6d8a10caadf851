"""The tests are divided among processes as `tests/conftest.py` says."""

import os
from pathlib import Path

import pytest

from tests.conftest import LONGEST

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("turn", range(6))
def test_the_tests_of_a_file_stay_in_one_process(request, tmp_path_factory, turn):
    """Each leaves the number of its process where the tests of other processes see it."""
    grouped = getattr(request.config.option, "loadgroup", False)
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if grouped else folder
    (shared / f"division-{os.getpid()}").touch()
    assert len(list(shared.glob("division-*"))) == 1


def test_what_takes_longest_is_there():
    assert [place for place in LONGEST if not (ROOT / place).exists()] == []
