"""Disjoint draws from shuffled pools: the games of one shuffle share no record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shapband.access.access import Access
from shapband.checks import check_whole
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.sampling.base import (
    PoolGames,
    Purchases,
    Realisation,
    Sampling,
    buy_pools,
    further_from_pools,
    pool_purchases,
    pool_size,
    sizes_of,
)
from shapband.sampling.sizes import (
    DrawSize,
    check_draw_size,
    check_pools,
    draw_sizes,
    format_draws,
    format_sizes,
    largest,
)


@dataclass(frozen=True)
class Blocks(Sampling):
    """Pools of `n_pool`, shuffled and cut into disjoint draws of `n_sample`, one game each.

    Within one shuffle the games share no record, so they are independent draws from the
    population behind the pools, and their sample variance is an unbiased estimate of the
    population's variance, unlike the sample variance of bootstrap draws. When a shuffle is used
    up, the pools are shuffled again; variances are computed within shuffles and averaged over
    them. More shuffles reduce the error due to the shuffling, but not the error due to the choice
    of the pools; the standard errors include both. The number of games per shuffle is the number
    of draws in the pool that holds the fewest.

    Parameters
    ----------
    n_pool : records bought from every provider, once
    n_sample : records that a provider gives to a game: a number, a fraction of each stock (not of
        the pool), or numbers by provider name. Every pool must hold two draws

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Blocks(n_pool=240, n_sample=60)
    Blocks(n_pool=240, n_sample=60)
    """

    n_pool: int
    n_sample: DrawSize

    def __post_init__(self) -> None:
        check_whole("Blocks: n_pool", self.n_pool, 1)
        size = check_draw_size("Blocks", "n_sample", self.n_sample)
        object.__setattr__(self, "n_sample", size)
        most = largest(size)
        if most is not None and self.n_pool < 2 * most:
            raise InvalidInput(
                f"Blocks: n_pool={self.n_pool} must hold at least two draws of "
                f"n_sample={most}: raise n_pool to {2 * most}, or lower n_sample"
            )

    def check(self, providers: Sequence[Provider]) -> None:
        """Check that every pool can be cut into two draws."""
        check_pools("Blocks", "n_sample", self.n_sample, providers, self.n_pool)

    def purchases(self, providers: Sequence[Provider]) -> Purchases:
        return pool_purchases(providers, self.n_pool)

    def further_purchases(self, providers: Sequence[Provider]) -> tuple[int, ...]:
        sizes = draw_sizes("Blocks", "n_sample", self.n_sample, providers)
        return further_from_pools("Blocks", "n_sample", sizes, providers, self.n_pool)

    def prepare(self, access: Access) -> Realisation:
        """Buy the pools."""
        sizes = draw_sizes("Blocks", "n_sample", self.n_sample, access.providers)
        each = zip(access.providers, sizes.tolist(), strict=True)
        per_shuffle = min(pool_size(provider, self.n_pool) // size for provider, size in each)
        pools = buy_pools(access, self.n_pool)
        estimand = (
            f"draws of {format_draws(self.n_sample, sizes)} from the population that the pools of "
            f"{format_sizes(sizes_of(pools))} were drawn from"
        )
        return PoolGames.of(access, pools, sizes, estimand, "population", per_shuffle=per_shuffle)
