"""The interactions of pairs of providers: who replaces whom, and who adds to whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.checks import printable
from shapband.estimate import intervals
from shapband.estimate.paired import PairEstimate
from shapband.sampling.design import Design
from shapband.solvers.pairs import pair_places
from shapband.valuation.text import Table, html_table, table_lines, with_digits

if TYPE_CHECKING:
    import pandas as pd

_PRINTED = 12  # pairs in the printed table


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """The expected interaction of every pair of providers, with its error.

    The interaction of two providers is what they are worth together beyond the sum of what each is
    worth alone, averaged over the coalitions of others that they join (the Shapley interaction
    index). It is negative if one replaces the other, such as a copy, positive if they complement
    each other, and 0 if the value of one does not depend on the presence of the other. A provider
    has no interaction with itself: the diagonals hold NaN.

    Attributes
    ----------
    names : the providers, in the order of all arrays
    found : the estimate of the pairs, in the order (0, 1), (0, 2), .., (1, 2), ..

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=20,
    ...                      seed=0, interactions=True)
    >>> pairs = valuation.interactions
    >>> pairs.matrix.shape, pairs.interval().shape, len(pairs.to_frame())
    ((10, 10), (10, 10, 2), 45)
    >>> bool((pairs.to_frame().interaction < 0).all())
    True
    """

    names: tuple[str, ...]
    found: PairEstimate

    @property
    def matrix(self) -> FloatArray:
        """(n, n) estimate of the expected interactions, symmetric."""
        return self._square(self.found.estimate.expectation)

    @property
    def standard_error(self) -> FloatArray:
        """(n, n) standard errors of the expectations, all causes included."""
        return self._square(self.found.estimate.standard_error)

    def interval(self, level: float = 0.95) -> FloatArray:
        """(n, n, 2) confidence intervals of the expectations; the level holds for each of them."""
        low, high = self._interval(level).T
        return np.stack([self._square(low), self._square(high)], axis=2)

    @property
    def error(self) -> pd.DataFrame:
        """The standard error of every pair, split by cause; the squares add up."""
        import pandas as pd

        errors = self.found.estimate.errors
        columns = {"standard_error": np.sqrt(errors.total)}
        columns |= {cause: np.sqrt(part) for cause, part in errors.by_cause.items()}
        first, second = self._names
        index = pd.MultiIndex.from_arrays([first, second], names=["one", "other"])
        return pd.DataFrame(columns, index=index)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a data frame with one row per pair, the largest interaction, of any sign, first.

        `one` and `other` are the providers, `low` and `high` the ends of the interval.
        """
        import pandas as pd

        low, high = self._interval(level).T
        first, second = self._names
        columns = {
            "one": first,
            "other": second,
            "interaction": self.found.estimate.expectation,
            "standard_error": self.found.estimate.standard_error,
            "low": low,
            "high": high,
        }
        order = self._strongest
        return pd.DataFrame({name: np.asarray(part)[order] for name, part in columns.items()})

    def __str__(self) -> str:
        return "\n".join([*self._headline, "", *table_lines(*self._table), "", *self._notes])

    def __repr__(self) -> str:
        return f"<Interactions of {len(self.names)} providers, {len(self._strongest):,} pairs>"

    def _repr_html_(self) -> str:
        """Show the strongest pairs in a notebook."""
        return html_table(self._headline, self._table, self._notes)

    @property
    def _strongest(self) -> IntArray:
        """Places of the pairs, the largest interaction first; equal ones in the order of names."""
        return np.argsort(-np.abs(self.found.estimate.expectation), kind="stable")

    @property
    def _names(self) -> tuple[list[str], list[str]]:
        first, second = pair_places(len(self.names))
        return [self.names[at] for at in first], [self.names[at] for at in second]

    def _square(self, pairs: FloatArray) -> FloatArray:
        matrix = np.full((len(self.names), len(self.names)), np.nan)
        first, second = pair_places(len(self.names))
        matrix[first, second] = matrix[second, first] = pairs
        return matrix

    def _interval(self, level: float) -> FloatArray:
        """(n_pairs, 2) intervals."""
        n = len(self.names)
        return intervals.expectation_interval(self.found.whole, level)[n:]

    @property
    def _headline(self) -> list[str]:
        count, n_games = len(self._strongest), self.found.estimate.n_games
        shown = f", the strongest {_PRINTED}" if count > _PRINTED else ""
        pairs = f"{count:,} pair{'s' * (count > 1)}"
        return [f"interactions of {pairs} from {n_games:,} games{shown}"]

    @property
    def _table(self) -> Table:
        order = self._strongest[:_PRINTED]
        half = np.diff(self._interval(0.95), axis=1)[order, 0] / 2
        value = self.found.estimate.expectation[order]
        one, other = ([printable(part[at]) for at in order] for part in self._names)
        columns = [one, other, with_digits(value, half), with_digits(half, half)]
        header = ("provider", "provider", "interaction", "± 95 %")
        return header, list(zip(*columns, strict=True))

    @property
    def _notes(self) -> list[str]:
        notes = ["below 0: one replaces the other; above 0: they are worth more together"]
        missed = 0.05 * len(self._strongest)
        if missed >= 1:
            notes.append(
                f"each interval holds at 95 %, so about {missed:,.0f} of "
                f"{len(self._strongest):,} miss by chance"
            )
        return notes


class InteractionFacts:
    """The property of `Valuation` that is about interactions."""

    design: Design
    pair_estimate: PairEstimate | None

    @property
    def interactions(self) -> Interactions | None:
        """Expected interactions of pairs; None unless ``value(..., interactions=True)``."""
        if self.pair_estimate is None:
            return None
        return Interactions(self.design.names, self.pair_estimate)
