"""Copies among providers from whose records validation rows are held out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from shapband._typing import IntArray
from shapband.errors import HeldRows
from shapband.providers import Group, Provider
from shapband.records.batch import Batch
from shapband.sampling.coincidences import Kinds, copied_pairs, padded_owners
from shapband.sampling.distinct import all_hashes
from shapband.sampling.shared import describe, shared_records
from shapband.sources.base import MemorySource

_RISK = 1e-4  # accepted probability of tying records that are equal by chance


def members_of(players: Sequence[Provider | Group]) -> list[Provider]:
    """All providers, with the members of a group in its place."""
    found: list[Provider] = []
    for player in players:
        found += player.providers if isinstance(player, Group) else [player]
    return found


def first_equals(stocks: Sequence[Batch]) -> IntArray:
    """The first record that equals each record, if providers copied records: (n_records,).

    Records are numbered through all stocks. Equal records are tied only among providers that share
    records, or repeat their own, more often than chance explains. All other records are their own
    first: where few values are possible, records of honest providers are often equal.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> tied = first_equals([Batch(X[:30], X[:30, 0]), Batch(X[15:], X[15:, 0])])
    >>> tied[30:].tolist() == [*range(15, 30), *range(45, 55)]
    True
    """
    hashes = np.concatenate([all_hashes(stock) for stock in stocks])
    found: IntArray = np.arange(len(hashes))
    if len(np.unique(hashes)) == len(hashes):
        return found
    n, owners = len(stocks), np.repeat(np.arange(len(stocks)), [len(one) for one in stocks])
    kinds, risk = Kinds.of(hashes, owners, n), _RISK / (n * (n + 1) / 2)
    copied = padded_owners(kinds, risk, share=0.0)
    pairs = copied_pairs(kinds.without_repeats(copied), risk, share=0.0)
    copied[np.concatenate([pairs.one, pairs.other])] = True
    tied = np.flatnonzero(copied[owners])
    _, first, kind = np.unique(hashes[tied], return_index=True, return_inverse=True)
    found[tied] = tied[first[kind]]
    return found


def warn_of_near_copies(players: Sequence[Provider | Group], fraction: float) -> None:
    """Warn if rows held out of a provider may be left to another one, changed a little.

    Copies that are equal in all columns are held out together. Copies with another identifier or
    rounded numbers are not.
    """
    known, stocks = _in_memory(players)
    for one in shared_records([provider.name for provider in known], stocks):
        if one.left_out or one.rounded:
            warnings.warn(
                f"validation={fraction:g}: {describe(one)}, so some rows are held out and score "
                "models that are trained on their copies, and values are too high: leave out the "
                "copies, or pass validation rows that no provider holds",
                HeldRows,
                stacklevel=4,
            )


def _in_memory(players: Sequence[Provider | Group]) -> tuple[list[Provider], list[Batch]]:
    """The providers whose records are in memory, and these records."""
    known = [
        (one, one.source.records)
        for one in members_of(players)
        if isinstance(one.source, MemorySource)
    ]
    return [one for one, _ in known], [records for _, records in known]
