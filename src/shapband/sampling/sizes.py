"""Sizes of draws and pools: one number, a fraction of each stock, or numbers by provider name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from shapband._typing import IntArray
from shapband.checks import check_whole, nearest, written
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.sources.base import FiniteSource

DrawSize: TypeAlias = int | float | Mapping[str, int]
_SAME_SIZE = 6  # a size is first rounded to this many decimals, so that 1/3 of 150 records gives 50


def check_draw_size(owner: str, argument: str, size: object, least: int = 1) -> DrawSize:
    """Check a draw size, or the size of a pool, and return it in its plain form; names are sorted.

    Runs compare samplings by their `repr`, so equal sizes must have equal `repr`.
    """
    if isinstance(size, Mapping):
        return _check_mapping(owner, argument, size, least)
    if isinstance(size, float | np.floating) and 0 < size < 1:
        return float(size)
    rule = ", a fraction of each stock between 0 and 1, or whole numbers by provider name"
    return check_whole(f"{owner}: {argument}", size, least, rule)


def _check_mapping(
    owner: str, argument: str, sizes: Mapping[object, object], least: int
) -> dict[str, int]:
    checked: dict[str, int] = {}
    for name, size in sizes.items():
        if not isinstance(name, str):
            raise InvalidInput(
                f"{owner}: {argument} must have provider names as keys; received {written(name)}"
            )
        checked[name] = check_whole(f"{owner}: {argument} of provider {name!r}", size, least)
    if not checked:
        raise InvalidInput(f"{owner}: {argument} must name every provider; it is empty")
    return dict(sorted(checked.items()))


def largest(size: DrawSize) -> int | None:
    """The largest draw, or None if it depends on the stocks."""
    if isinstance(size, Mapping):
        return max(size.values())
    return size if isinstance(size, int) else None


def draw_sizes(
    owner: str, argument: str, size: DrawSize, providers: Sequence[Provider]
) -> IntArray:
    """(n,) records that each provider gives to a game; an error names the provider concerned."""
    if isinstance(size, Mapping):
        _check_names(owner, argument, size, [provider.name for provider in providers])
        return np.array([size[provider.name] for provider in providers], dtype=np.int64)
    if isinstance(size, int):
        return np.full(len(providers), size, dtype=np.int64)
    sizes = []
    for provider in providers:
        if not isinstance(provider.source, FiniteSource):
            raise InvalidInput(
                f"{owner}: {argument}={size} is a fraction of each stock, but the source of "
                f"provider {provider.name!r} has no known size: pass a whole number, or whole "
                "numbers by provider name"
            )
        part = round(size * provider.source.size, _SAME_SIZE)
        sizes.append(max(1, math.floor(part)))
    return np.array(sizes, dtype=np.int64)


def _check_names(owner: str, argument: str, sizes: Mapping[str, int], names: Sequence[str]) -> None:
    known = set(names)
    for name in sizes:
        if name not in known:
            raise InvalidInput(
                f"{owner}: {argument} must name providers only, and {name!r} is not one of them; "
                f"{nearest(name, names)}"
            )
    for name in names:
        if name not in sizes:
            raise InvalidInput(
                f"{owner}: {argument} must name every provider, and {name!r} is missing: add its "
                "size, or leave the provider out"
            )


def stock_of(provider: Provider) -> int | None:
    """Number of records that can be drawn without repeats, or None if there is no limit."""
    source = provider.source
    return source.size if isinstance(source, FiniteSource) and not source.replace else None


def check_stocks(
    owner: str, argument: str, size: DrawSize, providers: Sequence[Provider], draws: int = 1
) -> IntArray:
    """Return the draw sizes, after checking that every stock has enough records for the draws."""
    sizes = draw_sizes(owner, argument, size, providers)
    for provider, drawn in zip(providers, sizes.tolist(), strict=True):
        stock = stock_of(provider)
        if stock is not None and stock < draws * drawn:
            asked = _asked(argument, size, drawn)
            raise InvalidInput(
                f"{owner}: provider {provider.name!r} has {stock} records, fewer than "
                f"{asked if draws == 1 else f'{draws} draws of {asked}'}: lower {argument}, give "
                "sizes by provider name, or leave the provider out"
            )
    return sizes


def pool_sizes(owner: str, n_pool: DrawSize, providers: Sequence[Provider]) -> IntArray:
    """(n,) records of each provider's pool: `n_pool`, or all records if there are fewer.

    A fraction gives at least two records, because one record has no variance.
    """
    sizes = draw_sizes(owner, "n_pool", n_pool, providers)
    if isinstance(n_pool, float):
        sizes = np.maximum(sizes, 2)
    stocks = [stock_of(provider) for provider in providers]
    most = [size if stock is None else stock for size, stock in zip(sizes, stocks, strict=True)]
    return np.minimum(sizes, np.array(most, dtype=np.int64))


def check_pools(
    owner: str, argument: str, size: DrawSize, providers: Sequence[Provider], n_pool: DrawSize
) -> None:
    """Check that every pool holds two draws."""
    sizes = check_stocks(owner, argument, size, providers, draws=2)
    pools = pool_sizes(owner, n_pool, providers)
    for provider, drawn, pool in zip(providers, sizes.tolist(), pools.tolist(), strict=True):
        if pool < 2 * drawn:
            asked = (
                f"n_pool={n_pool}" if isinstance(n_pool, int) else _asked("n_pool", n_pool, pool)
            )
            raise InvalidInput(
                f"{owner}: {asked} must hold two draws of every provider, and a draw of "
                f"{provider.name!r} has {_asked(argument, size, drawn)}: raise n_pool to "
                f"{_enough(n_pool, provider, 2 * drawn)}, or lower {argument}"
            )


def _enough(n_pool: DrawSize, provider: Provider, records: int) -> str:
    """The size, in the form of `n_pool`, that gives a provider a pool of so many records."""
    if not isinstance(n_pool, float) or not isinstance(provider.source, FiniteSource):
        return f"{records}"
    fraction = math.ceil(1000 * records / provider.source.size) / 1000
    return f"{fraction:g} ({records} records)" if fraction < 1 else f"{records} records"


def _asked(argument: str, size: DrawSize, drawn: int) -> str:
    """A provider's size for an error: ``n_boot=60``, or ``n_boot=0.3 (45 records)``."""
    return (
        f"{argument}={size} ({drawn} records)"
        if isinstance(size, float)
        else (f"{argument}={drawn}")
    )


def format_sizes(sizes: IntArray) -> str:
    """Return sizes as a string: "60", or "30 to 90" if providers differ."""
    low, high = int(sizes.min()), int(sizes.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def format_draws(size: DrawSize, sizes: IntArray) -> str:
    """Return draws as a string: "60 records", or "18 to 60 records (0.3 of each stock)".

    Examples
    --------
    >>> format_draws(0.3, np.array([45, 5]))
    '5 to 45 records (0.3 of each stock)'
    """
    remark = f" ({size:.6g} of each stock)" if isinstance(size, float) else ""
    return f"{format_sizes(sizes)} records{remark}"
