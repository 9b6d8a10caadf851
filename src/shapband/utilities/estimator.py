"""Any scikit-learn estimator, refitted for every coalition."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from shapband._facts import facts, name_of
from shapband.checks import check_number, check_whole, error_line, one_line
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records import Batch, Schema, schema_of
from shapband.sources.base import check_targets
from shapband.sources.frames import as_frame, check_infinite
from shapband.utilities.base import RecordsUtility, check_validation, validation_facts

Scorer = Callable[[Any, Any, Any], float]


class EstimatorUtility(RecordsUtility):
    """A coalition is worth the validation score of an estimator fitted to its records.

    Parameters
    ----------
    estimator : a scikit-learn estimator or pipeline; it is cloned for every fit
    X_val, y_val : validation rows: arrays, or a data frame if the providers hold data frames
    score : the name of a scikit-learn scorer, a function ``score(fitted, X_val, y_val)``, or
        None for the estimator's own `score`
    empty : value of the empty coalition: ``"baseline"`` for the score of a dummy model that
        predicts the mean or the class frequencies of `y_val`, or a number. With the baseline,
        Shapley values sum to the gain over the dummy model
    failed : value of a coalition on which fitting or scoring fails; by default the failure
        stops the valuation with the coalition's names and the cause. Failures are counted in
        `Valuation.failures`

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> from sklearn.linear_model import Ridge
    >>> from shapband.records import Batch
    >>> X = np.arange(4.0).reshape(-1, 1)
    >>> utility = sb.EstimatorUtility(Ridge(alpha=0.0), X, 2 * X[:, 0])
    >>> round(utility.score(Batch(X, 2 * X[:, 0])), 6)
    1.0
    """

    schema: Schema
    _remedy = "; pass failed= to give such coalitions a value"

    def __init__(
        self,
        estimator: Any,
        X_val: Any,
        y_val: Any,
        score: str | Scorer | None = None,
        *,
        empty: float | Literal["baseline"] = "baseline",
        failed: float | None = None,
    ) -> None:
        if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
            raise InvalidInput(
                "EstimatorUtility: estimator must be a scikit-learn estimator, such as Ridge(); "
                f"received {estimator!r}"
            )
        self.estimator = estimator
        if hasattr(X_val, "columns"):
            check_infinite(as_frame(X_val), "EstimatorUtility: X_val")
            check_whole("EstimatorUtility: the number of rows of X_val", len(X_val), 1)
            y = check_targets(y_val, len(X_val), "EstimatorUtility", "y_val")
            self._validation = Batch(X_val, y)
        else:
            self._validation = check_validation(X_val, y_val, "EstimatorUtility")
        self.schema = schema_of(self._validation.X)
        self._score = _scorer(estimator, score)
        self._failed = None if failed is None else check_number("EstimatorUtility: failed", failed)
        self.baseline = empty == "baseline"
        self.empty = (
            self._dummy_score()
            if self.baseline
            else check_number("EstimatorUtility: empty", empty, ', or "baseline"')
        )
        self._warned: set[tuple[type[Warning], str]] = set()
        rows = validation_facts(self._validation)
        scored = name_of(score) if callable(score) else score
        self._about = facts(one_line(estimator), rows, score=scored, empty=self.empty)

    def check(self, providers: Sequence[Provider]) -> None:
        super().check(providers)
        for provider in providers:
            own = provider.source.schema
            if own is not None and own.library != self.schema.library:
                raise InvalidInput(
                    f"provider {provider.name!r} has {own}, but X_val has {self.schema}: pass "
                    "the same kind of data frame for both, or arrays for both"
                )

    def score(self, batch: Batch) -> float:
        from sklearn.base import clone

        try:
            with warnings.catch_warnings(record=True) as caught:
                fitted = clone(self.estimator).fit(batch.X, batch.y)
                score = self._score_of(fitted)
        except Exception:
            if self._failed is None:
                raise
            self.failures += 1
            return self._failed
        self._warn_once(caught)
        return score

    def _score_of(self, fitted: Any) -> float:
        """Score a model on a copy of the validation rows, because a model may change its input."""
        rows = self._validation.copy()
        return float(self._score(fitted, rows.X, rows.y))

    def _warn_once(self, caught: Sequence[warnings.WarningMessage]) -> None:
        """Issue each distinct warning once, because thousands of fits may give the same one."""
        for one in caught:
            cause = (one.category, str(one.message))
            if cause not in self._warned:
                self._warned.add(cause)
                warnings.warn(one.message, one.category, stacklevel=2)

    def _dummy_score(self) -> float:
        from sklearn.base import is_classifier
        from sklearn.dummy import DummyClassifier, DummyRegressor

        rows = self._validation.copy()
        try:
            dummy = DummyClassifier() if is_classifier(self.estimator) else DummyRegressor()
            return check_number("the score", self._score_of(dummy.fit(rows.X, rows.y)))
        except Exception as cause:
            raise InvalidInput(
                "EstimatorUtility: a dummy model cannot be scored as the baseline "
                f"({error_line(cause)}): pass the value of nobody's data, "
                "such as empty=0.0"
            ) from cause


def _scorer(estimator: Any, score: str | Scorer | None) -> Scorer:
    if callable(score):
        return score
    if score is None:
        if not hasattr(estimator, "score"):
            raise InvalidInput("EstimatorUtility: the estimator has no score method: pass score=")
        return _own_score
    from sklearn.metrics import get_scorer

    try:
        found: Scorer = get_scorer(score)
    except (ValueError, KeyError) as cause:
        raise InvalidInput(
            f"EstimatorUtility: score={score!r} is not the name of a scikit-learn scorer; "
            "sklearn.metrics.get_scorer_names() lists them"
        ) from cause
    return found


def _own_score(fitted: Any, X: Any, y: Any) -> float:
    return float(np.float64(fitted.score(X, y)))
