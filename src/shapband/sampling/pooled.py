"""Algorithm 3: one pool per provider, resampled in every game, or dealt without replacement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shapband._typing import IntArray
from shapband.access.access import Access
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.sampling.base import (
    PoolGames,
    Purchases,
    Realisation,
    Sampling,
    further_from_pools,
    per_shuffle,
    pool_purchases,
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
    pool_sizes,
)


@dataclass(frozen=True)
class Pooled(Sampling):
    """Draws of `n_boot` records from pools of `n_pool`, bought once (Algorithm 3).

    The paper's bootstrap draws with replacement. Its variance may be too large or too small,
    because a bootstrap draw holds fewer distinct records than a draw from the source. Draws
    without replacement differ from draws from the source only in that they share a pool; adding
    the variance between pools then gives an unbiased variance.

    Draws without replacement are dealt: all pools are shuffled and cut into consecutive draws, one
    for each game. When the first pool is used up, all pools are shuffled again. The games of one
    shuffle share no record, so their errors partly cancel, and the expectation has a smaller error
    than from as many independent draws. The number of games per shuffle is the number of draws in
    the pool that holds the fewest.

    A provider with fewer than `n_pool` records gives all of them.

    Parameters
    ----------
    n_pool : records bought from every provider, once: a number, a fraction of each stock, or
        numbers by provider name
    n_boot : records that a provider gives to a game: a number, a fraction of each stock (not of
        the pool), or numbers by provider name
    replace : whether a game may draw a record of the pool twice

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Pooled(n_pool=250, n_boot=60), sb.Pooled(n_pool=0.3, n_boot=0.1)
    (Pooled(n_pool=250, n_boot=60), Pooled(n_pool=0.3, n_boot=0.1))
    """

    n_pool: DrawSize
    n_boot: DrawSize
    replace: bool = True

    def __post_init__(self) -> None:
        n_pool = check_draw_size("Pooled", "n_pool", self.n_pool, least=2)
        object.__setattr__(self, "n_pool", n_pool)
        size = check_draw_size("Pooled", "n_boot", self.n_boot)
        object.__setattr__(self, "n_boot", size)
        if not isinstance(self.replace, bool):
            raise InvalidInput(f"Pooled: replace must be True or False; received {self.replace!r}")
        if not self.replace:
            _check_halves(n_pool, size)

    def __repr__(self) -> str:
        how = "" if self.replace else ", replace=False"
        return f"Pooled(n_pool={self.n_pool}, n_boot={self.n_boot}{how})"

    def check(self, providers: Sequence[Provider]) -> None:
        """Check the draw sizes; without replacement, every pool must hold two draws."""
        if self.replace:
            self.sizes(providers)
            pool_sizes("Pooled", self.n_pool, providers)
        else:
            check_pools("Pooled", "n_boot", self.n_boot, providers, self.n_pool)

    def sizes(self, providers: Sequence[Provider]) -> IntArray:
        return draw_sizes("Pooled", "n_boot", self.n_boot, providers)

    def purchases(self, providers: Sequence[Provider]) -> Purchases:
        return pool_purchases(pool_sizes("Pooled", self.n_pool, providers))

    def further_purchases(self, providers: Sequence[Provider]) -> tuple[int, ...]:
        sizes = self.sizes(providers)
        if self.replace:
            return (0,) * len(providers)
        pools = pool_sizes("Pooled", self.n_pool, providers)
        return further_from_pools("Pooled", "n_boot", sizes, providers, pools)

    def prepare(self, access: Access) -> Realisation:
        """Buy the pools."""
        pools = access.fetch_pools(pool_sizes("Pooled", self.n_pool, access.providers).tolist())
        sizes = self.sizes(access.providers)
        dealt = None if self.replace else per_shuffle(pools, sizes)
        drawn, pooled = format_draws(self.n_boot, sizes), format_sizes(sizes_of(pools))
        estimand = f"draws of {drawn} with replacement from pools of {pooled}"
        if not self.replace:
            estimand = f"draws of {drawn} from the sources, by way of pools of {pooled}"
        code = "pools" if self.replace else "sources"
        return PoolGames.of(
            access, pools, sizes, estimand, code, replace=self.replace, per_shuffle=dealt
        )


def _check_halves(n_pool: DrawSize, n_boot: DrawSize) -> None:
    """Check that a draw is at most half of a pool, as far as that does not depend on the stocks."""
    if isinstance(n_pool, float) and isinstance(n_boot, float):
        draw: float | None = n_boot
        room: float = n_pool / 2
    else:
        draw = largest(n_boot)
        room = n_pool // 2 if isinstance(n_pool, int) else float("inf")
    if draw is not None and draw > room:
        raise InvalidInput(
            f"Pooled: without replacement n_boot={draw} must be at most half of n_pool={n_pool}, "
            "because larger draws overlap too much to show how other pools would differ: raise "
            f"n_pool to {2 * draw}, or lower n_boot"
        )
