"""Base class of utilities of classifiers that need only sums over the records of each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shapband import kernels
from shapband._typing import AnyArray, FloatArray, IntArray, MemberArray
from shapband.coalitions import arc_members, row_masks
from shapband.errors import InvalidInput
from shapband.records.batch import Batch, Schema
from shapband.records.draws import Draws
from shapband.utilities.base import (
    ROWS_AT_ONCE,
    CoalitionFailed,
    GameSummaries,
    MergeableUtility,
)
from shapband.utilities.classification import (
    CLASS_SCORES,
    baseline_score,
    check_class_score,
    check_rows,
)
from shapband.utilities.labels import check_labels, label_codes
from shapband.utilities.magnitudes import check_distances, standard_units
from shapband.utilities.one_pass import FoldScores, OnePassUtility
from shapband.utilities.rows import check_validation, validation_facts
from shapband.utilities.scores import Empty, check_empty
from shapband.utilities.wording import score_words

_AT_ONCE = 4  # kernels read this many features together
_TOO_FAR = (
    "its records are so far from the validation rows, in units of their deviations, that sums of "
    "squares overflow: check the units of the features"
)


class ClassSumsUtility(OnePassUtility, MergeableUtility):
    """A coalition is worth the score of a classifier made from sums over its records.

    Records are standardised by the validation rows, so that sums lose few digits. The origins and
    scales used for this are numbers with few digits, so that small differences between records are
    not rounded away.
    """

    schema: Schema
    any_order = True

    def __init__(self, X_val: ArrayLike, y_val: ArrayLike, score: str, empty: Empty) -> None:
        owner = type(self).__name__
        self.validation_records, validation, self.schema = check_validation(X_val, y_val, owner)
        self._labels = check_labels(validation.y, owner)
        self._score = check_class_score(score, self._labels, owner)
        self.score_name = score_words(score)
        self._codes = label_codes(validation.y, self._labels).astype(np.int64)
        dummy = baseline_score(self._codes, score, len(self._labels))
        self.empty, self.baseline = check_empty(empty, score, dummy, owner)
        X = validation.X
        mean, deviation = standard_units(X, owner)
        self._units_of_rows = mean, 1.0 / deviation
        varies = np.ptp(X, axis=0) > 0
        nearest, self._scale = _few_digits(mean, deviation)
        self._centre = np.where(varies, nearest, X[0]), 1.0 / self._scale
        filled = -(-X.shape[1] // _AT_ONCE) * _AT_ONCE
        self._columns = np.zeros((filled, len(X)))
        self._columns[: X.shape[1]] = ((X - self._centre[0]) * self._centre[1]).T
        self._rows_of = validation_facts(validation)

    @property
    @abstractmethod
    def _shape(self) -> tuple[int, int]:
        """The shape of a summary."""

    @abstractmethod
    def _write(
        self, X: FloatArray, codes: IntArray, rows: IntArray, summaries: FloatArray, place: int
    ) -> None:
        """Write the summaries of a provider's draws into summaries (n_games, n, ...)."""

    @abstractmethod
    def _scores(
        self, games: FloatArray, inside: MemberArray, of_game: IntArray, folds: FoldScores | None
    ) -> FloatArray:
        """Scores of coalitions given as rows of members; arbitrary for one without records."""

    @property
    @abstractmethod
    def _added(self) -> tuple[int, int]:
        """How many of a summary's first rows and columns are added up in a coalition."""

    @abstractmethod
    def _scores_of_sums(self, sums: FloatArray, folds: FoldScores | None) -> FloatArray:
        """Scores of coalitions given as sums; NaN where their members are needed."""

    @property
    def labels(self) -> list[Any]:
        labels: list[Any] = self._labels.tolist()
        return labels

    @property
    def scored_by_log_loss(self) -> bool:  # type: ignore[override]
        return CLASS_SCORES[self._score] == "neg_log_loss"

    @property
    def validation_rows(self) -> int:
        return len(self._codes)

    def on_rows(self, rows: IntArray) -> ClassSumsUtility:
        part = copy(self)
        part._columns = np.ascontiguousarray(self._columns[:, rows])
        part._codes = self._codes[rows]
        check_rows(part._codes, self._score, type(self).__name__)
        if self.baseline:
            score = CLASS_SCORES[self._score]
            part.empty = baseline_score(part._codes, score, len(self._labels))
        return part

    def check_batch(self, batch: Batch) -> None:
        check_distances(batch.numeric(), *self._units_of_rows)
        self._known(batch.y)

    def summarise(self, batch: Batch) -> FloatArray:
        """Return the sums over the records of each class."""
        summary: FloatArray = self.summarise_games([Draws.whole(batch)])[0, 0]
        return summary

    def summary_floats(self, draw_size: int) -> int:  # noqa: ARG002
        """Return the number of sums."""
        return self._shape[0] * self._shape[1]

    def summarise_games(self, draws: Sequence[Draws]) -> FloatArray:
        """Return the summaries of consecutive games: (n_games, n, ...)."""
        summaries = np.empty((draws[0].choice.n_games, len(draws), *self._shape))
        for place, drawn in enumerate(draws):
            X, codes = drawn.batch.numeric(), self._known(drawn.batch.y)
            self._write(X, codes, np.ascontiguousarray(drawn.rows), summaries, place)
        return summaries

    def evaluate_rows(
        self, games: GameSummaries, inside: MemberArray, of_game: IntArray
    ) -> FloatArray:
        def compute(parts: FloatArray) -> FloatArray:
            return self._values_of_rows(np.ascontiguousarray(games), inside, of_game, parts)

        return self._scored(compute, (len(inside),), games, inside, of_game)

    def _values_of_rows(
        self, games: FloatArray, inside: MemberArray, of_game: IntArray, parts: FloatArray
    ) -> FloatArray:
        """Values of coalitions; those without each fold are written to parts (n_rows, n_folds)."""
        scores = self._scores(games, inside, of_game, self._folds(parts))
        counts = games[:, :, : len(self._labels), 0].sum(axis=2)
        self._set_empty(scores, parts, (inside * counts[of_game]).sum(axis=1) == 0)
        if np.isnan(scores).any():
            failed = row_masks(inside[np.isnan(scores)][:1])[0]
            raise CoalitionFailed(failed, _TOO_FAR)
        return scores

    def evaluate_arcs(self, games: GameSummaries, circles: IntArray, arcs: IntArray) -> FloatArray:
        stacked, n = np.ascontiguousarray(games), circles.shape[2]

        def compute(parts: FloatArray) -> FloatArray:
            values = np.empty((len(arcs), n))
            at_once = max(1, ROWS_AT_ONCE // n)
            for start in range(0, len(arcs), at_once):
                some = slice(start, start + at_once)
                own = parts[some].reshape(len(arcs[some]) * n, parts.shape[2])  # a view
                found = self._values_of_arcs(stacked, circles, arcs[some], own)
                values[some] = found.reshape(-1, n)
            return values

        return self._scored(compute, (len(arcs), n), games, circles, arcs)

    def _values_of_arcs(
        self, games: FloatArray, circles: IntArray, arcs: IntArray, parts: FloatArray
    ) -> FloatArray:
        """Values of arcs (n_arcs x n); those without each fold are written to parts."""
        n = circles.shape[2]
        sums = kernels.load("arc_sums").arc_sums(games, *self._added, circles, arcs)
        scores = self._scores_of_sums(sums, self._folds(parts))
        self._set_empty(scores, parts, sums[:, : len(self._labels), 0].sum(axis=1) == 0)
        left = np.flatnonzero(np.isnan(scores))
        if len(left):
            inside, own = arc_members(circles, arcs[left // n], left % n), parts[left]
            scores[left] = self._values_of_rows(games, inside, arcs[left // n, 0], own)
            parts[left] = own
        return scores

    def _known(self, y: AnyArray) -> IntArray:
        """Codes of the records' labels; InvalidInput for a label that does not occur in y_val."""
        codes = label_codes(y, self._labels)
        if (codes < 0).any():
            raise InvalidInput(
                f"the label {y.tolist()[codes.argmin()]!r} does not occur in y_val: "
                "validate on all labels"
            )
        return codes.astype(np.int64)


def _few_digits(mean: FloatArray, deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return origins near the means, and a power of two below each deviation.

    An origin is 0, where floats are densest, or a multiple of the power of two.
    """
    scale = np.ldexp(0.5, np.frexp(deviation)[1])
    return np.where(np.abs(mean) < 2 * deviation, 0.0, np.rint(mean / scale) * scale), scale
