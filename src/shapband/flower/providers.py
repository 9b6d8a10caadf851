"""Clients as providers: their records are row numbers, which messages carry to the app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.checks import check_kind, check_whole, nearest
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.records.draws import Draws, FixedRows
from shapband.sampling.base import Purchases, Realisation, Sampling
from shapband.sampling.design import Design
from shapband.seeds import Seeds
from shapband.sources.arrays import ArraySource


def client_providers(names: Sequence[str], records: Mapping[str, int] | None) -> list[Provider]:
    """Make a provider of each client, with its row numbers as records.

    The targets are noise that depends on the name, so that the search for copies does not take
    equal row numbers of two clients for copied records.

    Examples
    --------
    >>> north, south = client_providers(["north", "south"], {"north": 60, "south": 40})
    >>> south.source.size
    40
    """
    if records is None:
        return [Provider(name, _row_numbers(name, 1)) for name in names]
    wanted = "numbers of records by the client's name, or None"
    check_kind("records", records, Mapping, wanted)
    for name in records:
        if name not in names:
            raise InvalidInput(
                f"records has {name!r}, which is no client: {nearest(str(name), names)}"
            )
    for name in names:
        if name not in records:
            raise InvalidInput(f"records must have the number of records of client {name!r}, too")
    return [
        Provider(name, _row_numbers(name, check_whole(f"records[{name!r}]", records[name], 1)))
        for name in names
    ]


def _row_numbers(name: str, size: int) -> ArraySource:
    noise = Seeds(0).generator("row numbers", name, 0).normal(size=size)
    return ArraySource(np.arange(size, dtype=np.float64), noise)


@dataclass(frozen=True)
class OwnRecords(Sampling):
    """No draws: every client trains on its own records as they are.

    Examples
    --------
    >>> OwnRecords()
    OwnRecords()
    """

    def check(self, providers: Sequence[Provider]) -> None:
        """Accept any clients."""

    def purchases(self, providers: Sequence[Provider]) -> Purchases:
        nothing = (0,) * len(providers)
        return Purchases(nothing, nothing)

    def prepare(self, access: Access) -> Realisation:
        """Return the realisation; nobody is asked for records."""
        sizes = np.ones(len(access.providers), dtype=np.int64)
        design = replace(
            Design.of(access, sizes, "trainings on the clients' own records"),
            estimand_code="other",
        )
        return _OwnGames(design=design, cost=Cost())


@dataclass(frozen=True, eq=False, kw_only=True)
class _OwnGames(Realisation):
    def draws(self, games: range) -> list[Draws]:
        """Return draws of one record without a meaning, which the utility does not use."""
        nothing = Batch(np.zeros((1, 1)), np.zeros(1))
        rows = FixedRows(np.zeros((len(games), 1), dtype=np.int64))
        return [Draws(nothing, rows) for _ in self.design.names]
