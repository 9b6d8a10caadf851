"""The paper's metrics over replications, each with its own sampling error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.experiments.findings import ALIKE, BETTER, WORSE, percent, scientific

PAPER_REPLICATIONS = 5  # Section IV-E; its Table II shows the same numbers


@dataclass(frozen=True)
class Measured:
    """A number and its standard error."""

    value: float
    error: float

    @property
    def relative_error(self) -> float:
        """The error in units of the number."""
        return self.error / self.value if self.value else float("nan")

    def __str__(self) -> str:
        return f"{scientific(self.value)} ± {100 * self.relative_error:.0f} %"

    def is_near(self, expected: float, errors: float = 3.0) -> bool:
        """Whether an expected number lies within some standard errors."""
        return abs(self.value - expected) <= errors * self.error


@dataclass(frozen=True)
class Reduction(Measured):
    """A share saved, and its standard error."""

    def __str__(self) -> str:
        return f"{percent(self.value)} ± {100 * self.error:.1f}"

    @property
    def words(self) -> str:
        """Say "84.0 % ± 2.0 lower", or "higher" if nothing is saved."""
        way = "lower" if self.value >= 0 else "higher"
        return f"{percent(abs(self.value))} ± {100 * self.error:.1f} {way}"


def stability(estimates: FloatArray) -> Measured:
    """Variance across replications, averaged over providers: (R, n) to a number.

    The error is the jackknife's over replications.

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
    """How much lower another metric is than the baseline's, as a share."""
    ratio = other.value / baseline.value
    relative = np.hypot(baseline.relative_error, other.relative_error)
    return Reduction(1 - ratio, float(ratio * relative))


def compare(saved: Reduction) -> str:
    """Say whether a method is better than the one it is compared with, beyond two errors."""
    if abs(saved.value) <= 2 * saved.error:
        return ALIKE
    return BETTER if saved.value > 0 else WORSE


def paper_agrees(paper: float, ours: Measured, replications: int) -> bool:
    """Whether the paper's five replications could have given its number, were ours the truth."""
    return math.log(max(paper / ours.value, ours.value / paper)) <= 2 * _paper_error(
        ours, replications
    )


def paper_ratio_agrees(
    paper: tuple[float, float], ours: tuple[Measured, Measured], replications: int
) -> bool:
    """Whether the ratio of two of the paper's numbers agrees with that of ours."""
    gap = math.log(paper[0] / paper[1]) - math.log(ours[0].value / ours[1].value)
    error = math.hypot(*(_paper_error(one, replications) for one in ours))
    return abs(gap) <= 2 * error


def _paper_error(ours: Measured, replications: int) -> float:
    """Relative error of the difference between our number and one from five replications."""
    return ours.relative_error * float(np.sqrt(1 + replications / PAPER_REPLICATIONS))


def paired_interval(differences: FloatArray, level: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of paired differences.

    Examples
    --------
    >>> low, high = paired_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 2), round(high, 2)
    (-0.48, 4.48)
    """
    from scipy.stats import t

    m = len(differences)
    half = t.ppf((1 + level) / 2, m - 1) * differences.std(ddof=1) / np.sqrt(m)
    return float(differences.mean() - half), float(differences.mean() + half)


def slope(x: FloatArray, y: FloatArray) -> float:
    """Slope of log y against log x.

    Examples
    --------
    >>> round(slope(np.array([1.0, 10.0]), np.array([5.0, 0.5])), 6)
    -1.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
