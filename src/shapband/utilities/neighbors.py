"""Nearest neighbours from merged per-provider neighbour lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from shapband import kernels
from shapband._facts import facts
from shapband._typing import AnyArray, FloatArray, IntArray, MemberArray
from shapband.checks import check_whole
from shapband.errors import InvalidInput
from shapband.kernels.walks import Walk, walk_of_orders, walk_of_rows, walk_of_table
from shapband.records.arrays import float_targets
from shapband.records.batch import Batch, Schema
from shapband.records.draws import Draws
from shapband.seeds import Seeds
from shapband.utilities.base import GameSummaries, MergeableUtility
from shapband.utilities.labels import check_labels, most_frequent, ordered_codes
from shapband.utilities.magnitudes import check_features_magnitude, check_targets_magnitude
from shapband.utilities.one_pass import OnePassUtility
from shapband.utilities.rows import check_numeric_targets, check_validation, validation_facts
from shapband.utilities.scores import Empty, Score, check_empty, check_score, score_from_mse
from shapband.utilities.wording import score_words

Task = Literal["regression", "classification"]
Weights = Literal["uniform", "distance"]
# Losses of coalitions, and a number that is 0 for coalitions without any neighbour.
Losses: TypeAlias = tuple[FloatArray, AnyArray]
# With more neighbours than this, sets of records are faster than sorted lists.
_MANY = {"regression": 20, "classification": 8}
# With this many validation rows or more, tables are made from two halves of the providers, which
# takes half the time. With fewer rows the kernel `neighbors` is used, and values keep its last
# digits.
MANY_ROWS = 5000


class NeighborUtility(OnePassUtility, MergeableUtility):
    """A coalition is worth the score of its k nearest neighbours on the validation rows.

    For every validation row a provider's summary lists its k nearest records; a coalition's
    neighbours are the nearest of its members' lists, so nothing is fitted again. Records
    at equal distance are ordered by their target, smallest first, which makes the result
    independent of the order of records and providers. Where many records are at equal distance, as
    with features of few possible values, predictions of quantities are therefore too low, and R² is
    lower than in scikit-learn, which takes records by their order. Coalitions with fewer than k
    records use all their records. The time grows with k, even beyond the size of a draw.
    Differences between features that are below 1e-154 times the largest number in `X_val` count as
    0, because their squares underflow; features beyond 1e151 times that number are refused.

    Parameters
    ----------
    X_val : (n_rows, n_features) validation rows
    y_val : (n_rows,) validation targets; labels for classification
    k : number of neighbours
    task : "regression" predicts their mean, "classification" their most frequent label, the
        smallest one in a tie; required if `y_val` holds integers, which could be either
    score : for regression "inverse_mse" for 1 / (1 + MSE), "r2" or "neg_mse"; classification is
        scored by accuracy
    weights : "uniform", or "distance" to weight neighbours by the inverse of their distance, as in
        scikit-learn; records at distance 0 decide alone
    empty : value of the empty coalition: a number, or "baseline" for the score of the mean or of
        the most frequent label of `y_val`; by default 0 for "inverse_mse", as in the paper, and
        the baseline for others

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> utility = sb.NeighborUtility([[0.0], [1.0]], [0.0, 2.0], k=1, task="regression")
    >>> near = utility.summarise(sb.ArraySource([[0.1], [0.9]], [0.0, 1.0]).records)
    >>> far = utility.summarise(sb.ArraySource([[1.0]], [2.0]).records)
    >>> utility.evaluate([near, far], [0b01, 0b11]).round(4).tolist()
    [0.6667, 1.0]
    """

    schema: Schema
    model_name = "nearest neighbours"
    _rows: IntArray | None = None  # rows of the summaries that are scored, or None for all

    def __init__(
        self,
        X_val: ArrayLike,
        y_val: ArrayLike,
        k: int = 1,
        task: Task | None = None,
        score: Score = "inverse_mse",
        *,
        weights: Weights = "uniform",
        empty: Empty = None,
    ) -> None:
        self._k = check_whole("NeighborUtility: k", k, 1)
        self.validation_records, validation, self.schema = check_validation(
            X_val, y_val, "NeighborUtility"
        )
        task = _task_of(validation.y) if task is None else task
        if task not in ("regression", "classification"):
            raise InvalidInput(
                f"NeighborUtility: task must be 'regression' or 'classification'; received {task!r}"
            )
        if weights not in ("uniform", "distance"):
            raise InvalidInput(
                f"NeighborUtility: weights must be 'uniform' or 'distance'; received {weights!r}"
            )
        self._weighted = weights == "distance"
        self._sets = self._weighted or self._k > _MANY[task]
        self._unit = _common_unit(validation.X)
        self._X = self._scaled(validation.X, "NeighborUtility: X_val")
        self._classify = task == "classification"
        self._labels = check_labels(validation.y, "NeighborUtility") if self._classify else None
        self._y = (
            check_numeric_targets(validation.y, "NeighborUtility")
            if self._labels is None
            else self._codes(validation.y)
        )
        if not self._classify:
            check_targets_magnitude(self._y, "NeighborUtility: the targets y_val")
        self._score = check_score(score, self._y, "NeighborUtility")
        self.score_name = score_words("accuracy" if self._classify else score)
        self.empty, self.baseline = check_empty(
            empty, "accuracy" if self._classify else score, self._dummy_score(), "NeighborUtility"
        )
        told = weights if self._weighted else None
        scored = {"task": task} if self._classify else {"score": score}
        self._about = facts(
            validation_facts(validation), k=k, **scored, weights=told, empty=self.empty
        )

    @cached_property
    def _variance(self) -> float:
        return float(self._y.var())

    @property
    def exact_up_to(self) -> int:
        return 15 if self._k == 1 else 11

    def operations(self, n_providers: int) -> float:
        """Count the comparisons of merging the members' lists of neighbours."""
        return 4.0 * len(self._y) * self._k * n_providers / 2

    @property
    def labels(self) -> list[Any] | None:
        return None if self._labels is None else self._labels.tolist()

    @property
    def validation_rows(self) -> int:
        return len(self._y)

    def on_rows(self, rows: IntArray) -> NeighborUtility:
        part = copy(self)
        part._X, part._y, part._rows = self._X[rows], self._y[rows], rows
        part.__dict__.pop("_variance", None)
        check_score(self._score, part._y, "NeighborUtility")
        if self.baseline:
            part.empty = part._dummy_score()
        return part

    def in_games(
        self,
        games: GameSummaries,
        names: Sequence[str],  # noqa: ARG002
        indices: range,  # noqa: ARG002
        seeds: Seeds,  # noqa: ARG002
    ) -> GameSummaries:
        """Keep the lists of the validation rows that are scored."""
        return games if self._rows is None else np.ascontiguousarray(games)[..., self._rows]

    def check_batch(self, batch: Batch) -> None:
        self._scaled(batch.numeric(), "the records")
        targets = self._codes(batch.y)
        if not self._classify:
            check_targets_magnitude(targets, "the targets")

    def summarise(self, batch: Batch) -> FloatArray:
        """Return the k nearest records of every validation row: (2, k, n_rows)."""
        summary = np.empty((1, 2, self._k, len(self._y)))
        self._fill(Draws.whole(batch), summary)
        lists: FloatArray = summary[0]
        return lists

    def summary_floats(self, draw_size: int) -> int:
        """Return the number of distances and targets of k neighbours of all validation rows."""
        return 2 * (min(self._k, draw_size) if self._sets else self._k) * len(self._y)

    def summarise_games(self, draws: Sequence[Draws]) -> FloatArray:
        """Return the neighbour lists of consecutive games: (n_games, n, 2, k, n_rows).

        A list is at most as long as the largest draw, or as all draws together if the kernel merges
        lists of k records.
        """
        sizes = [drawn.choice.size for drawn in draws]
        k = min(self._k, max(sizes) if self._sets else sum(sizes))
        lists = np.empty((len(draws), draws[0].choice.n_games, 2, k, len(self._y)))
        for drawn, own in zip(draws, lists, strict=True):
            self._fill(drawn, own)
        return np.ascontiguousarray(lists.swapaxes(0, 1))  # of one game, this copies nothing

    def _fill(self, drawn: Draws, lists: FloatArray) -> None:
        """Write the k nearest records of one provider in every game: (n_games, 2, k, n_rows)."""
        X, y = drawn.batch.numeric() * self._unit, self._codes(drawn.batch.y)
        fill = kernels.load("neighbor_lists").fill_lists
        fill(X, y, np.ascontiguousarray(drawn.rows), self._X, lists)

    def evaluate_all(self, games: GameSummaries) -> FloatArray:
        stacked = np.ascontiguousarray(games)

        def compute(parts: FloatArray) -> FloatArray:
            return self._values(self._table, stacked, parts)

        return self._scored(compute, (len(stacked), 1 << stacked.shape[1]), games)

    def evaluate_prefixes(
        self, games: GameSummaries, orders: IntArray, first: IntArray
    ) -> FloatArray:
        def compute(parts: FloatArray) -> FloatArray:
            values = np.empty(orders.shape)
            for g, game in enumerate(np.ascontiguousarray(games)):
                along = self._along(walk_of_orders(orders[g], first[g]), orders[g].size)
                own = parts[g].reshape(orders[g].size, parts.shape[3])  # a view
                values[g].flat = self._values(along, game, own)
            parts[:] = np.take_along_axis(parts, first[..., None], axis=1)
            return np.take_along_axis(values, first, axis=1)

        return self._scored(compute, orders.shape, games, orders)

    def evaluate_rows(
        self, games: GameSummaries, inside: MemberArray, of_game: IntArray
    ) -> FloatArray:
        def compute(parts: FloatArray) -> FloatArray:
            stacked, values = np.ascontiguousarray(games), np.empty(len(inside))
            for g in np.unique(of_game):
                rows = slice(*np.searchsorted(of_game, [g, g + 1]))
                along = self._along(walk_of_rows(inside[rows]), rows.stop - rows.start)
                values[rows] = self._values(along, stacked[g], parts[rows])
            return values

        return self._scored(compute, (len(inside),), games, inside, of_game)

    def _table(self, games: FloatArray, y: FloatArray) -> Losses:
        """Losses of all coalitions of games on some validation rows: (n_games, 2**n)."""
        n = games.shape[1]
        if games.shape[3] == 1 and not self._sets:
            tables = kernels.load("nearest_neighbor").nearest_tables
            holders = (games[:, :, 0, 0, 0] < np.inf) @ (1 << np.arange(n))
            return tables(games, y, self._classify), np.arange(1 << n) & holders[:, None]
        if not (self._sets or self._classify) and len(self._y) >= MANY_ROWS:
            table = kernels.load("neighbor_halves").regression_table
            found = [table(game, y) for game in games]
        else:
            losses = self._along(walk_of_table(n), 1 << n)
            found = [losses(game, y) for game in games]
        return np.stack([loss for loss, _ in found]), np.stack([count for _, count in found])

    def _along(self, walk: Walk, n_rows: int) -> Callable[[FloatArray, FloatArray], Losses]:
        """Return a function for the losses (n_rows,) of the coalitions of a walk in one game."""
        name = "neighbor_sets" if self._sets else "neighbors"
        settings = (self._k, self._weighted) if self._sets else ()
        losses = kernels.load(name).neighbor_losses
        return lambda game, y: losses(game, walk, n_rows, y, self._classify, *settings)

    def _values(
        self,
        losses: Callable[[FloatArray, FloatArray], Losses],
        lists: FloatArray,
        parts: FloatArray,
    ) -> FloatArray:
        """Score the losses; coalitions without any neighbour are worth `empty`.

        The loss is a mean over rows, so the losses on the rows without each fold are made from the
        losses on each fold.

        Parameters
        ----------
        losses : of lists and targets of some validation rows
        lists : neighbours of all validation rows, which are the last axis
        parts : (.., n_folds) the values without each fold are written here
        """
        loss, found = losses(lists, self._y)
        values = self._worth(loss, self._variance)
        if parts.shape[-1]:
            sums = [
                losses(np.ascontiguousarray(lists[..., rows]), self._y[rows])[0] * len(rows)
                for rows in self._rows_of_folds()
            ]
            if self._classify:
                sums = [np.rint(one) for one in sums]  # numbers of rows
            for fold, rows in enumerate(self._rows_of_folds()):
                left = np.delete(self._y, rows)
                others = sum(one for other, one in enumerate(sums) if other != fold)
                parts[..., fold] = self._worth(np.asarray(others) / len(left), float(left.var()))
        self._set_empty(values, parts, found == 0)
        return values

    def _worth(self, loss: FloatArray, variance: float) -> FloatArray:
        """Scores from losses on validation rows whose targets have this variance."""
        return 1.0 - loss if self._classify else score_from_mse(loss, self._score, variance)

    def _scaled(self, X: FloatArray, what: str) -> FloatArray:
        """Features in the common unit, in which squares of their differences are finite."""
        with np.errstate(over="ignore"):
            scaled: FloatArray = X * self._unit
        check_features_magnitude(scaled, f"{what}, in units of the largest number of X_val")
        return scaled

    def _dummy_score(self) -> float:
        if self._classify:
            return most_frequent(self._y)
        return float(score_from_mse(np.array(self._variance), self._score, self._variance))

    def _codes(self, y: AnyArray) -> FloatArray:
        """Return quantities, or codes in the order of the labels."""
        return float_targets(y) if self._labels is None else ordered_codes(y, self._labels)


def _common_unit(X_val: FloatArray) -> float:
    """Power of two that brings the largest feature of the validation rows near 1.

    Scaling by it changes no comparison of distances, and keeps the squares of tiny features from
    underflowing.
    """
    return float(np.ldexp(1.0, -int(np.frexp(np.abs(X_val).max(initial=0.0))[1])))


def _task_of(y_val: AnyArray) -> Task:
    """Infer the task from the targets; raise an error for integers, which may be labels."""
    if y_val.dtype.kind != "f":
        return "classification"
    if (y_val == np.round(y_val)).all():
        raise InvalidInput(
            f"NeighborUtility: y_val holds whole numbers only ({len(np.unique(y_val))} different "
            "ones), which may be labels or quantities: pass task='classification' or "
            "task='regression'"
        )
    return "regression"
