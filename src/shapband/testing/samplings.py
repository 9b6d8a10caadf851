"""Conformance checks of samplings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shapband._typing import IntArray
from shapband.access.access import Access
from shapband.access.budget import Budget
from shapband.errors import InvalidInput
from shapband.providers import Provider, check_providers
from shapband.records.batch import Batch
from shapband.sampling.base import Realisation, Sampling
from shapband.seeds import Seeds
from shapband.sources.arrays import ArraySource
from shapband.sources.base import FiniteSource, Records
from shapband.testing.rules import accepts, check_repr, during, require, same

_GAMES = 10


def check_sampling(sampling: Sampling, providers: Sequence[Provider] | None = None) -> None:
    """Check that a sampling follows the rules of samplings.

    `check` must raise InvalidInput for providers that cannot be sampled, without a request to a
    source. Draws must have the announced sizes and cost, use `access`, and not depend on chunks
    or on the order of providers.

    Parameters
    ----------
    sampling : the sampling to check
    providers : the providers to sample; by default three with a thousand records each

    Examples
    --------
    >>> import shapband as sb
    >>> sb.testing.check_sampling(sb.Pooled(n_pool=240, n_boot=60, replace=False))
    """
    name, asked = type(sampling).__name__, list[int]()
    require(isinstance(sampling, Sampling), f"{name} must be a subclass of Sampling")
    check_repr(sampling)
    given = _providers(1000) if providers is None else check_providers(providers)[0]
    few, many = ([_watched(p, asked) for p in some] for some in (_providers(1), given))
    accepted = [p for p in (few, many) if accepts(name, sampling.check, p)]
    require(not asked, f"{name}.check must not ask the sources: ask in prepare, by access.fetch")
    if many not in accepted:
        raise InvalidInput(f"{sampling!r} refuses the providers: pass others to check_sampling")
    for checked in accepted:
        asked.clear()
        with during(f"{name} must be able to draw from providers that its check accepts"):
            _check_games(sampling, name, checked, asked)


def _check_games(
    sampling: Sampling, name: str, providers: list[Provider], asked: list[int]
) -> None:
    access = Access(providers, Seeds(0), Budget())
    realisation = sampling.prepare(access)
    _check_realisation(realisation, name, len(providers))
    before = access.report
    whole = _records(realisation, providers, range(_GAMES))
    spent = access.report.requests - before.requests, access.report.records - before.records
    watched = [p.name for p in providers if isinstance(p.source, _Watched)]
    metered = sum(access.report.by_provider[name].records for name in watched)
    require(
        metered == sum(asked),
        f"{name} must ask the sources through access.fetch only; they gave {sum(asked)} records, "
        f"and access counted {metered}",
    )
    cost = realisation.cost
    require(
        spent == (_GAMES * cost.requests, _GAMES * cost.records),
        f"{name} must announce what a game costs; {_GAMES} games took {spent[1]} records in "
        f"{spent[0]} requests where a game should take {cost}: correct the cost",
    )
    sizes = [{len(batch) for batch in batches} for batches in whole.values()]
    drawn = realisation.design.draw_sizes.tolist()
    require(
        sizes == [{size} for size in drawn],
        f"{name} must draw draw_sizes={drawn} records; received {sizes}",
    )
    again = sampling.prepare(Access(providers, Seeds(0), Budget()))
    require(
        _equal(_records(again, providers, range(4, _GAMES), range(4)), whole),
        f"{name} must draw the same records however games are cut into chunks; games 0 to 3 "
        "and 4 to 9, drawn separately, differ from ten games drawn at once: take random numbers "
        "from access.seeds by game",
    )
    turned = providers[::-1]
    again = sampling.prepare(Access(turned, Seeds(0), Budget()))
    require(
        _equal(_records(again, turned, range(_GAMES)), whole),
        f"{name} must draw the same records whatever the order of the providers; in reverse order "
        "they differ: take random numbers from access.seeds by the provider's name",
    )


def _check_realisation(realisation: Realisation, name: str, n: int) -> None:
    require(
        isinstance(realisation, Realisation),
        f"{name}.prepare must return a Realisation; received {type(realisation).__name__}",
    )
    sizes = realisation.design.draw_sizes
    require(
        isinstance(sizes, np.ndarray) and sizes.shape == (n,) and sizes.dtype.kind in "iu",
        f"{name}.prepare must give draw_sizes as an array of {n} whole numbers; received {sizes!r}",
    )
    found = realisation.design.distinct_records
    require(
        found is None or (isinstance(found, np.ndarray) and found.shape == (n,)),
        f"{name}.prepare must give distinct_records as an array of {n} numbers, or None; received "
        f"{found!r}",
    )


def _records(
    realisation: Realisation, providers: list[Provider], *chunks: range
) -> dict[str, list[Batch]]:
    """Draw the chunks in turn; return every provider's batches in the order of games."""
    found: dict[int, list[Batch]] = {}
    for games in chunks:
        drawn = [draws.batches() for draws in realisation.draws(games)]
        found |= dict(zip(games, map(list, zip(*drawn, strict=True)), strict=True))
    by_provider = zip(*(found[game] for game in sorted(found)), strict=True)
    return {p.name: list(batches) for p, batches in zip(providers, by_provider, strict=True)}


def _equal(one: dict[str, list[Batch]], other: dict[str, list[Batch]]) -> bool:
    return all(all(map(same, one[name], other[name])) for name in other)


def _providers(size: int) -> list[Provider]:
    rng = np.random.default_rng(0)
    tables = [(i + 1) * rng.normal(size=(size, 2)) for i in range(3)]
    return [Provider(f"provider {i}", ArraySource(X, X[:, 0])) for i, X in enumerate(tables)]


def _watched(provider: Provider, asked: list[int]) -> Provider:
    """Wrap a finite source so that it records the size of every request."""
    source = provider.source
    if not isinstance(source, FiniteSource):
        return provider
    return Provider(provider.name, _Watched(source, asked))


class _Watched(FiniteSource):
    def __init__(self, inner: FiniteSource, asked: list[int]) -> None:
        self._inner, self._asked = inner, asked
        self.size, self.schema, self.replace = inner.size, inner.schema, inner.replace

    def take(self, rows: IntArray) -> Records:
        self._asked.append(len(rows))
        return self._inner.take(rows)
