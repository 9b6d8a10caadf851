"""Fresh draws from endless sources, with one request for many games."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

import shapband as sb
from shapband.access.access import Access
from shapband.records.draws import Draws, FixedRows
from shapband.sampling.base import Realisation
from shapband.sources.functions import FunctionSource


class BulkFresh(sb.Fresh):
    """As `sb.Fresh` for sources without end, but asked once for the games of a chunk.

    Records of an endless source are independent, so the games have the same distribution as
    those of `sb.Fresh`, at a small part of the time.
    """

    def prepare(self, access: Access) -> Realisation:
        """Return the realisation; no records are bought in advance."""
        return _BulkGames(**vars(super().prepare(access)))


@dataclass(frozen=True, eq=False)
class _BulkGames(Realisation):
    access: Access

    def draws(self, games: range) -> list[Draws]:
        size, drawn = int(self.design.draw_sizes[0]), []
        rows = np.arange(len(games) * size, dtype=np.int64).reshape(len(games), size)
        for i, provider in enumerate(self.access.providers):
            rng = np.random.default_rng([self.access.seeds.seed, games.start, i])
            source = cast(FunctionSource, provider.source)
            drawn.append(Draws(source.draw(rows.size, rng), FixedRows(rows)))
        return drawn
