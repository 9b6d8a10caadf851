"""Copies among the records that are known before the first game: in memory, or in pools."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from shapband.checks import printable
from shapband.engine.arguments import Arguments
from shapband.errors import HeldRows
from shapband.records.batch import Batch
from shapband.sampling.base import Realisation
from shapband.sampling.design import Design
from shapband.sampling.distinct import repeated
from shapband.sampling.shared import Copies, Held, compared, find_copied
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


def find_copies(given: Arguments, design: Design, stocks: Sequence[Batch | None]) -> Copies:
    """Find copies among the known stocks, and among the features that the model uses of them.

    The validation rows of the utility are compared with the stocks in the same search. A provider
    that repeats its records unchanged is left out if `distinct_records` already shows the repeats.
    """
    rows = given.utility.validation_records
    found = find_copied(given.names, stocks, rows)
    known = {(one.one, one.other) for one in found.shared}
    used = find_copied(given.names, *_as_used(given.utility, stocks, rows))
    further = [
        one._replace(left_out=(_UNUSED,))
        for one in used.shared
        if (one.one, one.other) not in known
    ]
    holders = {one.name for one in found.held}
    held = [one._replace(left_out=(_UNUSED,)) for one in used.held if one.name not in holders]
    shown = set[str]()
    if design.distinct_records is not None:
        flags = repeated(design.distinct_records, design.draw_sizes, design.pool_sizes)
        shown = {name for name, flag in zip(given.names, flags, strict=True) if flag}
    shared = (*found.shared, *further)
    return Copies(
        tuple(one for one in shared if one.one != one.other or one.one not in shown),
        (*found.held, *held),
    )


def _as_used(
    utility: Utility, stocks: Sequence[Batch | None], rows: Batch | None
) -> tuple[list[Batch | None], Batch | None]:
    """The records with the features that the model uses; None where it uses the original ones."""

    def used(stock: Batch | None) -> Batch | None:
        features = None if stock is None else utility.features_used(stock)
        return None if stock is None or features is None else Batch(features, stock.y)

    return [used(stock) for stock in stocks], used(rows)


def warn_of_held_rows(given: Arguments, held: Sequence[Held]) -> None:
    """Warn about providers that hold validation rows.

    If rows were held out of the stocks, the copies among the providers were warned about before.
    """
    for one in held if given.held_out is None else ():
        warnings.warn(
            f"validation: {one.records:,} different rows equal records of provider "
            f"{printable(one.name)!r}{compared(one)}, so the model is trained on rows that score "
            "it, and values are too high: pass validation rows that no provider holds",
            HeldRows,
            stacklevel=_caller_level(),
        )


def _caller_level() -> int:
    """The `stacklevel` of the first frame that is not the library's, for the function above it."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("shapband."):
        level, frame = level + 1, frame.f_back
    return level
