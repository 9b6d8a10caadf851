"""Blocks of chunks whose records are fetched at once.

A block is complete when its last request is answered, and until then other sources have nothing to
do. So blocks of games that are fetched from distant sources are made longer, until fetching one
takes two seconds.
"""

from __future__ import annotations

import time
from collections.abc import Generator

from shapband.access.access import Access
from shapband.engine.arguments import Arguments
from shapband.engine.chunks import games_at_once
from shapband.engine.tasks import Chunk
from shapband.sampling.base import Realisation

_SECONDS = 2.0  # fetching a block should take this long
_RECORDS = 1_000_000  # largest number of records in a block of several chunks


def fetched_blocks(
    given: Arguments, realisation: Realisation, access: Access, games: range, size: int
) -> Generator[list[Chunk], None, None]:
    """Fetch the records of some games, and cut them into chunks of `size` games."""
    most = _most_chunks(given, realisation, access, size)
    start, chunks = games.start, 1
    while start < games.stop:
        block = range(start, min(start + chunks * size, games.stop))
        began = time.perf_counter()
        draws = realisation.draws(block)
        per_chunk = (time.perf_counter() - began) * size / len(block)
        chunks = max(1, min(most, int(_SECONDS / max(per_chunk, 1e-9))))
        start = block.stop
        if len(block) <= size:
            yield [Chunk(block, draws)]
            continue
        edges = range(0, len(block), size)
        parts = [slice(edge, edge + size) for edge in edges]
        yield [Chunk(block[part], [one.part(part) for one in draws]) for part in parts]


def _most_chunks(given: Arguments, realisation: Realisation, access: Access, size: int) -> int:
    """Largest number of chunks in a block; 1 if records arrive at once or the time is limited.

    A chunk of a single game may take long to solve. Who interrupts such a valuation should not have
    paid for many games that were not solved, so a block has no more of them than requests that are
    under way at once.
    """
    limited = given.stop is not None and given.stop.time_limit < float("inf")
    if not access.waits or limited or given.chunk_size is not None:
        return 1
    if size == 1:
        return games_at_once(given)
    records = size * int(realisation.design.draw_sizes.sum())
    return max(1, _RECORDS // max(records, 1))
