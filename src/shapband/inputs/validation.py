"""The validation rows: given, or held out of every provider's stock."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from shapband._typing import IntArray
from shapband.checks import written
from shapband.errors import InvalidInput
from shapband.inputs.named import Named
from shapband.inputs.overlap import first_equals, members_of
from shapband.inputs.tables import memory_source
from shapband.providers import Group, Provider, check_providers
from shapband.records.batch import Batch, concat
from shapband.seeds import Seeds
from shapband.sources.base import FiniteSource, MemorySource, Source
from shapband.sources.digests import digest_of

_PURPOSE = "hold out"
KNOWN = (
    "a data frame, a tuple (X, y), the path of a .csv or .parquet file, or a fraction to hold out "
    "of every provider's records, such as 0.3"
)


def is_fraction(validation: Any) -> bool:
    """Whether the validation rows are to be held out, so that they depend on the seed."""
    return isinstance(validation, Real) and not isinstance(validation, bool)


def check_groups(validation: Any, validation_groups: Any) -> None:
    """Refuse labels of validation rows that the caller cannot know."""
    if validation_groups is not None and is_fraction(validation):
        raise InvalidInput(
            f"validation_groups must be left out, because validation={written(validation)} chooses "
            f"the rows; received {type(validation_groups).__name__}: leave it out, or pass "
            "validation rows of your own"
        )


def given_rows(validation: Any, target: str | int | None, named: Named) -> Batch:
    """Read validation rows that are a data frame, a tuple (X, y) or a file."""
    if validation is None or isinstance(validation, bool | Source | dict):
        raise InvalidInput(
            f"validation must be {KNOWN}; received {_type(validation)}: pass rows or a fraction"
        )
    rows = memory_source(validation, target, "validation").records
    for name, thing in named.data.items():
        if thing is validation:
            raise _trained_on(name)
    for one in members_of(named.players):
        if isinstance(one.source, MemorySource) and _are_same(one.source.records, rows):
            raise _trained_on(one.name)
    return rows


def _are_same(records: Batch, rows: Batch) -> bool:
    """Whether two batches are equal; the lengths are compared first, because digests take time."""
    return len(records) == len(rows) and digest_of(records) == digest_of(rows)


def hold_out(
    players: Sequence[Provider | Group], fraction: float, seed: int
) -> tuple[list[Provider | Group], Batch]:
    """Take validation rows out of every provider's records.

    The rows of a provider depend on the seed and on its name only, unless providers copied records
    (see `first_equals`): equal records are then held out together, if the first of them is. Rows
    are joined in the order of the names, so that the validation rows do not depend on the order of
    the providers.

    Returns
    -------
    The providers and groups without the rows, and the rows.

    Examples
    --------
    >>> import shapband as sb
    >>> north = sb.Provider("north", sb.ArraySource([[1.0], [2.0], [3.0], [4.0]], [1, 2, 3, 4]))
    >>> (left,), rows = hold_out([north], 0.5, seed=0)
    >>> sorted([*left.source.records.y.tolist(), *rows.y.tolist()])
    [1.0, 2.0, 3.0, 4.0]
    """
    if not 0 < fraction < 1:
        percent = 1 < fraction < 100
        remedy = f"use {fraction / 100:g} for {fraction:g} %" if percent else "use 0.3 for 30 %"
        raise InvalidInput(
            f"validation must be {KNOWN}, strictly between 0 and 1; received {written(fraction)}: "
            f"{remedy}"
        )
    checked, _ = check_providers(players)
    stocks = {one.name: _stock(one, fraction) for one in checked}
    records = {name: stocks[name].records for name in sorted(stocks)}
    held = _held_together(records, fraction, Seeds(seed))
    rows = concat([batch.take(held[name]) for name, batch in records.items()])

    def without(provider: Provider) -> Provider:
        source = stocks[provider.name]
        kept = np.setdiff1d(np.arange(source.size), held[provider.name])
        left = source.records.take(kept)
        return Provider(
            provider.name, MemorySource(left, replace=source.replace, target=source.target)
        )

    left: list[Provider | Group] = [
        Group(one.name, [without(member) for member in one.providers])
        if isinstance(one, Group)
        else without(one)
        for one in players
    ]
    return left, rows


def _held_together(
    records: Mapping[str, Batch], fraction: float, seeds: Seeds
) -> dict[str, IntArray]:
    """Rows to hold out by provider name; records that were copied are held out with their copies.

    A copied record is held out if the first of its copies is, in the order of the names, so every
    record is held out with the same probability.
    """
    sizes = [len(batch) for batch in records.values()]
    chosen = np.zeros(sum(sizes), dtype=bool)
    edges = np.cumsum([0, *sizes])
    for start, (name, batch) in zip(edges[:-1], records.items(), strict=True):
        chosen[start + _rows(len(batch), fraction, seeds, name)] = True
    together = np.split(chosen[first_equals(list(records.values()))], edges[1:-1])
    held = dict(zip(records, map(np.flatnonzero, together), strict=True))
    for name, size in zip(records, sizes, strict=True):
        if len(held[name]) == size:
            raise InvalidInput(
                f"validation={fraction} must leave records to every provider, and all {size:,} "
                f"records of provider {name!r} equal records that are held out: leave it out, or "
                "pass validation rows of your own"
            )
    if not any(map(len, held.values())):
        raise InvalidInput(
            f"validation={fraction} holds out no record, because records are repeated and stay "
            "together: leave out the copies, or pass validation rows of your own"
        )
    return held


def _rows(n_records: int, fraction: float, seeds: Seeds, name: str) -> IntArray:
    """Rows to hold out, in increasing order: the fraction rounded down, and at least one."""
    count = max(1, math.floor(round(fraction * n_records, 6)))
    order = np.argsort(seeds.words(_PURPOSE, name, range(1), n_records)[0], kind="stable")
    rows: IntArray = np.sort(order[:count])
    return rows


def _stock(provider: Provider, fraction: float) -> MemorySource:
    """The records of a provider; an error if they are not in memory, or just one."""
    source = provider.source
    if not isinstance(source, MemorySource):
        size = f" of {source.size} records" if isinstance(source, FiniteSource) else ""
        raise InvalidInput(
            f"validation={fraction} must hold out records in memory, and provider "
            f"{provider.name!r} has a {type(source).__name__}{size}, which would have to be "
            "asked: pass validation rows of your own"
        )
    if source.size < 2:
        raise InvalidInput(
            f"validation={fraction} must leave records to every provider, and provider "
            f"{provider.name!r} has only {source.size}: leave it out, or pass validation rows of "
            "your own"
        )
    return source


def _trained_on(name: str) -> InvalidInput:
    return InvalidInput(
        f"validation must hold rows that no provider has; received the records of provider "
        f"{name!r}, which models would be fitted to and scored on: pass other rows, or "
        "validation=0.3 to hold out 30 % of every provider's records"
    )


def _type(validation: Any) -> str:
    return "None" if validation is None else type(validation).__name__
