"""A utility given as a table of coalition values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from annotated_types import MinLen
from numpy.typing import ArrayLike

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.checks import check_row
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records.batch import Batch
from shapband.utilities.base import GameSummaries, MergeableUtility


class TableUtility(MergeableUtility):
    """A game given as 2**n numbers; the records are ignored.

    Parameters
    ----------
    values : (2**n,) bit i of the index is set if provider i is a member; the first is v(∅)

    Examples
    --------
    >>> import shapband as sb
    >>> sb.TableUtility([0.0, 1.0, 2.0, 5.0]).evaluate([None, None], [3]).tolist()
    [5.0]
    """

    model_name = "a table of values"
    uses_records = False
    validation_rows = 0

    def __init__(self, values: Annotated[ArrayLike, MinLen(2)]) -> None:
        self.values = check_row("TableUtility: values", values)
        n = self.values.size.bit_length() - 1
        if self.values.size != 2**n or n < 1:
            raise InvalidInput(
                "TableUtility: values must be 2**n numbers for n providers; received the shape "
                f"{self.values.shape}"
            )
        self.n = n
        self.empty = float(self.values[0])
        self._about = f"{self.values.size} values"

    def check(self, providers: Sequence[Provider]) -> None:
        if len(providers) != self.n:
            raise InvalidInput(
                f"TableUtility: {self.values.size} values are a game of {self.n} providers, but "
                f"there are {len(providers)}: pass 2**n values for n providers"
            )

    def restricted(self, places: Sequence[int]) -> TableUtility:
        """Keep the coalitions of the providers that take part."""
        masks = np.zeros(1, dtype=np.int64)
        for place in places:
            masks = np.concatenate([masks, masks | 1 << place])
        return TableUtility(self.values[masks])

    def summarise(self, batch: Batch) -> None:
        """Return None: the draw is not used."""

    def evaluate(self, summaries: Sequence[Any], coalitions: Sequence[int]) -> FloatArray:  # noqa: ARG002
        return self.values[np.asarray(coalitions, dtype=np.int64)]

    def summary_floats(self, draw_size: int) -> int:  # noqa: ARG002
        return 0

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        return np.tile(self.values, (len(games), 1))

    def evaluate_rows(
        self,
        games: GameSummaries,  # noqa: ARG002
        inside: MemberArray,
        of_game: IntArray,  # noqa: ARG002
    ) -> FloatArray:
        return self.values[inside @ (np.int64(1) << np.arange(self.n))]
