"""How long sources take to answer, from the pilot's requests."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from shapband._typing import BoolArray, FloatArray
from shapband.access.access import Access, is_distant
from shapband.access.budget import Budget
from shapband.engine.arguments import Arguments
from shapband.engine.tasks import Chunk
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.sources.base import GenerativeSource, Source

_REHEARSED = 16  # the handling of requests is timed over this many games


@dataclass(frozen=True, eq=False)
class RequestTimes:
    """Seconds that the sources take to answer, and that the library takes to ask them.

    Attributes
    ----------
    per_request, per_record : (n,) seconds of each source; 0 for records in memory
    waits : (n,) whether the source is asked from a thread, at the same time as others
    concurrency : sources asked at once
    at_once : (n,) requests that each source answers at the same time
    handling : seconds that the library's own code takes to ask all distant sources, for one game
    """

    per_request: FloatArray
    per_record: FloatArray
    waits: BoolArray
    concurrency: int
    at_once: FloatArray
    handling: float = 0.0

    @staticmethod
    def none(given: Arguments) -> RequestTimes:
        """The times if all records are in memory."""
        zero = np.zeros(len(given.names))
        return RequestTimes(zero, zero, zero.astype(bool), given.concurrency, zero + 1.0)

    @staticmethod
    def of_pools(
        given: Arguments,
        first: Sequence[int],
        sizes: Sequence[int],
        before: Sequence[float],
        after: Sequence[float],
    ) -> RequestTimes:
        """Estimate the times from two requests for parts of a pool, and the seconds of each."""
        one, two = np.array(before), np.array(after) - np.array(before)
        fewer, more = np.array(first), np.array(sizes) - np.array(first)
        slope = (two - one) / np.maximum(more - fewer, 1)
        # Neither time can be negative. If the larger request was not slower, records take no time.
        per_record = np.clip(slope, 0.0, np.where(more > 0, two / np.maximum(more, 1), 0.0))
        per_request = np.where(more > 0, np.maximum(two - per_record * more, 0.0), 0.0)
        return replace(_waiting(given), per_request=per_request, per_record=per_record)

    @staticmethod
    def of_draws(given: Arguments, access: Access) -> RequestTimes:
        """Estimate the times from fresh draws of one size, with a time per record of 0."""
        fetched = given.sampling.prepare(access).draws(range(2))
        del fetched
        usage = access.report.by_provider
        mean = np.array(
            [usage[name].seconds / max(usage[name].requests, 1) for name in given.names]
        )
        return replace(_waiting(given), per_request=mean)

    def seconds(self, sizes: FloatArray) -> float:
        """Seconds until all sources have answered one request each; 0 records ask nothing."""
        return self._slowest(sizes, np.ones_like(self.at_once), 1.0)

    def per_game(self, sizes: FloatArray, rates: FloatArray | float = 1.0) -> float:
        """Seconds per game over many games; some sources answer several requests at once.

        `rates` are the shares of the games in which the sources are asked.
        """
        return self._slowest(sizes, self.at_once, rates)

    def _slowest(self, sizes: FloatArray, at_once: FloatArray, rates: FloatArray | float) -> float:
        each = rates * np.where(sizes > 0, self.per_request + self.per_record * sizes, 0.0)
        slowest = float((each / at_once)[self.waits].max(initial=0.0))
        together = max(slowest, float(each[self.waits].sum()) / self.concurrency)
        return together + float(each[~self.waits].sum())


def _waiting(given: Arguments) -> RequestTimes:
    sources = [provider.source for provider in given.providers]
    waits = np.array([bool(source.waits) for source in sources])
    at_once = np.array([float(source.concurrent) if source.waits else 1.0 for source in sources])
    return replace(RequestTimes.none(given), waits=waits, at_once=at_once)


def time_handling(given: Arguments, chunk: Chunk) -> float:
    """Seconds per game that our own code takes to ask distant sources, without their answers."""
    assert chunk.draws is not None  # noqa: S101  for the type checker
    played = [
        Provider(provider.name, _Replay(drawn.batches()[0], provider.source))
        for provider, drawn in zip(given.providers, chunk.draws, strict=True)
        if is_distant(provider)
    ]
    if not played:
        return 0.0
    sizes = [len(one.source.batch) for one in played if isinstance(one.source, _Replay)]
    with Access(played, given.seeds, Budget(), concurrency=given.concurrency) as access:
        access.fetch("draw", range(1), sizes, "the rehearsal")
        started = time.perf_counter()
        access.fetch("draw", range(1, 1 + _REHEARSED), sizes, "the rehearsal")
        return (time.perf_counter() - started) / _REHEARSED


class _Replay(GenerativeSource):
    """Gives the same records again, at once."""

    def __init__(self, batch: Batch, source: Source) -> None:
        self.batch = batch
        self.waits = bool(source.waits)
        self.concurrent = source.concurrent

    def draw(self, size: int, rng: np.random.Generator) -> Batch:  # noqa: ARG002
        return self.batch
