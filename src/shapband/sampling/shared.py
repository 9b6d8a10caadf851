"""Records that several providers have: a copied stock is paid twice, so the result must tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shapband._typing import BoolArray, IntArray
from shapband.checks import printable
from shapband.records import Batch
from shapband.sampling.distinct import record_hashes

_TOLD = 1 / 3  # part of the smaller stock that is told; real records have a few equal ones
_MOST = 100  # pairs that are kept, those with the most records first
_NAMED = 3  # pairs that a text names


class Shared(NamedTuple):
    """Two providers that have many records in common.

    Attributes
    ----------
    one, other : their names
    records : different records that both have
    smaller : different records of the one that has fewer
    """

    one: str
    other: str
    records: int
    smaller: int


def shared_records(names: Sequence[str], stocks: Sequence[Batch | None]) -> tuple[Shared, ...]:
    """Find providers with more than a third of their different records in common.

    Every record is compared with the first provider that has it, so of several copies each is told
    beside the first. A stock that is not known is None.

    Examples
    --------
    >>> stock = Batch(np.arange(6.0).reshape(3, 2), np.zeros(3))
    >>> shared_records(["a", "b", "c"], [stock, None, stock])
    (Shared(one='a', other='c', records=3, smaller=3),)
    """
    hashes: list[NDArray[np.uint64]] = [
        np.empty(0, np.uint64) if stock is None else record_hashes(stock) for stock in stocks
    ]
    repeated = _repeated(np.concatenate(hashes))
    if not len(repeated):
        return ()
    within = [one[_is_in(one, repeated)] for one in hashes]
    different = [np.unique(one) for one in within]
    counted = [len(one) for one in different]
    owners = np.repeat(np.arange(len(names)), counted)
    pairs, counts = _pairs(np.concatenate(different), owners)
    sizes = np.array([len(one) for one in hashes]) - [len(one) for one in within] + counted
    smaller = np.minimum(sizes[pairs[:, 0]], sizes[pairs[:, 1]])
    told = np.flatnonzero(counts > _TOLD * smaller)
    order = told[np.argsort(-counts[told], kind="stable")][:_MOST]
    return tuple(
        Shared(names[pairs[at, 0]], names[pairs[at, 1]], int(counts[at]), int(smaller[at]))
        for at in order
    )


def _repeated(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes that occur more than once. They are few as a rule, so all else is quick."""
    ordered = np.sort(hashes)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _is_in(hashes: NDArray[np.uint64], some: NDArray[np.uint64]) -> BoolArray:
    """Which of the hashes are among some others, which are sorted."""
    place = np.minimum(np.searchsorted(some, hashes), len(some) - 1)
    return np.asarray(some[place] == hashes)


def _pairs(hashes: NDArray[np.uint64], owners: IntArray) -> tuple[IntArray, IntArray]:
    """Pairs of owners (k, 2) that have equal hashes, and how many, in time linear in the hashes."""
    order = np.argsort(hashes, kind="stable")  # of equal hashes the first owner comes first
    ordered, owner = hashes[order], owners[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]
    first = owner[np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))]
    found, counts = np.unique(
        np.stack([first[~new], owner[~new]], axis=1), axis=0, return_counts=True
    )
    return found.reshape(-1, 2), counts


def format_shared(found: Sequence[Shared]) -> str:
    """Say which providers have the same records; empty if none do.

    Examples
    --------
    >>> format_shared([Shared("a", "b", 240, 250)])
    'the same records: a and b share 240 of 250'
    """
    told = [
        f"{printable(one.one)} and {printable(one.other)} share {one.records:,} of {one.smaller:,}"
        for one in found[:_NAMED]
    ]
    more = f", and {len(found) - _NAMED} more pairs" if len(found) > _NAMED else ""
    return f"the same records: {', '.join(told)}{more}" if told else ""
