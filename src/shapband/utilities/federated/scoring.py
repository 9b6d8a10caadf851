"""Scores of federated models on the validation rows, and without each fold of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shapband import kernels
from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.utilities import scores
from shapband.utilities.classification import CLASS_SCORES, baseline_score, check_rows

_OWNER = "FederatedUtility"
_BLOCK = 4  # kernels read rows in blocks of four
# An error from products of errors loses digits if the members' errors cancel each other. Below this
# part of the mean of the members' own errors, it is computed from the mean model.
_CANCELLED = 1e-5
_NO_FOLDS = np.zeros(0, dtype=np.int64)


class Rows(Protocol):
    """Validation rows, and the score on them."""

    def __len__(self) -> int: ...

    def on(self, rows: IntArray) -> Rows:
        """Return some of the rows."""

    def baseline(self) -> float:
        """Return the score of a dummy model."""

    def scores(
        self, parameters: FloatArray, units: IntArray, fold_of: IntArray, n_folds: int
    ) -> FloatArray:
        """Return the scores of models on all rows and without each fold: (m, 1 + n_folds).

        Parameters
        ----------
        parameters : (m, n_parameters)
        units : numbers of features, of the units of hidden layers, and of outputs
        fold_of : (n_rows,) the fold of each row, if there are folds
        """


@dataclass(frozen=True, eq=False)
class TargetRows(Rows):
    """Validation rows with targets that are numbers.

    Attributes
    ----------
    X : (n_rows, d), filled with rows of zeros to a multiple of four
    y : (n_rows,)
    score : name of a score from mean squared errors
    """

    X: FloatArray
    y: FloatArray
    score: str

    def __len__(self) -> int:
        return len(self.y)

    def on(self, rows: IntArray) -> TargetRows:
        scores.check_score(self.score, self.y[rows], _OWNER)
        return TargetRows(filled(self.X[rows]), self.y[rows], self.score)

    def baseline(self) -> float:
        variance = scores.variance_of(self.y)
        return float(scores.score_from_mse(np.array([variance]), self.score, variance)[0])

    def scores(
        self, parameters: FloatArray, units: IntArray, fold_of: IntArray, n_folds: int
    ) -> FloatArray:
        kernel, given = kernels.load("federated_scores"), (units, self.X, self.y)
        sums = kernel.squared_errors(parameters, *given, fold_of, n_folds)
        return self._scores_of(sums, fold_of)

    def scores_of_means(
        self,
        updates: FloatArray,
        shares: FloatArray,
        inside: MemberArray,
        units: IntArray,
        fold_of: IntArray,
        n_folds: int,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the scores of means of linear models, from the products of the models' errors.

        A mean of predictions has the mean of their errors, so its squared error follows from the
        products of the errors of all pairs, which are computed once for all coalitions.

        Parameters
        ----------
        updates : (n, n_parameters) parameters of the members
        shares : (n,) weights of the members
        inside : (m, n) 1 for members; every coalition has one

        Returns
        -------
        The scores, and whether digits were lost: both (m, 1 + n_folds).
        """
        kernel, given = kernels.load("federated_scores"), (units, self.X, self.y)
        products = kernel.error_products(updates, *given, fold_of, n_folds)
        sums = kernel.mean_errors(inside, shares, products)
        weights, own = inside * shares, np.diagonal(products, axis1=1, axis2=2)
        # The squared error of a mean is at most the mean of the squared errors. It is not NaN if
        # the errors of all members are finite.
        upper = np.einsum("mi,pi->mp", weights, own) / weights.sum(axis=1)[:, None]
        lost = ~(sums > _CANCELLED * upper)
        return self._scores_of(sums, fold_of), lost

    def _scores_of(self, sums: FloatArray, fold_of: IntArray) -> FloatArray:
        """Turn sums of squared errors on all rows and on each fold into scores."""
        sizes = np.bincount(fold_of, minlength=sums.shape[1] - 1)
        found = np.empty_like(sums)
        found[:, 0] = sums[:, 0] / len(self.y)
        for fold, size in enumerate(sizes.tolist()):
            # Adding up the others loses no digits, however large the error on this fold is.
            others = np.delete(sums[:, 1:], fold, axis=1).sum(axis=1)
            found[:, 1 + fold] = others / (len(self.y) - size)
        for part in range(found.shape[1]):
            variance = 1.0
            if self.score == "r2":
                own = self.y if part == 0 else self.y[fold_of != part - 1]
                variance = scores.variance_of(own)
            found[:, part] = scores.score_from_mse(found[:, part].copy(), self.score, variance)
        return found


@dataclass(frozen=True, eq=False)
class LabelRows(Rows):
    """Validation rows with labels.

    Attributes
    ----------
    X : (n_rows, d), filled with rows of zeros to a multiple of four
    codes : (n_rows,) classes from 0
    n_labels : number of classes
    score : number of the score of classifiers
    """

    X: FloatArray
    codes: IntArray
    n_labels: int
    score: int

    def __len__(self) -> int:
        return len(self.codes)

    def on(self, rows: IntArray) -> LabelRows:
        check_rows(self.codes[rows], self.score, _OWNER)
        return LabelRows(filled(self.X[rows]), self.codes[rows], self.n_labels, self.score)

    def baseline(self) -> float:
        return baseline_score(self.codes, CLASS_SCORES[self.score], self.n_labels)

    def scores(
        self, parameters: FloatArray, units: IntArray, fold_of: IntArray, n_folds: int
    ) -> FloatArray:
        parts = np.empty((len(parameters), n_folds))
        whole = kernels.load("federated_scores").class_scores(
            parameters,
            units,
            self.X,
            self.codes,
            self.n_labels,
            self.score,
            (fold_of, parts) if n_folds else None,
        )
        return np.column_stack([whole, parts])


def filled(X: FloatArray) -> FloatArray:
    """Add rows of zeros, so that the number of rows is a multiple of four."""
    missing = -len(X) % _BLOCK
    return np.concatenate([X, np.zeros((missing, X.shape[1]))]) if missing else X
