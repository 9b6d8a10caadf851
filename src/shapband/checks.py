"""Checks of single arguments, shared by all public functions and classes."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from shapband._typing import FloatArray
from shapband.errors import InvalidInput

_LONGEST_TEXT = 4_000  # characters of another library's error
censors: list[Callable[[str], str]] = []  # what must not be shown is replaced before it is cut
_UNSAFE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}  # control, format, private, surrogate, separators
MOST = 10**12  # of anything that is counted; larger numbers are mistakes, and would overflow


def check_whole(
    name: str, number: object, least: int, remark: str = "", most: int | None = MOST
) -> int:
    """Check that an argument is a whole number of at least `least` and at most `most`."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
        raise InvalidInput(
            f"{name} must be a whole number of at least {least}{remark}; received {number!r}"
        )
    if most is not None and int(number) > most:
        raise InvalidInput(f"{name} must be at most {most:,}; received {number!r}")
    return int(number)


def check_number(name: str, number: object, remark: str = "") -> float:
    """Check that an argument is a finite number."""
    if isinstance(number, bool) or not isinstance(number, Real) or not math.isfinite(number):
        raise InvalidInput(f"{name} must be a finite number{remark}; received {number!r}")
    return float(number)


def check_row(name: str, numbers: ArrayLike) -> FloatArray:
    """Check that an argument is a row of finite numbers."""
    try:
        row = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InvalidInput(f"{name} must be a row of numbers ({one_line(cause)})") from cause
    if row.ndim != 1 or not np.isfinite(row).all():
        raise InvalidInput(
            f"{name} must be a row of finite numbers, without NaN or infinite ones; received "
            f"the shape {row.shape}"
        )
    return row


def described(thing: object) -> str:
    """Say of what type a thing is, and of what shape and dtype an array."""
    if isinstance(thing, np.ndarray):
        return f"an array of shape {thing.shape} and dtype {thing.dtype}"
    return f"a {type(thing).__name__}" + (f" of {len(thing)}" if isinstance(thing, tuple) else "")


def one_line(text: object) -> str:
    r"""Squeeze a text, such as another library's error, into one line that is safe to print.

    Examples
    --------
    >>> one_line("first\n  second" + chr(7))
    'first second\\x07'
    """
    whole = str(text)
    for censor in censors:
        whole = censor(whole)
    return printable(" ".join(whole[:_LONGEST_TEXT].split()))


def printable(text: str) -> str:
    """Write out control and direction characters, which could change what a terminal shows."""
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _UNSAFE else char
        for char in text
    )
