"""What utilities say when they refuse something, word for word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import shapband as sb
from shapband.errors import InvalidInput
from shapband.utilities.base import CoalitionFailed

X = [[0.0], [1.0], [3.0]]
Y = [0.5, 1.5, 2.0]
LABELS = ["a", "b", "a"]
NAN = float("nan")


class Scoreless(BaseEstimator):
    """A model that cannot score itself."""

    def fit(self, X: Any, y: Any) -> Scoreless:
        return self


class Broken(BaseEstimator):
    """A model that does not return its parameters."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        raise KeyError("depth")


class Turned:
    """A transformer whose output is a function of all rows."""

    def __init__(self, make: Callable[[np.ndarray], Any]) -> None:
        self.make = make

    def transform(self, X: np.ndarray) -> Any:
        return self.make(np.asarray(X))

    def __repr__(self) -> str:
        return "Turned()"


def embedded(make: Callable[[np.ndarray], Any]) -> sb.LinearUtility:
    return sb.LinearUtility(X, Y, embed=Turned(make))


def providers_of(*batches: Any) -> list[sb.Provider]:
    return [sb.Provider(f"p{at}", sb.ArraySource(*one)) for at, one in enumerate(batches)]


def searched(states: list[Any]) -> sb.EstimatorUtility:
    search = GridSearchCV(RandomForestRegressor(random_state=0), {"random_state": states})
    return sb.EstimatorUtility(search, X, Y)


def network(**options: Any) -> sb.NetworkUtility:
    return sb.NetworkUtility(X, LABELS, **options)


def checked(utility: sb.Utility, X: Any, y: Any) -> None:
    utility.check_batch(sb.ArraySource(X, y).records)


MESSAGES: dict[str, Callable[[], Any]] = {
    "AdditiveUtility: empty must be a finite number; received nan": (
        lambda: sb.AdditiveUtility(empty=NAN)
    ),
    "AdditiveUtility: weights must be a row of finite numbers, without NaN or infinite ones; "
    "received the shape (1,)": lambda: sb.AdditiveUtility([NAN]),
    "AdditiveUtility: there are 3 weights for 2 providers: pass one for each": (
        lambda: sb.AdditiveUtility([1.0, 2.0, 3.0]).check(providers_of((X, Y), (X, Y)))
    ),
    "FunctionUtility: v must be a function v(X, y); received int": lambda: sb.FunctionUtility(3),
    "FunctionUtility: empty must be a finite number; received 'none'": (
        lambda: sb.FunctionUtility(len, empty="none")
    ),
    "TableUtility: values must be a row of finite numbers, without NaN or infinite ones; received "
    "the shape (2,)": lambda: sb.TableUtility([0.0, NAN]),
    "TableUtility: values must be 2**n numbers for n providers; received the shape (3,)": (
        lambda: sb.TableUtility([0.0, 1.0, 2.0])
    ),
    "TableUtility: values must be 2**n numbers for n providers; received the shape (1,)": (
        lambda: sb.TableUtility([0.0])
    ),
    "TableUtility: 2 values are a game of 1 providers, but there are 2: pass 2**n values for n "
    "providers": lambda: sb.TableUtility([0.0, 1.0]).check(providers_of((X, Y), (X, Y))),
    "GaussianNBUtility: var_smoothing must be a finite number; received None": (
        lambda: sb.GaussianNBUtility(X, LABELS, var_smoothing=None)
    ),
    "GaussianNBUtility: var_smoothing must be positive; received 0": (
        lambda: sb.GaussianNBUtility(X, LABELS, var_smoothing=0)
    ),
    "GaussianNBUtility: X_val: the deviations of features 1 and 0 differ by a factor beyond 1e+70, "
    "so var_smoothing cannot be added to both: pass them in other units": (
        lambda: sb.GaussianNBUtility([[1e40, 1e-40], [2e40, 3e-40]], LABELS[:2])
    ),
    "LDAUtility: score must be one of accuracy, neg_log_loss, roc_auc, neg_brier_score; received "
    "'auc'": lambda: sb.LDAUtility(X, LABELS, "auc"),
    "LDAUtility: score='roc_auc' needs two labels in y_val; received 3: use another score": (
        lambda: sb.LDAUtility(X, ["a", "b", "c"], "roc_auc")
    ),
    "LDAUtility: empty must be a finite number, or \"baseline\"; received 'zero'": (
        lambda: sb.LDAUtility(X, LABELS, empty="zero")
    ),
    "LDAUtility: y_val must be integers or strings; received 0.5: a classifier does not predict "
    "quantities": lambda: sb.LDAUtility(X, Y),
    "LDAUtility: X_val: feature 0 varies by less than 1e-151, whose square is not a normal float: "
    "pass it in other units": lambda: sb.LDAUtility([[0.0], [1e-160]], LABELS[:2]),
    "LDAUtility: X_val: feature 0 holds -1e+160, and squares of numbers beyond 1e+151 overflow: "
    "pass it in other units": lambda: sb.LDAUtility([[0.0], [-1e160]], LABELS[:2]),
    "the label 'c' does not occur in y_val: validate on all labels": (
        lambda: checked(sb.LDAUtility(X, LABELS), X, ["a", "c", "b"])
    ),
    "the labels are numbers, but the labels in y_val are strings": (
        lambda: checked(sb.LDAUtility(X, LABELS), X, [0, 1, 2])
    ),
    "the labels are strings, but the labels in y_val are numbers": (
        lambda: checked(sb.LDAUtility(X, [0, 1, 1]), X, LABELS)
    ),
    "the labels must be integers or strings; received 0.5: a classifier does not predict "
    "quantities": lambda: checked(sb.LDAUtility(X, [0, 1, 1]), X, Y),
    "feature 0 holds -1e+100, more than 1e+70 standard deviations of X_val away from its mean "
    "there: use the same units for records and validation rows": (
        lambda: checked(sb.LDAUtility(X, LABELS), [[0.0], [-1e100], [1.0]], LABELS)
    ),
    "the records: feature 0 holds 1e+152, and squares of numbers beyond 1e+151 overflow: pass it "
    "in other units": lambda: checked(sb.LDAUtility(X, LABELS), [[0.0], [1e152]], LABELS[:2]),
    "LinearUtility: score must be one of inverse_mse, r2, neg_mse; received 'mse'": (
        lambda: sb.LinearUtility(X, Y, "mse")
    ),
    "LinearUtility: y_val is constant, so R² is not defined: use another score": (
        lambda: sb.LinearUtility(X, [0.1, 0.1, 0.1], "r2")
    ),
    "LinearUtility: alpha must be a finite number; received 'much'": (
        lambda: sb.LinearUtility(X, Y, alpha="much")
    ),
    "LinearUtility: alpha must not be negative; received -1": (
        lambda: sb.LinearUtility(X, Y, alpha=-1)
    ),
    "LinearUtility: the targets y_val hold -1e+152, and squares of numbers beyond 1e+151 overflow: "
    "pass them in other units": lambda: sb.LinearUtility(X, [0.0, -1e152, 1.0]),
    "the targets hold 1e+152, and squares of numbers beyond 1e+151 overflow: pass them in other "
    "units": lambda: checked(sb.LinearUtility(X, Y), X, [0.0, 1e152, 1.0]),
    "LinearUtility: embed must be a fitted transformer, such as StandardScaler().fit(X); received "
    "3": lambda: sb.LinearUtility(X, Y, embed=3),
    "LinearUtility: X_val: embed must treat every row alone, but the numbers of the first row "
    "change without the other rows": lambda: embedded(lambda X: X + X.max()),
    "LinearUtility: X_val: embed must give each row finite numbers, and all rows the same number "
    "of them; received an array of shape (3,) and dtype float64 for 3 rows": (
        lambda: embedded(lambda X: X[:, 0])
    ),
    "LinearUtility: X_val: embed must give each row finite numbers, and all rows the same number "
    "of them; received an array of shape (2, 1) and dtype float64 for 3 rows": (
        lambda: embedded(lambda X: X[1:])
    ),
    "LinearUtility: X_val: embed cannot transform the rows (ValueError: could not convert string "
    "to float: 'red')": lambda: embedded(lambda X: [["red"]]),
    "NeighborUtility: k must be a whole number of at least 1; received 0": (
        lambda: sb.NeighborUtility(X, Y, k=0)
    ),
    "NeighborUtility: task must be 'regression' or 'classification'; received 'ranking'": (
        lambda: sb.NeighborUtility(X, Y, task="ranking")
    ),
    "NeighborUtility: weights must be 'uniform' or 'distance'; received 'near'": (
        lambda: sb.NeighborUtility(X, Y, weights="near")
    ),
    "NeighborUtility: y_val holds whole numbers only (2 different ones), which may be labels or "
    "quantities: pass task='classification' or task='regression'": (
        lambda: sb.NeighborUtility(X, [1.0, 2.0, 2.0])
    ),
    "NeighborUtility: the targets y_val hold 1e+152, and squares of numbers beyond 1e+151 "
    "overflow: pass them in other units": lambda: sb.NeighborUtility(X, [1e152, 0.5, 1.0]),
    'NeighborUtility: empty must be a finite number, or "baseline"; received nan': (
        lambda: sb.NeighborUtility(X, Y, empty=NAN)
    ),
    "NeighborUtility: score must be one of inverse_mse, r2, neg_mse; received 'accuracy'": (
        lambda: sb.NeighborUtility(X, Y, score="accuracy")
    ),
    "NetworkUtility: hidden must be a sequence with the number of units of every hidden layer, "
    "such as (100,); received 100": lambda: network(hidden=100),
    "NetworkUtility: hidden must be a sequence with the number of units of every hidden layer, "
    "such as (100,); received ()": lambda: network(hidden=()),
    "NetworkUtility: hidden must be a sequence with the number of units of every hidden layer, "
    "such as (100,); received '10'": lambda: network(hidden="10"),
    "NetworkUtility: hidden must be a whole number of at least 1; received 0": (
        lambda: network(hidden=(5, 0))
    ),
    "NetworkUtility: alpha must be a finite number; received nan": lambda: network(alpha=NAN),
    "NetworkUtility: alpha must be 0 or more; received -0.5": lambda: network(alpha=-0.5),
    "NetworkUtility: max_iter must be a whole number of at least 1; received 0": (
        lambda: network(max_iter=0)
    ),
    "NetworkUtility: seed must be a whole number of at least 0; received -1": (
        lambda: network(seed=-1)
    ),
    "NetworkUtility: seed must be at most 4,294,967,295; received 4294967296": (
        lambda: network(seed=2**32)
    ),
    'NetworkUtility: empty must be a finite number, or "baseline"; received nan': (
        lambda: network(empty=NAN)
    ),
    "NetworkUtility: y_val must be integers or strings; received 0.5: a classifier does not "
    "predict quantities": lambda: sb.NetworkUtility(X, Y),
    "the label 'c' does not occur in y_val: use numbers as labels, or validate on all labels": (
        lambda: checked(network(), X, ["a", "c", "b"])
    ),
    "EstimatorUtility: estimator must be a scikit-learn estimator, such as Ridge(); received 3": (
        lambda: sb.EstimatorUtility(3, X, Y)
    ),
    "EstimatorUtility: failed must be a finite number; received nan": (
        lambda: sb.EstimatorUtility(Ridge(), X, Y, failed=NAN)
    ),
    "EstimatorUtility: empty must be a finite number, or \"baseline\"; received 'zero'": (
        lambda: sb.EstimatorUtility(Ridge(), X, Y, empty="zero")
    ),
    "EstimatorUtility: the estimator has no score method: pass score=": (
        lambda: sb.EstimatorUtility(Scoreless(), X, Y)
    ),
    "EstimatorUtility: score='best' is not the name of a scikit-learn scorer: use a name "
    "such as 'r2' or 'roc_auc'; sklearn.metrics.get_scorer_names() lists all names": (
        lambda: sb.EstimatorUtility(Ridge(), X, Y, "best")
    ),
    "the score cannot be computed on 3 validation rows, not even for the dummy model of v(∅) "
    "(InvalidInput: the score must be a finite number; received nan): pass another score, such as "
    "'r2' or 'neg_mean_squared_error', other validation rows, or v(∅) itself, as "
    "sb.utility_for(model, X_val, y_val, score, empty=0.0)": (
        lambda: sb.EstimatorUtility(Ridge(), X, Y, lambda model, X, y: NAN)
    ),
    "EstimatorUtility: random_state of RandomForestRegressor must be an integer or None; received "
    "RandomState, which changes with every use, so that values could not be repeated: pass an "
    "integer, or None to have it set from the seed of the valuation": (
        lambda: sb.EstimatorUtility(
            RandomForestRegressor(random_state=np.random.RandomState(0)), X, Y
        )
    ),
    "EstimatorUtility: a random_state among the candidates of a search must be an integer; "
    "received None, with which values could not be repeated: leave random_state out of the "
    "candidates to have it set from the seed of the valuation": lambda: searched([1, None]),
    "Broken.get_params must give the parameters of the model, but it failed (KeyError: 'depth')": (
        lambda: sb.EstimatorUtility(Broken(), X, Y)
    ),
    "the source has the columns a of a pandas frame, but X_val has 1 features: pass the same kind "
    "of data frame for both, or arrays for both": (
        lambda: sb.EstimatorUtility(Ridge(), X, Y).check_batch(
            sb.FrameSource(pd.DataFrame({"a": [1.0, 2.0], "y": [1.0, 2.0]}), target="y").records
        )
    ),
    "provider 'p1' has 2 features, but X_val has 1 features: they must be the same features in the "
    "same order": lambda: sb.LinearUtility(X, Y).check(providers_of((X, Y), ([[0.0, 1.0]], [1.0]))),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_what_is_refused_gets_this_message(message):
    with pytest.raises(InvalidInput) as refused:
        MESSAGES[message]()
    assert str(refused.value) == message


HUGE = [[-1e200], [1e200]]
REASONS = [
    (network(), HUGE, "the features are too large to be standardised"),
    (network(alpha=1e308), X[:2], "the loss is not finite: pass a smaller alpha"),
]


@pytest.mark.parametrize(("utility", "rows", "reason"), REASONS, ids=["features", "loss"])
def test_a_coalition_that_cannot_be_evaluated_gets_this_reason(utility, rows, reason):
    draw = utility.summarise(sb.ArraySource(rows, LABELS[:2]).records)
    with pytest.raises(CoalitionFailed) as failed:
        utility.evaluate([draw], [0b1])
    assert (failed.value.coalition, failed.value.reason) == (0b1, reason)


def test_random_models_say_how_their_states_are_set():
    forest = RandomForestRegressor()
    assert sb.EstimatorUtility(forest, X, Y).training == (
        "random_state of RandomForestRegressor was not set: it is set from the seed, anew in every "
        "game, so the variance includes the randomness of training"
    )
    assert sb.EstimatorUtility(Ridge(), X, Y).training == ""
