"""Disjoint draws from shuffled pools: the games of one shuffle share no record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shapband.access.access import Access
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.sampling.base import (
    PoolGames,
    Purchases,
    Realisation,
    Sampling,
    buy_pools,
    check_count,
    check_sizes,
    format_sizes,
    pool_purchases,
    pool_size,
    sizes_of,
)


@dataclass(frozen=True)
class Blocks(Sampling):
    """Pools of `n_pool`, shuffled and cut into disjoint draws of `n_sample`, one game each.

    Within one shuffle the games share no record, so they are independent draws from the
    population behind the pools, and their sample variance is an unbiased estimate of the
    population's variance, unlike that of a bootstrap. When a shuffle is used up, the pools are
    shuffled again; variances are taken within shuffles and averaged over them. More shuffles
    reduce the noise of the shuffling, but not that of the pools; the standard errors include both.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Blocks(n_pool=240, n_sample=60)
    Blocks(n_pool=240, n_sample=60)
    """

    n_pool: int
    n_sample: int

    def __post_init__(self) -> None:
        check_count("Blocks", n_pool=self.n_pool, n_sample=self.n_sample)
        if self.n_pool < 2 * self.n_sample:
            raise InvalidInput(
                f"Blocks: n_pool={self.n_pool} must hold at least two draws of "
                f"n_sample={self.n_sample}: raise n_pool to {2 * self.n_sample}, or lower n_sample"
            )

    def check(self, providers: Sequence[Provider]) -> None:
        """Check that every pool can be cut into two draws."""
        check_sizes("Blocks", providers, self.n_sample, "n_sample", draws=2)

    def purchases(self, providers: Sequence[Provider]) -> Purchases:
        return pool_purchases(providers, self.n_pool)

    def prepare(self, access: Access) -> Realisation:
        """Buy the pools."""
        smallest = min(pool_size(provider, self.n_pool) for provider in access.providers)
        per_shuffle = smallest // self.n_sample
        pools = buy_pools(access, self.n_pool)
        sizes = np.full(len(pools), self.n_sample, dtype=np.int64)
        target = (
            f"draws of {self.n_sample:,} records from the population that the pools of "
            f"{format_sizes(sizes_of(pools))} were drawn from"
        )
        return PoolGames.of(access, pools, sizes, target, "population", per_shuffle=per_shuffle)
