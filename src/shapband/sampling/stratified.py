"""Algorithm 4: bootstrap sizes that follow the variability of the pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shapband._typing import Positive
from shapband.access.access import Access
from shapband.checks import check_whole
from shapband.providers import Provider
from shapband.sampling.allocation import allocate, allocation_bounds, variability_scores
from shapband.sampling.base import (
    PoolGames,
    Purchases,
    Realisation,
    Sampling,
    pool_purchases,
    sizes_of,
)
from shapband.sampling.sizes import format_sizes, pool_sizes


@dataclass(frozen=True)
class Stratified(Sampling):
    """Bootstrap draws whose sizes follow the variability of the pools (Algorithm 4).

    The draw sizes differ between providers, so expectation and variance refer to games with
    these sizes.

    Parameters
    ----------
    n_pool : records bought from every provider, once
    n_boot : records that a provider gives to a game, averaged over the providers
    alpha : largest draw of a provider, as a fraction of `n_pool`

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Stratified(n_pool=250, n_boot=60, alpha=0.5)
    Stratified(n_pool=250, n_boot=60, alpha=0.5)
    """

    n_pool: int
    n_boot: int
    alpha: Positive

    def __post_init__(self) -> None:
        check_whole("Stratified: n_pool", self.n_pool, 2, " (one record has no variance)")
        average = " (the mean over providers, whose sizes follow their pools; Pooled takes others)"
        check_whole("Stratified: n_boot", self.n_boot, 1, average)
        allocation_bounds(self.n_pool, self.n_boot, self.alpha)

    def check(self, providers: Sequence[Provider]) -> None:
        """Accept all providers."""

    def purchases(self, providers: Sequence[Provider]) -> Purchases:
        return pool_purchases(pool_sizes("Stratified", self.n_pool, providers))

    def further_purchases(self, providers: Sequence[Provider]) -> tuple[int, ...]:
        return (0,) * len(providers)

    def prepare(self, access: Access) -> Realisation:
        """Buy the pools and allocate the draw sizes."""
        pools = access.fetch_pools(pool_sizes("Stratified", self.n_pool, access.providers).tolist())
        # `allocate` breaks ties by position, so sort by name: the order of providers has no effect.
        by_name = np.argsort(np.array([provider.name for provider in access.providers]))
        scores = variability_scores(pools)
        sizes = np.empty(len(pools), dtype=np.int64)
        sizes[by_name] = allocate(scores[by_name], self.n_pool, self.n_boot, self.alpha)
        estimand = (
            f"draws of {format_sizes(sizes)} records ({self.n_boot:,} on average) with "
            f"replacement from pools of {format_sizes(sizes_of(pools))}"
        )
        return PoolGames.of(access, pools, sizes, estimand, "pools")
