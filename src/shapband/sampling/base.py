"""The interface of a sampling, and helpers that several samplings use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shapband._typing import FloatArray, IntArray
from shapband.access.access import Access
from shapband.access.budget import Cost
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.records.draws import BlockRows, Choice, Draws, RandomRows, Stream
from shapband.sampling.distinct import count_distinct
from shapband.sampling.sizes import stock_of
from shapband.seeds import Seeds


class Purchases(NamedTuple):
    """Records that each provider is asked for, one request each; 0 asks nothing.

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

    def purchases(self, providers: Sequence[Provider]) -> Purchases | None:  # noqa: ARG002
        """Say what will be asked of each provider, or None if that is not known beforehand."""
        return None

    def draws_whole_stocks(self, providers: Sequence[Provider]) -> bool:  # noqa: ARG002
        """Whether every game has all records of every provider, each of them once."""
        return False

    @abstractmethod
    def prepare(self, access: Access) -> Realisation:
        """Buy the records that all games share, and return the realisation."""


@dataclass(frozen=True)
class PoolDesign:
    """How games choose their records from pools; enough to repeat the choices without the pools.

    Attributes
    ----------
    seed, names : address the random streams
    pool_sizes, draw_sizes : records of each provider in its pool and in a game
    unseen : for each provider, the fraction of its stock that is not in the pool; 1 for sources
        without end and for those drawn with replacement
    replace : whether a game may choose a record twice; shuffles never do
    per_shuffle : disjoint draws that one shuffle of the pools gives, or None without shuffles
    """

    seed: int
    names: tuple[str, ...]
    pool_sizes: tuple[int, ...]
    draw_sizes: tuple[int, ...]
    unseen: tuple[float, ...]
    replace: bool = True
    per_shuffle: int | None = None

    @property
    def repeats(self) -> bool:
        """Whether a record may be in one game twice."""
        return self.replace and self.per_shuffle is None

    @property
    def chances(self) -> FloatArray:
        """(n,) probability that a game uses a record of a pool at all."""
        m, b = np.array(self.pool_sizes), np.array(self.draw_sizes)
        return np.asarray(1 - (1 - 1 / m) ** b if self.repeats else b / m)

    def choices(self, games: range) -> list[Choice]:
        """Return the rows of every pool that these consecutive games use."""
        purpose = "bootstrap" if self.replace else "subset"
        if self.per_shuffle is not None:
            purpose = "shuffle"
        chosen: list[Choice] = []
        for name, pool, size in zip(self.names, self.pool_sizes, self.draw_sizes, strict=True):
            stream = Stream(Seeds(self.seed), purpose, name, games)
            if self.per_shuffle is None:
                chosen.append(RandomRows(stream, size, pool, self.replace))
            else:
                chosen.append(BlockRows(stream, size, pool, self.per_shuffle))
        return chosen


@dataclass(frozen=True, eq=False, kw_only=True)
class Realisation(ABC):
    """A prepared sampling, which gives the draws of games.

    Attributes
    ----------
    draw_sizes : (n,) records of each provider in a game
    pool_sizes : (n,) records in each provider's pool, or None without pools
    distinct_records : (n,) different records in each provider's pool, or without pools in its
        stock, counted up to the size of a draw; NaN where they are not known, None if none are
    target : what the moments across these games estimate, as a sentence
    target_code : the same for programs: ``sources``, ``pools``, ``population`` or ``other``
    group : games that share one shuffle of the pools, or None if there are no shuffles
    design : how games choose their records from pools, or None without pools
    cost : requests and records that each game takes from the sources

    Examples
    --------
    >>> import shapband as sb
    >>> from shapband.seeds import Seeds
    >>> providers = [sb.Provider("north", sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]))]
    >>> fresh = sb.Fresh(1).prepare(sb.Access(providers, Seeds(0), sb.Budget()))
    >>> isinstance(fresh, sb.Realisation), fresh.target
    (True, 'draws of 1 records from the sources')
    """

    draw_sizes: IntArray
    pool_sizes: IntArray | None
    distinct_records: FloatArray | None = None
    target: str
    target_code: str = "other"
    group: int | None = None
    design: PoolDesign | None = None
    cost: Cost

    @abstractmethod
    def draws(self, games: range) -> list[Draws]:
        """Return every provider's draws for these consecutive games."""


def buy_pools(access: Access, n_pool: int) -> list[Batch]:
    """Buy the pools, one request per provider; a provider with fewer records gives all of them."""
    sizes = [pool_size(provider, n_pool) for provider in access.providers]
    return access.fetch_pools(sizes)


def pool_purchases(providers: Sequence[Provider], n_pool: int) -> Purchases:
    """What pools of `n_pool` ask of the providers."""
    sizes = tuple(pool_size(provider, n_pool) for provider in providers)
    return Purchases(sizes, (0,) * len(sizes))


def pool_size(provider: Provider, n_pool: int) -> int:
    """Number of records of a provider's pool: `n_pool`, or all records if there are fewer."""
    stock = stock_of(provider)
    return n_pool if stock is None else min(n_pool, stock)


@dataclass(frozen=True, eq=False, kw_only=True)
class PoolGames(Realisation):
    """Games that choose their records from pools bought once."""

    pools: tuple[Batch, ...]
    design: PoolDesign

    @staticmethod
    def of(
        access: Access,
        pools: Sequence[Batch],
        draw_sizes: IntArray,
        target: str,
        target_code: str,
        *,
        replace: bool = True,
        per_shuffle: int | None = None,
    ) -> PoolGames:
        """Make the realisation from the pools that were bought."""
        sizes = sizes_of(pools)
        design = PoolDesign(
            access.seeds.seed,
            tuple(provider.name for provider in access.providers),
            tuple(sizes.tolist()),
            tuple(draw_sizes.tolist()),
            tuple(_unseen(p, len(pool)) for p, pool in zip(access.providers, pools, strict=True)),
            replace,
            per_shuffle,
        )
        return PoolGames(
            draw_sizes=draw_sizes,
            pool_sizes=sizes,
            distinct_records=np.array([count_distinct(pool) for pool in pools], dtype=np.float64),
            target=target,
            target_code=target_code,
            group=per_shuffle,
            cost=Cost(),
            pools=tuple(pools),
            design=design,
        )

    def draws(self, games: range) -> list[Draws]:
        """Choose rows of every pool."""
        choices = self.design.choices(games)
        return [Draws(pool, choice) for pool, choice in zip(self.pools, choices, strict=True)]


def _unseen(provider: Provider, pool: int) -> float:
    stock = stock_of(provider)
    return 1.0 if stock is None else 1.0 - pool / stock


def sizes_of(pools: Sequence[Batch]) -> IntArray:
    """Number of records in each pool."""
    return np.array([len(pool) for pool in pools], dtype=np.int64)
