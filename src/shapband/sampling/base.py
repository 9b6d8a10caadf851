"""The interface of a sampling, and helpers that several samplings use."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shapband._typing import IntArray
from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.records.draws import Draws
from shapband.sampling.design import Design
from shapband.sampling.distinct import count_distinct
from shapband.sampling.further import further_choices
from shapband.sampling.sizes import stock_of


class Purchases(NamedTuple):
    """Number of records that each provider is asked for, in one request; 0 means no request.

    Attributes
    ----------
    once : before the first game
    per_game : in every game

    Examples
    --------
    >>> import shapband as sb
    >>> providers = [sb.Provider("north", sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]))]
    >>> sb.Fresh(1).purchases(providers)
    Purchases(once=(0,), per_game=(1,))
    """

    once: tuple[int, ...]
    per_game: tuple[int, ...]


class Sampling(ABC):
    """How the records of each game are drawn.

    Examples
    --------
    >>> import shapband as sb
    >>> isinstance(sb.Fresh(60), sb.Sampling)
    True
    >>> sb.testing.check_sampling(sb.Fresh(60))
    """

    @abstractmethod
    def check(self, providers: Sequence[Provider]) -> None:
        """Raise InvalidInput if the providers cannot be sampled this way."""

    def sizes(self, providers: Sequence[Provider]) -> IntArray | None:  # noqa: ARG002
        """Number of records in a draw of each provider: (n,), or None if not known beforehand."""
        return None

    def purchases(self, providers: Sequence[Provider]) -> Purchases | None:  # noqa: ARG002
        """Number of records each provider will be asked for, or None if not known beforehand."""
        return None

    def draws_whole_stocks(self, providers: Sequence[Provider]) -> bool:  # noqa: ARG002
        """Whether every game has all records of every provider, each of them once."""
        return False

    def further_purchases(self, providers: Sequence[Provider]) -> tuple[int, ...] | None:  # noqa: ARG002
        """Number of records that a further draw of each provider takes from its source.

        In every game each provider is asked for them in one request; 0 means no request. None means
        that this sampling has no further draws (`Realisation.further`). InvalidInput is raised if
        providers have too few records.
        """
        return None

    @abstractmethod
    def prepare(self, access: Access) -> Realisation:
        """Buy the records that all games share, and return the realisation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Realisation(ABC):
    """A prepared sampling, which gives the draws of games.

    Attributes
    ----------
    design : sizes of draws and pools, and what the moments across these games estimate
    cost : requests and records that each game takes from the sources
    pools : the records that all games share, one batch per provider; empty without pools

    Examples
    --------
    >>> import shapband as sb
    >>> from shapband.seeds import Seeds
    >>> providers = [sb.Provider("north", sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]))]
    >>> fresh = sb.Fresh(1).prepare(sb.Access(providers, Seeds(0), sb.Budget()))
    >>> isinstance(fresh, sb.Realisation), fresh.design.estimand
    (True, 'draws of 1 records from the sources')
    """

    design: Design
    cost: Cost
    pools: tuple[Batch, ...] = ()

    @abstractmethod
    def draws(self, games: range) -> list[Draws]:
        """Return every provider's draws for these consecutive games."""

    def further(self, games: range) -> list[Draws]:
        """Return a further draw of every provider, of the same size, for each of these games.

        If the design knows how games choose records from pools (`unseen`), the rows must be those
        of `sampling.further.further_choices`, from which errors due to the pools are computed.
        """
        raise NotImplementedError(f"{type(self).__name__} has no further draws")


def pool_purchases(pools: IntArray) -> Purchases:
    """The purchases that pools of these sizes take: one request per provider."""
    sizes = tuple(pools.tolist())
    return Purchases(sizes, (0,) * len(sizes))


def further_from_pools(
    owner: str, argument: str, sizes: IntArray, providers: Sequence[Provider], pools: IntArray
) -> tuple[int, ...]:
    """Check that pools without replacement hold four draws; further draws take no new records.

    A game uses two draws. If these are more than half of a pool, games overlap too much to show how
    other pools would differ. A pool that is the whole stock has no such error.
    """
    for provider, size, pool in zip(providers, sizes.tolist(), pools.tolist(), strict=True):
        stock = stock_of(provider)
        if pool < 4 * size and pool != stock:
            enough = 4 * size if stock is None else min(4 * size, stock)
            raise InvalidInput(
                f"{owner}: with a further draw a game uses two draws of {argument}={size} of "
                f"provider {provider.name!r}, and its pool of {pool} must hold four to show how "
                f"other pools would differ: raise n_pool to {enough}, or lower {argument}"
            )
    return (0,) * len(providers)


@dataclass(frozen=True, eq=False, kw_only=True)
class PoolGames(Realisation):
    """Games that choose their records from pools bought once."""

    @staticmethod
    def of(
        access: Access,
        pools: Sequence[Batch],
        draw_sizes: IntArray,
        estimand: str,
        estimand_code: str,
        *,
        replace: bool = True,
        per_shuffle: int | None = None,
    ) -> PoolGames:
        """Make the realisation from pools that were already bought."""
        unseen = [_unseen(p, len(pool)) for p, pool in zip(access.providers, pools, strict=True)]
        design = dataclasses.replace(
            Design.of(access, draw_sizes, estimand),
            estimand_code=estimand_code,
            pool_sizes=sizes_of(pools),
            unseen=np.array(unseen, dtype=np.float64),
            replace=replace,
            per_shuffle=per_shuffle,
            setup=_bought_in_parts(access.pools_in_parts),
            distinct_records=np.array([count_distinct(pool) for pool in pools], dtype=np.float64),
        )
        return PoolGames(design=design, cost=Cost(), pools=tuple(pools))

    def draws(self, games: range) -> list[Draws]:
        """Choose rows of every pool."""
        choices = self.design.choices(games)
        return [Draws(pool, choice) for pool, choice in zip(self.pools, choices, strict=True)]

    def further(self, games: range) -> list[Draws]:
        """Choose other rows of every pool, or any rows if games draw with replacement."""
        choices = further_choices(self.design, games)
        return [Draws(pool, choice) for pool, choice in zip(self.pools, choices, strict=True)]


def _bought_in_parts(names: Sequence[str]) -> dict[str, str]:
    """The entry of `setup` about pools that differ from pools bought at once."""
    if not names:
        return {}
    return {
        "pools_bought": f"the pool of {', '.join(map(repr, names))} was bought in several "
        "requests, so its records differ from those of a pool bought at once"
    }


def _unseen(provider: Provider, pool: int) -> float:
    stock = stock_of(provider)
    return 1.0 if stock is None else 1.0 - pool / stock


def per_shuffle(pools: Sequence[Batch], draw_sizes: IntArray) -> int | None:
    """Games that one shuffle of the pools gives, or None if it gives a single game."""
    games = int((sizes_of(pools) // draw_sizes).min())
    return games if games > 1 else None


def sizes_of(pools: Sequence[Batch]) -> IntArray:
    """Number of records in each pool."""
    return np.array([len(pool) for pool in pools], dtype=np.int64)
