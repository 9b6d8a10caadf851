"""The results of a valuation for groups of providers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import printable
from shapband.estimate import intervals
from shapband.estimate.estimate import Estimate
from shapband.estimate.grouped import GroupEstimate
from shapband.grouping import Grouping
from shapband.printing import Printed, PrintsTable, with_digits

if TYPE_CHECKING:
    import pandas as pd

    from shapband.valuation.valuation import Valuation


def moment_columns(found: Groups | Valuation, estimate: Estimate, level: float) -> dict[str, Any]:
    """The moments of groups or of providers with their errors, as columns of a data frame."""
    low, high = found.interval(level).T
    variance_low, variance_high = found.variance_interval(level).T
    return {
        "expectation": found.expectation,
        "standard_error": found.standard_error,
        "low": low,
        "high": high,
        "standard_deviation": found.standard_deviation,
        "variance": found.variance,
        "variance_standard_error": found.variance_standard_error,
        "variance_low": variance_low,
        "variance_high": variance_high,
        "raw_variance": estimate.raw_variance,
        "solver_variance": estimate.solver_variance,
    }


@dataclass(frozen=True, eq=False, repr=False)
class Groups(PrintsTable):
    """The moments of every group's value, which is the sum of its members' Owen values.

    It is the Shapley value of the group in the game in which every group takes part as one
    player.

    Attributes
    ----------
    grouping : the names of the groups, and the positions of their members among the providers
    provider_names : all providers, members of a group or not
    found : the estimate of the groups' values

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> coast = sb.Group("coast", task.providers[:4])
    >>> valuation = sb.value([coast, *task.providers[4:]], task.utility, sampling=sb.Fresh(60),
    ...                      n_games=20, seed=0)
    >>> valuation.groups.names, valuation.groups.interval().shape
    (('coast',), (1, 2))
    >>> len(valuation.groups.members["coast"])
    4
    """

    grouping: Grouping
    provider_names: tuple[str, ...]
    found: GroupEstimate

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, in the order of all arrays."""
        return self.grouping.names

    @property
    def members(self) -> dict[str, tuple[str, ...]]:
        """The providers of every group."""
        return {
            name: tuple(self.provider_names[place] for place in places)
            for name, places in zip(self.names, self.grouping.members, strict=True)
        }

    @property
    def labels(self) -> list[str]:
        """The group of every provider; an empty string for a provider without a group."""
        return self.grouping.labels(len(self.provider_names))

    @property
    def expectation(self) -> FloatArray:
        """(n_groups,) estimate of the expectation."""
        return self.found.estimate.expectation

    @property
    def standard_error(self) -> FloatArray:
        """(n_groups,) standard error of the expectation."""
        return self.found.estimate.standard_error

    @property
    def variance(self) -> FloatArray:
        """(n_groups,) estimate of the variance, solver noise removed. It may be negative."""
        return self.found.estimate.variance

    @property
    def standard_deviation(self) -> FloatArray:
        """(n_groups,) square root of `variance`, NaN where `variance` is negative."""
        return np.sqrt(np.where(self.variance < 0, np.nan, self.variance))

    @property
    def variance_standard_error(self) -> FloatArray:
        """(n_groups,) standard error of the variance, for these validation rows."""
        return self.found.estimate.variance_standard_error

    def interval(self, level: float = 0.95) -> FloatArray:
        """(n_groups, 2) confidence interval for the expectation."""
        return intervals.expectation_interval(self.found.whole, level)[-len(self.names) :]

    def variance_interval(self, level: float = 0.95) -> FloatArray:
        """(n_groups, 2) confidence interval for the variance, for these validation rows."""
        return intervals.variance_interval(self.found.whole, level)[-len(self.names) :]

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a data frame with one row per group."""
        import pandas as pd

        members = {"providers": [len(places) for places in self.grouping.members]}
        columns = members | moment_columns(self, self.found.estimate, level)
        return pd.DataFrame(columns, index=pd.Index(self.names, name="group"))

    def _printed(self) -> Printed:
        half = np.diff(self.interval(), axis=1)[:, 0] / 2
        deviation = self.standard_deviation
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation_error = self.variance_standard_error / (2 * deviation)
        order = np.argsort(-self.expectation, kind="stable")
        columns = [
            [printable(self.names[at]) for at in order],
            [f"{len(self.grouping.members[at]):,}" for at in order],
            with_digits(self.expectation[order], half[order]),
            with_digits(half[order], half[order]),
            with_digits(deviation[order], np.fmin(deviation_error, deviation)[order]),
        ]
        header = ("group", "providers", "expectation", "± 95 %", "sd of value")
        return Printed((), (header, list(zip(*columns, strict=True))))

    def __repr__(self) -> str:
        return f"<Groups {', '.join(map(repr, self.names))}>"
