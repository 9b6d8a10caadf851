"""The paper's metrics over replications, each with its own sampling error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from reproduction.claims import (
    ALIKE,
    BETTER,
    WORSE,
    percent,
    scientific,
)

FloatArray = npt.NDArray[np.float64]
PAPER_REPLICATIONS = 5  # Section IV-E; its Table II shows the same numbers


@dataclass(frozen=True)
class Measured:
    """A number and its standard error."""

    value: float
    error: float

    @property
    def relative_error(self) -> float:
        """The standard error divided by the number."""
        return self.error / self.value if self.value else float("nan")

    def __str__(self) -> str:
        return f"{scientific(self.value)} ± {100 * self.relative_error:.0f} %"


@dataclass(frozen=True)
class Reduction:
    """A relative reduction, 1 - number / baseline, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{percent(self.value)} ± {100 * self.error:.1f}"

    @property
    def words(self) -> str:
        """Return text such as "84.0 % ± 2.0 lower", or "higher" if the reduction is negative."""
        way = "lower" if self.value >= 0 else "higher"
        return f"{percent(abs(self.value))} ± {100 * self.error:.1f} {way}"

    @property
    def verdict(self) -> str:
        """Return the verdict on the difference: it is clear beyond two standard errors."""
        if abs(self.value) <= 2 * self.error:
            return ALIKE
        return BETTER if self.value > 0 else WORSE


def stability(estimates: FloatArray) -> Measured:
    """Variance across replications, averaged over providers: (R, n) to a number.

    The error is the jackknife error over replications.

    Examples
    --------
    >>> stability(np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 2.0]])).value
    0.5
    """
    whole = estimates.var(axis=0, ddof=1).mean()  # Eqs. (16), (17)
    if len(estimates) < 3:
        return Measured(float(whole), float("nan"))
    parts = np.array(
        [np.delete(estimates, r, axis=0).var(axis=0, ddof=1).mean() for r in range(len(estimates))]
    )
    error = np.sqrt((len(parts) - 1) * parts.var())
    return Measured(float(whole), float(error))


def reduction(baseline: Measured, other: Measured) -> Reduction:
    """Relative reduction of a metric against the baseline."""
    ratio = other.value / baseline.value
    relative = np.hypot(baseline.relative_error, other.relative_error)
    return Reduction(1 - ratio, float(ratio * relative))


def paper_agrees(paper: float, ours: Measured, replications: int) -> bool:
    """Whether the paper's number is plausible for five replications if ours is the true value."""
    gap = abs(math.log(paper / ours.value))
    return gap <= 2 * _paper_error(ours, replications)


def paper_ratio_agrees(
    paper: tuple[float, float], ours: tuple[Measured, Measured], replications: int
) -> bool:
    """Whether the ratio of two of the paper's numbers agrees with the ratio of ours."""
    gap = math.log(paper[0] / paper[1]) - math.log(ours[0].value / ours[1].value)
    error = math.hypot(*(_paper_error(one, replications) for one in ours))
    return abs(gap) <= 2 * error


def _paper_error(ours: Measured, replications: int) -> float:
    """Relative error of the difference between our number and one from five replications."""
    return ours.relative_error * float(np.sqrt(1 + replications / PAPER_REPLICATIONS))


def variance_of_variance(fourth: Any, variance: Any, m: float) -> FloatArray:
    """Variance of the sample variance of m independent games."""
    return np.asarray((fourth - (m - 3) / (m - 1) * variance**2) / m)  # Eq. (11)


def paired_interval(differences: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of paired differences.

    Examples
    --------
    >>> low, high = paired_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 2), round(high, 2)
    (-0.48, 4.48)
    """
    m = len(differences)
    half = student.ppf((1 + level) / 2, m - 1) * differences.std(ddof=1) / np.sqrt(m)
    return float(differences.mean() - half), float(differences.mean() + half)


def slope(x: Any, y: Any) -> float:
    """Slope of log y against log x.

    Examples
    --------
    >>> round(slope([1.0, 10.0], [5.0, 0.5]), 6)
    -1.0
    """
    logarithms = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    return float(np.polyfit(*logarithms, 1)[0])
