"""The draws of one provider for consecutive games, stored as a batch and row indices.

`Draws` hold a batch of records and a `Choice`, which says which rows each game uses. Fresh rows of
an array, bootstrap rows of a pool and rows dealt from a shuffled pool all have this form. The rows
are computed from a random stream only when `rows` is called. So a million draws need almost no
memory, and the workers compute the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shapband._typing import IntArray
from shapband.kernels import rows as row_choice
from shapband.records.batch import Batch
from shapband.seeds import Seeds


class Choice(ABC):
    """The rows of a batch that each of several consecutive games uses, `size` rows per game."""

    size: int

    @property
    @abstractmethod
    def n_games(self) -> int:
        """The number of games."""

    @abstractmethod
    def rows(self) -> IntArray:
        """Compute the rows: (n_games, draw_size)."""

    @abstractmethod
    def part(self, games: slice) -> Choice:
        """Return the choice of some of the games, given by their positions."""


@dataclass(frozen=True, eq=False)
class FixedRows(Choice):
    """A choice whose rows are given as an array."""

    known: IntArray

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of rows per game."""
        return int(self.known.shape[1])

    @property
    def n_games(self) -> int:
        return len(self.known)

    def rows(self) -> IntArray:
        return self.known

    def part(self, games: slice) -> Choice:
        return FixedRows(self.known[games])


@dataclass(frozen=True)
class Stream:
    """The seed, purpose, provider and games that determine a provider's random numbers."""

    seeds: Seeds
    purpose: str
    name: str
    games: range


@dataclass(frozen=True)
class _Streamed(Choice):
    """`size` rows of `population` for every game, from a random stream."""

    stream: Stream
    size: int
    population: int

    @property
    def n_games(self) -> int:
        return len(self.stream.games)

    def part(self, games: slice) -> Choice:
        return replace(self, stream=replace(self.stream, games=self.stream.games[games]))

    def _words(self, games: range, count: int) -> NDArray[np.uint64]:
        return self.stream.seeds.words(self.stream.purpose, self.stream.name, games, count)


@dataclass(frozen=True)
class RandomRows(_Streamed):
    """`size` random rows of `population` for every game, without repeats unless `replace`."""

    replace: bool

    def rows(self) -> IntArray:
        words = self._words(self.stream.games, self.size)
        if self.replace:
            return row_choice.with_replacement(words, self.population)
        return row_choice.without_replacement(words, self.population)


@dataclass(frozen=True)
class DealtRows(_Streamed):
    """Rows dealt from shuffles of `population`: `per_shuffle` games share one, and no row."""

    per_shuffle: int

    def rows(self) -> IntArray:
        games = self.stream.games
        first, last = games.start // self.per_shuffle, (games.stop - 1) // self.per_shuffle
        words = self._words(range(first, last + 1), self.per_shuffle * self.size)
        dealt = row_choice.without_replacement(words, self.population).reshape(-1, self.size)
        skipped = games.start - first * self.per_shuffle
        return dealt[skipped : skipped + len(games)]


@dataclass(frozen=True)
class OtherRows(_Streamed):
    """`size` random rows of `population` for every game, none of which `taken` has chosen."""

    taken: Choice

    def part(self, games: slice) -> Choice:
        stream = replace(self.stream, games=self.stream.games[games])
        return replace(self, stream=stream, taken=self.taken.part(games))

    def rows(self) -> IntArray:
        left = self.population - self.taken.size
        words = self._words(self.stream.games, self.size)
        return _places_left(row_choice.without_replacement(words, left), self.taken.rows(), left)


def _places_left(chosen: IntArray, taken: IntArray, left: int) -> IntArray:
    """Convert places among the rows that are left to row numbers, for each game.

    The row at place p is row p plus the number of taken rows before it. If the taken rows are
    t_0 < t_1 < ..., then t_k is before it if t_k - k is at most p.
    """
    n_games, count = taken.shape
    # Games are set apart by more than the largest place, so that one search serves all of them.
    apart = np.arange(n_games, dtype=np.int64)[:, None] * (left + 1)
    before = np.sort(taken, axis=1) - np.arange(count) + apart
    found = np.searchsorted(before.ravel(), (chosen + apart).ravel(), side="right")
    return np.asarray(chosen + found.reshape(chosen.shape) - count * np.arange(n_games)[:, None])


@dataclass(frozen=True, eq=False)
class Draws:
    """One provider's draws for consecutive games: game g uses ``batch`` at ``rows[g]``.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> drawn = sb.extend.Draws.whole(sb.Batch(np.eye(3), np.ones(3)))
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
        """The chosen rows, computed again at every call: (n_games, draw_size)."""
        return self.choice.rows()

    def batches(self) -> list[Batch]:
        """The records of every game."""
        return [self.batch.take(rows) for rows in self.rows]

    def part(self, games: slice) -> Draws:
        """Return the draws of some of the games, given by their positions."""
        return Draws(self.batch, self.choice.part(games))

    def packed(self) -> Draws:
        """Return the same draws with only the records that they use, to send to another process."""
        rows = self.rows
        places = np.arange(rows.size, dtype=np.int64).reshape(rows.shape)
        return Draws(self.batch.take(rows.ravel()), FixedRows(places))
