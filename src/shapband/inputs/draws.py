"""The sampling, or the size of draws, that is used if none is given, for records in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shapband.errors import InvalidInput
from shapband.providers import Group, Provider, check_providers
from shapband.sampling.base import Sampling
from shapband.sampling.pooled import Pooled
from shapband.sources.base import FiniteSource, MemorySource

# Draws are this part of the smallest stock. Games of one shuffle of the stocks share no record, and
# four of them are enough for their errors to cancel in part. A draw of half of a stock would hide a
# half of its variance: without replacement, the variance of a mean shrinks by 1 - draw / stock.
_PARTS = 4
_LEAST = 10  # smaller draws teach most models nothing; half of the smallest stock may be less
_MOST = 500  # larger draws make games expensive, and change most models little


class Wanted(NamedTuple):
    """The argument that would have named the draws, and what to pass for it."""

    argument: str
    distant: str  # for a source that is not in memory
    single: str  # for a stock of one record


SAMPLING = Wanted(
    "sampling",
    "sampling=sb.Pooled(n_pool, n_boot, replace=False), which asks every provider once, or "
    "sb.Fresh(n_sample)",
    "a sampling, such as sampling=sb.Fresh(1)",
)


class Draw(NamedTuple):
    """A size of draws: the records, the largest stock, and the reason."""

    size: int
    largest: int
    reason: str


def chosen_sampling(
    sampling: Sampling | None, players: Sequence[Provider | Group]
) -> tuple[Sampling, str]:
    """The sampling that was given, or the default one with the reason for it."""
    return default_sampling(players) if sampling is None else (sampling, "")


def default_sampling(players: Sequence[Provider | Group]) -> tuple[Sampling, str]:
    """Choose draws without replacement from whole stocks, and say why they have their size.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> stocks = {"north": 100, "south": 60}
    >>> providers = [sb.Provider(name, sb.ArraySource(np.arange(size), np.arange(size)))
    ...              for name, size in stocks.items()]
    >>> default_sampling(providers)[0]
    Pooled(n_pool=100, n_boot=15, replace=False)
    """
    draw = default_draw(players, SAMPLING)
    return Pooled(draw.largest, draw.size, replace=False), draw.reason


def default_draw(players: Sequence[Provider | Group], wanted: Wanted) -> Draw:
    """Choose how many records a provider gives to a game, and say why.

    All providers give equally many records, so that values compare what the records teach and not
    how many there are.
    """
    checked, _ = check_providers(players)
    stocks = {one.name: _stock(one, wanted) for one in checked}
    size, name = min((size, name) for name, size in stocks.items())
    if size < 2:
        raise InvalidInput(
            f"{wanted.argument}: without one, draws are at most half of the smallest stock, and "
            f"provider {name!r} has only {size} record: pass {wanted.single}, or leave the "
            "provider out"
        )
    drawn = min(max(size // _PARTS, _LEAST), size // 2, _MOST)
    stock = f"the smallest stock, {size:,} records of {name}"
    if drawn == size // _PARTS:
        reason = f"draws are a quarter of {stock}"
    elif drawn == size // 2:
        reason = f"draws are half of {stock}, because a quarter would be fewer than {_LEAST}"
    elif drawn == _LEAST:
        reason = f"{_LEAST} records are the smallest draw, because a quarter of {stock}, is fewer"
    else:
        reason = f"{_MOST} records are the largest draw, because a quarter of {stock}, is more"
    why = f"none was named and all records are in memory; {reason}"
    return Draw(drawn, max(stocks.values()), why)


def _stock(provider: Provider, wanted: Wanted) -> int:
    source = provider.source
    if not isinstance(source, MemorySource):
        size = f" of {source.size} records" if isinstance(source, FiniteSource) else ""
        why = f"a {type(source).__name__}{size}, and requests to it may cost money"
    elif source.replace:
        why = "a source that draws with replacement, which has no whole stock"
    else:
        return source.size
    raise InvalidInput(
        f"{wanted.argument} must be given, because provider {provider.name!r} has {why}; received "
        f"None: pass {wanted.distant}"
    )
