"""Least squares from merged Gram matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shapband import kernels
from shapband._facts import facts
from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.coalitions import members
from shapband.draws import Draws
from shapband.records import Batch, Schema, numeric_targets, schema_of
from shapband.utilities.base import (
    GameSummaries,
    MergeableUtility,
    check_numeric_targets,
    check_validation,
    validation_facts,
)
from shapband.utilities.minimum_norm import minimum_norm_mse
from shapband.utilities.scores import Empty, check_empty, check_score, score_from_mse


class LinearUtility(MergeableUtility):
    """A coalition is worth the score of a least-squares fit, with intercept, to its records.

    The fit needs the records only through sums of products, so a provider's summary is its Gram
    matrix, in coordinates centred and scaled by the validation rows for accuracy. Coalitions
    whose features are linearly dependent get the coefficients of least norm, as scikit-learn's
    `LinearRegression` gives them; coalitions with fewer than two records are worth `empty`.

    Sums of products hold half the digits of the records: a feature whose spread within a
    coalition is s, at a distance d from its validation mean, costs about (d / s)² · 1e-16 of
    relative accuracy, and counts as constant once s is below d / 100,000.

    Parameters
    ----------
    X_val : (n_rows, n_features) validation rows
    y_val : (n_rows,) validation targets
    score : "inverse_mse" for 1 / (1 + MSE), "r2" or "neg_mse"
    empty : value of the empty coalition: a number, or "baseline" for the score of the mean of
        `y_val`; by default 0 for "inverse_mse", as in the paper, and the baseline for others

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> X = np.arange(5.0).reshape(-1, 1)
    >>> utility = sb.LinearUtility(X, 3 * X[:, 0] + 1)
    >>> summary = utility.summarise(sb.ArraySource(X, 3 * X[:, 0] + 1).records)
    >>> round(float(utility.evaluate([summary], [0b1])[0]), 9)
    1.0
    """

    schema: Schema
    exact_up_to = 14

    def __init__(
        self,
        X_val: ArrayLike,
        y_val: ArrayLike,
        score: str = "inverse_mse",
        *,
        empty: Empty = None,
    ) -> None:
        validation = check_validation(X_val, y_val, "LinearUtility")
        self.schema = schema_of(X_val) if hasattr(X_val, "columns") else validation.schema
        X, y = validation.X, check_numeric_targets(validation.y, "LinearUtility")
        self._score = check_score(score, y, "LinearUtility")
        dummy = float(score_from_mse(np.array(y.var()), score, float(y.var())))
        self.empty, self.baseline = check_empty(empty, score, dummy, "LinearUtility")
        # The computed deviation of equal numbers such as 0.1 is not zero, but their range is.
        varies = np.ptp(X, axis=0) > 0
        self._inv_scale = 1.0 / np.where(varies, X.std(axis=0), 1.0)
        self._centre = X.mean(axis=0), self._inv_scale, float(y.mean())
        self._variance = float(y.var())
        moments = _summaries([Draws.whole(validation)], self._centre)[0, 0] / len(X)
        p = X.shape[1] + 1
        self._A, self._b = moments[:-p].copy(), moments[-p:].copy()
        self._about = facts(validation_facts(validation), score=score, empty=self.empty)

    def check_batch(self, batch: Batch) -> None:
        if batch.is_frame:
            batch.numeric()
        numeric_targets(batch.y)

    def summarise(self, batch: Batch) -> FloatArray:
        """Return the packed Gram matrix and the products with the targets."""
        summary: FloatArray = self.summarise_games([Draws.whole(batch)])[0, 0]
        return summary

    def evaluate(self, summaries: Sequence[FloatArray], coalitions: Sequence[int]) -> FloatArray:
        merged = np.stack([_merge(summaries, mask) for mask in coalitions])
        alone = np.zeros((len(merged), 1, 1), dtype=np.int64)
        mse = kernels.load("linear").linear_prefixes(
            merged[:, None, :], alone, alone, self._A, self._b, self._variance
        )
        return self._worth(mse[:, 0, 0], lambda unsolved: merged[unsolved])

    def summary_floats(self, draw_size: int) -> int:  # noqa: ARG002
        """Return the length of the packed Gram matrix and the products."""
        return len(self._A) + len(self._b)

    def summarise_games(self, draws: Sequence[Draws]) -> FloatArray:
        """Return the summaries of consecutive games: (n_games, n, n_sums)."""
        return _summaries(draws, self._centre)

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        stacked = np.ascontiguousarray(games)
        mse = kernels.load("linear").linear_table(stacked, self._A, self._b, self._variance)
        mse[:, 0] = 0.0  # the empty coalition has no fit; its value is `empty`
        values = self._worth(
            mse,
            lambda unsolved: np.stack(
                [_merge(stacked[g], mask) for g, mask in np.argwhere(unsolved).tolist()]
            ),
        )
        values[:, 0] = self.empty
        return values

    def evaluate_prefixes(
        self, games: GameSummaries, orders: IntArray, first: IntArray
    ) -> FloatArray:
        stacked = np.ascontiguousarray(games)
        mse = kernels.load("linear").linear_prefixes(
            stacked, orders, first, self._A, self._b, self._variance
        )
        return self._worth(
            mse,
            lambda unsolved: np.stack(
                [
                    stacked[g][orders[g, t, : k + 1]].sum(axis=0)
                    for g, t, k in np.argwhere(unsolved).tolist()
                ]
            ),
        )

    def evaluate_rows(
        self, games: GameSummaries, inside: MemberArray, of_game: IntArray
    ) -> FloatArray:
        stacked = np.ascontiguousarray(games)
        mse = kernels.load("linear").linear_rows(
            stacked, inside, of_game, self._A, self._b, self._variance
        )
        return self._worth(
            mse,
            lambda unsolved: np.stack(
                [
                    stacked[g][row.astype(bool)].sum(axis=0)
                    for g, row in zip(of_game[unsolved], inside[unsolved], strict=True)
                ]
            ),
        )

    def _worth(
        self, mse: FloatArray, merged_at: Callable[[NDArray[np.bool_]], FloatArray]
    ) -> FloatArray:
        """Score the errors; those that the kernel left NaN are solved from merged summaries."""
        unsolved = np.isnan(mse)
        values = score_from_mse(mse, self._score, self._variance)
        if unsolved.any():
            values[unsolved] = self._answer(merged_at(unsolved))
        return values

    def _answer(self, merged: FloatArray) -> FloatArray:
        """Values of coalitions (m, n_sums) that are too small or have dependent features."""
        values = np.full(len(merged), self.empty)
        fitted = merged[:, 0] >= 2  # the number of records
        if fitted.any():
            mse = minimum_norm_mse(
                merged[fitted], self._A, self._b, self._variance, self._inv_scale
            )
            values[fitted] = score_from_mse(mse, self._score, self._variance)
        return values


def _summaries(draws: Sequence[Draws], centre: tuple[FloatArray, FloatArray, float]) -> FloatArray:
    """Gram matrices and products of records standardised by `centre` (mean, 1 / scale, y mean)."""
    gram = kernels.load("linear").gram_summaries
    p = draws[0].batch.schema.n_features + 1
    summaries = np.empty((draws[0].choice.n_games, len(draws), p * (p + 3) // 2))
    for place, drawn in enumerate(draws):
        X, y = drawn.batch.numeric(), numeric_targets(drawn.batch.y)
        gram(X, y, np.ascontiguousarray(drawn.rows), *centre, summaries, place)
    return summaries


def _merge(summaries: Sequence[FloatArray], coalition: int) -> FloatArray:
    inside = members(coalition)
    if not inside:
        return np.zeros_like(summaries[0])
    return np.asarray(np.sum([summaries[i] for i in inside], axis=0))
