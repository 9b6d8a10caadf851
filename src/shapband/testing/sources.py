"""Conformance checks of sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from shapband.access.answers import check_answer
from shapband.errors import SourceError
from shapband.providers import Provider, check_providers
from shapband.records.batch import Batch
from shapband.runs.fingerprints import fingerprint
from shapband.sources.base import FiniteSource, GenerativeSource, Source
from shapband.sources.retry import Retry
from shapband.testing.rules import during, require, same


def check_source(source: Source) -> None:
    """Check that a source follows the rules of sources; a few records are requested.

    A finite source must return the requested rows, in that order and as often as requested; a
    generative source must take all its randomness from `rng`. Both must give the same answer to
    the same request, and have the schema they declare. A source with ``waits = True`` is also
    asked from another thread, and from several at once if its `concurrent` is larger than 1; every
    answer must have its own arrays. The others may reuse their buffers, because their answers are
    copied before they are asked again. If `together` is larger than 1, draws that are answered
    together, by `take_many` or `draw_many`, must be the same as draws that are answered alone. A
    source with ``waits = True`` may fail in a way that may pass, and must give the same records
    when it is asked again; the requests of this check are repeated like those of a valuation. A
    `version` must stay the same while the records do. Sources are never sent to other processes,
    so they need not be picklable.

    Examples
    --------
    >>> import shapband as sb
    >>> sb.testing.check_source(sb.ArraySource([[1.0], [2.0], [3.0]], [0.0, 1.0, 2.0]))
    """
    name = type(source).__name__
    with during(f"{name} must have valid attributes before it is asked"):
        checked = check_providers([Provider(name, source)])[0][0].source
        mark = fingerprint(source)
    if isinstance(source, FiniteSource):
        shown = checked.records if isinstance(checked, FiniteSource) else None
        _check_finite(source, shown, f"{name}.take")
    elif isinstance(source, GenerativeSource):
        _check_generative(source, f"{name}.draw")
    else:
        require(False, f"{name} must be a subclass of FiniteSource or GenerativeSource")
    with during(f"{name} must have a version after requests as before"):
        later = fingerprint(source)
    require(
        later == mark,
        f"{name} must have the same size and version as long as its records are the same; after a "
        f"few requests {mark} had become {later}: compute the version from the records, or leave "
        "it as None",
    )


def _check_finite(source: FiniteSource, shown: Batch | None, method: str) -> None:
    def ask(rows: list[int]) -> Batch:
        asked = np.array(rows, dtype=np.int64)
        with during(f"{method}({rows}) must give these records"):
            batch = check_answer(_answer(source, lambda: source.take(asked)), len(rows))
        require(asked.tolist() == rows, f"{method} must not change its rows: work on a copy")
        return batch

    last = source.size - 1
    rows = [last, 0, last // 2, 0]
    _check_answers(source, method, ask, rows, [0])
    requests = rows, [0, last // 2, last, last]
    _check_buffers(
        source, method, lambda other: source.take(np.array(requests[other > 0], dtype=np.int64))
    )
    _check_together(
        source,
        f"{method}_many",
        lambda: source.take_many([np.array(some, dtype=np.int64) for some in (*requests, [0])]),
        [ask(some) for some in (*requests, [0])],
    )
    whole = ask(rows)
    for place, row in enumerate(rows):
        require(
            same(whole.take(np.array([place])), ask([row])),
            f"{method} must give the records in the order of the rows, repeated as they are; row "
            f"{row} requested in {rows} is another record than requested alone: order the records "
            "like the rows",
        )
    require(
        shown is None or same(shown.take(np.array(rows)), whole),
        f"{method} must give the same records as the attribute records: leave records as None",
    )


def _check_generative(source: GenerativeSource, method: str) -> None:
    def ask(request: tuple[int, int]) -> Batch:
        size, seed = request
        with during(f"{method}({size}, rng) must give so many records"):
            return check_answer(
                _answer(source, lambda: source.draw(size, np.random.default_rng(seed))), size
            )

    _check_answers(source, method, ask, (8, 0), (1, 1))
    _check_buffers(source, method, lambda other: source.draw(8, np.random.default_rng(other)))
    requests = [(8, 0), (8, 1), (1, 2)]
    _check_together(
        source,
        f"{method}_many",
        lambda: source.draw_many(
            [size for size, _ in requests], [np.random.default_rng(seed) for _, seed in requests]
        ),
        [ask(request) for request in requests],
    )
    drawn = ask((8, 0))
    constant = all(same(drawn.take(np.array([k])), drawn.take(np.array([0]))) for k in range(8))
    require(
        constant or not same(drawn, ask((8, 1))),
        f"{method} must take its randomness from rng; two different generators gave the same "
        "records: draw with rng, or subclass FiniteSource",
    )


def _check_answers(
    source: Source, method: str, ask: Callable[[Any], Batch], request: Any, other: Any
) -> None:
    """Check the rules for both kinds of source."""
    first = ask(request)
    require(
        source.schema is None or first.schema == source.schema,
        f"{method} must give the features of its schema, {source.schema}; received "
        f"{first.schema}: correct the schema, or leave it as None",
    )
    ask(other)
    require(
        same(ask(request), first),
        f"{method} must give the same records for the same request; the second time it gave "
        "others: keep no state, and draw random numbers from rng only",
    )
    if source.waits:
        with ThreadPoolExecutor(source.concurrent) as threads:
            answers = list(threads.map(ask, [request, other] * source.concurrent))
        require(
            all(same(answer, first) for answer in answers[::2]),
            f"{method} must give the same records when it is asked from other threads, "
            f"{source.concurrent} at the same time: share no state between requests, or leave "
            "concurrent as 1",
        )


def _check_buffers(source: Source, method: str, ask: Callable[[int], Any]) -> None:
    """Check that a source that waits does not write into answers that it has given.

    `ask(0)` makes one request, and `ask` with any other argument makes a second, different one. All
    requests are for the same number of records, because a source may have a buffer for each size.
    More requests are made than the source answers at once, because it may use several buffers in
    turn.
    """
    if not source.waits:
        return
    given = _answer(source, lambda: ask(0))
    size = len(given if isinstance(given, Batch) else given[1])
    first = check_answer(given, size)
    for number in range(1, source.concurrent + 3):
        _answer(source, partial(ask, number))
    try:
        unchanged = same(check_answer(given, size), first)
    except SourceError:
        unchanged = False
    require(
        unchanged,
        f"{method} must not change an answer that it has given; a later request changed the "
        "records of an earlier one: return new arrays for each request, such as copies of the "
        "buffer that is used again",
    )


def _check_together(
    source: Source, method: str, ask: Callable[[], Any], alone: Sequence[Batch]
) -> None:
    """Check that draws that are answered in one call equal the same draws answered alone."""
    if source.together == 1:
        return  # it is never called
    rule = f"{method} must give one answer for each draw, in the order of the draws"
    with during(rule):
        answers = list(_answer(source, ask))
    require(
        len(answers) == len(alone),
        f"{rule}; it gave {len(answers)} answers to {len(alone)} draws: answer all of them",
    )
    for answer, expected in zip(answers, alone, strict=True):
        with during(rule):
            found = check_answer(answer, len(expected))
        require(
            same(found, expected),
            f"{method} must give the same records as one call for each draw; a draw of "
            f"{len(expected)} records differs: answer the draws in their order, or remove "
            f"{method.rpartition('.')[2]}",
        )


def _answer(source: Source, ask: Callable[[], Any]) -> Any:
    """Ask a source, and ask one that waits again if it fails in a way that may pass."""
    retry = Retry() if source.waits else Retry(attempts=1)
    failures = 0
    while True:
        try:
            return ask()
        except Exception as cause:
            failures += 1
            if not retry.allows(failures, cause):
                raise
            time.sleep(retry.pause(failures, cause))
