"""Algorithm 3: one pool per provider, resampled with replacement in every game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shapband._typing import IntArray
from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.draws import Draws, RandomRows, Stream
from shapband.providers import Provider
from shapband.records import Batch
from shapband.sampling.base import (
    Realisation,
    Sampling,
    buy_pools,
    check_count,
    format_sizes,
    sizes_of,
)
from shapband.seeds import Seeds


@dataclass(frozen=True)
class Pooled(Sampling):
    """Bootstrap draws of `n_boot` records from pools of `n_pool`, bought once (Algorithm 3).

    The moments are conditional on the pools. A provider with fewer than `n_pool` records gives
    all of them.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Pooled(n_pool=250, n_boot=60)
    Pooled(n_pool=250, n_boot=60)
    """

    n_pool: int
    n_boot: int

    def __post_init__(self) -> None:
        check_count("Pooled", n_pool=self.n_pool, n_boot=self.n_boot)

    def check(self, providers: Sequence[Provider]) -> None:
        """Accept all providers."""

    def prepare(self, access: Access) -> Realisation:
        """Buy the pools."""
        pools = buy_pools(access, self.n_pool)
        sizes = np.full(len(pools), self.n_boot, dtype=np.int64)
        target = (
            f"bootstrap draws of {self.n_boot:,} records, conditional on the pools of "
            f"{format_sizes(sizes_of(pools))} that were bought"
        )
        return BootstrapGames.of(access, pools, sizes, target)


@dataclass(frozen=True, eq=False)
class BootstrapGames(Realisation):
    """Games that resample pools with replacement; duplicate records are kept."""

    names: tuple[str, ...]
    pools: tuple[Batch, ...]
    seeds: Seeds

    @staticmethod
    def of(
        access: Access, pools: Sequence[Batch], draw_sizes: IntArray, target: str
    ) -> BootstrapGames:
        """Make the realisation from pools and the random streams of their providers."""
        return BootstrapGames(
            draw_sizes=draw_sizes,
            pool_sizes=sizes_of(pools),
            target=target,
            target_code="pools",
            cost=Cost(),
            names=tuple(provider.name for provider in access.providers),
            pools=tuple(pools),
            seeds=access.seeds,
        )

    def draws(self, games: range) -> list[Draws]:
        """Choose rows of every pool with replacement."""
        drawn = []
        for name, pool, size in zip(self.names, self.pools, self.draw_sizes, strict=True):
            stream = Stream(self.seeds, "bootstrap", name, games)
            drawn.append(Draws(pool, RandomRows(stream, int(size), len(pool), replace=True)))
        return drawn
