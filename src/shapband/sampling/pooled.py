"""Algorithm 3: one pool per provider, resampled with replacement in every game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shapband.access.access import Access
from shapband.providers import Provider
from shapband.sampling.base import (
    PoolGames,
    Realisation,
    Sampling,
    buy_pools,
    check_count,
    format_sizes,
    sizes_of,
)


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
        return PoolGames.of(access, pools, sizes, target, "pools")
