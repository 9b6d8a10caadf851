"""Checks of single arguments, shared by all public functions and classes."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from shapband._typing import FloatArray
from shapband.errors import InvalidInput

_Thing = TypeVar("_Thing")
_LISTED = 12  # an error lists at most this many known words
_LONGEST_TEXT = 4_000  # another library's error message is cut to this many characters
censors: list[Callable[[str], str]] = []  # applied to a message before it is cut
UNSAFE = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}  # control, format, private, surrogate, separators
MOST = 10**12  # largest count accepted; larger ones are mistakes and would overflow


@contextmanager
def concerning(what: str) -> Iterator[None]:
    """Prefix the message of an InvalidInput raised inside with the name of what is checked."""
    try:
        yield
    except InvalidInput as cause:
        if str(cause).startswith(what):
            raise
        raise InvalidInput(f"{what}: {cause}") from cause


def check_whole(
    name: str, number: object, least: int, remark: str = "", most: int | None = MOST
) -> int:
    """Check that an argument is an integer between `least` and `most`."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
        raise InvalidInput(
            f"{name} must be a whole number of at least {least}{remark}; received {written(number)}"
        )
    if most is not None and int(number) > most:
        raise InvalidInput(f"{name} must be at most {most:,}; received {written(number)}")
    return int(number)


def check_number(
    name: str,
    number: object,
    remark: str = "",
    *,
    above: float | None = None,
    least: float | None = None,
) -> float:
    """Check that an argument is a finite number, larger than `above` and at least `least`."""
    if isinstance(number, bool) or not isinstance(number, Real) or not _is_finite(number):
        raise InvalidInput(f"{name} must be a finite number{remark}; received {written(number)}")
    if above is not None and float(number) <= above:
        raise InvalidInput(f"{name} must be above {above:g}; received {written(number)}")
    if least is not None and float(number) < least:
        raise InvalidInput(f"{name} must be at least {least:g}; received {written(number)}")
    return float(number)


def _is_finite(number: Real) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:  # a whole number beyond the largest float
        return False


def check_row(name: str, numbers: ArrayLike) -> FloatArray:
    """Check that an argument is a one-dimensional array of finite numbers."""
    try:
        row = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidInput(f"{name} must be a row of numbers ({one_line(cause)})") from cause
    if row.ndim != 1 or not np.isfinite(row).all():
        raise InvalidInput(
            f"{name} must be a row of finite numbers, without NaN or infinite ones; received "
            f"the shape {row.shape}"
        )
    return row


def check_kind(name: str, thing: _Thing, kind: Any, wanted: str, number: str = "") -> _Thing:
    """Check that an argument is of a kind.

    In the error, `wanted` names what it must be, and `number` what to write instead of a number,
    with {} in its place.
    """
    if not isinstance(thing, kind):
        received = type(thing).__name__
        if number and isinstance(thing, int | float) and not isinstance(thing, bool):
            received = f"{thing}: use {number.format(thing)}"
        raise InvalidInput(f"{name} must be {wanted}; received {received}")
    return thing


def described(thing: object) -> str:
    """Return the type of an object as a string, with shape and dtype if it is an array."""
    if isinstance(thing, np.ndarray):
        return f"an array of shape {thing.shape} and dtype {thing.dtype}"
    return f"a {type(thing).__name__}" + (f" of {len(thing)}" if isinstance(thing, tuple) else "")


def nearest(word: str, known: Sequence[str]) -> str:
    """Suggest the known word that is most like `word`, or list the first known words.

    Examples
    --------
    >>> nearest("nroth", ["north", "south"]), nearest("x", ["north", "south"])
    ('did you mean north?', 'known are north, south')
    """
    close = get_close_matches(word, known, n=1)
    if close:
        return f"did you mean {printable(close[0])}?"
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"known are {printable(', '.join(known[:_LISTED]))}{more}"


def one_line(text: object) -> str:
    r"""Reduce a string, such as another library's error, to one line that is safe to print.

    Examples
    --------
    >>> one_line("first\n  second" + chr(7))
    'first second\\x07'
    """
    try:
        words = str(text)
    except Exception:  # noqa: BLE001  the user's own error, whose `str` fails
        words = f"a {type(text).__name__} without a message"
    for censor in censors:
        words = censor(words)
    return printable(" ".join(words[:_LONGEST_TEXT].split()))


def error_line(error: BaseException | None) -> str:
    """Return the kind and the message of an error in one line: ``ValueError: too long``."""
    kind, text = type(error).__name__, one_line(error)
    return f"{kind}: {text}" if text else kind


def file_error(error: OSError) -> str:
    """Return why a file cannot be read or written, as the end of a sentence."""
    return (error.strerror or one_line(error)).lower()


def written(thing: object) -> str:
    """Write an argument for an error: its `repr` in one line, or its type if that fails.

    Examples
    --------
    >>> written("a"), written(10**5000)
    ("'a'", 'a int that cannot be written')
    """
    try:
        return one_line(repr(thing))
    except Exception:  # noqa: BLE001  such as a whole number of more than 4300 digits
        return f"a {type(thing).__name__} that cannot be written"


def printable(text: str) -> str:
    """Escape control and direction characters, which could change what a terminal shows."""
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in UNSAFE else char
        for char in text
    )


def check_level(level: float) -> float:
    """Check a confidence level."""
    if not 0 < check_number("level", level) < 1:
        raise InvalidInput(
            f"level must lie strictly between 0 and 1, such as 0.95; received {level!r}"
        )
    return level


def upper_tail(level: float) -> float:
    """Probability below the upper end of a two-sided interval."""
    return (1 + check_level(level)) / 2


def steady_repr(thing: object) -> str:
    """Return the `repr` of an object without its address in memory, which no two processes share.

    Examples
    --------
    >>> class Mine: pass
    >>> steady_repr(Mine()), steady_repr(3)
    ('<shapband.checks.Mine object>', '3')
    """
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(thing))
