"""Gaussian naive Bayes from merged class means and variances."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shapband import kernels
from shapband._facts import facts
from shapband._typing import FloatArray, IntArray, MemberArray, Positive
from shapband.checks import check_number
from shapband.errors import InvalidInput
from shapband.utilities.class_sums import ClassSumsUtility
from shapband.utilities.classification import ClassScore
from shapband.utilities.magnitudes import FARTHEST
from shapband.utilities.one_pass import FoldScores
from shapband.utilities.scores import Empty


class GaussianNBUtility(ClassSumsUtility):
    """A coalition is worth the score of a Gaussian naive Bayes classifier of its records.

    The model is scikit-learn's `GaussianNB`, with class frequencies of the coalition as priors. It
    needs the records only through the number, the sums and the squares of each class, so these are
    a provider's summary, and nothing is fitted again.

    A coalition whose records have the same label always predicts that label. A label of `y_val`
    that a coalition has not seen gets the probability 0. If all records of a coalition are equal,
    it predicts the frequencies of its labels. Labels of records must occur in `y_val`.

    Parameters
    ----------
    X_val : (n_rows, n_features) validation rows
    y_val : (n_rows,) validation labels: integers or strings
    score : "accuracy", "neg_log_loss", "neg_brier_score" or, if `y_val` has two labels, "roc_auc":
        the scorers of scikit-learn
    var_smoothing : part of the largest variance of a feature, over all records of a coalition, that
        is added to all variances
    empty : value of the empty coalition: a number, or "baseline", the default, for the score of a
        model that predicts the class frequencies of `y_val`

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> utility = sb.GaussianNBUtility(X, ["low", "low", "high", "high"])
    >>> both = utility.summarise(sb.Batch(X, np.array(["low", "low", "high", "high"])))
    >>> one = utility.summarise(sb.Batch(X[:1], np.array(["low"])))
    >>> utility.evaluate([both, one], [0b01, 0b10, 0b11]).tolist()
    [1.0, 0.5, 1.0]
    """

    model_name = "Gaussian naive Bayes"

    def __init__(
        self,
        X_val: ArrayLike,
        y_val: ArrayLike,
        score: ClassScore = "accuracy",
        *,
        var_smoothing: Positive = 1e-9,
        empty: Empty = None,
    ) -> None:
        self._smoothing = check_number("GaussianNBUtility: var_smoothing", var_smoothing)
        if self._smoothing <= 0:
            raise InvalidInput(
                f"GaussianNBUtility: var_smoothing must be positive; received {var_smoothing!r}"
            )
        super().__init__(X_val, y_val, score, empty)
        self._units = _units(self._scale, 1.0 / self._units_of_rows[1])
        self._about = facts(
            self._rows_of, score=score, var_smoothing=self._smoothing, empty=self.empty
        )

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self._labels), 1 + 4 * len(self._scale)

    def _write(
        self, X: FloatArray, codes: IntArray, rows: IntArray, summaries: FloatArray, place: int
    ) -> None:
        kernels.load("bayes").class_moments(X, codes, rows, *self._centre, summaries, place)

    @property
    def _added(self) -> tuple[int, int]:
        return len(self._labels), 1 + 2 * len(self._scale)

    def _scores(
        self, games: FloatArray, inside: MemberArray, of_game: IntArray, folds: FoldScores | None
    ) -> FloatArray:
        rows = kernels.load("bayes").bayes_rows
        scores: FloatArray = rows(games, inside, of_game, *self._fixed, folds)
        return scores

    def _scores_of_sums(self, sums: FloatArray, folds: FoldScores | None) -> FloatArray:
        scores: FloatArray = kernels.load("bayes").bayes_sums(sums, *self._fixed, folds)
        return scores

    @property
    def _fixed(self) -> tuple[FloatArray, IntArray, int, FloatArray, float]:
        """What does not depend on the game."""
        return self._columns, self._codes, self._score, self._units, self._smoothing


def _units(scale: FloatArray, deviation: FloatArray) -> FloatArray:
    """Squared units (d,) of the features, relative to the largest.

    Only ratios of variances matter, and a common power of two does not change them.
    """
    power = -int(np.frexp(scale.max())[1])
    if np.ldexp(deviation, power).min() < 1.0 / FARTHEST:
        raise InvalidInput(
            f"GaussianNBUtility: X_val: the deviations of features {int(deviation.argmin())} and "
            f"{int(deviation.argmax())} differ by a factor beyond {FARTHEST:g}, so var_smoothing "
            "cannot be added to both: pass them in other units"
        )
    return np.square(np.ldexp(scale, power))
