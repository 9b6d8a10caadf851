"""Games that were played once, kept so that a changed estimator can be measured without playing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from shapband._typing import FloatArray
from shapband.solvers.base import Solution


class KeptGames:
    """The values of the games of one pool, from a file, or played and then written to it.

    Parameters
    ----------
    path : the file; None plays without keeping anything
    play : solves some games
    most : games that are played at once
    """

    def __init__(self, path: Path | None, play: Callable[[range], Solution], most: int) -> None:
        self._path = path
        self._play = play
        self._most = most
        self._known = np.empty((2, 0, 0))
        self._played = False
        if path is not None and path.exists():
            self._known = np.load(path, allow_pickle=False)

    def upto(self, n_games: int) -> FloatArray:
        """Values and noise of at least the first games, played if they are not known."""
        parts = [self._known] if self._known.size else []
        known = self._known.shape[1]
        for start in range(known, n_games, self._most):
            solved = self._play(range(start, min(start + self._most, n_games)))
            parts.append(np.stack([solved.values, solved.noise]))
        if n_games > known:
            self._known, self._played = np.concatenate(parts, axis=1), True
        return self._known

    def write(self) -> None:
        """Write games that were played, by way of another file, so that it is always complete."""
        if self._path is not None and self._played:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._path.with_suffix(".part")
            with unfinished.open("wb") as file:
                np.save(file, self._known, allow_pickle=False)
            unfinished.replace(self._path)
