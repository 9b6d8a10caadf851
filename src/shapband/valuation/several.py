"""Results about several providers at once: differences, ranks, places and shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.checks import check_level, check_whole, printable, written
from shapband.errors import InvalidInput
from shapband.estimate import joint
from shapband.estimate.estimate import Estimate
from shapband.valuation.text import table_lines

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Difference:
    """The expectation of one provider minus the expectation of another.

    Attributes
    ----------
    estimate : the difference
    standard_error : of the difference, with the correlation of the two errors
    low, high : ends of its confidence interval
    p_value : two-sided, of the test that the expectations are equal

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                      seed=0)
    >>> found = valuation.difference(valuation.names[0], valuation.names[-1])
    >>> found.low < found.estimate < found.high
    True
    """

    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of all expectations, 1 for the largest, with intervals that hold together.

    Attributes
    ----------
    names : the providers, in the order of all arrays
    rank : (n,) rank of the estimate
    low, high : (n,) ends of the intervals; at the stated level all true ranks are inside
    above : (n, n) probability that the row's expectation is above the column's, by Student's
        distribution of the error of their difference; 0.5 on the diagonal
    level : confidence level of all intervals together

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                      seed=0)
    >>> ranks = valuation.ranks()
    >>> bool((ranks.low <= ranks.rank).all() and (ranks.rank <= ranks.high).all())
    True
    """

    names: tuple[str, ...]
    rank: IntArray
    low: IntArray
    high: IntArray
    above: FloatArray
    level: float

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per provider."""
        return _frame(self.names, {"rank": self.rank, "low": self.low, "high": self.high})

    def __str__(self) -> str:
        order = np.argsort(self.rank, kind="stable")
        rows = [
            (printable(self.names[at]), *(f"{x[at]:,}" for x in (self.rank, self.low, self.high)))
            for at in order
        ]
        return "\n".join(
            [
                f"ranks by expectation; all intervals hold together at {100 * self.level:g} %",
                "",
                *table_lines(("provider", "rank", "low", "high"), rows),
            ]
        )


def difference(
    names: tuple[str, ...], estimate: Estimate, a: str, b: str, level: float
) -> Difference:
    """Make the difference of two providers given by name."""
    one, other = _place(names, "a", a), _place(names, "b", b)
    found = joint.difference(estimate, one, other)
    half = joint.student_quantile(found.freedom, level) * found.standard_error
    scale = np.abs(estimate.expectation[[one, other]]).max()
    return Difference(
        float(found.estimate),
        float(found.standard_error),
        float(found.estimate - half),
        float(found.estimate + half),
        float(joint.two_sided_p(found, scale)),
    )


def ranks(names: tuple[str, ...], estimate: Estimate, level: float) -> Ranks:
    """Make the ranks with their intervals."""
    low, high = joint.rank_intervals(estimate, level).T
    above = joint.probability_above(estimate)
    return Ranks(names, joint.ranks(estimate.expectation), low, high, above, check_level(level))


def top(names: tuple[str, ...], estimate: Estimate, k: int) -> pd.Series[float]:
    """Make the series of probabilities of being among the k largest."""
    k = check_whole("k", k, 1, most=len(names))
    return _frame(names, {f"top {k}": joint.probability_of_top(estimate, k)})[f"top {k}"]


def shares(names: tuple[str, ...], estimate: Estimate, level: float) -> pd.DataFrame:
    """Make the data frame of the shares."""
    found, interval = joint.shares(estimate, level)
    low, high = interval.T
    columns = {"share": found.estimate, "standard_error": found.standard_error}
    return _frame(names, columns | {"low": low, "high": high})


def _place(names: tuple[str, ...], argument: str, name: str) -> int:
    if name not in names:
        raise InvalidInput(
            f"difference: {argument} must be the name of a provider; received {written(name)}, and "
            f"there are {', '.join(printable(known) for known in names)}"
        )
    return names.index(name)


def _frame(names: tuple[str, ...], columns: dict[str, FloatArray | IntArray]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(columns, index=pd.Index(names, name="provider"))
