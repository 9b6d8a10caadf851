"""Small neural networks, trained by compiled loops for every coalition."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shapband._facts import facts
from shapband._typing import BoolArray, FloatArray, IntArray, NonNegative, Whole
from shapband.checks import check_number, check_whole
from shapband.coalitions import members
from shapband.errors import InvalidInput
from shapband.records.batch import Batch, Schema
from shapband.utilities.base import CoalitionFailed, Utility
from shapband.utilities.labels import check_labels, most_frequent, ordered_codes
from shapband.utilities.networks.training import Problem, first_weights, predict, train
from shapband.utilities.rows import Folded, check_validation, validation_facts
from shapband.utilities.scores import Empty, check_empty

_TOL = 1e-4  # scikit-learn's default: training ends if no entry of the gradient is larger
_EPSILON = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Distinct:
    """The different records of a draw, sorted, and how often each occurs."""

    X: FloatArray
    y: FloatArray
    count: FloatArray


class NetworkUtility(Utility):
    """A coalition is worth the accuracy of a neural network trained on its records.

    The network equals scikit-learn's ``make_pipeline(StandardScaler(), MLPClassifier(hidden,
    solver="lbfgs", alpha=alpha, max_iter=max_iter, random_state=seed))`` up to rounding: ReLU
    units, softmax outputs, the same first weights and the same steps of L-BFGS. It is trained in
    compiled code that releases the interpreter lock, so workers are threads, and records that
    occur several times in a draw are used once with a larger weight. A network predicts only
    classes that occur in its coalition. Rounding errors grow during long training: after about 40
    iterations two implementations, or two orders of the records, may give different networks.

    Parameters
    ----------
    X_val : (n_rows, n_features) validation rows
    y_val : (n_rows,) their labels: integers or strings
    hidden : number of units of every hidden layer
    alpha : strength of the L2 penalty
    max_iter : most iterations of L-BFGS; training ends earlier when the gradient is small
    seed : seed of the first weights, which are the same for all coalitions
    empty : value of the empty coalition: a number, or "baseline" for the accuracy of the most
        frequent label of `y_val`, which is the default

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> utility = sb.NetworkUtility(X, ["low", "low", "high", "high"], hidden=(8,))
    >>> low = utility.summarise(sb.ArraySource(X[:2], ["low", "low"]).records)
    >>> high = utility.summarise(sb.ArraySource(X[2:], ["high", "high"]).records)
    >>> utility.evaluate([low, high], [0b01, 0b11]).tolist()
    [0.5, 1.0]
    """

    schema: Schema
    model_name = "a neural network"
    score_name = "accuracy"
    threaded = True
    _rows: IntArray | None = None  # validation rows that are scored, or None for all
    _trained: dict[int, BoolArray] | None = None  # correct rows of the coalitions of one game

    def __init__(
        self,
        X_val: ArrayLike,
        y_val: ArrayLike,
        hidden: Sequence[int] = (100,),
        *,
        alpha: NonNegative = 1e-4,
        max_iter: int = 200,
        seed: Whole = 0,
        empty: Empty = None,
    ) -> None:
        self.validation_records, validation, self.schema = check_validation(
            X_val, y_val, "NetworkUtility"
        )
        self._hidden = _check_hidden(hidden)
        self._alpha = check_number("NetworkUtility: alpha", alpha)
        if self._alpha < 0:
            raise InvalidInput(f"NetworkUtility: alpha must be 0 or more; received {alpha!r}")
        self._max_iter = check_whole("NetworkUtility: max_iter", max_iter, 1)
        self._seed = check_whole("NetworkUtility: seed", seed, 0, most=2**32 - 1)
        self._labels = check_labels(validation.y, "NetworkUtility")
        self._X, self._y = validation.X, ordered_codes(validation.y, self._labels)
        self.empty, self.baseline = check_empty(
            empty, "accuracy", most_frequent(self._y), "NetworkUtility"
        )
        self._about = facts(
            validation_facts(validation),
            hidden=self._hidden,
            alpha=self._alpha,
            max_iter=max_iter,
            seed=seed,
            empty=self.empty,
        )

    @property
    def labels(self) -> list[Any]:
        labels: list[Any] = self._labels.tolist()
        return labels

    def check_batch(self, batch: Batch) -> None:
        if batch.is_frame:
            batch.numeric()
        ordered_codes(batch.y, self._labels)

    def summarise(self, batch: Batch) -> Distinct:
        """Return the different records of a draw."""
        records = np.column_stack([batch.numeric(), ordered_codes(batch.y, self._labels)])
        _, first, count = np.unique(records, axis=0, return_index=True, return_counts=True)
        distinct = np.ascontiguousarray(records[first])
        return Distinct(distinct[:, :-1], distinct[:, -1], count.astype(np.float64))

    @property
    def validation_rows(self) -> int:
        return len(self._y) if self._rows is None else len(self._rows)

    def on_rows(self, rows: IntArray) -> NetworkUtility:
        part = copy(self)
        part._rows = rows
        if self.baseline:
            part.empty = most_frequent(self._y[rows])
        return part

    def without_folds(self, kept: Sequence[IntArray]) -> Folded:
        whole = copy(self)
        whole._trained = {}
        return Folded(whole, [whole.on_rows(rows) for rows in kept], whole._trained.clear)

    def evaluate(self, summaries: Sequence[Distinct], coalitions: Sequence[int]) -> FloatArray:
        values = np.empty(len(coalitions))
        for place, mask in enumerate(coalitions):
            parts = [summaries[i] for i in members(mask) if len(summaries[i].y)]
            values[place] = self._accuracy(parts, mask) if parts else self.empty
        return values

    def _accuracy(self, parts: Sequence[Distinct], coalition: int) -> float:
        """Score the network of a coalition, which is trained once for all parts of the rows."""
        trained = {} if self._trained is None else self._trained
        if coalition not in trained:
            trained[coalition] = self._right(parts, coalition)
        right = trained[coalition]
        scored = right if self._rows is None else right[self._rows]
        return float(scored.sum() / len(scored))

    def _right(self, parts: Sequence[Distinct], coalition: int) -> BoolArray:
        """Train the network of a coalition; return whether it is right about each row."""
        X, y, count = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y", "count")
        )
        classes, target = np.unique(y, return_inverse=True)
        known = np.isin(self._y, classes)  # no other label is ever predicted
        with np.errstate(over="ignore", invalid="ignore"):
            mean, variance = _mean_and_variance(X, count)
        if not np.isfinite(variance).all():
            raise CoalitionFailed(coalition, "the features are too large to be standardised")
        if len(classes) == 1:
            return known
        units = np.array([X.shape[1], *self._hidden, len(classes) if len(classes) > 2 else 1])
        scale = _scale(mean, variance, count.sum())
        weights = first_weights(units, self._seed)
        problem = Problem(units, (X - mean) / scale, target, count, self._alpha)
        with np.errstate(over="ignore", invalid="ignore"):
            loss, _ = train(weights, problem, self._max_iter, _TOL)
        if not np.isfinite(loss):
            raise CoalitionFailed(coalition, "the loss is not finite: pass a smaller alpha")
        predicted = predict(weights, units, (self._X[known] - mean) / scale)
        right = known.copy()
        right[known] = classes[predicted] == self._y[known]
        return right


def _check_hidden(hidden: Any) -> tuple[int, ...]:
    """Check the numbers of hidden units."""
    if isinstance(hidden, str) or not hasattr(hidden, "__len__") or len(hidden) == 0:
        raise InvalidInput(
            "NetworkUtility: hidden must be a sequence with the number of units of every hidden "
            f"layer, such as (100,); received {hidden!r}"
        )
    return tuple(check_whole("NetworkUtility: hidden", units, 1) for units in hidden)


def _mean_and_variance(X: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of features.

    Means are computed relative to the first record, so that the mean of equal numbers is exactly
    that number. Otherwise a large constant feature would turn into a feature of rounding errors.
    """
    mean = X[0] + count @ (X - X[0]) / count.sum()
    return mean, count @ (X - mean) ** 2 / count.sum()


def _scale(mean: FloatArray, variance: FloatArray, total: float) -> FloatArray:
    """Standard deviations of features, 1 for constant features, as in StandardScaler."""
    rounding = total * _EPSILON * variance + (total * mean * _EPSILON) ** 2
    return np.where(variance <= rounding, 1.0, np.sqrt(variance))
