"""Coalitions of several games, evaluated together."""

from __future__ import annotations

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.games import Games

_AT_ONCE = 2**26  # bytes of coalitions that are copied for one call of the utility, at most


class Evaluation:
    """Evaluates coalitions of several games at once, and counts them.

    Rows are in the order of names; `rank` is the place of each provider in it.
    """

    def __init__(self, games: Games, rank: IntArray) -> None:
        self._games = games
        self._rank = rank
        self.count = 0

    def __call__(self, rows: list[MemberArray]) -> list[FloatArray]:
        """Values of the coalitions of each game."""
        ends = np.cumsum([len(part) for part in rows])
        total = int(ends[-1])
        values = np.empty(total)
        step = max(1, _AT_ONCE // len(self._rank))
        for first in range(0, total, step):
            last = min(first + step, total)
            values[first:last] = self._evaluated(rows, ends, first, last)
        self.count += total
        return np.split(values, ends[:-1])

    def _evaluated(
        self, rows: list[MemberArray], ends: IntArray, first: int, last: int
    ) -> FloatArray:
        """Values of the rows from first to last - 1, counted over all games."""
        some, of_game = [], []
        for game, (part, end) in enumerate(zip(rows, ends.tolist(), strict=True)):
            start = end - len(part)
            if start < last and end > first:
                some.append(part[max(first - start, 0) : last - start])
                of_game.append(np.full(len(some[-1]), game))
        inside = np.concatenate(some)[:, self._rank]
        return self._games.values(inside, np.concatenate(of_game))
