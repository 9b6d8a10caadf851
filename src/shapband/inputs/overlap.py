"""Validation rows that a provider holds, which a model would be trained on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from shapband.checks import printable
from shapband.errors import HeldRows
from shapband.providers import Group, Provider
from shapband.records.batch import Batch
from shapband.sampling.shared import shared_records
from shapband.sources.base import MemorySource

_ROWS = "validation"  # stands for the validation rows among the numbers of the providers


def members_of(players: Sequence[Provider | Group]) -> list[Provider]:
    """All providers, with the members of a group in its place."""
    found: list[Provider] = []
    for player in players:
        found += player.providers if isinstance(player, Group) else [player]
    return found


def warn_of_held_rows(players: Sequence[Provider | Group], rows: Batch) -> None:
    """Warn if many validation rows equal records of a provider, more than chance explains.

    A model that was trained on the rows that score it looks better than it is, and so does the
    provider that holds them.
    """
    known = [one for one in members_of(players) if isinstance(one.source, MemorySource)]
    stocks = [one.source.records for one in known if isinstance(one.source, MemorySource)]
    # Names stand for positions here, because a provider may have any name.
    names = [f"{at}" for at in range(len(known))]
    for one in shared_records([*names, _ROWS], [*stocks, rows]):
        pair = {one.one, one.other}
        if _ROWS in pair and len(pair) == 2:
            (at,) = pair - {_ROWS}
            warnings.warn(
                f"validation: {one.records:,} different rows equal records of provider "
                f"{printable(known[int(at)].name)!r}, so the model is trained on rows that score "
                "it, and values are too high: pass validation rows that no provider holds",
                HeldRows,
                stacklevel=4,
            )
