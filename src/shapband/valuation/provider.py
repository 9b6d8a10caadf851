"""The numbers of one provider in a valuation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shapband.checks import nearest, printable, written
from shapband.errors import UnknownProvider
from shapband.estimate.joint import ranks, total_half_width
from shapband.printing import Printed, PrintsTable, with_digits

if TYPE_CHECKING:
    from shapband.valuation.valuation import Valuation


@dataclass(frozen=True, repr=False)
class ProviderValue(PrintsTable):
    """What a valuation says about one provider: ``valuation["north"]``.

    Attributes
    ----------
    name : the provider
    expectation : estimate of E[φ]
    standard_error : standard error of the expectation
    interval : 95 % confidence interval of the expectation
    standard_deviation : of the value, from one game to the next; NaN if `variance` is negative
    variance : estimate of Var(φ); it may be negative by chance
    variance_interval : 95 % confidence interval of the variance, for these validation rows
    share : part of the total of all expectations; NaN if the total may be zero
    rank : 1 for the largest expectation
    draw_size : records of the provider in a game
    requests, records : what its source was asked for
    n_providers : how many providers were valued

    Examples
    --------
    >>> import shapband as sb
    >>> task = sb.datasets.wine()
    >>> valuation = sb.value(task.providers, task.utility, sampling=sb.Fresh(60), n_games=50,
    ...                      seed=0)
    >>> one = valuation["alcohol 8.0-9.0"]
    >>> one.rank, one.records
    (10, 3000)
    >>> print(one)
    alcohol 8.0-9.0
    expectation          0.0435
    ± 95 %               0.0058
    share                 6.8 %
    rank               10 of 10
    sd of value          0.0183
    records in a game        60
    records bought        3,000
    requests                 50
    """

    name: str
    expectation: float
    standard_error: float
    interval: tuple[float, float]
    standard_deviation: float
    variance: float
    variance_interval: tuple[float, float]
    share: float
    rank: int
    draw_size: int
    requests: int
    records: int
    n_providers: int

    def _printed(self) -> Printed:
        half = (self.interval[1] - self.interval[0]) / 2
        value, width = (text.strip() for text in with_digits([self.expectation, half], [half] * 2))
        spread = with_digits([self.standard_deviation], [self.standard_deviation / 10])[0]
        rows: list[tuple[str, ...]] = [
            ("expectation", value),
            ("± 95 %", width),
            ("share", "–" if np.isnan(self.share) else f"{100 * self.share:.1f} %"),
            ("rank", f"{self.rank:,} of {self.n_providers:,}"),
            ("sd of value", spread),
            ("records in a game", f"{self.draw_size:,}"),
            ("records bought", f"{self.records:,}"),
            ("requests", f"{self.requests:,}"),
        ]
        return Printed((), ((printable(self.name), ""), rows))

    def __repr__(self) -> str:
        half = (self.interval[1] - self.interval[0]) / 2
        value, width = (text.strip() for text in with_digits([self.expectation, half], [half] * 2))
        return f"<ProviderValue of {printable(self.name)!r}: {value} ± {width}>"


def provider_value(valuation: Valuation, name: str) -> ProviderValue:
    """Find the numbers of a provider by its name."""
    if name not in valuation.names:
        raise _unknown(valuation, name)
    at = valuation.names.index(name)
    total = float(valuation.expectation.sum())
    divisible = total > total_half_width(valuation.estimate, 0.95, valuation.games)
    used = valuation.access.by_provider[name]
    low, high = valuation.interval()[at].tolist()
    variance_low, variance_high = valuation.variance_interval()[at].tolist()
    return ProviderValue(
        name=name,
        expectation=float(valuation.expectation[at]),
        standard_error=float(valuation.standard_error[at]),
        interval=(low, high),
        standard_deviation=float(valuation.standard_deviation[at]),
        variance=float(valuation.variance[at]),
        variance_interval=(variance_low, variance_high),
        share=float(valuation.expectation[at]) / total if divisible else float("nan"),
        rank=int(ranks(valuation.expectation)[at]),
        draw_size=int(valuation.draw_sizes[at]),
        requests=used.requests,
        records=used.records,
        n_providers=len(valuation.names),
    )


def _unknown(valuation: Valuation, name: object) -> UnknownProvider:
    if not isinstance(name, str):
        return UnknownProvider(
            f"valuation[...]: pass the name of a provider; received {written(name)}"
        )
    if valuation.groups is not None and name in valuation.groups.names:
        return UnknownProvider(
            f"valuation[{written(name)}] is a group: valuation.groups has the values of groups"
        )
    return UnknownProvider(
        f"valuation[{written(name)}] is not a provider: {nearest(name, valuation.names)}"
    )
