"""Classifiers made from sums: Gaussian naive Bayes and linear discriminant analysis."""

import warnings

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import get_scorer
from sklearn.naive_bayes import GaussianNB

import shapband as sb
from shapband.coalitions import members
from shapband.records.batch import Batch, concat
from shapband.records.draws import Draws
from shapband.utilities.classification import CLASS_SCORES

MODELS = [(sb.GaussianNBUtility, GaussianNB()), (sb.LDAUtility, LinearDiscriminantAnalysis())]
both = pytest.mark.parametrize(("kind", "model"), MODELS, ids=["bayes", "lda"])


def labelled(rng, size, classes=3, features=4, units=1.0):
    y = rng.integers(0, classes, size=size)
    X = rng.normal(size=(size, features)) + 0.8 * y[:, None] * np.arange(features)
    return Batch(X * units, y.astype(float))


def table(utility, batches):
    games = utility.summarise_games([Draws.whole(b) for b in batches])
    return utility.evaluate_all(games)[0]


class Padded:
    """A fitted classifier that gives labels it has not seen the probability 0."""

    _estimator_type = "classifier"

    def __init__(self, model, labels):
        self.model, self.classes_ = model, labels

    def __sklearn_tags__(self):
        return self.model.__sklearn_tags__()

    def fit(self, X, y):
        raise NotImplementedError

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        proba = np.zeros((len(X), len(self.classes_)))
        proba[:, np.isin(self.classes_, self.model.classes_)] = self.model.predict_proba(X)
        return proba


def refit(model, batches, coalition, validation, score):
    joined = concat([batches[i] for i in members(coalition)])
    labels = np.unique(validation.y)
    fitted = Padded(model.fit(joined.X, joined.y), labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return get_scorer(score)(fitted, validation.X, validation.y)


@both
@pytest.mark.parametrize("score", CLASS_SCORES)
@pytest.mark.parametrize("units", [1.0, np.array([1.0, 1e4, 1e-3, 30.0])], ids=["one", "mixed"])
def test_all_coalitions_equal_scikit_learn(kind, model, score, units):
    rng = np.random.default_rng(0)
    classes = 2 if score == "roc_auc" else 3
    batches = [labelled(rng, size, classes, units=units) for size in (12, 25, 9, 30)]
    validation = labelled(rng, 300, classes, units=units)
    utility = kind(validation.X, validation.y, score)
    found = table(utility, batches)
    expected = [refit(model, batches, c, validation, score) for c in range(1, 16)]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-8)
    assert found[0] == utility.empty


@both
def test_wine_accuracies_are_those_of_scikit_learn(kind, model, wine):
    rng = np.random.default_rng(1)
    batches = []
    for provider in wine.providers[:6]:
        drawn = provider.source.take(rng.choice(provider.source.size, 60, False))
        batches.append(Batch(drawn.X, (drawn.y >= 6).astype(float)))
    validation = Batch(wine.X_val, (wine.y_val >= 6).astype(float))
    found = table(kind(validation.X, validation.y), batches)
    expected = [refit(model, batches, c, validation, "accuracy") for c in range(1, 64)]
    np.testing.assert_array_equal(found[1:], expected)


@both
@pytest.mark.parametrize("score", ["accuracy", "neg_log_loss"])
def test_labels_that_a_coalition_has_not_seen(kind, model, score):
    rng = np.random.default_rng(2)
    batches = [labelled(rng, 20) for _ in range(3)]
    batches[0].y[:] = 1.0
    batches[1].y[:] = rng.integers(0, 2, size=20)
    validation = labelled(rng, 100)
    found = table(kind(validation.X, validation.y, score), batches)
    expected = [refit(model, batches, c, validation, score) for c in range(2, 8)]
    np.testing.assert_allclose(found[2:], expected, rtol=1e-8)
    right = np.mean(validation.y == 1)
    # Probabilities are 0 and 1, which the log loss clips.
    alone = right if score == "accuracy" else (1 - right) * np.log(np.finfo(float).eps)
    assert found[1] == pytest.approx(alone)


@both
def test_features_that_do_not_vary(kind, model):
    rng = np.random.default_rng(3)
    batches, validation = [labelled(rng, 20) for _ in range(2)], labelled(rng, 100)
    for b in [*batches, validation]:
        b.X[:, 1] = 0.1
    batches[0].X[:, 2] = 7.0
    found = table(kind(validation.X, validation.y, "neg_log_loss"), batches)
    varying = [Batch(b.X[:, [0, 2, 3]], b.y) for b in batches]
    rows = Batch(validation.X[:, [0, 2, 3]], validation.y)
    if kind is sb.LDAUtility:  # naive Bayes gives a constant feature a tiny variance
        varying[0] = Batch(batches[0].X[:, [0, 3]], batches[0].y)
        alone = refit(model, varying[:1], 1, Batch(validation.X[:, [0, 3]], rows.y), "neg_log_loss")
        assert found[1] == pytest.approx(alone, rel=1e-8)
    else:
        # Squared distances divided by it are 1e10, and round to 1e-6, in both.
        assert found[1] == pytest.approx(
            refit(model, batches, 1, validation, "neg_log_loss"), rel=1e-6
        )
    alone = refit(model, varying[1:], 1, rows, "neg_log_loss")
    assert found[2] == pytest.approx(alone, rel=1e-8)


@pytest.mark.parametrize("case", ["collinear", "few records"])
def test_dependent_features_are_treated_as_by_the_svd_solver(case):
    rng = np.random.default_rng(4)
    features, sizes = (6, [30, 40]) if case == "collinear" else (25, [10, 12])
    batches = [labelled(rng, size, features=features) for size in sizes]
    validation = labelled(rng, 100, features=features)
    if case == "collinear":
        for b in [*batches, validation]:
            b.X[:, 5] = 2 * b.X[:, 0] - b.X[:, 1] + 3
    found = table(sb.LDAUtility(validation.X, validation.y, "neg_log_loss"), batches)
    model = LinearDiscriminantAnalysis()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [refit(model, batches, c, validation, "neg_log_loss") for c in (1, 2, 3)]
    np.testing.assert_allclose(found[1:], expected, rtol=1e-7)


@both
def test_records_that_tell_nothing_leave_the_frequencies(kind, model):
    X, y = np.ones((3, 2)), np.array([0.0, 1.0, 1.0])
    rng = np.random.default_rng(0)
    utility = kind(rng.normal(size=(4, 2)), [0, 1, 1, 1], "neg_log_loss")
    value = utility.evaluate([utility.summarise(Batch(X, y))], [1])[0]
    assert value == pytest.approx((np.log(1 / 3) + 3 * np.log(2 / 3)) / 4)
    singles = utility.summarise(Batch(rng.normal(size=(2, 2)), np.array([0.0, 1.0])))
    assert np.isfinite(utility.evaluate([singles], [1])[0])
    if kind is sb.LDAUtility:
        assert utility.evaluate([singles], [1])[0] == pytest.approx(np.log(0.5))


@both
@pytest.mark.parametrize("labels", ["numbers", "texts"])
def test_conformance_and_labels_as_texts(kind, model, labels):
    rng = np.random.default_rng(5)
    names = np.array(["low", "middle", "high"]) if labels == "texts" else np.arange(3.0)
    batches = [labelled(rng, size) for size in (20, 30, 15)]
    named = [(b.X, names[b.y.astype(int)]) for b in batches]
    validation = labelled(rng, 50)
    utility = kind(validation.X, names[validation.y.astype(int)], "neg_brier_score", empty=-1.5)
    sb.testing.check_utility(utility, named)
    assert utility.empty == -1.5
    expected = table(kind(validation.X, validation.y, "neg_brier_score"), batches)
    found = table(utility, [Batch(*one) for one in named])
    np.testing.assert_allclose(found[1:], expected[1:], rtol=1e-12)


@both
def test_what_is_refused(kind, model):
    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(sb.errors.InvalidInput, match="score must be one of"):
        kind(X, [0, 1, 1], "r2")
    with pytest.raises(sb.errors.InvalidInput, match="integers or strings"):
        kind(X, [0.5, 1, 1])
    utility = kind(X, [0, 1, 1])
    with pytest.raises(sb.errors.InvalidInput, match=r"label 2.0 does not occur in y_val"):
        utility.check_batch(Batch(X, np.array([0.0, 2.0, 1.0])))
    with pytest.raises(sb.errors.InvalidInput, match="var_smoothing must be positive"):
        sb.GaussianNBUtility(X, [0, 1, 1], var_smoothing=0.0)


@both
def test_valuations_do_not_depend_on_workers_or_chunks(kind, model):
    rng = np.random.default_rng(6)
    sources = [labelled(rng, 60) for _ in range(4)]
    providers = [sb.Provider(f"p{i}", sb.ArraySource(b.X, b.y)) for i, b in enumerate(sources)]
    validation = labelled(rng, 80)
    utility = kind(validation.X, validation.y)
    arguments = {"sampling": sb.Fresh(20), "n_games": 12, "seed": 0}
    one = sb.value(providers, utility, **arguments)
    other = sb.value(providers, utility, **arguments, n_jobs=2, chunk_size=5)
    np.testing.assert_array_equal(one.games, other.games)
    walked = sb.value(providers, utility, solver=sb.Permutation(40), **arguments)
    np.testing.assert_allclose(walked.expectation, one.expectation, atol=0.05)


@both
@pytest.mark.parametrize("score", list(CLASS_SCORES))
@pytest.mark.parametrize("draw", [0, 1, 2, 12])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_arcs_are_the_rows_of_their_members(kind, model, score, draw, offset):
    """Draws of 0, 1 and 2 records, and features that are constant, duplicate or far from 0."""
    rng = np.random.default_rng(draw)

    def drawn(size):
        batch = labelled(rng, size, classes=2)
        X = np.column_stack([batch.X, batch.X[:, :1], np.ones(size)]) + offset
        return Batch(X, batch.y)

    validation = drawn(60)
    utility = kind(validation.X, validation.y, score)
    games = utility.summarise_games([Draws.whole(drawn(draw)) for _ in range(23)])
    circles = np.argsort(rng.random((1, 2, 23)), axis=2)
    arcs = np.array([(0, r, size) for r in range(2) for size in (1, 2, 3, 9, 22)])
    found = utility.evaluate_arcs(games, circles, arcs)
    expected = sb.Utility.evaluate_arcs(utility, games, circles, arcs)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert (len(np.unique(found)) == 1) == (draw == 0)


@both
def test_neither_chunks_nor_workers_change_a_bit_of_arcs(kind, model):
    rng = np.random.default_rng(3)
    validation = labelled(rng, 50)
    batches = [labelled(rng, 40) for _ in range(25)]
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(batch.X, batch.y)) for i, batch in enumerate(batches)
    ]
    utility = kind(validation.X, validation.y, "neg_brier_score")
    given = {"sampling": sb.Fresh(12), "solver": sb.Arcs(8), "n_games": 5, "seed": 4}
    whole = sb.value(providers, utility, **given)
    for other in ({"chunk_size": 2}, {"n_jobs": 2}):
        assert np.array_equal(whole.games, sb.value(providers, utility, **given, **other).games)
