"""Fresh draws from endless sources, with one request for many games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.draws import Draws, FixedRows
from shapband.providers import Provider
from shapband.sampling.base import Realisation, Sampling
from shapband.sources.functions import FunctionSource


@dataclass(frozen=True)
class BulkFresh(Sampling):
    """As `sb.Fresh` for sources without end, but asked once for the games of a chunk.

    Records of an endless source are independent, so the games have the same distribution as
    those of `sb.Fresh`, at a small part of the time.
    """

    n_sample: int

    def check(self, providers: Sequence[Provider]) -> None:
        """Accept all providers."""

    def prepare(self, access: Access) -> Realisation:
        """Return the realisation; no records are bought in advance."""
        n = len(access.providers)
        return _BulkGames(
            draw_sizes=np.full(n, self.n_sample, dtype=np.int64),
            pool_sizes=None,
            target=f"draws of {self.n_sample:,} records from the sources",
            target_code="sources",
            cost=Cost(requests=n, records=n * self.n_sample),
            access=access,
        )


@dataclass(frozen=True, eq=False)
class _BulkGames(Realisation):
    access: Access

    def draws(self, games: range) -> list[Draws]:
        size, drawn = int(self.draw_sizes[0]), []
        rows = np.arange(len(games) * size, dtype=np.int64).reshape(len(games), size)
        for i, provider in enumerate(self.access.providers):
            rng = np.random.default_rng([self.access.seeds.seed, games.start, i])
            source = cast(FunctionSource, provider.source)
            drawn.append(Draws(source.draw(rows.size, rng), FixedRows(rows)))
        return drawn
