"""Values of coalitions of one game: trained in blocks, and scored after the rounds that count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from shapband._typing import BoolArray, FloatArray, IntArray, MemberArray
from shapband.coalitions import row_masks
from shapband.utilities.base import CoalitionFailed
from shapband.utilities.federated.presence import split
from shapband.utilities.federated.scoring import Rows, TargetRows
from shapband.utilities.federated.training import Records, Trainer, joined_records

_AT_ONCE = 2**18  # parameters of the coalitions that are trained together, to bound the memory
_FEW = 64  # coalitions that are trained together at least
_DIVERGED = (
    "training diverges, because the parameters grow without bound: pass a smaller learning_rate, "
    "or features of similar scales, for example with embed=StandardScaler().fit(X_val)"
)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Values coalitions on all validation rows and without each fold of them.

    Attributes
    ----------
    trainer : trains the coalitions
    rows : the validation rows
    fold_of : (n_rows,) the fold of each row, if there are folds
    n_folds : number of folds
    """

    trainer: Trainer
    rows: Rows
    fold_of: IntArray
    n_folds: int

    def scores(self, parameters: FloatArray) -> FloatArray:
        """Return the scores of models: (m, 1 + n_folds)."""
        return self.rows.scores(parameters, self.trainer.units, self.fold_of, self.n_folds)

    def values(
        self,
        game: Sequence[FloatArray],
        inside: MemberArray,
        wanted: Sequence[int],
        empty: FloatArray,
    ) -> FloatArray:
        """Return the values of coalitions: (m, n_wanted * (1 + n_folds)).

        Parameters
        ----------
        game : summaries of the clients: records, or with one round the clients' parameters
        inside : (m, n) a coalition in each row, 1 for members
        wanted : rounds after which models are scored, ascending
        empty : (n_wanted * (1 + n_folds),) values of the empty coalition
        """
        values = np.repeat(empty[None], len(inside), axis=0)
        places = np.flatnonzero(inside.any(axis=1))
        value = self._valued(*split(game, self.trainer.rules.rounds), wanted)
        at_once = max(_FEW, _AT_ONCE // len(self.trainer.initial))
        for first in range(0, len(places), at_once):
            some = places[first : first + at_once]
            values[some] = value(inside[some])
        failed = places[~np.isfinite(values[places]).all(axis=1)]
        if len(failed):
            raise CoalitionFailed(min(row_masks(inside[failed])), _DIVERGED)
        return values

    def uses_products(self, n_providers: int) -> bool:
        """Whether products of the clients' errors cost less than the errors of a coalition."""
        costs = len(self.trainer.initial) * len(self.rows)
        one_round = self.trainer.rules.rounds == 1
        return one_round and isinstance(self.rows, TargetRows) and n_providers**2 <= costs

    def _valued(
        self, summaries: Sequence[FloatArray], present: BoolArray, wanted: Sequence[int]
    ) -> Callable[[MemberArray], FloatArray]:
        """The function that values a block of coalitions."""
        if self.trainer.rules.rounds == 1:
            return partial(self._after_one_round, np.asarray(summaries), present[0])
        records = joined_records(summaries)
        first = self.trainer.updates(records)
        return partial(self._after_rounds, records, first, present[: max(wanted)], set(wanted))

    def _after_rounds(
        self,
        records: Records,
        first: FloatArray,
        present: BoolArray,
        wanted: set[int],
        inside: MemberArray,
    ) -> FloatArray:
        """Values of coalitions with several rounds."""
        trained = enumerate(self.trainer.rounds(records, first, inside, present), start=1)
        found = [self.scores(parameters) for round_, parameters in trained if round_ in wanted]
        return np.concatenate(found, axis=1)

    def _after_one_round(
        self, summaries: FloatArray, present: BoolArray, inside: MemberArray
    ) -> FloatArray:
        """Values of coalitions with one round.

        Parameters
        ----------
        summaries : (n, 1 + n_parameters) the clients' numbers of records, and their parameters
            after the local steps
        """
        shares = self.trainer.rules.shares(summaries[:, 0].astype(np.int64))
        updates, members = np.ascontiguousarray(summaries[:, 1:]), inside * (present & (shares > 0))
        values = np.empty((len(inside), 1 + self.n_folds))
        left = np.ones_like(values, dtype=bool)
        if isinstance(self.rows, TargetRows) and self.uses_products(len(shares)):
            some = members.any(axis=1)
            values[some], left[some] = self.rows.scores_of_means(
                updates, shares, members[some], self.trainer.units, self.fold_of, self.n_folds
            )
        again = left.any(axis=1)
        if again.any():
            found = self.scores(self.trainer.means(updates, shares, members[again]))
            values[again] = np.where(left[again], found, values[again])
        return values
