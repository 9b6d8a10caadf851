"""The ways to value: kinds of sampling, all with draws of the same size, and solvers for them.

`Stratified` is not among them: it changes the sizes of the draws, and so what is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, log10

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import printable
from shapband.market.planning.solvers import Family
from shapband.providers import Provider
from shapband.sampling.base import Sampling
from shapband.sampling.fresh import Fresh
from shapband.sampling.pooled import Pooled
from shapband.sampling.sizes import DrawSize
from shapband.sampling.sizes import pool_sizes as sizes_of_pools

MOST_GAMES = 10**7  # no more games than this are proposed
_STEP = 1.15  # ratio of consecutive pool sizes to try: the error changes by at most 7 %


@dataclass(frozen=True)
class Method:
    """A kind of sampling with draws of `n_sample`; pools may have any size.

    The size of all pools is one number, `n_pool`: the records in the pool of the provider with the
    largest draw. All pools hold the same number of draws, as far as the stocks allow.

    Attributes
    ----------
    name : name of the kind
    n_sample : records in a draw, in any form that samplings take
    pooled : whether there are pools
    replace : whether a game may draw a record of the pool twice
    draws : records in a draw of each provider, or None if all draws have `n_sample` records
    """

    name: str
    n_sample: DrawSize
    pooled: bool = True
    replace: bool = False
    draws: tuple[int, ...] | None = None

    @property
    def shuffles(self) -> bool:
        """Whether pools are shuffled and cut into draws that share no record."""
        return self.pooled and not self.replace

    @property
    def sizes(self) -> FloatArray:
        """Records in a draw of each provider, (n,) or a number that all have in common."""
        return np.asarray(self.n_sample if self.draws is None else self.draws, dtype=np.float64)

    @property
    def largest_draw(self) -> int:
        """Records in the largest draw."""
        return int(self.sizes.max())

    @property
    def least_pool(self) -> int:
        """The smallest `n_pool` that can be used."""
        return 2 if self.replace and self.draws is None else 2 * self.largest_draw

    def make(self, n_pool: DrawSize) -> Sampling:
        """Make the sampling with pools of some size."""
        if not self.pooled:
            return Fresh(self.n_sample)
        return Pooled(n_pool, self.n_sample, replace=self.replace)

    def pool_sizes(self, n_pool: int, stocks: FloatArray) -> FloatArray:
        """Records of each provider's pool: (n,)."""
        ratio = n_pool / self.largest_draw
        wanted = np.ceil(np.round(ratio * self.sizes, 6))
        fraction = self.fraction(n_pool)
        if fraction is not None:
            part = np.floor(np.round(fraction * stocks, 6))
            wanted = np.where(np.isinf(stocks), wanted, np.maximum(part, 2 * self.sizes))
        return np.minimum(wanted, stocks)

    def fraction(self, n_pool: int) -> float | None:
        """The fraction of each stock in its pool, if draws are fractions: three digits."""
        if not isinstance(self.n_sample, float):
            return None
        return _rounded_up(self.n_sample * n_pool / self.largest_draw)

    def impossible(self, providers: Sequence[Provider], stocks: FloatArray) -> str | None:
        """Say why no pool can be used, if a stock is too small."""
        if not self.pooled or self.replace or (stocks >= 2 * self.sizes).all():
            return None
        short = int(np.argmin(stocks - 2 * self.sizes))
        draw = int(np.broadcast_to(self.sizes, stocks.shape)[short])
        return (
            f"provider {printable(providers[short].name)!r} has {stocks[short]:,.0f} records, "
            f"fewer than two draws of {draw:,}"
        )


def _rounded_up(number: float) -> float:
    """Round up to three significant digits.

    Examples
    --------
    >>> _rounded_up(0.20001), _rounded_up(0.3)
    (0.201, 0.3)
    """
    digits = 2 - floor(log10(number))
    return float(ceil(round(number * 10**digits, 6)) / 10**digits)


@dataclass(frozen=True, eq=False)
class Way:
    """A sampling and a solver: everything that determines a valuation but its number of games.

    Attributes
    ----------
    method, n_pool : the kind of sampling, and the size of its pools
    family, work : the kind of solver, and the work that it does in a game
    stocks : (n,) records of the sources
    held : (n,) records of the pools that are bought already; no pool is smaller
    """

    method: Method
    n_pool: int
    family: Family
    work: int
    stocks: FloatArray
    held: FloatArray | None = None

    @cached_property
    def pool_sizes(self) -> FloatArray:
        """(n,) records of each provider's pool."""
        sizes = self.method.pool_sizes(self.n_pool, self.stocks)
        return sizes if self.held is None else np.maximum(sizes, self.held)

    @cached_property
    def per_shuffle(self) -> int:
        """Games of one shuffle, as many as the smallest pool holds draws; 0 without shuffles."""
        method = self.method
        return int((self.pool_sizes // method.sizes).min()) if method.shuffles else 0

    def sampling(self, providers: Sequence[Provider]) -> Sampling:
        """The sampling, with the size of the pools in its shortest form.

        It is one number if this gives the same pools, else a fraction of each stock, or else
        numbers by provider name.
        """
        if not self.method.pooled:
            return self.method.make(0)
        sizes = self.pool_sizes.astype(np.int64)
        # A stock of one record gives its pool, but `n_pool` must be at least 2.
        by_name = {one.name: max(int(size), 2) for one, size in zip(providers, sizes, strict=True)}
        forms: list[DrawSize] = [max(by_name.values())]
        fraction = self.method.fraction(self.n_pool)
        if fraction is not None and fraction < 1:
            forms.append(fraction)
        for form in forms:
            if (sizes_of_pools("Pooled", form, providers) == sizes).all():
                return self.method.make(form)
        return self.method.make(by_name)


def methods_for(n_sample: DrawSize, draws: Sequence[int] | None = None) -> list[Method]:
    """All methods; the first of two equally good methods is recommended.

    `draws` are the records in a draw of each provider, if they differ.
    """
    given = None if draws is None else tuple(draws)
    return [
        Method("Fresh", n_sample, pooled=False, draws=given),
        Method("Pooled, without replacement", n_sample, draws=given),
        Method("Pooled, with replacement", n_sample, replace=True, draws=given),
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
