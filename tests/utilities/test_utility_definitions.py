"""Details of utilities that a wrong constant or a missing copy would change."""

from copy import copy

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shapband as sb
from shapband.kernels.careful import logistic as careful
from shapband.records.batch import Batch
from shapband.records.draws import Draws
from shapband.utilities.networks.training import first_weights


@pytest.mark.parametrize("apart", [1e-1, 1e-2, 1e-3, 5e-4, 1e-5, 1e-6])
def test_lda_drops_nearly_dependent_features_where_scikit_learn_does(apart):
    """The standardised rows have a singular value near `apart`; the limit is 1e-4.

    The classes differ in the small direction only, so the accuracy says whether it was dropped.
    """
    rng = np.random.default_rng(3)

    def rows(n):
        labels = np.arange(n) % 2
        common = rng.normal(size=n)
        small = rng.normal(size=n) + 3.0 * labels
        return np.stack([common, common + apart * small], axis=1), labels.astype(float)

    (X, y), (X_val, y_val) = rows(200), rows(400)
    utility = sb.LDAUtility(X_val, y_val)
    found = utility.evaluate([utility.summarise(sb.Batch(X, y))], [0b1])[0]
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert found == pytest.approx(model.score(X_val, y_val), abs=1e-12)
    assert (found > 0.85) == (apart > 1e-4)


class _ChangesItsInput:
    """A transformer that doubles the rows it is given, in place."""

    def transform(self, X):
        X *= 2.0
        return X


@pytest.mark.parametrize("kind", [sb.LinearUtility, sb.LogisticUtility])
def test_a_transformer_that_changes_its_input_does_not_change_the_records(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), (rng.normal(size=40) > 0).astype(float)
    before = X.copy()
    utility = kind(X, y, embed=_ChangesItsInput())
    plain = kind(2.0 * X, y)
    batch = sb.Batch(X, y)
    values = [utility.evaluate([utility.summarise(batch)], [0b1])[0] for _ in range(3)]
    np.testing.assert_array_equal(X, before)
    expected = plain.evaluate([plain.summarise(sb.Batch(2.0 * X, y))], [0b1])[0]
    assert values == pytest.approx([expected] * 3, abs=1e-9)


def test_additive_utilities_of_those_who_take_part_keep_weights_and_empty():
    utility = sb.AdditiveUtility([1.0, 10.0, 100.0], empty=0.5).restricted([0, 2])
    values = utility.evaluate([2.0, 3.0], [0b00, 0b01, 0b10, 0b11])
    assert values.tolist() == [0.5, 0.5 + 2.0, 0.5 + 300.0, 0.5 + 302.0]


@pytest.mark.parametrize("k", [1, 3, 12])
def test_nobody_classifies_neighbours_as_the_most_frequent_label_does(k):
    y_val = np.array([1.0, 0.0, 2.0, 1.0, 1.0, 0.0, 1.0])
    X_val = np.arange(7.0)[:, None]
    utility = sb.NeighborUtility(X_val, y_val, k=k, task="classification")
    assert utility.empty == DummyClassifier(strategy="most_frequent").fit(X_val, y_val).score(
        X_val, y_val
    )
    assert sb.NeighborUtility(X_val, y_val, k=k, task="regression").empty == 0.0


def test_validation_rows_of_a_label_that_a_network_has_not_seen_count_as_wrong():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3
    X[:, 0] += 4.0 * y
    X_val, y_val = X[:45], y[:45].astype(float)
    seen = y[45:] != 2
    records, labels = X[45:][seen], y[45:][seen].astype(float)
    utility = sb.NetworkUtility(X_val, y_val, hidden=(6,), seed=3)
    found = utility.evaluate([utility.summarise(sb.Batch(records, labels))], [0b1])[0]
    model = make_pipeline(
        StandardScaler(), MLPClassifier((6,), solver="lbfgs", random_state=3, max_iter=200)
    ).fit(records, labels)
    assert found == model.score(X_val, y_val)
    assert 0.5 < found <= 2 / 3  # a third of the rows has the label that is not known


def test_training_a_network_leaves_the_first_weights_of_others_as_they_were():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 3)), (rng.normal(size=60) > 0).astype(float)
    one, other = sb.Batch(X[:30], y[:30]), sb.Batch(X[30:], y[30:])

    def value(*batches):
        utility = sb.NetworkUtility(X, y, hidden=(5,), max_iter=7, seed=11)
        return [utility.evaluate([utility.summarise(batch)], [0b1])[0] for batch in batches]

    alone = value(one)[0]
    assert value(other, one, one)[1:] == [alone, alone]
    units = np.array([3, 5, 1])
    # Uniform between the bounds of Glorot, drawn as scikit-learn draws them.
    stream, expected = np.random.RandomState(11), []
    for inputs, outputs in ((3, 5), (5, 1)):
        bound = np.sqrt(6 / (inputs + outputs))
        expected.extend(stream.uniform(-bound, bound, (inputs, outputs)).ravel())
        expected.extend(stream.uniform(-bound, bound, outputs))
    np.testing.assert_array_equal(first_weights(units, 11), expected)


def test_weakly_penalised_fits_along_orders_are_those_of_the_joined_records(monkeypatch):
    """Separable classes leave the quick fit uncertain, so that a slower one gives the value."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(float)
    utility = sb.LogisticUtility(X, y, C=1e6, score="neg_log_loss")
    parts = [sb.Batch(X[at : at + 15], y[at : at + 15]) for at in range(0, 60, 15)]
    games = np.stack([[utility.summarise(part) for part in parts]])
    orders = np.array([[[0, 1, 2, 3], [3, 1, 0, 2], [2, 0, 3, 1]]])
    first = np.broadcast_to(np.arange(3)[None, :, None], (1, 3, 4)).copy()
    uncertain, slow = [], careful.logistic_scores

    def noted(*arguments):
        uncertain.extend(arguments[-2])
        return slow(*arguments)

    monkeypatch.setattr(careful, "logistic_scores", noted)
    found = utility.evaluate_prefixes(games, orders, first)[0]
    assert uncertain
    for order, values in zip(orders[0], found, strict=True):
        for size, value in enumerate(values, start=1):
            rows = np.concatenate([np.arange(15 * at, 15 * at + 15) for at in order[:size]])
            model = LogisticRegression(C=1e6, solver="newton-cholesky", tol=1e-10, max_iter=1000)
            chances = model.fit(X[rows], y[rows]).predict_proba(X)
            assert value == pytest.approx(-log_loss(y, chances), rel=1e-3)


def test_a_table_of_those_who_take_part_keeps_their_coalitions():
    table = sb.TableUtility(np.arange(8.0) ** 2)
    assert table.evaluate([None] * 3, [0, 5, 7]).tolist() == [0.0, 25.0, 49.0]
    assert table.restricted([2, 0]).values.tolist() == [0.0, 16.0, 1.0, 25.0]
    assert table.restricted([1]).values.tolist() == [0.0, 4.0]


def test_a_utility_that_does_not_know_its_values_says_so():
    with pytest.raises(NotImplementedError) as refused:
        sb.TableUtility([0.0, 1.0]).exact_values([[None]])
    assert str(refused.value) == "TableUtility does not know its Shapley values"


def test_copies_of_summaries_and_reports_hold_the_same():
    X, y = np.arange(40.0).reshape(20, 2) ** 1.5, np.arange(20.0)
    utility = sb.LinearUtility(X, y)
    games = utility.summarise_games([Draws.whole(Batch(X, y))] * 2)
    again = copy(games)  # as pickling does
    assert isinstance(again, np.ndarray)
    np.testing.assert_array_equal(utility.evaluate_all(again), utility.evaluate_all(games))
    report = sb.AccessReport({"a": sb.extend.Usage(1, 20, 0.5)})
    assert copy(report) == report
