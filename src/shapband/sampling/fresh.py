"""Algorithm 2: every game draws new records from every source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.providers import Provider
from shapband.records.draws import Draws
from shapband.sampling.base import Purchases, Realisation, Sampling
from shapband.sampling.design import Design
from shapband.sampling.distinct import expected_distinct
from shapband.sampling.further import FURTHER
from shapband.sampling.sizes import (
    DrawSize,
    check_draw_size,
    check_stocks,
    draw_sizes,
    format_draws,
    stock_of,
)
from shapband.sources.base import FiniteSource


@dataclass(frozen=True)
class Fresh(Sampling):
    """Fresh draws of `n_sample` records from every source in every game (Algorithm 2).

    Parameters
    ----------
    n_sample : records that a provider gives to a game: a number, a fraction of each stock, or
        numbers by provider name. A fraction is rounded down, and gives at least one record

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Fresh(60), sb.Fresh(0.3), sb.Fresh({"north": 60, "south": 18})
    (Fresh(n_sample=60), Fresh(n_sample=0.3), Fresh(n_sample={'north': 60, 'south': 18}))
    """

    n_sample: DrawSize

    def __post_init__(self) -> None:
        size = check_draw_size("Fresh", "n_sample", self.n_sample)
        object.__setattr__(self, "n_sample", size)

    def check(self, providers: Sequence[Provider]) -> None:
        """Check that every finite source has enough records for one draw."""
        check_stocks("Fresh", "n_sample", self.n_sample, providers)

    def sizes(self, providers: Sequence[Provider]) -> IntArray:
        return draw_sizes("Fresh", "n_sample", self.n_sample, providers)

    def draws_whole_stocks(self, providers: Sequence[Provider]) -> bool:
        sizes = self.sizes(providers)
        return all(
            stock_of(provider) == size
            for provider, size in zip(providers, sizes.tolist(), strict=True)
        )

    def purchases(self, providers: Sequence[Provider]) -> Purchases:
        sizes = self.sizes(providers)
        return Purchases((0,) * len(providers), tuple(sizes.tolist()))

    def further_purchases(self, providers: Sequence[Provider]) -> tuple[int, ...]:
        sizes = check_stocks("Fresh", "n_sample", self.n_sample, providers, draws=2)
        return tuple(sizes.tolist())

    def prepare(self, access: Access) -> Realisation:
        """Return the realisation; no records are bought in advance."""
        sizes = self.sizes(access.providers)
        estimand = f"draws of {format_draws(self.n_sample, sizes)} from the sources"
        design = replace(
            Design.of(access, sizes, estimand),
            estimand_code="sources",
            distinct_records=_distinct_records(access.providers, sizes),
        )
        cost = Cost(requests=len(sizes), records=int(sizes.sum()))
        return _FreshGames(design=design, cost=cost, access=access)


def _distinct_records(providers: Sequence[Provider], sizes: IntArray) -> FloatArray:
    """Number of different records of each stock that is in memory, up to the size of a draw."""
    found = np.full(len(providers), np.nan)
    for at, provider in enumerate(providers):
        source = provider.source
        if isinstance(source, FiniteSource) and source.records is not None:
            found[at] = expected_distinct(source.records, int(sizes[at]), replace=source.replace)
    return found


@dataclass(frozen=True, eq=False)
class _FreshGames(Realisation):
    access: Access

    def draws(self, games: range) -> list[Draws]:
        return self.access.fetch("draw", games, self.design.draw_sizes.tolist(), "the draws")

    def further(self, games: range) -> list[Draws]:
        sizes = self.design.draw_sizes.tolist()
        return self.access.fetch(FURTHER, games, sizes, "the further draws", besides="draw")
