"""The additive utility, a sum of weighted means; its moments have a closed form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shapband._facts import facts
from shapband._typing import FloatArray, IntArray, MemberArray, Row
from shapband.checks import check_number, check_row
from shapband.coalitions import members
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records.arrays import float_targets
from shapband.records.batch import Batch
from shapband.records.draws import Draws
from shapband.utilities.base import GameSummaries, MergeableUtility


class AdditiveUtility(MergeableUtility):
    """A coalition is worth `empty` plus the sum of weight × mean target of its members' draws.

    Parameters
    ----------
    weights : (n,) one weight for each provider in their order, or None for all 1
    empty : value of the empty coalition

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> utility = sb.AdditiveUtility(weights=[1.0, 10.0])
    >>> utility.evaluate([2.0, 3.0], [0b01, 0b10, 0b11]).tolist()
    [2.0, 30.0, 32.0]
    """

    model_name = "the sum of mean targets"
    any_order = True
    validation_rows = 0

    def __init__(self, weights: Row | None = None, *, empty: float = 0.0) -> None:
        self.empty = check_number("AdditiveUtility: empty", empty)
        self.weights = None if weights is None else check_row("AdditiveUtility: weights", weights)
        weighted = () if self.weights is None else (f"{len(self.weights)} weights",)
        self._about = facts(*weighted, empty=empty)

    def check(self, providers: Sequence[Provider]) -> None:
        if self.weights is not None and len(self.weights) != len(providers):
            raise InvalidInput(
                f"AdditiveUtility: there are {len(self.weights)} weights for {len(providers)} "
                "providers: pass one for each"
            )
        super().check(providers)

    def restricted(self, places: Sequence[int]) -> AdditiveUtility:
        """Keep the weights of the providers that take part."""
        if self.weights is None:
            return self
        return AdditiveUtility(self.weights[list(places)], empty=self.empty)

    def check_batch(self, batch: Batch) -> None:
        float_targets(batch.y)

    def summarise(self, batch: Batch) -> float:
        return float(float_targets(batch.y).mean())

    def evaluate(self, summaries: Sequence[float], coalitions: Sequence[int]) -> FloatArray:
        worth = self._worth(np.asarray(summaries, dtype=np.float64))
        return np.array([self.empty + sum(worth[i] for i in members(c)) for c in coalitions])

    def summary_floats(self, draw_size: int) -> int:  # noqa: ARG002
        return 1

    def summarise_games(self, draws: Sequence[Draws]) -> FloatArray:
        """Return the mean targets: (n_games, n)."""
        means = [float_targets(drawn.batch.y)[drawn.rows].mean(axis=1) for drawn in draws]
        return np.stack(means, axis=1)

    def exact_values(self, games: GameSummaries) -> FloatArray:
        """Return what each provider adds to any coalition."""
        return np.array(self._worth(np.asarray(games, dtype=np.float64)))

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        """Fill the table provider by provider, doubling its length at each step."""
        worth = self._worth(np.asarray(games, dtype=np.float64))
        n_games, n = worth.shape
        table = np.full((n_games, 2**n), self.empty)
        for i in range(n):
            np.add(table[:, : 2**i], worth[:, i, None], out=table[:, 2**i : 2 ** (i + 1)])
        return table

    def evaluate_prefixes(
        self,
        games: GameSummaries,
        orders: IntArray,
        first: IntArray,  # noqa: ARG002  adding again is faster than looking up
    ) -> FloatArray:
        worth = self._worth(np.asarray(games, dtype=np.float64))
        picked = np.take_along_axis(worth[:, None, :], orders, axis=2)
        return np.asarray(self.empty + np.cumsum(picked, axis=2))

    def evaluate_rows(
        self, games: GameSummaries, inside: MemberArray, of_game: IntArray
    ) -> FloatArray:
        worth = self._worth(np.asarray(games, dtype=np.float64))
        values = np.empty(len(inside))
        for g, of_members in enumerate(worth):
            rows = slice(*np.searchsorted(of_game, [g, g + 1]))
            values[rows] = self.empty + np.einsum("rn,n->r", inside[rows], of_members)
        return values

    def _worth(self, means: FloatArray) -> FloatArray:
        return means if self.weights is None else means * self.weights
