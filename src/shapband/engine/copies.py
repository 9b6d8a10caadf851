"""Copies among the records that are known before the first game: in memory, or in pools."""

from __future__ import annotations

from collections.abc import Sequence

from shapband.engine.arguments import Arguments
from shapband.records.batch import Batch
from shapband.sampling.base import Realisation
from shapband.sampling.design import Design
from shapband.sampling.distinct import repeated
from shapband.sampling.shared import Shared, shared_records
from shapband.sources.base import FiniteSource
from shapband.utilities.base import Utility

_UNUSED = "what the model does not use"


def known_stocks(given: Arguments, realisation: Realisation) -> list[Batch | None]:
    """Records of every provider that are in memory or in pools, or None."""
    nothing: tuple[None, ...] = (None,) * len(given.providers)
    pools = realisation.pools or nothing
    sources = [provider.source for provider in given.providers]
    return [
        source.records if isinstance(source, FiniteSource) and source.records is not None else pool
        for source, pool in zip(sources, pools, strict=True)
    ]


def find_copies(
    given: Arguments, design: Design, stocks: Sequence[Batch | None]
) -> tuple[Shared, ...]:
    """Find copies among the known stocks, and among the features that the model uses of them.

    A provider that repeats its records unchanged is left out if `distinct_records` already shows
    the repeats.
    """
    found = shared_records(given.names, stocks)
    known = {(one.one, one.other) for one in found}
    used = shared_records(given.names, _as_used(given.utility, stocks))
    further = [
        one._replace(left_out=(_UNUSED,)) for one in used if (one.one, one.other) not in known
    ]
    shown = set[str]()
    if design.distinct_records is not None:
        flags = repeated(design.distinct_records, design.draw_sizes, design.pool_sizes)
        shown = {name for name, flag in zip(given.names, flags, strict=True) if flag}
    return tuple(one for one in (*found, *further) if one.one != one.other or one.one not in shown)


def _as_used(utility: Utility, stocks: Sequence[Batch | None]) -> list[Batch | None]:
    """The records with the features that the model uses; None where it uses the original ones."""
    features = [None if stock is None else utility.features_used(stock) for stock in stocks]
    return [
        None if stock is None or X is None else Batch(X, stock.y)
        for stock, X in zip(stocks, features, strict=True)
    ]
