"""Logistic regression, fitted to every coalition by compiled loops."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shapband import kernels
from shapband._facts import facts, name_of
from shapband._typing import FloatArray, IntArray, MemberArray, Positive
from shapband.checks import check_number
from shapband.coalitions import row_masks
from shapband.errors import InvalidInput
from shapband.kernels.careful import logistic as careful
from shapband.providers import Provider
from shapband.records.batch import Batch, Schema
from shapband.records.draws import Draws
from shapband.utilities.base import CoalitionFailed, GameSummaries
from shapband.utilities.classification import (
    CLASS_SCORES,
    ClassScore,
    baseline_score,
    check_class_score,
    check_rows,
)
from shapband.utilities.embed import BatchCache, Embedding
from shapband.utilities.faults import warn_of_lone_labels
from shapband.utilities.labels import check_labels, label_codes
from shapband.utilities.magnitudes import check_distances, standard_units
from shapband.utilities.one_pass import OnePassUtility
from shapband.utilities.rows import validation_facts
from shapband.utilities.scores import Empty, check_empty
from shapband.utilities.starts import starts_along_orders, starts_in_table, starts_of_rows
from shapband.utilities.wording import score_words

_OWNER = "LogisticUtility"
_UNCERTAIN = (
    "the penalty is so weak, relative to the features, that rounding decides the fit: rescale the "
    "features, for example with embed=StandardScaler().fit(X_val), or pass a smaller C"
)
WIDE = 40  # with two classes and this many features, the kernel for many features is faster
_LANES = 8  # records are padded to a multiple of this, the length of the kernels' vectors


class LogisticUtility(OnePassUtility):
    """A coalition is worth the score of a logistic regression fitted to its records.

    The model is scikit-learn's `LogisticRegression(C=C)` at a tight tolerance: an L2 penalty on the
    coefficients, none on the intercept, and one softmax for all classes if there are three or more.

    The classes of a coalition are the labels of its records, whether they occur in `y_val` or not.
    A coalition whose records have the same label always predicts that label. A label of `y_val`
    that a coalition has not seen gets the probability 0. For the log loss, probabilities are
    clipped to the interval from 2.2e-16 to 1 - 2.2e-16, as in scikit-learn.

    Parameters
    ----------
    X_val : (n_rows, n_features) validation rows
    y_val : (n_rows,) validation labels: integers or strings
    C : inverse strength of the penalty, as in scikit-learn
    score : "accuracy", "neg_log_loss", "neg_brier_score" or, if `y_val` has two labels, "roc_auc":
        the scorers of scikit-learn
    empty : value of the empty coalition: a number, or "baseline", the default, for the score of a
        model that predicts the class frequencies of `y_val`
    embed : a fitted transformer, such as a scaler, random features or a frozen network; the
        regression uses ``embed.transform(X)`` instead of X. It must treat every row alone

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> utility = sb.LogisticUtility(X, ["low", "low", "high", "high"])
    >>> both = utility.summarise(sb.Batch(X[1:3], np.array(["low", "high"])))
    >>> one = utility.summarise(sb.Batch(X[:1], np.array(["low"])))
    >>> utility.evaluate([both, one], [0b01, 0b10, 0b11]).tolist()
    [1.0, 0.5, 0.75]
    """

    schema: Schema
    model_name = "logistic regression"
    exact_up_to = 9
    any_order = True
    _counters = (*OnePassUtility._counters, "_codes")

    def __init__(
        self,
        X_val: ArrayLike,
        y_val: ArrayLike,
        C: Positive = 1.0,
        score: ClassScore = "accuracy",
        *,
        empty: Empty = None,
        embed: Any = None,
    ) -> None:
        self._C = check_number(f"{_OWNER}: C", C)
        if self._C <= 0:
            raise InvalidInput(f"{_OWNER}: C must be positive; received {C!r}")
        self._embed = Embedding(embed, _OWNER)
        self.validation_records, validation, self.schema = self._embed.validation(
            X_val, y_val, _OWNER
        )
        self._labels = check_labels(validation.y, _OWNER)
        self._score = check_class_score(score, self._labels, _OWNER)
        self.score_name = score_words(score)
        self._y = label_codes(validation.y, self._labels).astype(np.int64)
        dummy = baseline_score(self._y, score, len(self._labels))
        self.empty, self.baseline = check_empty(empty, score, dummy, _OWNER)
        self._codes = BatchCache()
        X = validation.X
        mean, scale = standard_units(X, _OWNER)
        self._centre = mean, 1.0 / scale
        # The penalty is on the coefficients of the original features, not of the scaled ones.
        self._ridge = 1.0 / scale**2 / self._C
        self._columns = np.zeros((X.shape[1] + 1, _filled(len(X))))
        self._columns[0, : len(X)] = 1.0
        self._columns[1:, : len(X)] = self._standardised(X)
        self._about = facts(
            validation_facts(validation),
            C=self._C,
            score=score,
            empty=self.empty,
            embed=None if embed is None else name_of(embed),
        )

    @property
    def labels(self) -> list[Any]:
        labels: list[Any] = self._labels.tolist()
        return labels

    @property
    def scored_by_log_loss(self) -> bool:  # type: ignore[override]
        return CLASS_SCORES[self._score] == "neg_log_loss"

    @property
    def validation_rows(self) -> int:
        return len(self._y)

    def on_rows(self, rows: IntArray) -> LogisticUtility:
        part = copy(self)
        part._y = self._y[rows]
        part._columns = np.zeros((len(self._columns), _filled(len(rows))))
        part._columns[:, : len(rows)] = self._columns[:, rows]
        check_rows(part._y, self._score, _OWNER)
        if self.baseline:
            score = CLASS_SCORES[self._score]
            part.empty = baseline_score(part._y, score, len(self._labels))
        return part

    def check(self, providers: Sequence[Provider]) -> None:
        super().check(providers)
        warn_of_lone_labels(providers, self._labels)

    def check_batch(self, batch: Batch) -> None:
        check_distances(self._known(batch)[0], *self._centre)

    def features_used(self, batch: Batch) -> FloatArray | None:
        return None if self._embed.transformer is None else self._embed.features(batch)

    def summarise(self, batch: Batch) -> FloatArray:
        """Return label codes and standardised features: (1 + n_features, n_records).

        The number of records is rounded up to a multiple of 8; the code of the padding is NaN.
        """
        summary: FloatArray = self.summarise_games([Draws.whole(batch)])[0, 0]
        return summary

    def summary_floats(self, draw_size: int) -> int:
        """Return the number of codes and features of a draw."""
        return draw_size * len(self._columns)

    def summarise_games(self, draws: Sequence[Draws]) -> FloatArray:
        """Return the summaries of consecutive games: (n_games, n, 1 + n_features, n_records)."""
        most = _filled(max(drawn.choice.size for drawn in draws))
        shape = (draws[0].choice.n_games, len(draws), len(self._columns), most)
        summaries = np.zeros(shape)
        summaries[:, :, 0] = np.nan
        for place, drawn in enumerate(draws):
            X, codes = self._known(drawn.batch)
            rows = drawn.rows
            size = rows.shape[1]
            summaries[:, place, 0, :size] = codes[rows]
            for g, of_game in enumerate(rows):
                summaries[g, place, 1:, :size] = self._standardised(X[of_game])
        return summaries

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        stacked = _stacked(games)
        inside, starts = starts_in_table(stacked.shape[1])

        def compute(parts: FloatArray) -> FloatArray:
            table = np.empty(parts.shape[:2])
            self._set_empty(table, parts, (slice(None), 0))
            for g, game in enumerate(stacked):
                own = np.empty((len(inside), parts.shape[2]))
                table[g, :0:-1] = self._values_of(game, inside, starts, own, in_table=True)
                parts[g, :0:-1] = own
            return table

        return self._scored(compute, (len(stacked), len(inside) + 1), games)

    def evaluate_prefixes(
        self, games: GameSummaries, orders: IntArray, first: IntArray
    ) -> FloatArray:
        def compute(parts: FloatArray) -> FloatArray:
            values = np.empty(orders.shape)
            for g, game in enumerate(_stacked(games)):
                inside, starts, places = starts_along_orders(orders[g], first[g])
                own = np.empty((len(inside), parts.shape[3]))
                values[g][places] = self._values_of(game, inside, starts, own)
                parts[g][places] = own
            parts[:] = np.take_along_axis(parts, first[..., None], axis=1)
            return np.take_along_axis(values, first, axis=1)

        return self._scored(compute, orders.shape, games, orders)

    def evaluate_rows(
        self, games: GameSummaries, inside: MemberArray, of_game: IntArray
    ) -> FloatArray:
        def compute(parts: FloatArray) -> FloatArray:
            stacked, values = _stacked(games), np.empty(len(inside))
            for g in np.unique(of_game):
                rows = slice(*np.searchsorted(of_game, [g, g + 1]))
                listed, starts = starts_of_rows(inside[rows])
                own = np.empty((len(listed), parts.shape[1]))
                values[rows] = self._values_of(stacked[g], listed, starts, own)[1:]
                parts[rows] = own[1:]
            return values

        return self._scored(compute, (len(inside),), games, inside, of_game)

    def _values_of(
        self,
        game: FloatArray,
        inside: MemberArray,
        starts: IntArray,
        parts: FloatArray,
        in_table: bool = False,
    ) -> FloatArray:
        """Values of coalitions of one game, fitted in this order; see `starts`.

        The values without each fold are written to parts (n_rows, n_folds). `in_table` says whether
        the rows are all coalitions, in the order of `starts_in_table`. Fits that are uncertain are
        repeated by slower code that keeps more digits.
        """
        fixed = self._ridge, self._columns, self._y, len(self._labels), self._score
        values: FloatArray
        if len(self._ridge) >= WIDE and len(np.unique(game[:, 0][~np.isnan(game[:, 0])])) == 2:
            values = kernels.load("logistic_wide").logistic_scores(
                game, *fixed, inside, starts, in_table, self._folds(parts)
            )
            left = np.flatnonzero(np.isnan(values) & inside.any(axis=1))
            if len(left):
                alone, own = np.full_like(starts[left], -1), parts[left]
                values[left] = kernels.load("logistic").logistic_scores(
                    game, *fixed, inside[left], alone, self._folds(own)
                )
                parts[left] = own
        else:
            values = kernels.load("logistic").logistic_scores(
                game, *fixed, inside, starts, self._folds(parts)
            )
        values[(inside.astype(bool) & _far(game)).any(axis=1)] = np.nan
        self._set_empty(values, parts, ~inside.any(axis=1))
        left = np.flatnonzero(np.isnan(values))
        own = parts[left]
        values[left] = careful.logistic_scores(game, *fixed, inside[left], self._folds(own))
        parts[left] = own
        failed = left[np.isnan(values[left])]
        if len(failed):
            raise CoalitionFailed(min(row_masks(inside[failed])), _UNCERTAIN)
        return values

    def _known(self, batch: Batch) -> tuple[FloatArray, FloatArray]:
        """The features and the label codes of a batch."""
        X, codes = self._embed.features(batch), self._codes.get(batch)
        if codes is None:
            codes = self._codes[batch] = label_codes(batch.y, self._labels)
        return X, codes

    def _standardised(self, X: FloatArray) -> FloatArray:
        mean, inv_scale = self._centre
        standardised: FloatArray = ((X - mean) * inv_scale).T
        return standardised


def _filled(n_records: int) -> int:
    return -(-n_records // _LANES) * _LANES


def _far(game: FloatArray) -> NDArray[np.bool_]:
    """Whether a provider has records too far away for the compiled fits: (n,)."""
    features = game[:, 1:]
    largest = np.maximum(features.max(axis=(1, 2)), -features.min(axis=(1, 2)))
    return np.asarray(largest > careful.FAR)


def _stacked(games: GameSummaries) -> FloatArray:
    """Stack summaries of different lengths: (n_games, n, 1 + n_features, n_records)."""
    if isinstance(games, np.ndarray):
        return np.ascontiguousarray(games)
    most = max(one.shape[1] for game in games for one in game)
    stacked = np.zeros((len(games), len(games[0]), games[0][0].shape[0], most))
    stacked[:, :, 0] = np.nan
    for g, game in enumerate(games):
        for place, one in enumerate(game):
            stacked[g, place, :, : one.shape[1]] = one
    return stacked
