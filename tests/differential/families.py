"""Families of cases: what is compared with what.

A family makes a case from a number, values its coalitions with a utility, and knows the float64
reference and the exact score of one coalition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import shapband as sb
from shapband._typing import AnyArray, FloatArray
from tests.differential import classifiers, exact
from tests.differential.cases import Case, classes_case, stream
from tests.differential.exact import Matrix
from tests.differential.logistic import exact_logistic, logistic
from tests.differential.scores import CLASS_SCORES, class_score
from tests.differential.settle import Truth, true_class_score


@dataclass(frozen=True)
class Family:
    """One kind of cases.

    Attributes
    ----------
    name : as printed
    cases : how many of them `make fuzz` tries
    make : the case of a number
    utility : the utility of a case
    reference : the value of a coalition's records in float64
    truth : the exact value
    refusal : the reason for which an error is right, as computed from the case; "" for none
    """

    name: str
    cases: int
    make: Callable[[int], Case]
    utility: Callable[[Case], sb.Utility]
    reference: Callable[[Case, FloatArray, AnyArray], float]
    truth: Callable[[Case, FloatArray, AnyArray], Truth]
    refusal: Callable[[Case], str]


def _with_score(make: Callable[[str, int], Case], name: str, number: int) -> Case:
    """A case of labels with one of the scores that it allows."""
    case = make(name, number)
    labels = len(np.unique(case.y_val))
    rng = stream(name + " score", number)
    score = str(rng.choice(CLASS_SCORES if labels == 2 else CLASS_SCORES[:3]))
    return replace(case, settings={"score": score})


def _naive_bayes_case(number: int) -> Case:
    case = _with_score(classes_case, "naive Bayes", number)
    rng = stream("smoothing", number)
    smoothing = float(rng.choice([1e-9, 1e-9, 1e-9, 1e-3, 1e-12]))
    return replace(case, settings={**case.settings, "var_smoothing": smoothing})


def _logistic_case(number: int) -> Case:
    case = _with_score(classes_case, "logistic", number)
    C = float(stream("C", number).choice([1.0, 1.0, 1.0, 1e-3, 1e4]))
    return replace(case, settings={**case.settings, "C": C})


def _codes(case: Case, y: AnyArray) -> tuple[list[int], list[int], int]:
    """Classes of records and of validation rows; those of records alone come last."""
    labels = np.unique(case.y_val)
    known = [*labels.tolist(), *sorted(set(np.unique(y).tolist()) - set(labels.tolist()))]
    places = {label: place for place, label in enumerate(known)}
    return [places[one] for one in y.tolist()], [places[one] for one in case.y_val.tolist()], len(
        known
    )


def _class_reference(
    model: Callable[..., FloatArray], case: Case, X: FloatArray, y: AnyArray
) -> float:
    settings = dict(case.settings)
    score = settings.pop("score")
    class_of, true, n_classes = _codes(case, y)
    with np.errstate(all="ignore"):
        logits = model(X, np.array(class_of), n_classes, case.X_val, **settings)
    if np.isnan(logits).any():
        return float("nan")
    return float(class_score(logits.tolist(), true, len(np.unique(case.y_val)), score))


def _class_truth(model: Callable[..., Matrix], case: Case, X: FloatArray, y: AnyArray) -> Truth:
    settings = dict(case.settings)
    score = settings.pop("score")
    class_of, true, n_classes = _codes(case, y)

    def logits_of(records: Matrix, rows: Matrix) -> Matrix:
        return model(records, class_of, n_classes, rows, **settings)

    return true_class_score(X, case.X_val, logits_of, true, len(np.unique(case.y_val)), score)


def _utility(kind: Callable[..., sb.Utility], case: Case) -> sb.Utility:
    return kind(case.X_val, case.y_val, **case.settings)


def _label_missing(case: Case) -> str:
    """Reason of classifiers made from sums to refuse a case."""
    labels = set(case.y_val.tolist())
    return next(
        ("a label does not occur in y_val" for _, y in case.parts if set(y.tolist()) - labels), ""
    )


def _classifier(
    name: str,
    cases: int,
    make: Callable[[int], Case],
    kind: Callable[..., sb.Utility],
    reference: Callable[..., FloatArray],
    truth: Callable[..., Matrix],
    refusal: Callable[[Case], str],
) -> Family:
    return Family(
        name,
        cases,
        make,
        partial(_utility, kind),
        partial(_class_reference, reference),
        partial(_class_truth, truth),
        refusal,
    )


FAMILIES: tuple[Family, ...] = (
    _classifier(
        "naive Bayes", 2500, _naive_bayes_case, sb.GaussianNBUtility,
        classifiers.naive_bayes, exact.naive_bayes, _label_missing,
    ),
    _classifier(
        "discriminant", 2500, partial(_with_score, classes_case, "discriminant"), sb.LDAUtility,
        classifiers.discriminant, exact.discriminant, _label_missing,
    ),
    _classifier(
        "logistic", 2500, _logistic_case, sb.LogisticUtility,
        logistic, exact_logistic, lambda case: "",
    ),
)  # fmt: skip
