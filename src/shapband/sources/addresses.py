"""The addresses of the draws that a source is being asked for.

A draw is addressed by the seed, the purpose, the provider and the game. `take` receives row numbers
only, and two games may happen to draw the same rows. A source that has to tell one draw from
another, for example so that its owner charges a repeated request once, reads the addresses here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_addresses: ContextVar[tuple[str, ...]] = ContextVar("addresses", default=())


@contextmanager
def addressed(addresses: Sequence[str]) -> Iterator[None]:
    """State the addresses of the draws that a source is asked for in this context.

    Examples
    --------
    >>> with addressed(["0/draw/north/7"]):
    ...     current_addresses()
    ('0/draw/north/7',)
    """
    before = _addresses.set(tuple(addresses))
    try:
        yield
    finally:
        _addresses.reset(before)


def current_addresses() -> tuple[str, ...]:
    """Return the addresses of the draws asked for now; none if a user calls the source."""
    return _addresses.get()
