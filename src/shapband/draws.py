"""What one provider gives to a run of consecutive games, described rather than copied.

`Draws` hold a batch of records and a choice: which rows of it every game uses. Fresh rows of an
array, bootstrap rows of a pool and blocks of a shuffled pool all have this shape. A choice is
worked out from its random stream when it is needed, by whoever needs it, so describing a million
draws costs nothing and workers do the choosing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from shapband._typing import IntArray
from shapband.kernels import rows as row_choice
from shapband.records import Batch
from shapband.seeds import Seeds


class Choice(ABC):
    """Which rows of a batch each of some consecutive games uses: `size` of them."""

    size: int

    @property
    @abstractmethod
    def n_games(self) -> int:
        """For how many games rows are chosen."""

    @abstractmethod
    def rows(self) -> IntArray:
        """Work the rows out: (n_games, draw_size)."""


@dataclass(frozen=True, eq=False)
class FixedRows(Choice):
    """Rows that are already known."""

    known: IntArray

    @property
    def size(self) -> int:  # type: ignore[override]
        """The length of the rows."""
        return int(self.known.shape[1])

    @property
    def n_games(self) -> int:
        """The number of rows."""
        return len(self.known)

    def rows(self) -> IntArray:
        """Give them."""
        return self.known


@dataclass(frozen=True)
class Stream:
    """The address of one provider's random numbers, and the games they are for."""

    seeds: Seeds
    purpose: str
    name: str
    games: range


@dataclass(frozen=True)
class RandomRows(Choice):
    """`size` random rows of `population` for every game, distinct ones unless `replace`."""

    stream: Stream
    size: int
    population: int
    replace: bool

    @property
    def n_games(self) -> int:
        """All games of the stream."""
        return len(self.stream.games)

    def rows(self) -> IntArray:
        """Choose them."""
        at = self.stream
        words = at.seeds.words(at.purpose, at.name, at.games, self.size)
        if self.replace:
            return row_choice.with_replacement(words, self.population)
        return row_choice.without_replacement(words, self.population)


@dataclass(frozen=True)
class BlockRows(Choice):
    """Blocks of `size` rows, cut from shuffles of `population` that hold `per_shuffle` each."""

    stream: Stream
    size: int
    population: int
    per_shuffle: int

    @property
    def n_games(self) -> int:
        """All games of the stream."""
        return len(self.stream.games)

    def rows(self) -> IntArray:
        """Shuffle and cut."""
        at = self.stream
        first, last = at.games.start // self.per_shuffle, (at.games.stop - 1) // self.per_shuffle
        shuffles = range(first, last + 1)
        used = self.per_shuffle * self.size
        words = at.seeds.words(at.purpose, at.name, shuffles, used)
        blocks = row_choice.without_replacement(words, self.population).reshape(-1, self.size)
        skipped = at.games.start - first * self.per_shuffle
        return blocks[skipped : skipped + len(at.games)]


@dataclass(frozen=True, eq=False)
class Draws:
    """One provider's draws for consecutive games: game g uses ``batch`` at ``rows[g]``.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> drawn = sb.Draws.whole(sb.Batch(np.eye(3), np.ones(3)))
    >>> drawn.rows.tolist(), len(drawn.batches()[0])
    ([[0, 1, 2]], 3)
    """

    batch: Batch
    choice: Choice

    @staticmethod
    def whole(batch: Batch) -> Draws:
        """One game that uses all records once."""
        return Draws(batch, FixedRows(np.arange(len(batch), dtype=np.int64)[None, :]))

    @property
    def rows(self) -> IntArray:
        """The chosen rows, worked out anew at every call: (n_games, draw_size)."""
        return self.choice.rows()

    def batches(self) -> list[Batch]:
        """The records of every game."""
        return [self.batch.take(rows) for rows in self.rows]

    def packed(self) -> Draws:
        """The same draws with only the records they use, to be sent to another process."""
        rows = self.rows
        places = np.arange(rows.size, dtype=np.int64).reshape(rows.shape)
        return Draws(self.batch.take(rows.ravel()), FixedRows(places))
