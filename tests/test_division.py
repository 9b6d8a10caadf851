"""The tests are divided among processes as `tests/conftest.py` says."""

from pathlib import Path

from tests.conftest import LONGEST

ROOT = Path(__file__).parents[1]


def test_xdist_keeps_the_tests_of_a_file_together(request):
    """xdist adds the group to the name of a test, if it reads the groups after they are made."""
    grouped = getattr(request.config.option, "loadgroup", False)
    assert request.node.nodeid.endswith("@tests/test_division.py") == grouped


def test_what_takes_longest_is_there():
    assert [place for place in LONGEST if not (ROOT / place).exists()] == []
