"""Families of cases: what is compared with what.

A family makes a case from a number, values its coalitions with a utility, and knows the float64
reference and the exact score of one coalition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import mpmath as mp
import numpy as np

import shapband as sb
from shapband._typing import AnyArray, FloatArray
from tests.differential import classifiers, exact
from tests.differential.cases import Case, classes_case, quantities_case, stream
from tests.differential.exact import Matrix
from tests.differential.logistic import exact_logistic, logistic
from tests.differential.networks import network_case, network_reference, network_truth
from tests.differential.regressions import (
    exact_least_squares_mse,
    is_dependent,
    least_squares_mse,
    neighbours,
    sorted_codes,
    weakest_eigenvalue,
)
from tests.differential.scores import CLASS_SCORES, MSE_SCORES, class_score, mse_score
from tests.differential.settle import Truth, true_class_score, true_value


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
    undecidable : whether rounding of the records may decide the fit of a coalition,
        for utilities that document an error then
    """

    name: str
    cases: int
    make: Callable[[int], Case]
    utility: Callable[[Case], sb.Utility]
    reference: Callable[[Case, FloatArray, AnyArray], float]
    truth: Callable[[Case, FloatArray, AnyArray], Truth]
    refusal: Callable[[Case], str]
    undecidable: Callable[[Case, FloatArray], bool] = lambda *_: False


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
    return (
        [places[one] for one in y.tolist()],
        [places[one] for one in case.y_val.tolist()],
        len(known),
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


def _too_far(case: Case) -> str:
    """Documented reason of all utilities with sums of squares to refuse a case."""
    records = np.concatenate([X for X, _ in case.parts])
    rows = np.concatenate([case.X_val, records])
    if np.abs(rows).max() > 1e151:
        return "a feature is beyond 1e151"
    deviation = case.X_val.std(axis=0)
    varies = np.ptp(case.X_val, axis=0) > 0
    if (varies & (deviation < 1e-151)).any():
        return "a feature varies by less than 1e-151"
    far = np.abs(records - case.X_val.mean(axis=0)) / np.where(varies, deviation, 1.0) > 1e70
    return "a record is more than 1e70 standard deviations away" if far.any() else ""


def _first_of(reasons: Sequence[Callable[[Case], str]], case: Case) -> str:
    """The first reason that holds."""
    return next(filter(None, (reason(case) for reason in reasons)), "")


def _scales_too_far_apart(case: Case) -> str:
    """Documented reason of naive Bayes, which adds a part of one variance to all others."""
    deviation = case.X_val.std(axis=0)
    deviation[np.ptp(case.X_val, axis=0) == 0] = 1.0
    # The utility compares with a power of two next to the largest.
    apart = deviation.max() / deviation.min() > 0.5e70
    return "the deviations of two features differ by more than 1e70" if apart else ""


def _label_missing(case: Case) -> str:
    """Reason of classifiers made from sums to refuse a case."""
    labels = set(case.y_val.tolist())
    return next(
        ("a label does not occur in y_val" for _, y in case.parts if set(y.tolist()) - labels), ""
    )


def _penalty_too_weak(case: Case) -> str:
    """Reason of logistic regression to refuse a case: a penalty below squared rounding errors."""
    X = np.concatenate([X for X, _ in case.parts])
    largest = float(np.abs(X - X.mean(axis=0)).max())
    weak = 1 / case.settings["C"] < (2.0**-52 * largest) ** 2
    return "the penalty is below the squared rounding errors of the features" if weak else ""


def _classifier(
    name: str,
    cases: int,
    make: Callable[[int], Case],
    kind: Callable[..., sb.Utility],
    reference: Callable[..., FloatArray],
    truth: Callable[..., Matrix],
    refusal: Callable[[Case], str],
    **more: Any,
) -> Family:
    return Family(
        name,
        cases,
        make,
        partial(_utility, kind),
        partial(_class_reference, reference),
        partial(_class_truth, truth),
        refusal,
        **more,
    )


def _mse_case(name: str, number: int) -> Case:
    case = quantities_case(name, number)
    scores = MSE_SCORES if np.ptp(case.y_val) > 0 else ("inverse_mse", "neg_mse")
    rng = stream(name + " settings", number)
    return replace(case, settings={"score": str(rng.choice(scores))})


def _ridge_case(number: int) -> Case:
    case = _mse_case("ridge", number)
    alpha = float(stream("alpha", number).choice([1e-3, 1.0, 1.0, 1e4]))
    return replace(case, settings={**case.settings, "alpha": alpha})


def _linear(case: Case, model: Callable[..., Any], *data: Any) -> Any:
    """Score of a least-squares model; coalitions of one record are worth `empty`."""
    X, y, rows, targets = data
    score, alpha = case.settings["score"], case.settings.get("alpha", 0.0)
    variance = _variance(targets)
    if len(X) < 2:
        return 0.0 if score == "inverse_mse" else mse_score(variance, variance, score)
    return mse_score(model(X, y, rows, targets, alpha), variance, score)


def _variance(targets: Any) -> Any:
    if isinstance(targets, np.ndarray):
        return float(targets.var())
    mean = sum(targets) / len(targets)
    return sum((t - mean) ** 2 for t in targets) / len(targets)


def _linear_reference(case: Case, X: FloatArray, y: FloatArray) -> float:
    with np.errstate(all="ignore"):
        try:
            return float(_linear(case, least_squares_mse, X, y, case.X_val, case.y_val))
        except np.linalg.LinAlgError:
            return float("nan")


def _linear_truth(case: Case, X: FloatArray, y: FloatArray) -> Truth:
    def value_of(X: Any, rows: Any, y: Any, targets: Any) -> Any:
        return _linear(case, exact_least_squares_mse, X, y, rows, targets)

    return true_value(X, y, case.X_val, case.y_val, value_of)


def _neighbour_case(name: str, number: int) -> Case:
    classify = "classification" in name
    rng = stream(name + " settings", number)
    case = classes_case(name, number) if classify else _mse_case(name, number)
    task = "classification" if classify else "regression"
    weights = str(rng.choice(["uniform", "distance"]))
    k = int(rng.choice([1, 1, 2, 3, 5, 25]))
    return replace(case, settings={**case.settings, "k": k, "task": task, "weights": weights})


def _neighbours(case: Case, root: Any, X: Any, y: Any, rows: Any, targets: Any) -> Any:
    settings = case.settings
    classify = settings["task"] == "classification"
    options = {"k": settings["k"], "weighted": settings["weights"] == "distance"}
    found = neighbours(X, y, rows, targets, classify=classify, root=root, **options)
    return found if classify else mse_score(found, _variance(targets), settings["score"])


def _neighbour_codes(case: Case, y: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Numbers in the order of labels, or the quantities themselves."""
    if case.settings["task"] == "regression":
        return y, case.y_val
    codes = sorted_codes(np.concatenate([y, case.y_val])).astype(np.float64)
    return codes[: len(y)], codes[len(y) :]


def _neighbour_reference(case: Case, X: FloatArray, y: AnyArray) -> float:
    codes, targets = _neighbour_codes(case, y)
    lists = (X.tolist(), codes.tolist(), case.X_val.tolist(), targets.tolist())
    try:
        return float(_neighbours(case, math.sqrt, *lists))
    except (OverflowError, ZeroDivisionError, ValueError):
        return float("nan")


def _neighbour_truth(case: Case, X: FloatArray, y: AnyArray) -> Truth:
    codes, targets = _neighbour_codes(case, y)
    names = codes.tolist(), targets.tolist()
    classify = case.settings["task"] == "classification"

    def value_of(X: Any, rows: Any, y: Any, targets: Any) -> Any:
        # Labels are names, so only the features are moved.
        y, targets = names if classify else (y, targets)
        return _neighbours(case, mp.sqrt, X, y, rows, targets)

    return true_value(X, codes, case.X_val, targets, value_of)


def _squares_overflow(case: Case) -> str:
    """Documented reason of neighbours to refuse a case."""
    unit = np.abs(case.X_val).max() or 1.0
    largest = max(np.abs(X).max() for X, _ in case.parts)
    # The utility compares with a power of two next to the largest number.
    far = largest > 0.5e151 * unit
    return "a record is 1e151 times larger than all validation rows" if far else ""


def _text_label_missing(case: Case) -> str:
    return _label_missing(case) if case.y_val.dtype.kind == "U" else ""


def _regression(name: str, cases: int, make: Callable[[int], Case]) -> Family:
    utility = partial(_utility, sb.LinearUtility)
    refusal = partial(_first_of, (_too_far, _too_large))
    return Family(
        name, cases, make, utility, _linear_reference, _linear_truth, refusal,
        undecidable=_undecidable,
    )  # fmt: skip


def _undecidable(case: Case, X: FloatArray) -> bool:
    """Documented: features so nearly dependent, or in units so far apart, that rounding decides."""
    alpha = case.settings.get("alpha", 0.0)
    if alpha == 0 and len(X) <= X.shape[1] and weakest_eigenvalue(X, 0.0, 1e-21) < 1e-16:
        return True
    ranges = np.ptp(X, axis=0)[np.ptp(X, axis=0) > 0]
    apart = ranges.max(initial=1.0) > 1e15 * ranges.min(initial=np.inf)
    return apart and is_dependent(X, alpha)


def _too_large(case: Case) -> str:
    """Documented reason of every valuation: a value beyond 1e75."""
    everybody = (1 << len(case.parts)) - 1
    values = [_linear_reference(case, *case.joined(mask)) for mask in range(1, everybody + 1)]
    return "a value is beyond 1e75" if not np.nanmax(np.abs(values)) < 0.5e75 else ""


def _neighbour_family(name: str, cases: int) -> Family:
    return Family(
        name,
        cases,
        partial(_neighbour_case, name),
        partial(_utility, sb.NeighborUtility),
        _neighbour_reference,
        _neighbour_truth,
        partial(_first_of, (_text_label_missing, _squares_overflow)),
    )


FAMILIES: tuple[Family, ...] = (
    _classifier(
        "naive Bayes", 2500, _naive_bayes_case, sb.GaussianNBUtility,
        classifiers.naive_bayes, exact.naive_bayes,
        partial(_first_of, (_label_missing, _too_far, _scales_too_far_apart)),
    ),
    _classifier(
        "discriminant", 2500, partial(_with_score, classes_case, "discriminant"), sb.LDAUtility,
        classifiers.discriminant, exact.discriminant,
        partial(_first_of, (_label_missing, _too_far)),
    ),
    _regression("least squares", 3000, partial(_mse_case, "least squares")),
    _regression("ridge", 2000, _ridge_case),
    _neighbour_family("neighbours, regression", 1500),
    _neighbour_family("neighbours, classification", 1500),
    Family(
        "networks", 600, network_case, partial(_utility, sb.NetworkUtility),
        network_reference, network_truth, _text_label_missing,
    ),
    _classifier(
        "logistic", 2500, _logistic_case, sb.LogisticUtility,
        logistic, exact_logistic, partial(_first_of, (_too_far, _penalty_too_weak)),
    ),
)  # fmt: skip
