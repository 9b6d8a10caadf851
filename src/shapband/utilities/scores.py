"""Scores computed from mean squared errors; larger is better."""

from __future__ import annotations

from fractions import Fraction
from statistics import pvariance
from typing import Literal, TypeAlias, get_args

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import check_number
from shapband.errors import InvalidInput

Score = Literal["inverse_mse", "r2", "neg_mse"]
SCORES: tuple[str, ...] = get_args(Score)


Empty: TypeAlias = float | Literal["baseline"] | None


def check_empty(empty: Empty, score: str, baseline: float, owner: str) -> tuple[float, bool]:
    """Return the value of the empty coalition, and whether it is the score of a dummy model.

    None means 0 for "inverse_mse", as in the paper, and the baseline for other scores, because with
    these 0 may be the score of a perfect model.
    """
    chosen = ("baseline" if score != "inverse_mse" else 0.0) if empty is None else empty
    if chosen == "baseline":
        return baseline, True
    return check_number(f"{owner}: empty", chosen, ', or "baseline"'), False


def check_score(score: str, y_val: FloatArray, owner: str) -> str:
    """Check the name of a score."""
    if score not in SCORES:
        raise InvalidInput(f"{owner}: score must be one of {', '.join(SCORES)}; received {score!r}")
    # The computed variance of equal numbers such as 0.1 is not zero, but their range is.
    if score == "r2" and np.ptp(y_val) == 0:
        raise InvalidInput(f"{owner}: y_val is constant, so R² is not defined: use another score")
    return score


def variance_of(y: FloatArray) -> float:
    """Return the variance of targets, accurately even if they differ only in their last digits."""
    computed = float(y.var())
    # The mean has a rounding error of 1e-16 of itself, whose square is added to the variance.
    if computed > (1e-8 * np.abs(y).max()) ** 2:
        return computed
    return float(pvariance([Fraction(t) for t in y.tolist()]))


def score_from_mse(mse: FloatArray, score: str, target_variance: float) -> FloatArray:
    """Convert mean squared errors on the validation rows to scores, in place: (...) to (...).

    In place, because allocating a large array takes longer than the arithmetic.
    """
    if score == "inverse_mse":
        mse += 1.0
        return np.divide(1.0, mse, out=mse)
    if score == "r2":
        mse /= -target_variance
        mse += 1.0
        return mse
    return np.negative(mse, out=mse)
