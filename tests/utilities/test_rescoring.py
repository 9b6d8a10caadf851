"""Scores of a fitted model on parts of the validation rows, beside scikit-learn's own scorers."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, make_scorer, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import shapband as sb
from shapband.records.batch import Batch
from shapband.utilities import rescoring
from shapband.utilities.rescoring import score_with_parts

SCORER = get_scorer("roc_auc")
MODELS = [
    LogisticRegression(),
    GaussianNB(),  # has no decision function
    DecisionTreeClassifier(max_depth=2, random_state=0),  # many equal scores
    make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1)),
    make_pipeline(StandardScaler(), LogisticRegression()),
    CalibratedClassifierCV(GaussianNB(), cv=2),
]


def rows_of(rng, n, labels):
    X = rng.normal(size=(n, 3)).round(1)  # rounded features give equal scores
    noise = rng.normal(size=n)
    return X, np.asarray(labels)[(X[:, 0] + noise > 0).astype(int)]


def parts_of(rng, n):
    """Parts of many sizes, all rows, and rows that occur twice."""
    parts = [rng.permutation(n)[:size] for size in (2, 3, 5, n // 2, n - 1)]
    return [*parts, np.arange(n), np.tile(np.arange(n // 2), 2)]


def slow(fitted, X, y, parts, scorer=SCORER):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parts with one class
        return np.array([scorer(fitted, X[part], y[part]) for part in parts])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (2.0, 7.0), ("no", "yes")])
def test_areas_are_those_of_scikit_learn(model, labels, monkeypatch):
    monkeypatch.setattr(rescoring._Answers, "__getattr__", None)  # no scorer asks the answers
    rng = np.random.default_rng(4)
    for _ in range(5):
        fitted = model.fit(*rows_of(rng, 40, labels))
        X, y = rows_of(rng, 30, labels)
        parts = parts_of(rng, 30)
        score, found = score_with_parts(fitted, Batch(X, y), SCORER, parts, own_score=False)
        assert score == SCORER(fitted, X, y)
        np.testing.assert_allclose(found, slow(fitted, X, y, parts), rtol=1e-12)


def test_a_part_with_one_class_has_no_area():
    rng = np.random.default_rng(5)
    fitted = GaussianNB().fit(*rows_of(rng, 40, (0, 1)))
    X, y = rows_of(rng, 30, (0, 1))
    parts = [np.flatnonzero(y == 1), np.arange(30)]
    score, found = score_with_parts(fitted, Batch(X, y), SCORER, parts, own_score=False)
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize(
    "scorer",
    [
        make_scorer(roc_auc_score),  # of predicted labels
        make_scorer(roc_auc_score, greater_is_better=False, response_method="predict_proba"),
        make_scorer(roc_auc_score, response_method="predict_proba", max_fpr=0.5),
    ],
    ids=["labels", "negative", "partial"],
)
def test_other_scorers_made_of_the_same_function_are_not_taken_for_it(scorer):
    rng = np.random.default_rng(6)
    fitted = GaussianNB().fit(*rows_of(rng, 40, (0, 1)))
    X, y = rows_of(rng, 60, (0, 1))
    parts = [np.arange(60)[at:] for at in (0, 10, 20)]
    score, found = score_with_parts(fitted, Batch(X, y), scorer, parts, own_score=False)
    assert score == scorer(fitted, X, y)
    np.testing.assert_allclose(found, slow(fitted, X, y, parts, scorer), rtol=1e-12)


def test_areas_of_three_classes_are_left_to_the_scorer():
    rng = np.random.default_rng(7)
    scorer = get_scorer("roc_auc_ovr")
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    fitted = GaussianNB().fit(X, y)
    parts = [np.arange(80), np.arange(10, 90)]
    score, found = score_with_parts(fitted, Batch(X, y), scorer, parts, own_score=False)
    assert score == scorer(fitted, X, y)
    np.testing.assert_allclose(found, slow(fitted, X, y, parts, scorer), rtol=1e-12)


class Counted(KNeighborsClassifier):
    """Neighbours that count how often they predict."""

    asked = 0

    def predict(self, X):
        self.asked += 1
        return super().predict(X)


@pytest.mark.parametrize("score", [None, "accuracy"])
def test_no_model_predicts_twice(score):
    rng = np.random.default_rng(9)
    fitted = Counted().fit(*rows_of(rng, 40, (0, 1)))
    X, y = rows_of(rng, 30, (0, 1))
    scorer = get_scorer("accuracy") if score else lambda model, X, y: model.score(X, y)
    parts = parts_of(rng, 30)
    whole, found = score_with_parts(fitted, Batch(X, y), scorer, parts, own_score=score is None)
    assert fitted.asked == 1
    assert vars(fitted).get("predict") is None
    assert whole == fitted.score(X, y)
    np.testing.assert_allclose(found, slow(fitted, X, y, parts, scorer), rtol=1e-12)


def test_a_pipeline_predicts_once():
    rng = np.random.default_rng(11)
    fitted = make_pipeline(StandardScaler(), Counted()).fit(*rows_of(rng, 40, (0, 1)))
    X, y = rows_of(rng, 30, (0, 1))
    parts, last = parts_of(rng, 30), fitted.steps[-1][1]
    scorer = lambda model, X, y: model.score(X, y)  # noqa: E731
    whole, found = score_with_parts(fitted, Batch(X, y), scorer, parts, own_score=True)
    assert last.asked == 1
    assert "predict" not in vars(last)
    assert whole == fitted.score(X, y)
    np.testing.assert_allclose(found, slow(fitted, X, y, parts, scorer), rtol=1e-12)


def test_a_pipeline_may_have_sparse_features():
    rng = np.random.default_rng(12)
    fitted = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    fitted.fit(*rows_of(rng, 40, (0, 1)))
    X, y = rows_of(rng, 30, (0, 1))
    parts, scorer = parts_of(rng, 30), get_scorer("accuracy")
    whole, found = score_with_parts(fitted, Batch(X, y), scorer, parts, own_score=False)
    assert whole == fitted.score(X, y)
    np.testing.assert_allclose(found, slow(fitted, X, y, parts, scorer), rtol=1e-12)


class Moody(KNeighborsClassifier):
    """Its own score is not made of its predictions."""

    def score(self, X, y, sample_weight=None):
        return super().score(X, y, sample_weight) / 2 + X.mean()


def test_an_own_score_that_predictions_do_not_give_is_asked_for_every_part():
    rng = np.random.default_rng(10)
    fitted = Moody().fit(*rows_of(rng, 40, (0, 1)))
    X, y = rows_of(rng, 30, (0, 1))
    parts = parts_of(rng, 30)
    scorer = lambda model, X, y: model.score(X, y)  # noqa: E731
    whole, found = score_with_parts(fitted, Batch(X, y), scorer, parts, own_score=True)
    assert whole == fitted.score(X, y)
    np.testing.assert_array_equal(found, slow(fitted, X, y, parts, scorer))


def test_a_valuation_by_areas_covers_its_validation_rows():
    rng = np.random.default_rng(8)
    providers = [
        sb.Provider(name, sb.ArraySource(*rows_of(rng, 80, ("no", "yes")))) for name in "ab"
    ]
    rows = rows_of(rng, 60, ("no", "yes"))
    utility = sb.EstimatorUtility(make_pipeline(StandardScaler(), GaussianNB()), *rows, "roc_auc")
    given = {"sampling": sb.Fresh(20), "n_games": 15, "seed": 0}
    covering = sb.value(providers, utility, **given)
    fixed = sb.value(providers, utility, fixed_validation=True, **given)
    np.testing.assert_array_equal(covering.expectation, fixed.expectation)
    assert (covering.estimate.errors.by_cause["validation"] > 0).all()
    assert (covering.standard_error > fixed.standard_error).all()
