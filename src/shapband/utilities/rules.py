"""Rules that find the compiled utility of a scikit-learn model, one for each class of models.

A rule checks the parameters of a model. It returns a `Match`, or a string that says why there is
none. Parameters that change only the speed of a model are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from shapband.utilities.base import Utility
from shapband.utilities.bayes import GaussianNBUtility
from shapband.utilities.classification import CLASS_SCORES
from shapband.utilities.discriminant import LDAUtility
from shapband.utilities.linear import LinearUtility
from shapband.utilities.logistic import LogisticUtility
from shapband.utilities.neighbors import NeighborUtility

_MSE_SCORES = {None: "r2", "r2": "r2", "neg_mean_squared_error": "neg_mse"}
# Scaling changes no prediction of least squares with an intercept, unless features are dependent.
_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")


@dataclass(frozen=True)
class Match:
    """A compiled utility that computes the same as a model.

    Attributes
    ----------
    utility : its class
    options : its arguments besides the validation rows
    but : a phrase that says where the utility differs from the model
    approximate : whether the model stops before its optimum, which the utility computes
    small_model : whether the model itself is fitted to coalitions with no more records than
        features
    """

    utility: type[Utility]
    options: dict[str, Any]
    but: str
    approximate: bool = False
    small_model: bool = False


Rule: TypeAlias = Callable[[Any, str | None], Match | str]


def match(model: Any, score: str | None) -> Match | str:
    """Find the compiled utility of a model, or say why there is none.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> match(LinearRegression(), None).options
    {'score': 'r2'}
    >>> match(LinearRegression(positive=True), None)
    'positive=True has no compiled form'
    """
    kind = type(model).__name__
    if not type(model).__module__.startswith("sklearn."):
        return f"{kind} is not one of scikit-learn's own classes"
    if kind == "Pipeline":
        return _pipeline(model, score)
    rule = RULES.get(kind)
    return f"{kind} has no compiled form" if rule is None else rule(model, score)


def _linear_regression(model: Any, score: str | None) -> Match | str:
    return _least_squares(model, score, {})


def _ridge(model: Any, score: str | None) -> Match | str:
    wrong = _other_settings(model, solver=["auto", "cholesky", "svd"])
    if not isinstance(model.alpha, int | float):
        wrong = f"alpha={model.alpha!r} has no compiled form"
    return wrong or _least_squares(model, score, {"alpha": float(model.alpha)})


def _least_squares(model: Any, score: str | None, options: dict[str, Any]) -> Match | str:
    wrong = _other_settings(model, fit_intercept=[True], positive=[False])
    if wrong or score not in _MSE_SCORES:
        return wrong or _no_score(score)
    but = "a coalition with fewer than two records is worth v(∅)"
    return Match(LinearUtility, {"score": _MSE_SCORES[score], **options}, but)


def _logistic_regression(model: Any, score: str | None) -> Match | str:
    wrong = _other_settings(
        model,
        penalty=["l2", "deprecated"],
        l1_ratio=[None, 0, 0.0],
        dual=[False],
        fit_intercept=[True],
        class_weight=[None],
        multi_class=["auto", "multinomial", "deprecated"],
        solver=["lbfgs", "newton-cg", "newton-cholesky"],
    )
    if wrong or (score or "accuracy") not in CLASS_SCORES:
        return wrong or _no_score(score)
    but = (
        f"models are fitted to the optimum, which tol={model.tol:g} only approaches, and a "
        "coalition with one label predicts it"
    )
    options = {"C": model.C, "score": score or "accuracy"}
    return Match(LogisticUtility, options, but, approximate=True)


def _gaussian_naive_bayes(model: Any, score: str | None) -> Match | str:
    wrong = _other_settings(model, priors=[None])
    if wrong or (score or "accuracy") not in CLASS_SCORES:
        return wrong or _no_score(score)
    options = {"score": score or "accuracy", "var_smoothing": model.var_smoothing}
    return Match(GaussianNBUtility, options, _ONE_LABEL)


def _discriminant_analysis(model: Any, score: str | None) -> Match | str:
    wrong = _other_settings(
        model,
        solver=["svd"],
        shrinkage=[None],
        priors=[None],
        covariance_estimator=[None],
        tol=[1e-4],
    )
    if wrong or (score or "accuracy") not in CLASS_SCORES:
        return wrong or _no_score(score)
    return Match(LDAUtility, {"score": score or "accuracy"}, _ONE_LABEL)


_ONE_LABEL = "a coalition with one label predicts it"


def _neighbors_regressor(model: Any, score: str | None) -> Match | str:
    if score not in _MSE_SCORES:
        return _no_score(score)
    return _neighbors(model, {"task": "regression", "score": _MSE_SCORES[score]})


def _neighbors_classifier(model: Any, score: str | None) -> Match | str:
    if score not in (None, "accuracy"):
        return _no_score(score)
    return _neighbors(model, {"task": "classification"})


def _neighbors(model: Any, options: dict[str, Any]) -> Match | str:
    if model.metric == "minkowski" and model.p != 2:
        return f"p={model.p!r} has no compiled form"
    wrong = _other_settings(
        model,
        weights=["uniform", "distance"],
        metric=["minkowski", "euclidean"],
        metric_params=[None],
    )
    but = (
        "records at equal distance are ordered by their targets, and a coalition with fewer than "
        "k records uses all of them"
    )
    weights = {"weights": "distance"} if model.weights == "distance" else {}
    options = {"k": model.n_neighbors, **options, **weights}
    return wrong or Match(NeighborUtility, options, but)


def _pipeline(model: Any, score: str | None) -> Match | str:
    """Match the last step after steps that are frozen, or least squares after scalers."""
    left = [step for _, step in model.steps if step not in (None, "passthrough")]
    if not left:
        return "the pipeline has no model"
    *steps, last = left
    found = match(last, score)
    if not steps or isinstance(found, str):
        return found
    refitted = [step for step in steps if type(step).__name__ != "FrozenEstimator"]
    if not refitted:
        return replace(found, options={**found.options, "embed": model[: len(model.steps) - 1]})
    linear = type(last).__name__ == "LinearRegression" and refitted == steps
    if not linear or any(_other_scaler(step) for step in steps):
        return f"{type(refitted[0]).__name__} is fitted to every coalition"
    but = (
        f"{found.but}, the pipeline itself is fitted to one with no more records than features, "
        "and a larger one with dependent features is fitted without the scaler"
    )
    return replace(found, but=but, small_model=True)


def _other_scaler(step: Any) -> bool:
    return type(step).__name__ not in _SCALERS or bool(_other_settings(step, clip=[False]))


def _other_settings(model: Any, **known: list[Any]) -> str:
    """Name a parameter with a value that is not supported; empty if there is none.

    `known` lists the supported values by parameter. Parameters that a model lacks are ignored.
    """
    parameters = model.get_params(deep=False)
    for name, values in known.items():
        given = parameters.get(name, values[0])
        if not any(type(given) is type(value) and given == value for value in values):
            return f"{name}={given!r} has no compiled form"
    return ""


def _no_score(score: str | None) -> str:
    return f"the score {score!r} has no compiled form"


RULES: dict[str, Rule] = {
    "LinearRegression": _linear_regression,
    "Ridge": _ridge,
    "LogisticRegression": _logistic_regression,
    "GaussianNB": _gaussian_naive_bayes,
    "LinearDiscriminantAnalysis": _discriminant_analysis,
    "KNeighborsRegressor": _neighbors_regressor,
    "KNeighborsClassifier": _neighbors_classifier,
}
