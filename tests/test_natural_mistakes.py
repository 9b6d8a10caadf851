"""Mistakes that a new user makes in the first call of `value`.

Every message names the argument, what was received, and what to write instead. No game is played.
"""

# ruff: noqa: E501  one mistake per line reads as a table

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import shapband as sb
from shapband.errors import InvalidInput
from tests.counted import Counted

RNG = np.random.default_rng(5)


def patients(n: int) -> pd.DataFrame:
    frame = pd.DataFrame(RNG.normal(size=(n, 2)), columns=["age", "dose"])
    return frame.assign(readmitted=(frame["age"] + RNG.normal(size=n) > 0).astype(int))


NORTH, SOUTH, ROWS = patients(60), patients(40), patients(50)
BOTH = {"north": NORTH, "south": SOUTH}
X, Y = NORTH[["age", "dose"]], NORTH["readmitted"]
ARRAYS = {"north": (X.to_numpy(), Y.to_numpy()), "south": (X.to_numpy()[:40], Y.to_numpy()[:40])}
UTILITY = sb.LogisticUtility(ROWS[["age", "dose"]], ROWS["readmitted"])
FRAMES = [sb.Provider("north", sb.FrameSource(NORTH, "readmitted"))]
WARDS = {name: frame.assign(ward=["a", "b"] * (len(frame) // 2)) for name, frame in BOTH.items()}
GAPS = {
    name: frame.assign(dose=frame["dose"].where(frame["dose"] > 0)) for name, frame in BOTH.items()
}
LEFT_OUT: Any = object()  # in place of an argument that is not passed


def first_call(**changes: Any) -> sb.Valuation:
    """The first call of a new user, with some arguments changed."""
    arguments: dict[str, Any] = {
        "providers": BOTH,
        "utility": LogisticRegression(),
        "target": "readmitted",
        "validation": ROWS,
        "score": "roc_auc",
        "n_games": 4,
        "seed": 0,
    }
    arguments |= changes
    return sb.value(**{name: one for name, one in arguments.items() if one is not LEFT_OUT})


def alone(providers: Any, utility: Any = UTILITY, **changes: Any) -> dict[str, Any]:
    """Arguments without those of tables and models."""
    left_out = {"target": LEFT_OUT, "validation": LEFT_OUT, "score": LEFT_OUT}
    return {**left_out, "providers": providers, "utility": utility, **changes}


# By the mistake: the changed arguments; then the argument, what was received, and the remedy.
MISTAKES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    # providers
    "one frame": ({"providers": NORTH}, "providers", "one DataFrame", "providers_from_frame"),
    "one path": ({"providers": "all.csv"}, "providers", "one str", "providers_from_frame"),
    "a groupby": ({"providers": NORTH.groupby("readmitted")}, "providers", "DataFrameGroupBy", "providers_from_frame"),
    "one source": (alone(FRAMES[0].source), "providers", "one FrameSource", "in a list"),
    "nobody": ({"providers": {}}, "providers", "empty", "pass at least one"),
    "frames without names": ({"providers": [NORTH, SOUTH]}, "providers[0]", "a DataFrame", "{'north': ...}"),
    "tuples without names": ({"providers": list(ARRAYS.values())}, "providers[0]", "a tuple of 2", "{'north': ...}"),
    "names without data": ({"providers": ["north", "south"]}, "providers[0]", "a str", "a pair of a name and its data"),
    "numbers as names": ({"providers": {1: NORTH, 2: SOUTH}}, "providers", "received 1", "use '1'"),
    "the same name twice": ({"providers": [("north", NORTH), ("north", SOUTH)]}, "two providers", "'north'", "names must differ"),
    "a dict of dicts": ({"providers": {"coast": BOTH}}, "providers['coast']", "a dict of 'north', 'south'", "sb.Group(name, providers)"),
    "a dict of columns": ({"providers": {"north": NORTH.to_dict("list")}}, "providers['north']", "a dict of 'age', 'dose'", "pandas.DataFrame"),
    "a mapping of providers": ({"providers": {"north": FRAMES[0]}}, "providers['north']", "a Provider", "pass a list"),
    "features without targets": (alone({"north": X.to_numpy()}), "providers['north']", "an array of shape (60, 2)", "pass (X, y)"),
    "a column": ({"providers": {"north": Y}}, "providers['north']", "a Series", "the frame with all columns"),
    "a list of X and y": (alone({"north": [X, Y]}), "providers['north']", "a list of 2", "a tuple (X, y)"),
    "three in a tuple": (alone({"north": (X, Y, Y)}), "providers['north']", "a tuple of 3", "(X, y) of two"),
    "a frame without rows": ({"providers": BOTH | {"south": SOUTH[:0]}}, "providers['south']", "without rows", "leave it out"),
    "a file that is not there": ({"providers": {"north": "north.csv"}}, "providers['north']", "north.csv", "there is no file"),
    "None": ({"providers": BOTH | {"west": None}}, "providers['west']", "NoneType", "a data frame"),
    "columns in another order": ({"providers": BOTH | {"south": SOUTH[["dose", "age", "readmitted"]]}}, "providers['south']", "'dose', 'age'", "reordered"),
    "a column less": ({"providers": BOTH | {"south": SOUTH.drop(columns="age")}}, "providers['south']", "lacks 'age'", "add the missing ones"),
    "a renamed column": ({"providers": BOTH | {"south": SOUTH.rename(columns={"age": "Age"})}}, "providers['south']", "received 'Age'", "rename them"),
    "an index column": ({"providers": BOTH | {"south": SOUTH.reset_index()}}, "providers['south']", "received 'index'", "leave them out"),
    # target
    "no target": ({"target": LEFT_OUT}, "target=", "received None", "target='readmitted'"),
    "a misspelt target": ({"target": "readmited"}, "target=", "'readmited'", "did you mean readmitted?"),
    "a target that one lacks": ({"providers": BOTH | {"south": SOUTH.rename(columns={"readmitted": "Readmitted"})}}, "providers['south']: target=", "'readmitted'", "did you mean Readmitted?"),
    "two targets": ({"target": ["readmitted", "age"]}, "target", "list", "one column"),
    "a target with tuples": ({"providers": ARRAYS, "validation": (ROWS[["age", "dose"]].to_numpy(), ROWS["readmitted"])}, "target", "'readmitted'", "leave it out"),
    "targets passed twice": ({"providers": {"north": (NORTH, Y), "south": SOUTH}}, "providers['north']", "twice", "drop the column"),
    "the target in a tuple": ({"providers": {"north": (NORTH, "readmitted")}}, "providers['north']", "'readmitted'", "target='readmitted'"),
    "missing targets": ({"providers": BOTH | {"south": SOUTH.assign(readmitted=np.nan)}}, "providers['south']: the target column 'readmitted'", "NaN", "remove"),
    "outcomes that are no labels": ({"target": "dose"}, "target", "numbers such as", "pass a regressor"),
    "labels for a regressor": ({"utility": Ridge(), "score": LEFT_OUT, "providers": {name: frame.assign(readmitted=np.where(frame["readmitted"], "yes", "no")) for name, frame in BOTH.items()}, "validation": ROWS.assign(readmitted="no")}, "target", "'no'", "pass a classifier"),
    # the model and its score
    "a class": ({"utility": LogisticRegression}, "utility", "the class LogisticRegression", "LogisticRegression(...)"),
    "a name": ({"utility": "logistic"}, "utility", "'logistic'", "LogisticRegression()"),
    "a transformer": ({"utility": StandardScaler()}, "utility", "StandardScaler", "a pipeline that ends in a model"),
    "a function": ({"utility": len}, "utility", "builtin_function_or_method", "sb.FunctionUtility"),
    "a class of utilities": (alone(FRAMES, sb.LinearUtility), "utility", "the class LinearUtility", "LinearUtility(...)"),
    "strings without a pipeline": ({"providers": WARDS, "validation": ROWS.assign(ward="a")}, "utility", "column 'ward' holds strings", "OneHotEncoder"),
    "missing features without a pipeline": ({"providers": GAPS, "validation": ROWS.assign(dose=np.nan)}, "utility", "column 'dose' has missing values", "imputes them"),
    "a frozen step that is not fitted": ({"utility": make_pipeline(FrozenEstimator(StandardScaler()), LogisticRegression())}, "utility", "not fitted", "fit it first"),
    "score='auc'": ({"score": "auc"}, "score=", "'auc'", "use 'roc_auc'"),
    "score='RMSE'": ({"score": "RMSE", "utility": Ridge()}, "score=", "'RMSE'", "use 'neg_root_mean_squared_error'"),
    "score='ROC AUC'": ({"score": "ROC AUC"}, "score=", "'ROC AUC'", "use 'roc_auc'"),
    "score='acuracy'": ({"score": "acuracy"}, "score=", "'acuracy'", "did you mean accuracy?"),
    "a metric": ({"score": roc_auc_score}, "score", "the metric roc_auc_score", "score='roc_auc'"),
    "another metric": ({"score": accuracy_score}, "score", "the metric accuracy_score", "score='accuracy'"),
    "a regressor's accuracy": ({"utility": LinearRegression(), "score": "accuracy"}, "score=", "LinearRegression is a regressor", "pass a classifier"),
    "probabilities of a model without them": ({"utility": SVC(), "score": "neg_log_loss"}, "utility: SVC", "predict_proba", "pass another score"),
    # validation
    "no validation": ({"validation": LEFT_OUT}, "validation", "received None", "such as 0.3"),
    "30 per cent": ({"validation": 30}, "validation", "received 30", "use 0.3 for 30 %"),
    "all of it": ({"validation": 1.0}, "validation", "received 1.0", "use 0.3"),
    "validation=True": ({"validation": True}, "validation", "received bool", "such as 0.3"),
    "a provider's frame": ({"validation": SOUTH}, "validation", "the records of provider 'south'", "validation=0.3"),
    "a copy of a provider's frame": ({"validation": SOUTH.copy()}, "validation", "the records of provider 'south'", "validation=0.3"),
    "validation without a column": ({"validation": ROWS.drop(columns="dose")}, "validation", "lacks 'dose'", "add the missing ones"),
    "validation without the target": ({"validation": ROWS.drop(columns="readmitted")}, "validation: target=", "'readmitted'", "known are age, dose"),
    "validation in another order": ({"validation": ROWS[["dose", "age", "readmitted"]]}, "validation", "'dose', 'age'", "reordered"),
    "a fraction of distant records": (alone([sb.Provider("north", Counted(sb.ArraySource(*ARRAYS["north"])))], SVC(), validation=0.3, sampling=sb.Fresh(10)), "validation=0.3", "Counted of 60 records", "validation rows of your own"),
    "labels of rows that are held out": ({"validation": 0.3, "validation_groups": list(range(30))}, "validation_groups", "received list", "validation rows of your own"),
    # beside a utility
    "validation beside a utility": (alone(FRAMES, validation=ROWS), "validation", "DataFrame", "leave it out"),
    "a score beside a utility": (alone(FRAMES, score="roc_auc"), "score", "'roc_auc'", "leave it out"),
    "a target beside a utility": (alone(FRAMES, target="readmitted"), "target", "'readmitted'", "leave it out"),
    # the games
    "sampling=60": ({"sampling": 60}, "sampling", "received 60", "sampling=sb.Fresh(60)"),
    "sampling='pooled'": ({"sampling": "pooled"}, "sampling", "'pooled'", "sampling=sb.Pooled(250, 60, replace=False)"),
    "a class of samplings": ({"sampling": sb.Fresh}, "sampling", "the class Fresh", "Fresh(...)"),
    "no sampling of distant records": (alone([sb.Provider("north", Counted(sb.ArraySource(*ARRAYS["north"])))]), "sampling", "received None", "sampling=sb.Pooled(n_pool, n_boot, replace=False)"),
    "no sampling of one record": (alone({"north": (X[:1], Y[:1])}), "sampling", "only 1 record", "sampling=sb.Fresh(1)"),
    "solver='exact'": ({"solver": "exact"}, "solver", "'exact'", "solver=sb.Exact()"),
    "a class of solvers": ({"solver": sb.Exact}, "solver", "the class Exact", "Exact(...)"),
    "stop=0.01": ({"stop": 0.01}, "stop", "0.01", "Precision(absolute=0.01)"),
    "a seed that is a float": ({"seed": 0.5}, "seed", "received 0.5", "a whole number"),
    "such a seed of rows to hold out": ({"seed": 0.5, "validation": 0.3}, "seed", "received 0.5", "a whole number"),
    "one game": ({"n_games": 1}, "n_games", "received 1", "at least 2"),
    "games as a float": ({"n_games": 1e2}, "n_games", "received 100.0", "a whole number"),
}  # fmt: skip


def test_the_call_without_a_mistake_is_valued():
    assert first_call().n_games == 4


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_natural_mistake_gets_the_argument_what_was_received_and_the_remedy(mistake):
    changes, argument, received, remedy = MISTAKES[mistake]
    with pytest.raises(InvalidInput) as caught:
        first_call(**changes)
    message = str(caught.value)
    for words in (argument, received, remedy):
        assert words in message
    assert "\n" not in message
    assert len(message) < 450


def test_no_source_is_asked_before_a_mistake_is_found():
    source = Counted(sb.ArraySource(*ARRAYS["north"]))
    with pytest.raises(InvalidInput, match="sampling must be given"):
        sb.value([sb.Provider("north", source)], UTILITY)
    assert source.asked == 0
