"""The base class of utilities of the joined records of a coalition."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from shapband._typing import FloatArray
from shapband.checks import error_line
from shapband.coalitions import members
from shapband.records.batch import Batch, concat
from shapband.utilities.base import CoalitionFailed, Utility


class RecordsUtility(Utility):
    """A utility of the joined records of a coalition; a summary is the batch itself.

    The records that `score` receives are a copy, so a model may work in place.
    """

    @abstractmethod
    def score(self, batch: Batch) -> float:
        """Return the value of a coalition's joined records."""

    def summarise(self, batch: Batch) -> Batch:
        return batch

    def evaluate(self, summaries: Sequence[Batch], coalitions: Sequence[int]) -> FloatArray:
        return np.array([self._worth(summaries, mask) for mask in coalitions], dtype=np.float64)

    def _worth(self, summaries: Sequence[Batch], coalition: int) -> float:
        if coalition == 0:
            return self.empty
        try:
            return float(self._score_joined(self._members_of(summaries, coalition)))
        except (Exception, SystemExit) as cause:
            raise CoalitionFailed(coalition, error_line(cause) + self.remedy) from cause

    def _members_of(self, summaries: Sequence[Batch], coalition: int) -> list[Batch]:
        """The draws of a coalition's members, in the order in which they are joined."""
        return [summaries[i] for i in members(coalition)]

    def _score_joined(self, batches: Sequence[Batch]) -> float:
        """Join the records of a coalition's members, and score them."""
        return self.score(concat(batches))
