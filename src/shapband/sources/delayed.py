"""Sources with an artificial delay, to measure the effect of slow access."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from shapband._typing import IntArray
from shapband.checks import check_number, check_whole
from shapband.errors import InvalidInput
from shapband.sources.base import FiniteSource, GenerativeSource, Records, Source


def with_delay(source: Source, seconds: float, *, concurrent: int = 1) -> Source:
    """Return the source with a fixed delay at every call, as if it were behind a network.

    The source is asked from threads, so it must be safe to call from any thread. Draws that it
    answers together are delayed once.

    Parameters
    ----------
    source : the source behind the delay
    seconds : the delay of a call
    concurrent : requests answered at the same time

    Examples
    --------
    >>> import shapband as sb
    >>> slow = sb.with_delay(sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]), seconds=0.01)
    >>> slow.size
    2
    """
    check_number("with_delay: seconds", seconds, least=0)
    check_whole("with_delay: concurrent", concurrent, 1)
    if isinstance(source, FiniteSource):
        return _DelayedFinite(source, seconds, concurrent)
    if isinstance(source, GenerativeSource):
        return _DelayedGenerative(source, seconds, concurrent)
    raise InvalidInput(f"with_delay: source must be a source; received {type(source).__name__}")


class _Delayed(Source):
    """Base class of both kinds of delayed source."""

    waits = True

    def __init__(self, inner: Source, seconds: float, concurrent: int) -> None:
        self._inner = inner
        self._seconds = seconds
        self.concurrent = concurrent
        self.together = inner.together
        self.schema = inner.schema
        self.target = inner.target

    @property
    def version(self) -> str | None:  # type: ignore[override]
        """The version of the source behind the delay."""
        return self._inner.version

    def __repr__(self) -> str:
        return f"with_delay({self._inner!r}, seconds={self._seconds})"


class _DelayedFinite(_Delayed, FiniteSource):
    """A delayed finite source. Its `records` are None, so that every draw calls `take`."""

    _inner: FiniteSource

    def __init__(self, inner: FiniteSource, seconds: float, concurrent: int) -> None:
        super().__init__(inner, seconds, concurrent)
        self.size = inner.size
        self.replace = inner.replace

    def take(self, rows: IntArray) -> Records:
        time.sleep(self._seconds)
        return self._inner.take(rows)

    def take_many(self, draws: Sequence[IntArray]) -> Sequence[Records]:
        time.sleep(self._seconds)
        return self._inner.take_many(draws)


class _DelayedGenerative(_Delayed, GenerativeSource):
    _inner: GenerativeSource

    def draw(self, size: int, rng: np.random.Generator) -> Records:
        time.sleep(self._seconds)
        return self._inner.draw(size, rng)

    def draw_many(
        self, sizes: Sequence[int], generators: Sequence[np.random.Generator]
    ) -> Sequence[Records]:
        time.sleep(self._seconds)
        return self._inner.draw_many(sizes, generators)
