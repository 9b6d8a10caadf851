"""The two kinds of source, `FiniteSource` and `GenerativeSource`.

A finite source knows how many records it has and returns the rows that the caller chooses, so the
same seed selects the same records wherever they are stored. A generative source draws its own
records with the random generator that the caller passes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from shapband._facts import WithFacts, facts
from shapband._typing import IntArray
from shapband.errors import InvalidInput
from shapband.records.batch import Batch, Schema

# What a source may return: a batch, or a tuple (X, y), which the library checks.
Records: TypeAlias = Batch | tuple[Any, Any]


class UnusableAnswer(InvalidInput):
    """A function or distribution gave the library's source an answer that cannot be used.

    Attributes
    ----------
    answer : the answer
    """

    def __init__(self, message: str, answer: object) -> None:
        super().__init__(message)
        self.answer = answer


class Source(WithFacts, ABC):
    """Where one provider's records are drawn from: a `FiniteSource` or a `GenerativeSource`.

    Attributes
    ----------
    schema : the features of the records, or None while no record has been seen; an attribute or
        a property
    waits : whether a request waits for something outside this process, such as a network.
        Sources that wait are asked from threads, so they must be safe to call from any thread.
        The others are asked from the thread that called `value`
    concurrent : number of requests that a source that waits answers at the same time; by default 1,
        so that it is asked for one game after the other. With more it must be safe to call from
        several threads at once
    together : number of draws that the source answers in one call at best; by default 1. See
        `FiniteSource.take_many` and `GenerativeSource.draw_many`
    version : a string that changes with the records, such as the name of a snapshot, an ETag or a
        digest; an attribute or a property. Runs store it and compare it when they are resumed.
        None if it is not known: then runs cannot detect that records changed
    target : the name of the column with the targets, or None if there is none or it is not known.
        `compare` does not test valuations of different columns

    Examples
    --------
    >>> import shapband as sb
    >>> isinstance(sb.ArraySource([[1.0]], [0.0]), sb.Source)
    True
    """

    schema: Schema | None = None
    waits: bool = False
    concurrent: int = 1
    together: int = 1
    version: str | None = None
    target: str | None = None


class FiniteSource(Source):
    """A source with a known number of records, addressed by their index.

    Attributes
    ----------
    size : how many records there are, at least 1; an attribute or a property
    replace : whether one draw may hold a record more than once
    records : all records if they are in memory and can be read at no cost, else None

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> class Squares(sb.FiniteSource):
    ...     def __init__(self, size):
    ...         self.size = size
    ...     def take(self, rows):
    ...         return rows.astype(float), rows**2
    >>> Squares(10)
    Squares(10 records)
    >>> sb.testing.check_source(Squares(10))
    """

    size: int
    replace: bool = False
    records: Batch | None = None

    @abstractmethod
    def take(self, rows: IntArray) -> Records:
        """Return the records with these indices, in this order: a `Batch` or a tuple (X, y)."""

    def take_many(self, draws: Sequence[IntArray]) -> Sequence[Records]:
        """Return the records of several draws, each as `take` would return them.

        A source that saves time by answering many draws at once, such as one statement for all of
        them, overrides this method and sets `together`. Each draw remains a request of its own in
        budgets and ledgers.
        """
        return [self.take(rows) for rows in draws]

    def __repr__(self) -> str:
        told = []
        with suppress(Exception):  # `size` may raise an error if the source cannot be reached
            told.append(f"{self.size} records")
            told.append(f"{self.schema.n_features} features" if self.schema else "")
        return f"{type(self).__name__}({facts(*filter(None, told), replace=self.replace)})"


class MemorySource(FiniteSource):
    """A finite source whose records are all in memory and can be read at no cost."""

    schema: Schema
    records: Batch

    def __init__(self, records: Batch, *, replace: bool, target: str | None = None) -> None:
        self.records = records
        self.target = target
        self.size = len(records)
        self.schema = records.schema
        self.replace = replace

    @cached_property
    def version(self) -> str:  # type: ignore[override]  # computed when a run needs it
        """The digest of the records."""
        from shapband.sources.digests import digest_of

        return digest_of(self.records)

    def take(self, rows: IntArray) -> Batch:
        return self.records.take(rows)


class GenerativeSource(Source):
    """A source that draws its own records.

    Examples
    --------
    >>> import shapband as sb
    >>> class Dice(sb.GenerativeSource):
    ...     def draw(self, size, rng):
    ...         eyes = rng.integers(1, 7, size)
    ...         return eyes, eyes
    >>> sb.testing.check_source(Dice())
    """

    @abstractmethod
    def draw(self, size: int, rng: np.random.Generator) -> Records:
        """Return `size` records, with all randomness from `rng`: a `Batch` or a tuple (X, y)."""

    def draw_many(
        self, sizes: Sequence[int], generators: Sequence[np.random.Generator]
    ) -> Sequence[Records]:
        """Return several draws, each as `draw` would return it.

        A source that saves time by answering many draws at once overrides this method and sets
        `together`, as in `FiniteSource.take_many`.
        """
        return [self.draw(size, rng) for size, rng in zip(sizes, generators, strict=True)]
