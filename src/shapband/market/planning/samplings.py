"""The samplings to choose from, all with draws of the same size.

`Stratified` is not among them: it changes the sizes of the draws, and so what is estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import printable
from shapband.providers import Provider
from shapband.sampling.base import Sampling
from shapband.sampling.blocks import Blocks
from shapband.sampling.fresh import Fresh
from shapband.sampling.pooled import Pooled

_STEP = 1.15  # ratio of consecutive pool sizes to try: the error changes by at most 7 %


@dataclass(frozen=True)
class Method:
    """A kind of sampling with draws of `n_sample`; pools may have any size.

    Attributes
    ----------
    name : name of the kind
    n_sample : records in a draw
    make : makes the sampling with pools of some size
    pooled : whether there are pools
    replace : whether a game may draw a record of the pool twice
    shuffles : whether pools are shuffled and cut into disjoint draws
    """

    name: str
    n_sample: int
    make: Callable[[int], Sampling]
    pooled: bool = True
    replace: bool = False
    shuffles: bool = False

    @property
    def least_pool(self) -> int:
        """Records of the smallest pool that can be used."""
        return 2 if self.replace else 2 * self.n_sample

    def pool_sizes(self, n_pool: int, stocks: FloatArray) -> FloatArray:
        """Records of each provider's pool: (n,)."""
        return np.minimum(float(n_pool), stocks)

    def per_shuffle(self, n_pool: int, stocks: FloatArray) -> int:
        """Games of one shuffle, 0 without shuffles."""
        smallest = float(self.pool_sizes(n_pool, stocks).min())
        return int(smallest) // self.n_sample if self.shuffles else 0

    def impossible(self, providers: Sequence[Provider], stocks: FloatArray) -> str | None:
        """Say why no pool can be used, if a stock is too small."""
        if not self.pooled or self.replace or (stocks >= self.least_pool).all():
            return None
        short = int(np.argmin(stocks))
        return (
            f"provider {printable(providers[short].name)!r} has {stocks[short]:,.0f} records, "
            f"fewer than two draws of {self.n_sample:,}"
        )


def methods_for(n_sample: int) -> list[Method]:
    """All methods; the first of two equally good methods is recommended."""
    return [
        Method("Fresh", n_sample, lambda _: Fresh(n_sample), pooled=False),
        Method(
            "Pooled, without replacement",
            n_sample,
            lambda n_pool: Pooled(n_pool, n_sample, replace=False),
        ),
        Method("Blocks", n_sample, lambda n_pool: Blocks(n_pool, n_sample), shuffles=True),
        Method(
            "Pooled, with replacement",
            n_sample,
            lambda n_pool: Pooled(n_pool, n_sample),
            replace=True,
        ),
    ]


def pool_grid(least: int, most: int) -> list[int]:
    """Sizes of pools to try: from the least to the most, each some percent larger.

    Examples
    --------
    >>> pool_grid(120, 200)
    [120, 138, 159, 183, 200]
    """
    count = int(np.log(most / least) / np.log(_STEP)) + 1 if most > least else 1
    return sorted({*(round(least * _STEP**k) for k in range(count)), most})
