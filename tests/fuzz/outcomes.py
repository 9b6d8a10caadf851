"""What every fuzzed input must come to, and a slow reference for the inputs that are valued."""

from __future__ import annotations

import itertools
import math
import time
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import shapband as sb
from shapband.errors import ShapbandError

LONGEST = 10.0  # seconds that one input may take
_CONTROL = {"Cc", "Cf", "Cs", "Zl", "Zp"}

Game = Callable[[tuple[int, ...]], float]  # the value of a coalition, members in ascending order


@dataclass
class Tally:
    """How many inputs were refused and valued."""

    refused: int = 0
    valued: int = 0

    @property
    def tried(self) -> int:
        return self.refused + self.valued

    def __str__(self) -> str:
        return f"{self.tried:,} inputs: {self.refused:,} refused, {self.valued:,} valued"


def settle(tally: Tally, call: Callable[[], Any]) -> Any:
    """Give the result of a call, or None if it is refused as it should be.

    Every error other than a ShapbandError of one printable line passes through and fails the test.
    """
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of models and of NumPy, about odd numbers
        try:
            result = call()
        except ShapbandError as error:
            check_message(str(error))
            result = None
    assert time.perf_counter() - started < LONGEST
    if result is None:
        tally.refused += 1
    else:
        tally.valued += 1
    return result


def check_message(message: str) -> None:
    assert message.strip(), "an error without a message"
    assert not {unicodedata.category(char) for char in message} & _CONTROL, repr(message)


def check_valuation(valuation: sb.Valuation, games: Sequence[Game], *, exact: bool = True) -> None:
    """Compare every game with its reference: the values, or only their sum without `exact`."""
    n = len(valuation.names)
    assert valuation.games.shape == (len(games), n)
    assert np.isfinite(valuation.games).all()
    assert np.isfinite(valuation.expectation).all()
    assert not np.isnan(valuation.variance).any()
    assert repr(valuation)
    for found, game in zip(valuation.games, games, strict=True):
        worth = [game(tuple(i for i in range(n) if mask >> i & 1)) for mask in range(2**n)]
        scale = max(map(abs, worth))
        wanted = shapley(worth, n) if exact else np.array([worth[-1] - worth[0]])
        got = found if exact else found.sum()
        np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9 * (1e-3 + scale))


def shapley(worth: Sequence[float], n: int) -> np.ndarray:
    """The mean marginal contribution over all orders; `worth` is indexed by bitmask."""
    total = np.zeros(n)
    for order in itertools.permutations(range(n)):
        mask = 0
        for i in order:
            total[i] += worth[mask | 1 << i] - worth[mask]
            mask |= 1 << i
    return total / math.factorial(n)


class Unspeakable(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Outside(BaseException):
    """An error that is not an Exception, like those that end a program or a task."""


ERRORS: tuple[Callable[[], BaseException], ...] = (
    lambda: ValueError("first line\nsecond line\r\n\x1b[31mred\x07"),
    lambda: KeyError("k\u202eyek"),
    lambda: ValueError(),
    lambda: StopIteration(3),
    lambda: OSError(5, "no\nanswer"),
    lambda: RecursionError("deep"),
    lambda: ZeroDivisionError("\ud800"),
    lambda: sb.errors.InvalidInput("own\nerror"),
    lambda: sb.errors.SourceError("own \x00 error"),
    lambda: TimeoutError("x" * 10_000),
    lambda: ExceptionGroup("many\nerrors", [ValueError("one"), TypeError("two")]),
    lambda: AssertionError(np.zeros((50, 50))),
    Unspeakable,
)
OUTSIDE: tuple[Callable[[], BaseException], ...] = (
    lambda: SystemExit(3),
    lambda: GeneratorExit("gone"),
    lambda: Outside("outside\n"),
)
