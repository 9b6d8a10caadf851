"""Further draws: what a provider would add to a game if it gave one more draw.

A further draw has the size of the draw of the game. If games draw without replacement, it has none
of the records of that draw, so that both together are one draw of twice the size. Otherwise it is
independent of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from shapband._typing import IntArray
from shapband.records.draws import Choice, OtherRows, RandomRows, Stream
from shapband.sampling.design import Design
from shapband.seeds import Seeds

FURTHER = "further"  # names the random streams of further draws


def further_choices(design: Design, games: range) -> list[Choice]:
    """Return the rows of every pool that the further draws of consecutive games use."""
    chosen: list[Choice] = []
    pools = np.asarray(design.pool_sizes).tolist()
    for name, pool, taken in zip(design.names, pools, design.choices(games), strict=True):
        stream = Stream(Seeds(design.seed), FURTHER, name, games)
        if design.repeats:
            chosen.append(RandomRows(stream, taken.size, pool, replace=True))
        else:
            chosen.append(OtherRows(stream, taken.size, pool, taken))
    return chosen


@dataclass(frozen=True)
class _Joined(Choice):
    """The rows of two choices for the same games."""

    one: Choice
    other: Choice

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of rows per game."""
        return self.one.size + self.other.size

    @property
    def n_games(self) -> int:
        return self.one.n_games

    def rows(self) -> IntArray:
        return np.concatenate([self.one.rows(), self.other.rows()], axis=1)

    def part(self, games: slice) -> Choice:
        return _Joined(self.one.part(games), self.other.part(games))


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoDraws(Design):
    """The design of games from pools that use a further draw of every provider, too.

    The influence of a pool on what a further draw adds is found from the records of both draws
    together, because another pool would change both: a record has one effect in the first draw, and
    another one in the further draw, and the influence of the two draws together is the sum. The
    games count as independent given the pools. Games of one shuffle are not, and the mean over them
    varies less; its stated error is then somewhat too large.

    Attributes
    ----------
    first : the design of the games without further draws
    """

    first: Design

    @staticmethod
    def after(design: Design) -> TwoDraws:
        """Make the design of the same games with further draws."""
        known: dict[str, Any] = {one.name: getattr(design, one.name) for one in fields(design)}
        doubled = TwoDraws(**known, first=design)
        sizes = np.where(doubled._joins, 2 * design.draw_sizes, design.draw_sizes)
        return replace(doubled, draw_sizes=sizes, replace=design.repeats, per_shuffle=None)

    @property
    def _joins(self) -> list[bool]:
        """Whether the rows of both draws of each provider count.

        Two draws may be most of a pool that is a whole stock. Then hardly any record is ever left
        out, and the rows of the first draw are used alone; such a pool adds no error.
        """
        pools, sizes = np.asarray(self.pool_sizes), self.first.draw_sizes
        return [self.first.repeats or 4 * b <= m for m, b in zip(pools, sizes, strict=True)]

    def choices(self, games: range) -> list[Choice]:
        """Return the rows of every pool that both draws of these consecutive games use."""
        both = zip(self.first.choices(games), further_choices(self.first, games), strict=True)
        return [
            _Joined(one, other) if joins else one
            for joins, (one, other) in zip(self._joins, both, strict=True)
        ]
