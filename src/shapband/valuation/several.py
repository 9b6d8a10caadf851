"""Results about several providers at once: differences, ranks, places and shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.checks import check_whole, printable, written
from shapband.errors import InvalidInput
from shapband.estimate import joint
from shapband.estimate.estimate import Estimate
from shapband.printing import Printed, PrintsTable, p_text, with_digits

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Difference(PrintsTable):
    """The expectation of one provider minus the expectation of another.

    Attributes
    ----------
    estimate : the difference
    standard_error : of the difference, with the correlation of the two errors
    low, high : ends of its confidence interval
    p_value : two-sided, of the test that the expectations are equal
    a, b : the providers; `estimate` is the expectation of `a` minus the expectation of `b`
    level : confidence level of the interval

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
    a: str
    b: str
    level: float

    def _printed(self) -> Printed:
        names = f"{printable(self.a)} − {printable(self.b)}"
        return Printed((), (("difference", *self._columns), [(names, *self._cells)]))

    def __repr__(self) -> str:
        told = zip(self._columns, self._cells, strict=True)
        words = ", ".join(f"{column} {cell}" for column, cell in told)
        return f"<Difference {printable(self.a)!r} − {printable(self.b)!r}: {words}>"

    @property
    def _columns(self) -> tuple[str, ...]:
        return "estimate", f"± {100 * self.level:g} %", "p-value"

    @property
    def _cells(self) -> tuple[str, ...]:
        half = (self.high - self.low) / 2
        return *with_digits([self.estimate, half], [half, half]), p_text(self.p_value)


@dataclass(frozen=True, eq=False, repr=False)
class Ranks(PrintsTable):
    """The ranks of all expectations, 1 for the largest, with intervals that hold together.

    Attributes
    ----------
    names : the providers, in the order of all arrays
    rank : (n,) rank of the estimate
    low, high : (n,) ends of the intervals; at the stated level all true ranks are inside
    above : (n, n) probability that the row's expectation is above the column's, by Student's
        distribution of the error of their difference; 0.5 on the diagonal. It is None with more
        than 500 providers, for which `Valuation.difference` compares single pairs
    level : confidence level of all intervals together
    above_next : (n,) probability of being above the next provider in the ranking, NaN for the last

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
    above: FloatArray | None
    level: float
    above_next: FloatArray

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per provider."""
        return _frame(self.names, {"rank": self.rank, "low": self.low, "high": self.high})

    def _printed(self) -> Printed:
        order = np.argsort(self.rank, kind="stable")
        rows = [
            (printable(self.names[at]), *(f"{x[at]:,}" for x in (self.rank, self.low, self.high)))
            for at in order
        ]
        return Printed(
            [f"ranks by expectation; all intervals hold together at {100 * self.level:g} %"],
            (("provider", "rank", "low", "high"), rows),
        )

    def __repr__(self) -> str:
        certain = int((self.low == self.high).sum())
        return f"<Ranks of {len(self.names)} providers, {certain} of them certain>"


def difference(
    names: tuple[str, ...], estimate: Estimate, games: FloatArray, a: str, b: str, level: float
) -> Difference:
    """Make the difference of two providers given by name, from the estimate and kept games."""
    one, other = _place(names, "a", a), _place(names, "b", b)
    found = joint.difference(estimate, one, other, games)
    low, high = joint.student_interval(found, level)
    scale = np.abs(estimate.expectation[[one, other]]).max()
    return Difference(
        float(found.estimate),
        float(found.standard_error),
        float(low),
        float(high),
        float(joint.two_sided_p(found, scale)),
        a,
        b,
        level,
    )


def ranks(names: tuple[str, ...], estimate: Estimate, games: FloatArray, level: float) -> Ranks:
    """Make the ranks with their intervals."""
    low, high = joint.rank_intervals(estimate, level, games).T
    return Ranks(
        names,
        joint.ranks(estimate.expectation),
        low,
        high,
        joint.probability_above(estimate),
        level,
        joint.probability_above_next(estimate, games),
    )


def top(names: tuple[str, ...], estimate: Estimate, games: FloatArray, k: int) -> pd.Series[float]:
    """Make the series of probabilities of being among the k largest."""
    k = check_whole("k", k, 1, most=len(names))
    chance = joint.probability_of_top(estimate, k, games)
    return _frame(names, {f"top {k}": chance})[f"top {k}"]


def shares(
    names: tuple[str, ...], estimate: Estimate, games: FloatArray, level: float
) -> pd.DataFrame:
    """Make the data frame of the shares."""
    found, interval = joint.shares(estimate, level, games)
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
