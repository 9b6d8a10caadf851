"""Summaries of games, with who is present in each round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shapband._typing import BoolArray
from shapband.utilities.base import GameSummaries


@dataclass(frozen=True, eq=False)
class PresentGame(Sequence[Any]):
    """The summaries of one game, and who is present in each of its rounds.

    Attributes
    ----------
    summaries : of all providers
    present : (rounds, n)
    """

    summaries: Sequence[Any]
    present: BoolArray

    def __getitem__(self, place: Any) -> Any:
        return self.summaries[place]

    def __len__(self) -> int:
        return len(self.summaries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.summaries)


@dataclass(frozen=True, eq=False)
class PresentGames(Sequence[PresentGame]):
    """The summaries of several games, and who is present in each round.

    Attributes
    ----------
    games : summaries, games[game][provider]
    present : (n_games, rounds, n)
    """

    games: GameSummaries
    present: BoolArray

    def __getitem__(self, game: Any) -> Any:
        return PresentGame(self.games[game], self.present[game])

    def __len__(self) -> int:
        return len(self.games)


def with_presence(games: GameSummaries, present: BoolArray, rounds: int) -> PresentGames:
    """Add to the summaries of games who is present in each round: (n_games, rounds, n)."""
    known = np.asarray(present, dtype=bool)
    expected = (len(games), rounds, len(games[0]))
    if known.shape != expected:
        raise ValueError(f"present must have the shape {expected}; received {known.shape}")
    return PresentGames(games, known)


def split(game: Sequence[Any], rounds: int) -> tuple[Sequence[Any], BoolArray]:
    """Return the summaries of a game, and who is present in each round: by default everybody."""
    if isinstance(game, PresentGame):
        return game.summaries, game.present
    return game, np.ones((rounds, len(game)), dtype=bool)
