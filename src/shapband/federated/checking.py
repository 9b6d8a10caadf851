"""The bias of reconstructed values, estimated from coalitions that are retrained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.checks import check_number, error_line, one_line
from shapband.coalitions import members, row_masks
from shapband.errors import InvalidInput
from shapband.federated.pairs import Pairs
from shapband.records.batch import Batch
from shapband.solvers.base import Solver
from shapband.solvers.strata import Strata
from shapband.utilities.base import CoalitionFailed, RowsUtility

Retrain: TypeAlias = Callable[[tuple[str, ...]], float]


class Differences(RowsUtility):
    """The score of a retrained coalition minus the score that was reconstructed for it.

    By the linearity of the Shapley value, the values of this game are the bias of the
    reconstructed values with the opposite sign. The empty coalition is worth 0: its model is the
    initial model in both.

    Parameters
    ----------
    names : the clients
    retrain : the user's function of the names of a coalition's members
    rebuilt : (n_rows, n) coalitions → (n_rows,) their reconstructed scores
    """

    uses_records = False
    validation_rows = 0
    model_name = "the difference between retrained and rebuilt models"

    def __init__(
        self,
        names: Sequence[str],
        retrain: Retrain,
        rebuilt: Callable[[MemberArray], FloatArray],
    ) -> None:
        self._names = names
        self._retrain = retrain
        self._rebuilt = rebuilt

    def summarise(self, batch: Batch) -> None:
        """Return None: there are no records."""

    def evaluate_rows(
        self,
        games: Any,  # noqa: ARG002
        inside: MemberArray,
        of_game: IntArray,  # noqa: ARG002
    ) -> FloatArray:
        # Rebuilt models are scored first: they cost little, and their errors come before the
        # time of training is spent.
        rebuilt = self._rebuilt(inside)
        return np.array([self._trained(mask) for mask in row_masks(inside)]) - rebuilt

    def _trained(self, mask: int) -> float:
        coalition = tuple(self._names[i] for i in members(mask))
        try:
            return check_number("retrain(coalition)", self._retrain(coalition))
        except InvalidInput as cause:
            raise CoalitionFailed(mask, one_line(cause)) from cause
        except Exception as cause:
            raise CoalitionFailed(mask, error_line(cause)) from cause


def checking_solver(check: int, n: int) -> Solver:
    """The solver of the game of differences: unbiased, with at most `check` evaluations.

    `Strata` draws without replacement and begins with coalitions of one and of all but one, for
    which it needs four evaluations per client. `Pairs` does with fewer.
    """
    return Strata(check) if check >= 4 * n else Pairs(check)
