"""A source slowed down on purpose, to study what access costs."""

from __future__ import annotations

import time

import numpy as np

from shapband._typing import IntArray
from shapband.checks import check_number
from shapband.errors import InvalidInput
from shapband.records import Batch, Schema
from shapband.sources.base import FiniteSource, GenerativeSource, Source


def with_delay(source: Source, seconds: float) -> Source:
    """Give the same source with a fixed delay at every request.

    Examples
    --------
    >>> import shapband as sb
    >>> slow = sb.with_delay(sb.ArraySource([[1.0], [2.0]], [0.0, 1.0]), seconds=0.01)
    >>> slow.size
    2
    """
    if check_number("with_delay: seconds", seconds) < 0:
        raise InvalidInput(f"with_delay: seconds must be at least 0; received {seconds}")
    if isinstance(source, FiniteSource):
        return _DelayedFinite(source, seconds)
    if isinstance(source, GenerativeSource):
        return _DelayedGenerative(source, seconds)
    raise InvalidInput(f"with_delay: source must be a source; received {type(source).__name__}")


class _DelayedFinite(FiniteSource):
    """Its records are not free to look at, so that every draw passes through `take`."""

    def __init__(self, inner: FiniteSource, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds
        self.replace = inner.replace

    @property
    def size(self) -> int:
        return self._inner.size

    @property
    def schema(self) -> Schema | None:
        return self._inner.schema

    def take(self, rows: IntArray) -> Batch:
        time.sleep(self._seconds)
        return self._inner.take(rows)


class _DelayedGenerative(GenerativeSource):
    def __init__(self, inner: GenerativeSource, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    @property
    def schema(self) -> Schema | None:
        return self._inner.schema

    def draw(self, size: int, rng: np.random.Generator) -> Batch:
        time.sleep(self._seconds)
        return self._inner.draw(size, rng)
