"""Any scikit-learn estimator, refitted for every coalition."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from shapband._facts import facts, name_of
from shapband._typing import FloatArray, IntArray
from shapband.checks import check_number, concerning, error_line, one_line
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records.batch import Batch, Schema, concat, concat_numbers, take_in
from shapband.seeds import Seeds
from shapband.utilities.base import CoalitionFailed, GameSummaries
from shapband.utilities.faults import found_fault, warn_of_lone_labels
from shapband.utilities.joined import RecordsUtility
from shapband.utilities.kinds import check_kinds
from shapband.utilities.models import is_plain, names_columns, takes_all_columns
from shapband.utilities.randomness import check_states, unset_states, with_states
from shapband.utilities.rescoring import Scorer, score_with_parts
from shapband.utilities.rows import Folded, validation_facts
from shapband.utilities.score_names import no_dummy_score, unknown_score
from shapband.utilities.wording import model_words, scorer_words

_OUTSIDE = Seeds(0)  # random streams for models that are fitted outside of a valuation
_LAST = -1  # instead of a coalition: the scores of the last fit


class _FoldScores(NamedTuple):
    """Scores of the fits of one game without each fold of the validation rows.

    Attributes
    ----------
    kept : the rows that are left without each fold
    of_coalition : (n_folds + 1,) scores of each coalition without each fold, and on all rows
    """

    kept: Sequence[IntArray]
    of_coalition: dict[int, FloatArray]


@dataclass(frozen=True, eq=False)
class _SeededGame(Sequence[Batch]):
    """The draws of one game, with a model whose `random_state` is set for this game.

    Attributes
    ----------
    batches : the draws of all providers
    order : places of the providers, sorted by name; records are joined in this order, because the
        fit of a random model depends on the order of its records
    estimator : the model
    """

    batches: Sequence[Batch]
    order: tuple[int, ...]
    estimator: Any

    def __getitem__(self, place: Any) -> Any:
        return self.batches[place]

    def __len__(self) -> int:
        return len(self.batches)


class EstimatorUtility(RecordsUtility):
    """A coalition is worth the validation score of an estimator fitted to its records.

    Data frames of numbers are passed to scikit-learn's own models as arrays, as scikit-learn would
    convert them itself, unless a parameter names a column or `score` is a function. The values are
    the same, and a fit takes half the time.

    Parameters
    ----------
    estimator : a scikit-learn estimator or pipeline; it is cloned for every fit
    X_val, y_val : validation rows: arrays, or a data frame if the providers hold data frames
    score : the name of a scikit-learn scorer, a function ``score(fitted, X_val, y_val)``, or
        None for the estimator's own `score`
    empty : value of the empty coalition: ``"baseline"`` for the score of a dummy model that
        predicts the mean or the class frequencies of `y_val`, or a number. With the baseline,
        Shapley values sum to the gain over the dummy model
    failed : value of a coalition on which fitting or scoring fails; by default a failure stops the
        valuation with an error that names the members and the cause. Failures are counted in
        `Valuation.failures`. The valuation stops in any case if all providers together fail

    Notes
    -----
    A `random_state` that is None, in the estimator or in a model or splitter inside it, is set from
    the seed of the valuation: to a new number in every game, which all coalitions of the game
    share. The variance across games then includes the randomness of training, and
    `Valuation.setup` says so. A `random_state` that is an integer is the same in every game.
    Outside of a valuation, models get the numbers of game 0 with seed 0.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> from sklearn.linear_model import Ridge
    >>> from shapband.records.batch import Batch
    >>> X = np.arange(4.0).reshape(-1, 1)
    >>> utility = sb.EstimatorUtility(Ridge(alpha=0.0), X, 2 * X[:, 0])
    >>> round(utility.score(Batch(X, 2 * X[:, 0])), 6)
    1.0
    """

    schema: Schema
    remedy = "; pass failed= to EstimatorUtility, to give such coalitions a value"
    _counters = (*RecordsUtility._counters, "_parameters_checked")
    _refitted = ("estimator",)
    _parameters_checked = False
    _memory: _FoldScores | None = None  # scores without each fold, while they are wanted
    _fold: int | None = None  # the fold that is left out, or None for all rows

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
        check_states(estimator, "EstimatorUtility")
        self.estimator = estimator
        self.training = _described(unset_states(estimator))
        self._validation = take_in(X_val, y_val, "EstimatorUtility", "X_val", "y_val")
        self.validation_records, self.schema = self._validation, self._validation.schema
        self._score = _scorer(estimator, score)
        self.score_name = scorer_words(score, estimator)
        self._failed = None if failed is None else check_number("EstimatorUtility: failed", failed)
        self.baseline = empty == "baseline"
        self.empty = (
            self._dummy_score(score)
            if self.baseline
            else check_number("EstimatorUtility: empty", empty, ', or "baseline"')
        )
        self._warned: set[tuple[type[Warning], str]] = set()
        rows = validation_facts(self._validation)
        scored = name_of(score) if callable(score) else score
        self._about = facts(one_line(estimator), rows, score=scored, empty=self.empty)

    def check(self, providers: Sequence[Provider]) -> None:
        from sklearn.base import is_classifier

        super().check(providers)
        for provider in providers:
            if provider.source.schema is not None:
                with concerning(f"provider {provider.name!r}"):
                    self._check_library(provider.source.schema)
        if is_classifier(self.estimator):
            warn_of_lone_labels(providers, self._validation.y)

    @property
    def model_name(self) -> str:  # type: ignore[override]
        return model_words(self.estimator)

    @property
    def labels(self) -> list[Any] | None:
        from sklearn.base import is_classifier

        return list(set(self._validation.y.tolist())) if is_classifier(self.estimator) else None

    @property
    def scored_by_log_loss(self) -> bool:  # type: ignore[override]
        from sklearn.metrics import log_loss

        own = type(self).score is not EstimatorUtility.score
        return not own and getattr(self._score, "_score_func", None) is log_loss

    def check_batch(self, batch: Batch) -> None:
        self._check_library(batch.schema)
        check_kinds(batch, self._validation, columns=self._takes_all_columns)

    def _check_library(self, schema: Schema) -> None:
        if schema.library != self.schema.library:
            raise InvalidInput(
                f"the source has {schema}, but X_val has {self.schema}: pass the same kind of data "
                "frame for both, or arrays for both"
            )

    @property
    def validation_rows(self) -> int:
        return len(self._validation)

    def on_rows(self, rows: IntArray) -> EstimatorUtility:
        part = copy(self)
        part._validation = self._validation.take(rows)
        part.__dict__.pop("_numbers", None)
        if self.baseline:
            part.empty = part._dummy_score()
        return part

    def without_folds(self, kept: Sequence[IntArray]) -> Folded:
        whole, parts = copy(self), []
        whole._memory = _FoldScores(kept, {})
        for fold, rows in enumerate(kept):
            part = copy(whole)
            part._fold, part.empty = fold, self.on_rows(rows).empty
            parts.append(part)
        return Folded(whole, parts, whole._memory.of_coalition.clear)

    def in_games(
        self, games: GameSummaries, names: Sequence[str], indices: range, seeds: Seeds
    ) -> GameSummaries:
        if not self.training:
            return games
        order = tuple(sorted(range(len(names)), key=names.__getitem__))
        return [
            _SeededGame(summaries, order, with_states(self.estimator, seeds, game))
            for game, summaries in zip(indices, games, strict=True)
        ]

    def evaluate(self, summaries: Sequence[Batch], coalitions: Sequence[int]) -> FloatArray:
        if not isinstance(summaries, _SeededGame):
            return super().evaluate(summaries, coalitions)
        seeded = copy(self)
        seeded.estimator, seeded.training = summaries.estimator, ""  # every `random_state` is set
        return super(EstimatorUtility, seeded).evaluate(summaries, coalitions)

    def _members_of(self, summaries: Sequence[Batch], coalition: int) -> list[Batch]:
        if not isinstance(summaries, _SeededGame):
            return super()._members_of(summaries, coalition)
        return [summaries[i] for i in summaries.order if coalition >> i & 1]

    def score(self, batch: Batch) -> float:
        return self._fit_and_score(batch, self._validation)

    def _score_joined(self, batches: Sequence[Batch]) -> float:
        joined = None
        if self._numbers is not None and batches[0].is_frame:
            # Frames with columns in another order are passed as frames, which scikit-learn then
            # refuses.
            same = batches[0].layout[0] == self._validation.layout[0]
            joined = concat_numbers(batches) if same else None
        if self._numbers is None or joined is None:
            return self.score(concat(batches))
        return self._fit_and_score(joined, self._numbers)

    def _fit_and_score(self, batch: Batch, rows: Batch) -> float:
        """Fit a model to a batch, and score it on validation rows of the same kind."""
        from sklearn import config_context

        # Finite records may become infinite inside a pipeline, so scikit-learn's check for finite
        # numbers stays on. Parameters are the same in every fit, so one check is enough.
        skipped = {"skip_parameter_validation": True} if self._parameters_checked else {}
        with warnings.catch_warnings(record=True) as caught, config_context(**skipped):
            fitted = self._unfitted().fit(batch.X, batch.y)
            if self._memory is None:
                score = self._score_of(fitted, rows)
            else:
                own = self._score is _own_score
                score, self._memory.of_coalition[_LAST] = score_with_parts(
                    fitted, rows, self._score, self._memory.kept, own_score=own
                )
        self._parameters_checked = self._plain
        self._warn_once(caught)
        return score

    def _worth(self, summaries: Sequence[Batch], coalition: int) -> float:
        if self._memory is None or coalition == 0:
            return self._fitted_worth(summaries, coalition)
        known = self._memory.of_coalition
        if coalition not in known:
            worth = self._fitted_worth(summaries, coalition)
            same = np.full(len(self._memory.kept), worth)  # if the fit has failed
            known[coalition] = np.append(known.pop(_LAST, same), worth)
        return float(known[coalition][-1 if self._fold is None else self._fold])

    def _fitted_worth(self, summaries: Sequence[Batch], coalition: int) -> float:
        try:
            return super()._worth(summaries, coalition)
        except CoalitionFailed as failure:
            if self._failed is None or not isinstance(failure.__cause__, Exception):
                raise
        self.failures += 1
        return self._failed

    def fault(self, names: Sequence[str], batches: Sequence[Batch]) -> str:
        return found_fault(self._cause, names, batches, self._validation)

    def _cause(self, batches: Sequence[Batch]) -> str:
        """Say why the records of a coalition cannot be evaluated; empty if they can."""
        try:
            self._score_joined(batches)
        except Exception as cause:  # noqa: BLE001  a model may raise anything
            return error_line(cause)
        return ""

    def _unfitted(self) -> Any:
        """A clone of the estimator in which every `random_state` is set."""
        from sklearn.base import clone

        if self.training:
            return with_states(self.estimator, _OUTSIDE, 0)
        return clone(self.estimator)

    @cached_property
    def _takes_all_columns(self) -> bool:
        return takes_all_columns(self.estimator)

    @cached_property
    def _plain(self) -> bool:
        return is_plain(self.estimator)

    @cached_property
    def _numbers(self) -> Batch | None:
        """The validation frame as an array, if models may get arrays instead of frames."""
        rows = self._validation
        known = self._score is _own_score or type(self._score).__module__.startswith("sklearn.")
        own = type(self).score is not EstimatorUtility.score  # a subclass may expect frames
        if not rows.is_frame or not self._plain or not known or own:
            return None
        if rows.numbers is None or names_columns(self.estimator, set(rows.X.columns)):
            return None
        return Batch(rows.numbers, rows.y)

    def _score_of(self, fitted: Any, rows: Batch) -> float:
        """Score a model on a copy of the validation rows, because a model may change its input."""
        own = rows.copy()
        return float(self._score(fitted, own.X, own.y))

    def _warn_once(self, caught: Sequence[warnings.WarningMessage]) -> None:
        """Issue each distinct warning once, because thousands of fits may give the same one."""
        for one in caught:
            cause = (one.category, str(one.message))
            if cause not in self._warned:
                self._warned.add(cause)
                warnings.warn(one.message, one.category, stacklevel=2)

    def _dummy_score(self, score: object = None) -> float:
        """Score a dummy model; `score` is named in the error if it cannot be scored."""
        from sklearn.base import is_classifier
        from sklearn.dummy import DummyClassifier, DummyRegressor

        rows, classifies = self._validation, is_classifier(self.estimator)
        try:
            dummy = DummyClassifier() if classifies else DummyRegressor()
            return check_number("the score", self._score_of(dummy.fit(rows.X, rows.y), rows))
        except Exception as cause:
            why = error_line(cause)
            raise InvalidInput(no_dummy_score(score, rows, why, classifies=classifies)) from cause


def _described(unset: Sequence[str]) -> str:
    """Say how each unset `random_state` was set; empty if none is unset."""
    if not unset:
        return ""
    return (
        f"random_state of {', '.join(unset)} was not set: it is set from the seed, anew in every "
        "game, so the variance includes the randomness of training"
    )


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
        raise InvalidInput(f"EstimatorUtility: {unknown_score(score)}") from cause
    return found


def _own_score(fitted: Any, X: Any, y: Any) -> float:
    return float(np.float64(fitted.score(X, y)))
