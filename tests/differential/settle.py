"""Decide in 60 digits who is wrong if a utility and its reference differ.

The exact score of a coalition is computed from the input floats. It is also computed for inputs
that differ in their last digit, equal numbers of a column staying equal. A case is *ill-posed* if
the exact score of such inputs is as far away as the score in question: no float64 program can be
expected to give more digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import mpmath as mp
import numpy as np

from shapband._typing import AnyArray, FloatArray
from tests.differential.exact import DIGITS, Matrix, exact_rows
from tests.differential.scores import class_score

TOLERANCE = 1e-9  # of values up to 1; relative to larger ones
WIGGLES = 16  # inputs that differ in their last digit

Verdict = Literal["equal", "reference wrong", "ill-posed", "ours wrong"]


@dataclass(frozen=True)
class Truth:
    """The exact score.

    Attributes
    ----------
    value : of the inputs as they are
    range_of : returns the lowest and the highest score of inputs that differ in their last digit;
        it takes several times as long as `value`, and is needed only if a program is wrong
    """

    value: float
    range_of: Callable[[], tuple[float, float]]


def close(a: float, b: float) -> bool:
    """Whether two values agree to the tolerance; never if one is not finite."""
    return bool(abs(a - b) <= TOLERANCE * max(1.0, abs(a), abs(b)))


def verdict(ours: float, reference: float, truth: Truth) -> Verdict:
    """Return who is wrong."""
    if close(ours, truth.value):
        return "equal" if close(reference, truth.value) else "reference wrong"
    slack = TOLERANCE * max(1.0, abs(truth.value))
    lowest, highest = truth.range_of()
    if highest - lowest > slack and lowest - slack <= ours <= highest + slack:
        return "ill-posed"
    return "ours wrong"


def wiggles(rng: np.random.Generator, blocks: Sequence[FloatArray]) -> list[FloatArray]:
    """Numbers between -1 and 1 for every entry; equal numbers of a column get the same one."""
    rows = np.concatenate(blocks)
    moves = np.empty(rows.shape)
    for f, column in enumerate(rows.T):
        _, place = np.unique(column, return_inverse=True)
        moves[:, f] = rng.uniform(-1, 1, size=place.max() + 1)[place]
    return np.split(moves, np.cumsum([len(block) for block in blocks])[:-1])


def neighbours_of(rng: np.random.Generator, blocks: Sequence[FloatArray]) -> list[FloatArray]:
    """Numbers that are the same or the next float on either side; equal ones of a column agree."""
    moves = wiggles(rng, blocks)
    return [_next(block, np.rint(1.5 * move)) for block, move in zip(blocks, moves, strict=True)]


def _next(numbers: FloatArray, side: AnyArray) -> FloatArray:
    """The next float above where side is 1 and below where it is -1; 0 stays 0."""
    moved = np.nextafter(numbers, np.where(side > 0, np.inf, -np.inf))
    return np.asarray(np.where((side == 0) | (numbers == 0), numbers, moved))


LogitsOf = Callable[[Matrix, Matrix], Matrix]


def true_class_score(
    X: FloatArray,
    rows: FloatArray,
    logits_of: LogitsOf,
    true: Sequence[int],
    n_labels: int,
    score: str,
) -> Truth:
    """Return the exact score of a classifier, given the function from records to logits."""
    with mp.workdps(DIGITS):
        logits = logits_of(exact_rows(X), exact_rows(rows))
        value = float(class_score(logits, true, n_labels, score, mp))

    def range_of() -> tuple[float, float]:
        rng = np.random.default_rng(0)
        found = [value]
        with mp.workdps(DIGITS):
            for _ in range(WIGGLES):
                moved = logits_of(*map(exact_rows, neighbours_of(rng, [X, rows])))
                found.append(float(class_score(moved, true, n_labels, score, mp)))
        largest = max(abs(one - value) for one in found)
        return value - largest, value + largest

    return Truth(value, range_of)


ValueOf = Callable[[Matrix, Matrix, Sequence[Any], Sequence[Any]], Any]


def true_value(
    X: FloatArray, y: FloatArray, rows: FloatArray, targets: FloatArray, value_of: ValueOf
) -> Truth:
    """Return the exact value of a regression or of neighbours."""
    of = (y, targets)
    with mp.workdps(DIGITS):
        columns = (exact_rows(t[None])[0] for t in of)
        value = float(value_of(exact_rows(X), exact_rows(rows), *columns))

    def range_of() -> tuple[float, float]:
        rng = np.random.default_rng(0)
        largest = 0.0
        with mp.workdps(DIGITS):
            for _ in range(WIGGLES):
                X_and_rows = map(exact_rows, neighbours_of(rng, [X, rows]))
                # No rule asks whether targets are equal, so they move one by one.
                columns = (exact_rows(_next(t, rng.integers(-1, 2, len(t)))[None])[0] for t in of)
                moved = value_of(*X_and_rows, *columns)
                largest = max(largest, abs(float(moved) - value))
        return value - largest, value + largest

    return Truth(value, range_of)
