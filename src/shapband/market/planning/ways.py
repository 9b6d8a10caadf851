"""The ways to value: kinds of sampling, all with draws of the same size, and solvers for them.

`Stratified` is not among them: it changes the sizes of the draws, and so what is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import printable
from shapband.market.planning.solvers import Family
from shapband.providers import Provider
from shapband.sampling.base import Sampling
from shapband.sampling.fresh import Fresh
from shapband.sampling.pooled import Pooled

MOST_GAMES = 10**7  # no more games than this are proposed
_STEP = 1.15  # ratio of consecutive pool sizes to try: the error changes by at most 7 %


@dataclass(frozen=True)
class Method:
    """A kind of sampling with draws of `n_sample`; pools may have any size.

    Attributes
    ----------
    name : name of the kind
    n_sample : records in a draw
    pooled : whether there are pools
    replace : whether a game may draw a record of the pool twice
    """

    name: str
    n_sample: int
    pooled: bool = True
    replace: bool = False

    @property
    def shuffles(self) -> bool:
        """Whether pools are shuffled and cut into draws that share no record."""
        return self.pooled and not self.replace

    @property
    def least_pool(self) -> int:
        """Records of the smallest pool that can be used."""
        return 2 if self.replace else 2 * self.n_sample

    def make(self, n_pool: int) -> Sampling:
        """Make the sampling with pools of some size."""
        if not self.pooled:
            return Fresh(self.n_sample)
        return Pooled(n_pool, self.n_sample, replace=self.replace)

    def pool_sizes(self, n_pool: int, stocks: FloatArray) -> FloatArray:
        """Records of each provider's pool: (n,)."""
        return np.minimum(float(n_pool), stocks)

    def impossible(self, providers: Sequence[Provider], stocks: FloatArray) -> str | None:
        """Say why no pool can be used, if a stock is too small."""
        if not self.pooled or self.replace or (stocks >= self.least_pool).all():
            return None
        short = int(np.argmin(stocks))
        return (
            f"provider {printable(providers[short].name)!r} has {stocks[short]:,.0f} records, "
            f"fewer than two draws of {self.n_sample:,}"
        )


@dataclass(frozen=True, eq=False)
class Way:
    """A sampling and a solver: everything that determines a valuation but its number of games.

    Attributes
    ----------
    method, n_pool : the kind of sampling, and the records of its pools
    family, work : the kind of solver, and the work that it does in a game
    stocks : (n,) records of the sources
    """

    method: Method
    n_pool: int
    family: Family
    work: int
    stocks: FloatArray

    @cached_property
    def pool_sizes(self) -> FloatArray:
        """(n,) records of each provider's pool."""
        return self.method.pool_sizes(self.n_pool, self.stocks)

    @cached_property
    def per_shuffle(self) -> int:
        """Games of one shuffle, as many as the smallest pool holds draws; 0 without shuffles."""
        method = self.method
        return int(self.pool_sizes.min()) // method.n_sample if method.shuffles else 0


def methods_for(n_sample: int) -> list[Method]:
    """All methods; the first of two equally good methods is recommended."""
    return [
        Method("Fresh", n_sample, pooled=False),
        Method("Pooled, without replacement", n_sample),
        Method("Pooled, with replacement", n_sample, replace=True),
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
