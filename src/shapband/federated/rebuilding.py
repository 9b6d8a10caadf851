"""The models that coalitions would have had, rebuilt from recorded updates, and their scores.

A coalition's model is a starting model plus the average of its members' recorded updates. OR adds
up the averages of all rounds; MR takes the average of one round. No client is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from shapband._typing import AnyArray, FloatArray, IntArray, MemberArray
from shapband.checks import check_number, error_line, one_line
from shapband.coalitions import row_masks
from shapband.errors import EvaluationError, InvalidInput
from shapband.federated.recording import Recording, shaped
from shapband.federated.rounds import Parameters
from shapband.records.batch import Batch
from shapband.utilities.base import CoalitionFailed, RowsUtility

Score: TypeAlias = Callable[[list[AnyArray]], float]
_AT_ONCE = 2**22  # parameters of rebuilt models in memory at a time, 32 MB


class Part(NamedTuple):
    """Updates that are averaged with the same weights.

    Attributes
    ----------
    weights : (n,) of the clients; 0 for absent clients
    updates : (n, n_parameters)
    """

    weights: FloatArray
    updates: FloatArray


class Rebuilt(RowsUtility):
    """The score of a coalition's rebuilt model.

    Parameters
    ----------
    start : (n_parameters,) the model of a coalition whose members are all absent
    parts : averages that are added to it
    template : arrays whose shapes and dtypes `score` receives
    score : the user's function
    empty : score of `start`
    """

    uses_records = False
    validation_rows = 0
    model_name = "a model rebuilt from recorded updates"

    def __init__(
        self,
        start: FloatArray,
        parts: Sequence[Part],
        template: Parameters,
        score: Score,
        empty: float,
    ) -> None:
        self._start = start
        self._parts = parts
        self._template = template
        self._score = score
        self.empty = empty

    def summarise(self, batch: Batch) -> None:
        """Return None: there are no records."""

    def evaluate_rows(
        self,
        games: Any,  # noqa: ARG002
        inside: MemberArray,
        of_game: IntArray,  # noqa: ARG002
    ) -> FloatArray:
        values = np.empty(len(inside))
        step = max(1, _AT_ONCE // len(self._start))
        for first in range(0, len(inside), step):
            rows = inside[first : first + step]
            for at, model in enumerate(self.models(rows)):
                arrays = shaped(model, self._template)
                values[first + at] = _scored(self._score, arrays, rows[at : at + 1])
        return values

    def models(self, inside: MemberArray) -> FloatArray:
        """Rebuilt models of coalitions: (n_rows, n_parameters)."""
        models = np.tile(self._start, (len(inside), 1))
        for weights, updates in self._parts:
            models += shares(inside, weights) @ updates
        return models


def shares(inside: MemberArray, weights: FloatArray) -> FloatArray:
    """Shares of the clients in a coalition's average: (n_rows, n), 0 if all members are absent.

    Examples
    --------
    >>> shares(np.array([[1, 1, 0], [0, 0, 1]]), np.array([30.0, 10.0, 0.0])).tolist()
    [[0.75, 0.25, 0.0], [0.0, 0.0, 0.0]]
    """
    own = inside * weights
    total = own.sum(axis=1, keepdims=True)
    return np.divide(own, total, out=np.zeros_like(own), where=total > 0)


def _scored(score: Score, arrays: list[AnyArray], row: MemberArray) -> float:
    """Score a coalition's model; an error names the coalition."""
    try:
        return check_number("score(parameters)", score(arrays))
    except InvalidInput as cause:
        raise CoalitionFailed(row_masks(row)[0], one_line(cause)) from cause
    except Exception as cause:
        raise CoalitionFailed(row_masks(row)[0], error_line(cause)) from cause


def score_recorded(recording: Recording, at: int, score: Score) -> float:
    """Score the global model at the start of a round."""
    try:
        arrays = shaped(recording.start(at), recording.template)
        return check_number("score(parameters)", score(arrays))
    except InvalidInput as cause:
        raise EvaluationError(f"rounds[{at}]: the global model: {one_line(cause)}") from cause
    except Exception as cause:
        raise EvaluationError(
            f"rounds[{at}]: the global model could not be scored: {error_line(cause)}"
        ) from cause


def rebuilt_at_end(recording: Recording, score: Score) -> Rebuilt:
    """OR: the initial model plus the averages of all rounds (Song et al. 2019, Algorithm 1)."""
    sums: dict[bytes, Part] = {}  # rounds with the same weights share one product
    for at in range(len(recording.rounds)):
        weights, updates = recording.weights(at), recording.updates(at)
        if weights.any():
            key = (weights / weights.sum()).tobytes()
            known = sums.get(key)
            sums[key] = Part(weights, updates if known is None else known.updates + updates)
    empty = score_recorded(recording, 0, score)
    parts = list(sums.values())
    return Rebuilt(recording.start(0), parts, recording.template, score, empty)


def rebuilt_in_round(recording: Recording, at: int, score: Score) -> Rebuilt:
    """MR: the global model of one round plus its average (Song et al. 2019, Algorithm 2).

    The players are the clients that were present in the round.
    """
    present = recording.present[at]
    part = Part(recording.weights(at)[present], recording.updates(at)[present])
    empty = score_recorded(recording, at, score)
    return Rebuilt(recording.start(at), [part], recording.template, score, empty)
