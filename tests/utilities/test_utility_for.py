"""The recogniser: compiled where that is the same, with the reason, and the same values."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from tests.conftest import linear_providers, plain_id

import shapband as sb
from shapband.utilities.recognise import _differences
from shapband.utilities.rules import match


def labelled_providers(n=3, words=False):
    """Two features and three classes."""
    rng = np.random.default_rng(4)

    def records(size):
        X = rng.normal(size=(size, 2))
        y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=size), [-0.5, 0.5])
        return X, np.array(["high", "low", "mid"])[y] if words else y

    providers = [sb.Provider(f"site {i}", sb.ArraySource(*records(40))) for i in range(n)]
    return providers, records(60)


def games(providers, utility):
    options = {"sampling": sb.Fresh(12), "solver": sb.Exact(), "n_games": 3, "seed": 0}
    return sb.value(providers, utility, **options).games


REGRESSIONS = [
    (LinearRegression(), "LinearUtility"),
    (make_pipeline(StandardScaler(), LinearRegression()), "LinearUtility"),
    (make_pipeline("passthrough", MinMaxScaler(), LinearRegression()), "LinearUtility"),
    (Ridge(2.0), "LinearUtility"),
    (Ridge(0, solver="svd"), "LinearUtility"),
    (KNeighborsRegressor(3), "NeighborUtility"),
    (KNeighborsRegressor(2, metric="euclidean", algorithm="brute"), "NeighborUtility"),
]


@pytest.mark.parametrize("score", [None, "r2", "neg_mean_squared_error"])
@pytest.mark.parametrize(("model", "name"), REGRESSIONS, ids=plain_id)
def test_valuations_of_regressions_are_those_of_the_estimator(model, name, score):
    providers, rows = linear_providers(n=3)
    fast = sb.utility_for(model, *rows, score)
    assert type(fast).__name__ == name, fast.chosen
    slow = sb.EstimatorUtility(model, *rows, score)
    assert fast.empty == pytest.approx(slow.empty, abs=1e-12)
    np.testing.assert_allclose(games(providers, fast), games(providers, slow), atol=1e-8, rtol=0)


CONVERGED = {"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky"}
CLASSIFIERS = [
    (LogisticRegression(**CONVERGED), "LogisticUtility", None),
    (LogisticRegression(C=0.1, **CONVERGED), "LogisticUtility", "neg_log_loss"),
    (LogisticRegression(C=10.0, **CONVERGED), "LogisticUtility", "neg_brier_score"),
    (GaussianNB(), "GaussianNBUtility", None),
    (GaussianNB(var_smoothing=0.1), "GaussianNBUtility", "neg_log_loss"),
    (LinearDiscriminantAnalysis(), "LDAUtility", None),
    (LinearDiscriminantAnalysis(), "LDAUtility", "neg_log_loss"),
    (KNeighborsClassifier(1), "NeighborUtility", None),
    (KNeighborsClassifier(5), "NeighborUtility", "accuracy"),
]


@pytest.mark.filterwarnings("ignore::shapband.errors.UnseenLabels")
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(("model", "name", "score"), CLASSIFIERS, ids=plain_id)
def test_valuations_of_classifiers_are_those_of_the_estimator(model, name, score, words):
    providers, rows = labelled_providers(words=words)
    fast = sb.utility_for(model, *rows, score)
    assert type(fast).__name__ == name, fast.chosen
    slow = sb.EstimatorUtility(model, *rows, score)
    assert fast.empty == pytest.approx(slow.empty, abs=1e-12)
    np.testing.assert_allclose(games(providers, fast), games(providers, slow), atol=1e-8, rtol=0)


def test_two_labels_are_ranked():
    providers, (X, y) = labelled_providers()
    two = [
        sb.Provider(one.name, sb.ArraySource(one.source.records.X, one.source.records.y > 0))
        for one in providers
    ]
    model = LogisticRegression(**CONVERGED)
    fast = sb.utility_for(model, X, y > 0, "roc_auc")
    assert type(fast) is sb.LogisticUtility, fast.chosen
    slow = sb.EstimatorUtility(model, X, y > 0, "roc_auc")
    np.testing.assert_allclose(games(two, fast), games(two, slow), atol=1e-8, rtol=0)


def separable_providers(offset=0.0):
    """Two features whose sum decides between two classes."""
    rng = np.random.default_rng(5)

    def records(size):
        X = rng.normal(size=(size, 2))
        return X + offset, np.where(X.sum(axis=1) > 0, 1, 0)

    providers = [sb.Provider(f"site {i}", sb.ArraySource(*records(40))) for i in range(3)]
    return providers, records(200)


@pytest.mark.filterwarnings("ignore::shapband.errors.UnseenLabels")
@pytest.mark.parametrize("score", ["accuracy", "neg_log_loss"])
def test_the_default_logistic_regression_is_compiled_and_its_difference_is_told(score):
    providers, rows = separable_providers()
    fast = sb.utility_for(LogisticRegression(), *rows, score)
    assert type(fast) is sb.LogisticUtility, fast.chosen
    assert "fitted to the optimum, which tol=0.0001 only approaches" in fast.chosen
    told = re.search(
        "it differs from LogisticRegression by at most ([^,]+), on average", fast.chosen
    )
    agreed = "it agrees with LogisticRegression to 1e-08 on 15 made-up coalitions" in fast.chosen
    largest = 1e-8 if agreed else float(told[1])
    # A value is a weighted mean of differences of coalitions. The draws of a valuation are others
    # than the made-up ones, so the largest difference may be a few times as large.
    slow = sb.EstimatorUtility(LogisticRegression(), *rows, score)
    assert np.abs(games(providers, fast) - games(providers, slow)).max() <= max(1e-2, 5 * largest)


@pytest.mark.parametrize(
    ("model", "offset", "score"),
    [
        (LogisticRegression(max_iter=3), 0.0, "neg_brier_score"),
        (LogisticRegression(max_iter=3), 1000.0, "accuracy"),
        (LogisticRegression(C=1e8), 0.0, "neg_log_loss"),
        (LogisticRegression(C=1e8), 0.0, "accuracy"),
        (LogisticRegression(tol=10.0), 0.0, "roc_auc"),
    ],
    ids=plain_id,
)
def test_a_logistic_regression_that_stops_far_from_its_optimum_is_fitted_as_given(
    model, offset, score
):
    _, rows = separable_providers(offset)
    utility = sb.utility_for(model, *rows, score)
    assert type(utility) is sb.EstimatorUtility, utility.chosen
    assert "LogisticUtility differs from LogisticRegression by at most" in utility.chosen
    assert "an average of 0.001 is allowed" in utility.chosen


@pytest.mark.filterwarnings("ignore::shapband.errors.UnseenLabels")
def test_the_difference_of_a_compiled_utility_is_printed_with_the_result():
    providers, rows = labelled_providers()
    utility = sb.utility_for(LogisticRegression(), *rows, "neg_log_loss")
    found = sb.value(providers, utility, sampling=sb.Fresh(12), n_games=2, seed=0)
    assert "utility: chosen because it differs from LogisticRegression by at most " in str(found)


@pytest.mark.parametrize("library", [None, pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("model", [Ridge(2.0), LinearRegression()], ids=plain_id)
def test_frozen_steps_are_a_fixed_transformation(model, library):
    frozen = pytest.importorskip("sklearn.frozen")
    providers, (X, y) = linear_providers(n=3)
    if library is not None:
        providers = [
            sb.Provider(one.name, sb.FrameSource(framed(library, one.source.records), "y"))
            for one in providers
        ]
        X = framed(library, sb.Batch(X, y))[[f"x{j}" for j in range(X.shape[1])]]
    scaler = frozen.FrozenEstimator(MinMaxScaler().fit(X))
    pipeline = make_pipeline(scaler, "passthrough", model)
    fast = sb.utility_for(pipeline, X, y)
    assert type(fast) is sb.LinearUtility, fast.chosen
    slow = sb.EstimatorUtility(pipeline, X, y)
    np.testing.assert_allclose(games(providers, fast), games(providers, slow), atol=1e-8, rtol=0)


def framed(library, batch):
    return library({**{f"x{j}": x for j, x in enumerate(batch.X.T)}, "y": batch.y})


def test_frozen_steps_before_a_model_that_takes_none():
    frozen = pytest.importorskip("sklearn.frozen")
    _, (X, y) = linear_providers(n=2)
    scaler = frozen.FrozenEstimator(StandardScaler().fit(X))
    utility = sb.utility_for(make_pipeline(scaler, KNeighborsRegressor()), X, y)
    assert utility.chosen == "NeighborUtility does not know embed"


@pytest.mark.parametrize(
    ("model", "score", "reason"),
    [
        (LinearRegression(fit_intercept=False), None, "fit_intercept=False has no"),
        (LinearRegression(positive=True), None, "positive=True has no"),
        (LinearRegression(), "neg_mean_absolute_error", "the score 'neg_mean_absolute_error'"),
        (LinearRegression(), lambda model, X, y: 0.5, "a score of one's own"),
        (make_pipeline(StandardScaler(), Ridge()), None, "StandardScaler is fitted to every"),
        (make_pipeline(MinMaxScaler(clip=True), LinearRegression()), None, "MinMaxScaler is"),
        (make_pipeline(StandardScaler(), KNeighborsRegressor()), None, "StandardScaler is"),
        (Ridge(alpha=np.ones(1)), None, "alpha=array"),
        (Ridge(solver="sag"), None, "solver='sag'"),
        (KNeighborsRegressor(p=1), None, "p=1 has no"),
        (KNeighborsRegressor(metric="cosine"), None, "metric='cosine'"),
        (KNeighborsRegressor(weights=np.sqrt), None, "weights=<ufunc 'sqrt'>"),
        (KNeighborsRegressor(100), None, "could not be compared"),
        (DecisionTreeRegressor(), None, "DecisionTreeRegressor has no compiled form"),
    ],
    ids=lambda thing: plain_id(thing).split(" at 0x")[0],
)
def test_other_settings_are_fitted_and_the_reason_is_told(model, score, reason):
    _, rows = linear_providers(n=2)
    utility = sb.utility_for(model, *rows, score)
    assert type(utility) is sb.EstimatorUtility
    assert reason in utility.chosen


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(solver="liblinear"),
        LogisticRegression(class_weight="balanced"),
        LogisticRegression(fit_intercept=False),
        GaussianNB(priors=[0.2, 0.3, 0.5]),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        LinearDiscriminantAnalysis(tol=0.1),
        KNeighborsClassifier(metric_params={"w": [1.0, 2.0]}),
    ],
    ids=plain_id,
)
def test_other_settings_of_classifiers_have_no_match(model):
    assert "has no compiled form" in match(model, None)


def test_features_of_different_scales_keep_a_default_logistic_regression_from_its_optimum():
    X, y = load_breast_cancer(return_X_y=True)
    utility = sb.utility_for(LogisticRegression(), X[::4], y[::4], "neg_log_loss")
    assert type(utility) is sb.EstimatorUtility, utility.chosen
    scaled = sb.utility_for(LogisticRegression(), StandardScaler().fit_transform(X), y)
    assert type(scaled) is sb.LogisticUtility, scaled.chosen


class Negated(LinearRegression):
    """A class of the user's own with a familiar base."""

    def predict(self, X):
        return -super().predict(X)


def test_subclasses_are_not_recognised():
    assert "is not one of scikit-learn's own" in match(Negated(), None)


def test_a_compiled_utility_that_differs_is_not_chosen(monkeypatch):
    """The comparison sees an error of 1e-6 in a coalition of all."""
    evaluate = sb.LinearUtility.evaluate
    _, rows = linear_providers(n=2)
    agreed = sb.utility_for(LinearRegression(), *rows)
    assert _differences(agreed, sb.EstimatorUtility(LinearRegression(), *rows)).max() < 1e-10
    monkeypatch.setattr(
        sb.LinearUtility,
        "evaluate",
        lambda self, summaries, masks: (
            evaluate(self, summaries, masks) + 1e-6 * (np.array(masks) == 7)
        ),
    )
    utility = sb.utility_for(LinearRegression(), *rows)
    assert type(utility) is sb.EstimatorUtility
    assert "LinearUtility differs from LinearRegression by at most 1e-06" in utility.chosen


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_of_numbers_are_recognised(library):
    _, (X, y) = linear_providers(n=2)
    frame = library({f"x{j}": column for j, column in enumerate(X.T)})
    assert type(sb.utility_for(LinearRegression(), frame, y)) is sb.LinearUtility
    words = library({"a": ["u", "v"] * (len(X) // 2)})
    utility = sb.utility_for(LinearRegression(), words, y)
    assert type(utility) is sb.EstimatorUtility
    assert "needs numeric features" in utility.chosen


def test_empty_is_passed_on():
    _, rows = linear_providers(n=2)
    assert sb.utility_for(LinearRegression(), *rows, empty=-1.0).empty == -1.0
    assert not sb.utility_for(LinearRegression(), *rows, empty=-1.0).baseline
    assert sb.utility_for(LinearRegression(), *rows).baseline


@pytest.mark.parametrize("y", [np.ones(50), np.arange(50) % 2])
@pytest.mark.parametrize("X", [np.ones((50, 2)), 1e12 * np.random.default_rng(0).random((50, 2))])
@pytest.mark.parametrize("model", [LinearRegression(), KNeighborsRegressor()], ids=plain_id)
def test_odd_validation_rows_give_some_utility(model, X, y):
    assert np.isfinite(sb.utility_for(model, X, y, "neg_mean_squared_error").empty)


def test_the_reason_is_printed_and_changes_no_fingerprint(tmp_path):
    providers, rows = linear_providers(n=2)
    options = {"sampling": sb.Fresh(5), "n_games": 2, "seed": 0, "run": tmp_path / "run"}
    chosen = sb.value(providers, sb.utility_for(LinearRegression(), *rows), **options)
    assert "\nutility: chosen because it agrees with LinearRegression to 1e-08" in str(chosen)
    assert "(LinearUtility), v(∅)" in str(chosen)
    again = sb.value(providers, sb.LinearUtility(*rows, "r2"), **options)
    np.testing.assert_array_equal(again.games, chosen.games)


def test_warnings_of_the_comparison_are_not_lost():
    """What a model says in a valuation is told there, although it was said in the comparison."""
    _, (X, y) = linear_providers(n=2)
    before = sb.utility_for(KNeighborsRegressor(3), X, y).failures  # of this thread
    utility = sb.utility_for(KNeighborsRegressor(100), X, y)
    assert utility.failures == before
    assert not utility._warned


@pytest.mark.parametrize(
    "model",
    [KNeighborsRegressor(5), KNeighborsRegressor(5, weights="distance"), KNeighborsClassifier(5)],
    ids=plain_id,
)
def test_neighbours_are_not_compiled_where_ties_would_change_the_scores(model):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 4, size=(200, 3)).astype(float)
    y = X.sum(axis=1) + rng.normal(size=200)
    y = (y > 6).astype(int) if isinstance(model, KNeighborsClassifier) else y
    utility = sb.utility_for(model, X, y)
    assert isinstance(utility, sb.EstimatorUtility)
    assert "many records are at equal distance" in utility.chosen
    apart = X + 0.3 * rng.normal(size=X.shape)
    assert isinstance(sb.utility_for(model, apart, y), sb.NeighborUtility)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(), Ridge(), LogisticRegression(), GaussianNB(),
        LinearDiscriminantAnalysis(), KNeighborsRegressor(), KNeighborsClassifier(),
    ],
    ids=plain_id,
)  # fmt: skip
def test_a_score_without_a_compiled_form_is_named(model):
    assert match(model, "max_error") == "the score 'max_error' has no compiled form"


def test_a_pipeline_of_one_model_is_that_model_and_frozen_steps_help_no_other_model():
    assert match(make_pipeline(LinearRegression()), None) == match(LinearRegression(), None)
    assert match(make_pipeline("passthrough", Ridge(2.0)), None) == match(Ridge(2.0), None)
    frozen = pytest.importorskip("sklearn.frozen")
    scaler = frozen.FrozenEstimator(StandardScaler().fit([[1.0], [2.0]]))
    for last in (Ridge(solver="sag"), DecisionTreeRegressor()):
        assert match(make_pipeline(scaler, last), None) == match(last, None)
    found = match(make_pipeline(scaler, StandardScaler(), Ridge()), None)
    assert found == "StandardScaler is fitted to every coalition"
    assert match(Pipeline([("only", "passthrough")]), None) == "the pipeline has no model"


def test_a_score_of_ones_own_has_no_compiled_form():
    utility = sb.utility_for(LinearRegression(), *linear_providers()[1], lambda model, X, y: 1.0)
    assert utility.chosen == "a score of one's own has no compiled form"
