"""What the rules find for scikit-learn's models, with all options and words."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tests.conftest import plain_id

import shapband as sb
from shapband.utilities.rules import Match, match

FEW_RECORDS = "a coalition with fewer than two records is worth v(∅)"
ONE_LABEL = "a coalition with one label predicts it"
OPTIMUM = (
    "models are fitted to the optimum, which tol=0.01 only approaches, and a coalition with one "
    "label predicts it"
)
EQUAL_DISTANCES = (
    "records at equal distance are ordered by their targets, and a coalition with fewer than k "
    "records uses all of them"
)
MATCHES = [
    (LinearRegression(), None, Match(sb.LinearUtility, {"score": "r2"}, FEW_RECORDS)),
    (
        Ridge(3, solver="cholesky"),
        "neg_mean_squared_error",
        Match(sb.LinearUtility, {"score": "neg_mse", "alpha": 3.0}, FEW_RECORDS),
    ),
    (
        make_pipeline(StandardScaler(), LinearRegression()),
        "r2",
        Match(
            sb.LinearUtility,
            {"score": "r2"},
            f"{FEW_RECORDS}, the pipeline itself is fitted to one with no more records than "
            "features, and a larger one with dependent features is fitted without the scaler",
            small_model=True,
        ),
    ),
    (
        LogisticRegression(C=2.0, tol=0.01),
        None,
        Match(sb.LogisticUtility, {"C": 2.0, "score": "accuracy"}, OPTIMUM, approximate=True),
    ),
    (
        GaussianNB(var_smoothing=0.1),
        "roc_auc",
        Match(sb.GaussianNBUtility, {"score": "roc_auc", "var_smoothing": 0.1}, ONE_LABEL),
    ),
    (
        LinearDiscriminantAnalysis(),
        None,
        Match(sb.LDAUtility, {"score": "accuracy"}, ONE_LABEL),
    ),
    (
        KNeighborsRegressor(3, weights="distance"),
        None,
        Match(
            sb.NeighborUtility,
            {"k": 3, "task": "regression", "score": "r2", "weights": "distance"},
            EQUAL_DISTANCES,
        ),
    ),
    (
        KNeighborsClassifier(2),
        "accuracy",
        Match(sb.NeighborUtility, {"k": 2, "task": "classification"}, EQUAL_DISTANCES),
    ),
    (Ridge(np.ones(2)), None, "alpha=array([1., 1.]) has no compiled form"),
    (Ridge(solver="lsqr"), None, "solver='lsqr' has no compiled form"),
    (LinearRegression(), "max_error", "the score 'max_error' has no compiled form"),
    (LinearRegression(fit_intercept=False), None, "fit_intercept=False has no compiled form"),
    (LogisticRegression(solver="saga"), None, "solver='saga' has no compiled form"),
    (
        LogisticRegression(class_weight="balanced"),
        None,
        "class_weight='balanced' has no compiled form",
    ),
    (LogisticRegression(fit_intercept=False), None, "fit_intercept=False has no compiled form"),
    (LogisticRegression(), "f1", "the score 'f1' has no compiled form"),
    (GaussianNB(priors=[0.5, 0.5]), None, "priors=[0.5, 0.5] has no compiled form"),
    (GaussianNB(), "f1", "the score 'f1' has no compiled form"),
    (LinearDiscriminantAnalysis("lsqr"), None, "solver='lsqr' has no compiled form"),
    (LinearDiscriminantAnalysis(tol=1e-3), None, "tol=0.001 has no compiled form"),
    (LinearDiscriminantAnalysis(priors=[0.5, 0.5]), None, "priors=[0.5, 0.5] has no compiled form"),
    (LinearDiscriminantAnalysis(), "f1", "the score 'f1' has no compiled form"),
    (KNeighborsRegressor(p=1), None, "p=1 has no compiled form"),
    (KNeighborsRegressor(metric="cosine"), None, "metric='cosine' has no compiled form"),
    (KNeighborsRegressor(), "accuracy", "the score 'accuracy' has no compiled form"),
    (KNeighborsClassifier(), "f1", "the score 'f1' has no compiled form"),
    (DecisionTreeRegressor(), None, "DecisionTreeRegressor has no compiled form"),
    (Pipeline([("nothing", "passthrough")]), None, "the pipeline has no model"),
    (
        make_pipeline(StandardScaler(), Ridge()),
        None,
        "StandardScaler is fitted to every coalition",
    ),
    (
        make_pipeline(MinMaxScaler(clip=True), LinearRegression()),
        None,
        "MinMaxScaler is fitted to every coalition",
    ),
]


@pytest.mark.parametrize(("model", "score", "found"), MATCHES, ids=plain_id)
def test_the_rule_of_a_model_finds_this(model, score, found):
    assert match(model, score) == found
