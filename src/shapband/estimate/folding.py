"""Games that are added in any chunks, folded into moments in blocks of a fixed size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shapband._typing import FloatArray
from shapband.estimate.moments import FOLD, MANY, Moments, block_moments
from shapband.estimate.shuffles import ShuffleFold


class Fold:
    """Moments of games that are added in any chunks."""

    def __init__(self, n_values: int, *, covariances: bool = True) -> None:
        self._folded = Moments.empty(n_values, covariances=covariances)
        self.waiting = np.empty((2, 0, n_values))  # games that do not fill a block yet

    @property
    def n_games(self) -> int:
        """Number of games added so far."""
        return self._folded.n_games + self.waiting.shape[1]

    def add(self, values: FloatArray, noise: FloatArray) -> list[FloatArray]:
        """Add the next games, (n_games, n) each, and return the blocks that are full now."""
        rows = np.concatenate([self.waiting, np.stack([values, noise])], axis=1)
        whole = rows.shape[1] - rows.shape[1] % FOLD
        blocks = [rows[:, at : at + FOLD] for at in range(0, whole, FOLD)]
        for block in blocks:
            self._folded = self._folded.merge(block_moments(block[0], block[1], self._folded))
        self.waiting = rows[:, whole:]
        return blocks

    def moments(self) -> Moments:
        """Moments of all games added so far."""
        if self.waiting.shape[1] == 0:
            return self._folded
        return self._folded.merge(block_moments(self.waiting[0], self.waiting[1], self._folded))


class DealtFold:
    """Moments of games that may be dealt from shuffles of the pools, added in any chunks."""

    def __init__(self, n_values: int, per_shuffle: int | None, *, covariances: bool = True) -> None:
        self._games = Fold(n_values, covariances=covariances)
        self._shuffles = None
        if per_shuffle is not None:
            kept = covariances and n_values <= MANY
            self._shuffles = ShuffleFold(n_values, per_shuffle, covariances=kept)

    @property
    def n_games(self) -> int:
        """Number of games added so far."""
        return self._games.n_games

    @property
    def waiting(self) -> FloatArray:
        """Values and noise of the games that do not fill a block yet: (2, n_games, n)."""
        return self._games.waiting

    def add(self, values: FloatArray, noise: FloatArray) -> list[FloatArray]:
        """Add the next games, (n_games, n) each, and return the blocks that are full now."""
        if self._shuffles is not None:
            self._shuffles.add(values)
        return self._games.add(values, noise)

    def moments(self) -> Moments:
        """Moments of all games added so far."""
        moments = self._games.moments()
        if self._shuffles is None:
            return moments
        return replace(moments, shuffles=self._shuffles.shuffles())
