"""The names of models and scores that readers of a result see."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer_names, make_scorer, recall_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

import shapband as sb
from shapband.report.page import page_of
from shapband.utilities.wording import model_words, score_words, scorer_words

# Models are scored on the records of a provider, which these tests do not depend on.
pytestmark = pytest.mark.filterwarnings("ignore::shapband.errors.HeldRows")
X = np.random.default_rng(0).normal(size=(40, 2))
NUMBERS, LABELS = X[:, 0] + X[:, 1], (X[:, 0] > 0).astype(int)
SECRET = "hunter2-hunter2"  # noqa: S105  nobody uses it


def named(utility):
    """The model and the score in the setup of a valuation."""
    source = sb.ArraySource(X, LABELS)
    providers = [sb.Provider(name, source) for name in ("north", "south")]
    found = sb.value(providers, utility, sampling=sb.Fresh(20), n_games=2, seed=0).setup
    return found.get("model"), found.get("score")


@pytest.mark.parametrize(("model", "words"), [
    (Ridge(), "Ridge"),
    (make_pipeline(Ridge()), "a pipeline of Ridge"),
    (make_pipeline(MinMaxScaler(), StandardScaler(), Ridge()),
     "a pipeline of MinMaxScaler, StandardScaler and Ridge"),
    (Pipeline([("none", "passthrough"), ("last", Ridge())]), "a pipeline of Ridge"),
    (make_pipeline(FrozenEstimator(StandardScaler()), Ridge()),
     "a pipeline of fitted StandardScaler and Ridge"),
    (GridSearchCV(make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1, 2]}),
     "GridSearchCV of a pipeline of StandardScaler and Ridge"),
    (CalibratedClassifierCV(LogisticRegression()), "CalibratedClassifierCV of LogisticRegression"),
    (CalibratedClassifierCV(), "CalibratedClassifierCV"),
])  # fmt: skip
def test_models_are_named_by_their_classes(model, words):
    assert model_words(model) == words


@pytest.mark.parametrize(("score", "words"), [
    ("roc_auc", "ROC AUC"), ("neg_log_loss", "negative log loss"), ("r2", "R²"),
    ("neg_brier_score", "negative Brier score"), ("f1", "F1"), ("accuracy", "accuracy"),
    ("neg_mean_squared_error", "negative mean squared error"), ("inverse_mse", "1 / (1 + MSE)"),
])  # fmt: skip
def test_scores_are_named_as_readers_know_them(score, words):
    assert score_words(score) == words


def test_all_scores_of_scikit_learn_have_different_words():
    words = [score_words(name) for name in get_scorer_names()]
    assert len(set(words)) == len(words)
    assert not [one for one in words if "_" in one]


def test_the_score_of_an_estimator_is_named():
    assert scorer_words(None, make_pipeline(StandardScaler(), Ridge())) == "R²"
    assert scorer_words(None, LogisticRegression()) == "accuracy"
    assert scorer_words(None, KMeans()) == "the score of KMeans"
    assert scorer_words(make_scorer(recall_score), Ridge()) == "the function recall_score"


@pytest.mark.parametrize(("utility", "words"), [
    (lambda: sb.LinearUtility(X, LABELS), ("linear regression", "1 / (1 + MSE)")),
    (lambda: sb.LogisticUtility(X, LABELS, score="roc_auc"), ("logistic regression", "ROC AUC")),
    (lambda: sb.GaussianNBUtility(X, LABELS), ("Gaussian naive Bayes", "accuracy")),
    (lambda: sb.LDAUtility(X, LABELS), ("linear discriminant analysis", "accuracy")),
    (lambda: sb.NeighborUtility(X, LABELS, task="classification"),
     ("nearest neighbours", "accuracy")),
    (lambda: sb.NeighborUtility(X, NUMBERS, score="r2"), ("nearest neighbours", "R²")),
    (lambda: sb.AdditiveUtility(), ("the sum of mean targets", None)),
    (lambda: sb.TableUtility([0.0, 1.0, 2.0, 5.0]), ("a table of values", None)),
    (lambda: sb.FunctionUtility(lambda X, y: y.max()), ("a function without a name", None)),
    (lambda: sb.EstimatorUtility(Ridge(), X, NUMBERS), ("Ridge", "R²")),
])  # fmt: skip
def test_a_valuation_names_the_model_and_the_score(utility, words):
    assert named(utility()) == words


def test_a_class_with_other_values_does_not_keep_the_name_of_its_base():
    class Own(sb.EstimatorUtility):
        def score(self, batch):
            return float(batch.y.max())

    class Named(Own):
        model_name = "the largest target"

        def score(self, batch):
            return float(batch.y.max())

    assert named(Own(Ridge(), X, NUMBERS)) == (None, None)
    assert named(Named(Ridge(), X, NUMBERS))[0] == "the largest target"


def test_no_parameter_of_a_model_is_shown():
    def call(values, token=SECRET):
        return values if token else None

    model = make_pipeline(
        FunctionTransformer(call, kw_args={"token": SECRET}), Ridge(alpha=0.123456)
    )
    utility = sb.EstimatorUtility(model, X, NUMBERS)
    source = sb.ArraySource(X, NUMBERS)
    found = sb.value([sb.Provider("north", source), sb.Provider("south", source)], utility,
                     sampling=sb.Fresh(20), n_games=2, seed=0)  # fmt: skip
    assert found.setup["model"] == "a pipeline of FunctionTransformer and Ridge"
    for text in (str(found), found.to_json(), page_of(found)):
        assert SECRET not in text
        assert "0.123456" not in text
