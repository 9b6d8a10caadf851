"""The checks of single arguments: what they accept, and what their errors say."""

import numpy as np
import pytest

from shapband.checks import check_kind, check_number, file_error
from shapband.errors import InvalidInput


def test_numbers_within_their_limits_are_returned_as_floats():
    assert check_number("x", np.int64(3), above=2) == 3.0
    assert check_number("x", 0, least=0) == 0.0
    assert type(check_number("x", np.float32(0.5), above=0, least=0.5)) is float


@pytest.mark.parametrize(
    ("number", "limits", "message"),
    [
        (0, {"above": 0}, "x must be above 0; received 0"),
        (-0.5, {"above": 0}, "x must be above 0; received -0.5"),
        (-1, {"least": 0}, "x must be at least 0; received -1"),
        (True, {"least": 0}, "x must be a finite number; received True"),
        (float("nan"), {"above": 0}, "x must be a finite number; received nan"),
        ("1", {}, "x must be a finite number; received '1'"),
    ],
)
def test_other_numbers_are_refused_with_the_limit(number, limits, message):
    with pytest.raises(InvalidInput) as raised:
        check_number("x", number, **limits)
    assert str(raised.value) == message


def test_a_thing_of_another_kind_is_refused_with_its_type():
    assert check_kind("x", 3, int, "a count") == 3
    assert check_kind("x", None, int | None, "a count or None") is None
    with pytest.raises(InvalidInput, match=r"^x must be a count; received str$"):
        check_kind("x", "3", int, "a count")


def test_the_error_of_a_file_is_the_end_of_a_sentence(tmp_path):
    with pytest.raises(OSError, match="No such file") as raised:
        (tmp_path / "missing").read_text()
    assert file_error(raised.value) == "no such file or directory"
    assert file_error(OSError("A reason\nin two lines")) == "a reason in two lines"
