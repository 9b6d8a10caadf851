"""Search for a fault in the records if coalitions fail, as opposed to failure by chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from shapband._typing import IntArray
from shapband.engine.arguments import Arguments
from shapband.engine.tasks import Chunk
from shapband.errors import EvaluationError
from shapband.records.batch import Batch, concat
from shapband.solvers.base import Solution

_RECORDS = 200  # a trial uses this many records of each provider, or as many as a game has
_LABELS = 100  # a trial has records with up to this many different labels of each provider
_GAMES = 8  # the draws of this many games are tried if not all records are known


class FaultFinder:
    """Evaluates all providers together once coalitions have failed, and names the fault.

    The trial uses records of each provider that are in memory or in pools, and covers each of its
    labels. If the records of some provider are not known, it uses the draws of the first games. A
    draw may have a single target by chance; many models cannot be fitted to it, but that is not a
    fault.

    Parameters
    ----------
    given : the arguments of the valuation
    stocks : known records of every provider, or None
    draw_sizes : (n,) records of every provider in a game
    """

    def __init__(
        self, given: Arguments, stocks: Sequence[Batch | None], draw_sizes: IntArray
    ) -> None:
        self._given = given
        # With fewer records than in a game, a model might fail that does not fail in games.
        self._most = [max(_RECORDS, size) for size in draw_sizes.tolist()]
        self._stocks = stocks
        self._known = all(stock is not None for stock in stocks)
        self._chunks: list[Chunk] = []
        self._done = False

    def keep(self, chunk: Chunk) -> None:
        """Remember the draws of the first games, if not all records are known."""
        seen = sum(len(kept.indices) for kept in self._chunks)
        if not self._known and not self._given.draws_presence and seen < _GAMES:
            self._chunks.append(chunk)

    def named(self, solutions: Iterator[Solution]) -> Iterator[Solution]:
        """Yield the solutions, but raise EvaluationError if coalitions fail because of a fault."""
        while True:
            try:
                solution = next(solutions, None)
            except EvaluationError as error:
                if fault := self._fault():
                    told = str(error).removesuffix(self._given.utility.remedy)
                    raise EvaluationError(f"{told}; {fault}") from error
                raise
            if solution is None:
                return
            if isinstance(solution, Solution) and solution.failures:
                self._try()
            yield solution

    def _try(self) -> None:
        """Look for a fault once, after `failed=` was used and if enough records are known."""
        if self._done:
            return
        seen = sum(len(kept.indices) for kept in self._chunks)
        self._done = self._known or seen >= _GAMES or self._given.draws_presence
        if self._done and (fault := self._fault()):
            raise EvaluationError(fault)

    def _fault(self) -> str:
        batches = self._records()
        if not batches:
            return ""
        if (
            not self._known
            and len(np.unique(np.concatenate([b.y for b in batches]).astype(str))) < 2
        ):
            return ""
        return self._given.utility.fault(self._given.names, batches)

    def _records(self) -> list[Batch]:
        """Some records of every provider; an empty list if they are not known."""
        if self._known:
            known = [stock for stock in self._stocks if stock is not None]
            return [_some(stock, most) for stock, most in zip(known, self._most, strict=True)]
        draws = [chunk.draws for chunk in self._chunks if chunk.draws]
        return [
            _some(concat([batch for drawn in own for batch in drawn.batches()]), most)
            for own, most in zip(zip(*draws, strict=True), self._most, strict=bool(draws))
        ]


def _some(stock: Batch, most: int) -> Batch:
    """About `most` records of a stock: some with different labels, and evenly spaced others."""
    first = np.unique(np.asarray(stock.y).astype(str), return_index=True)[1][:_LABELS]
    others = np.linspace(0, len(stock) - 1, min(len(stock), most)).astype(np.int64)
    return stock.take(np.union1d(first, others))
