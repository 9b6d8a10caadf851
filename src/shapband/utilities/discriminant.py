"""Linear discriminant analysis from merged class means and scatter."""

from __future__ import annotations

from numpy.typing import ArrayLike

from shapband import kernels
from shapband._facts import facts
from shapband._typing import FloatArray, IntArray, MemberArray
from shapband.utilities.class_sums import ClassSumsUtility
from shapband.utilities.classification import ClassScore
from shapband.utilities.one_pass import FoldScores
from shapband.utilities.scores import Empty


class LDAUtility(ClassSumsUtility):
    """A coalition is worth the score of a linear discriminant analysis of its records.

    The model is scikit-learn's `LinearDiscriminantAnalysis`, with class frequencies of the
    coalition as priors. It needs the records only through sums: the number and the sum of each
    class, and the products of all features. These are a provider's summary. The covariance within
    classes is divided by the number of records, as in scikit-learn's solver "lsqr" and in newer
    versions of its solver "svd".

    Features that are nearly dependent within classes are treated as by scikit-learn's solver
    "svd": directions with a standardised singular value of 1e-4 or less are ignored, and so are
    features that are constant in every class. Unlike in scikit-learn, small differences between the
    means of three classes or more are never ignored.

    A coalition whose records have the same label always predicts that label. A label of `y_val`
    that a coalition has not seen gets the probability 0. A coalition with one record of each of
    its labels has no scatter, and predicts the frequencies of its labels. Labels of records must
    occur in `y_val`.

    Parameters
    ----------
    X_val : (n_rows, n_features) validation rows
    y_val : (n_rows,) validation labels: integers or strings
    score : "accuracy", "neg_log_loss", "neg_brier_score" or, if `y_val` has two labels, "roc_auc":
        the scorers of scikit-learn
    empty : value of the empty coalition: a number, or "baseline", the default, for the score of a
        model that predicts the class frequencies of `y_val`

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> utility = sb.LDAUtility(X, ["low", "low", "high", "high"])
    >>> both = utility.summarise(sb.Batch(X, np.array(["low", "low", "high", "high"])))
    >>> one = utility.summarise(sb.Batch(X[:1], np.array(["low"])))
    >>> utility.evaluate([both, one], [0b01, 0b10, 0b11]).tolist()
    [1.0, 0.5, 1.0]
    """

    model_name = "linear discriminant analysis"

    def __init__(
        self,
        X_val: ArrayLike,
        y_val: ArrayLike,
        score: ClassScore = "accuracy",
        *,
        empty: Empty = None,
    ) -> None:
        super().__init__(X_val, y_val, score, empty)
        self._about = facts(self._rows_of, score=score, empty=self.empty)

    @property
    def _shape(self) -> tuple[int, int]:
        features = len(self._scale)
        return 3 * len(self._labels) + 2 * features, 1 + features

    def _write(
        self, X: FloatArray, codes: IntArray, rows: IntArray, summaries: FloatArray, place: int
    ) -> None:
        kernels.load("discriminant").class_scatter(X, codes, rows, *self._centre, summaries, place)

    @property
    def _added(self) -> tuple[int, int]:
        return len(self._labels) + len(self._scale), 1 + len(self._scale)

    def _scores(
        self, games: FloatArray, inside: MemberArray, of_game: IntArray, folds: FoldScores | None
    ) -> FloatArray:
        rows = kernels.load("discriminant").discriminant_rows
        fixed = self._columns, self._codes, self._score, folds
        scores: FloatArray = rows(games, inside, of_game, *fixed)
        return scores

    def _scores_of_sums(self, sums: FloatArray, folds: FoldScores | None) -> FloatArray:
        rows = kernels.load("discriminant").discriminant_sums
        scores: FloatArray = rows(sums, self._columns, self._codes, self._score, folds)
        return scores
