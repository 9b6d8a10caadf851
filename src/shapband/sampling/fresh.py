"""Algorithm 2: every game draws new records from every source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.draws import Draws
from shapband.providers import Provider
from shapband.sampling.base import Purchases, Realisation, Sampling, check_count, check_sizes


@dataclass(frozen=True)
class Fresh(Sampling):
    """Fresh draws of `n_sample` records from every source in every game (Algorithm 2).

    Examples
    --------
    >>> import shapband as sb
    >>> sb.Fresh(60)
    Fresh(n_sample=60)
    """

    n_sample: int

    def __post_init__(self) -> None:
        check_count("Fresh", n_sample=self.n_sample)

    def check(self, providers: Sequence[Provider]) -> None:
        """Check that every finite source has enough records for one draw."""
        check_sizes("Fresh", providers, self.n_sample, "n_sample")

    def purchases(self, providers: Sequence[Provider]) -> Purchases:
        return Purchases((0,) * len(providers), (self.n_sample,) * len(providers))

    def prepare(self, access: Access) -> Realisation:
        """Return the realisation; no records are bought in advance."""
        n = len(access.providers)
        return _FreshGames(
            draw_sizes=np.full(n, self.n_sample, dtype=np.int64),
            pool_sizes=None,
            target=f"draws of {self.n_sample:,} records from the sources",
            target_code="sources",
            cost=Cost(requests=n, records=n * self.n_sample),
            access=access,
        )


@dataclass(frozen=True, eq=False)
class _FreshGames(Realisation):
    access: Access

    def draws(self, games: range) -> list[Draws]:
        return self.access.fetch("draw", games, self.draw_sizes.tolist(), "the draws")
