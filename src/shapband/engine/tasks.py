"""Tasks of workers: consecutive games with their draws, and who takes part in them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from shapband._typing import BoolArray
from shapband.records.draws import Draws
from shapband.sampling.design import Design
from shapband.sampling.replays import replay_seeds
from shapband.utilities.base import GameSummaries


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive games with their draws, or with their summaries.

    Attributes
    ----------
    indices : the numbers of the games
    draws : one per provider, or None once they are summarised
    summaries : summaries[game][provider], or None before
    places : positions of the providers that take part in all of these games, to whom draws and
        summaries belong; None for all providers
    present : (n_games, rounds, n) who of these providers is present in each round of training; None
        if all of them are in all rounds
    """

    indices: range
    draws: list[Draws] | None = field(default=None, repr=False)
    summaries: GameSummaries | None = field(default=None, repr=False)
    places: tuple[int, ...] | None = None
    present: BoolArray | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class MixedChunk:
    """Consecutive games in which different providers take part.

    Attributes
    ----------
    parts : chunks in the order of their games; the same providers take part in all games of one
    """

    parts: tuple[Chunk, ...]

    @staticmethod
    def of(chunk: Chunk, present: BoolArray) -> MixedChunk:
        """Split a chunk with draws by who is present, (n_games, n), in its games."""
        changes = np.flatnonzero((present[1:] != present[:-1]).any(axis=1)) + 1
        edges = [0, *changes.tolist(), len(present)]
        parts = []
        for start, stop in pairwise(edges):
            places = tuple(np.flatnonzero(present[start]).tolist())
            draws = [(chunk.draws or [])[place].part(slice(start, stop)) for place in places]
            in_rounds = chunk.present
            if in_rounds is not None:
                in_rounds = in_rounds[start:stop][:, :, list(places)]
            games = chunk.indices[start:stop]
            parts.append(Chunk(games, draws, places=places, present=in_rounds))
        return MixedChunk(tuple(parts))


@dataclass(frozen=True, eq=False)
class Replayed:
    """Games that are played again with the same draws.

    Attributes
    ----------
    first : the games themselves
    again : the same games with other presence in rounds, or with other training
    """

    first: Chunk | MixedChunk
    again: tuple[Chunk | MixedChunk, ...]


Task: TypeAlias = Chunk | MixedChunk | Replayed


def task_of(chunk: Chunk, design: Design) -> Task:
    """Split a chunk with draws by who takes part in its games, and add games played again."""
    first = _split(chunk, design)
    replays = design.replays
    if replays is None:
        return first
    again = []
    for place, other_presence in enumerate(replays.other_presence):
        # The games themselves are told apart by their seed; draws do not depend on it any more.
        seed = replay_seeds(design.seed, place).seed if other_presence else design.seed
        again.append(_split(chunk, replace(design, seed=seed)))
    return Replayed(first, tuple(again))


def _split(chunk: Chunk, design: Design) -> Chunk | MixedChunk:
    """Split a chunk with draws by who takes part in its games.

    A provider that is absent in all rounds of a game does not take part in it, so it is worth 0.
    """
    present = design.present(chunk.indices)
    in_rounds = design.present_in_rounds(chunk.indices)
    if in_rounds is not None:
        chunk = replace(chunk, present=in_rounds)
        present = np.asarray(in_rounds.any(axis=1))
    return chunk if present.all() else MixedChunk.of(chunk, present)
