"""Requests, records and waiting time, per provider and in total."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from shapband.checks import printable
from shapband.printing import Printed, PrintsTable


@dataclass(frozen=True)
class Usage:
    """Requests answered, records received, and seconds spent waiting for them.

    Attributes
    ----------
    requests, records : how many were received
    seconds : time until the answers
    retries : attempts in addition to the first ones, because requests failed in a way that may pass

    Examples
    --------
    >>> import shapband as sb
    >>> sb.extend.Usage(1, 60, 0.5) + sb.extend.Usage(1, 40, 0.5)
    Usage(requests=2, records=100, seconds=1.0, retries=0)
    """

    requests: int = 0
    records: int = 0
    seconds: float = 0.0
    retries: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.records + other.records,
            self.seconds + other.seconds,
            self.retries + other.retries,
        )


@dataclass(frozen=True, repr=False)
class AccessReport(PrintsTable):
    """The requests, records and waiting time of a valuation.

    Examples
    --------
    >>> report = AccessReport({"a": Usage(1, 60, 0.5), "b": Usage(2, 120, 0.25)})
    >>> report.requests, report.records, report.seconds, report.by_provider["b"].records
    (3, 180, 0.75, 120)
    """

    by_provider: Mapping[str, Usage] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_provider", MappingProxyType(dict(self.by_provider)))

    def __reduce__(self) -> tuple[type[AccessReport], tuple[dict[str, Usage]]]:
        """Pickle and copy a plain dictionary, because a read-only view of it cannot be pickled."""
        return AccessReport, (dict(self.by_provider),)

    @property
    def total(self) -> Usage:
        """The sum over providers."""
        return sum(self.by_provider.values(), Usage())

    @property
    def requests(self) -> int:
        """Number of requests, over all providers."""
        return self.total.requests

    @property
    def records(self) -> int:
        """Number of records, over all providers."""
        return self.total.records

    @property
    def seconds(self) -> float:
        """Total request time; it exceeds the wall time if requests are made in parallel."""
        return self.total.seconds

    @property
    def retries(self) -> int:
        """Number of times that requests were repeated, over all providers."""
        return self.total.retries

    def _printed(self) -> Printed:
        used = {printable(name): usage for name, usage in self.by_provider.items()}
        header: tuple[str, ...] = ("provider", "requests", "records", "seconds")
        rows = [_row(name, usage) for name, usage in [*used.items(), ("total", self.total)]]
        if self.retries:
            header = (*header, "repeated")
            counts = [one.retries for one in (*used.values(), self.total)]
            rows = [(*row, f"{count:,}") for row, count in zip(rows, counts, strict=True)]
        return Printed((), (header, rows))

    def __repr__(self) -> str:
        return (
            f"<AccessReport: {self.records:,} records in {self.requests:,} requests to "
            f"{len(self.by_provider):,} providers>"
        )


def _row(name: str, used: Usage) -> tuple[str, ...]:
    return name, f"{used.requests:,}", f"{used.records:,}", f"{used.seconds:.2f}"
