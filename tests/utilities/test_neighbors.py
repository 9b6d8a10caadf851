import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import shapband as sb
from shapband.coalitions import members
from shapband.kernels.walks import first_occurrences
from shapband.records.batch import Batch, concat
from shapband.records.draws import Draws
from shapband.utilities.neighbors import MANY_ROWS


def batches(rng, sizes, features, classify):
    made = []
    for size in sizes:
        X = rng.normal(size=(size, features))
        y = (X[:, 0] > 0) + (X.sum(axis=1) > 1) if classify else np.sin(X).sum(axis=1)
        made.append(Batch(X, y.astype(float)))
    return made


def refit(records, coalition, validation, k, classify):
    joined = concat([records[i] for i in members(coalition)])
    kind = KNeighborsClassifier if classify else KNeighborsRegressor
    model = kind(n_neighbors=min(k, len(joined))).fit(joined.X, joined.y)
    predicted = model.predict(validation.X)
    if classify:
        return np.mean(predicted == validation.y)
    return 1 / (1 + np.mean((predicted - validation.y) ** 2))


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("features", [1, 4])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_all_coalitions_equal_scikit_learn(k, features, task):
    rng = np.random.default_rng(k + 10 * features)
    classify = task == "classification"
    records = batches(rng, [12, 3, 20, 8], features, classify)
    validation = batches(rng, [60], features, classify)[0]
    utility = sb.NeighborUtility(validation.X, validation.y, k=k, task=task)
    summaries = [utility.summarise(b) for b in records]
    expected = [refit(records, c, validation, k, classify) for c in range(1, 16)]
    np.testing.assert_allclose(utility.evaluate(summaries, range(1, 16)), expected, atol=1e-12)
    table = utility.evaluate_all(np.stack(summaries)[None])
    np.testing.assert_allclose(table[0, 1:], expected, atol=1e-12)
    orders = np.argsort(rng.random((1, 5, 4)), axis=2)
    walked = utility.evaluate_prefixes(np.stack(summaries)[None], orders, first_occurrences(orders))
    masks = np.cumsum(1 << orders, axis=2)
    np.testing.assert_allclose(walked, table[0][masks], atol=1e-13)


@pytest.mark.parametrize("features", [1, 2])
@pytest.mark.parametrize("k", [1, 3])
def test_tied_distances_do_not_depend_on_the_order_of_records(k, features):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(30, features)).astype(float)
    y = rng.integers(0, 3, size=30).astype(float)
    utility = sb.NeighborUtility(rng.integers(0, 4, size=(25, features)), rng.normal(size=25), k=k)
    straight = utility.summarise(Batch(X, y))
    for _ in range(5):
        order = rng.permutation(30)
        np.testing.assert_array_equal(utility.summarise(Batch(X[order], y[order])), straight)


def test_labels_may_be_words():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    words = np.array(["low", "low", "high", "high"])
    utility = sb.NeighborUtility(X, words, k=1, task="classification")
    summary = utility.summarise(Batch(X[[0, 3]], words[[0, 3]]))
    assert utility.evaluate([summary], [1]).tolist() == [1.0]
    with pytest.raises(sb.errors.InvalidInput, match="middle"):
        utility.summarise(Batch(X[:1], np.array(["middle"])))


def distinct(rng, sizes, features, classify):
    """Records without ties, which scikit-learn orders otherwise."""
    batches = []
    for size in sizes:
        X = rng.normal(size=(size, features))
        y = rng.integers(0, 3, size=size) if classify else rng.normal(size=size)
        batches.append(Batch(X, y.astype(float)))
    return batches


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("k", [1, 4, 9, 21, 40, 1000])
def test_any_number_of_neighbours_and_weights_equal_scikit_learn(k, weights, task):
    rng = np.random.default_rng(k)
    classify = task == "classification"
    batches = distinct(rng, [30, 12, 25], 3, classify)
    rows = distinct(rng, [300], 3, classify)[0]
    # Some validation rows are records, at distance 0, and one of them occurs twice.
    rows.X[:5], batches[1].X[0], batches[1].y[0] = (
        batches[0].X[:5],
        batches[0].X[0],
        batches[0].y[0],
    )
    utility = sb.NeighborUtility(rows.X, rows.y, k, task, "neg_mse", weights=weights)
    games = utility.summarise_games([Draws.whole(b) for b in batches])
    found = utility.evaluate_all(games)[0]
    kind = KNeighborsClassifier if classify else KNeighborsRegressor
    for coalition in range(1, 8):
        joined = concat([batches[i] for i in members(coalition)])
        # The brute force of scikit-learn loses half the digits of small distances.
        model = kind(min(k, len(joined)), weights=weights, algorithm="kd_tree")
        model.fit(joined.X, joined.y)
        predicted = model.predict(rows.X)
        mse = np.mean((predicted - rows.y) ** 2)
        expected = np.mean(predicted == rows.y) if classify else -mse
        assert found[coalition] == pytest.approx(expected, rel=1e-9)
    assert found[0] == utility.empty


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_many_neighbours_conform(weights):
    rng = np.random.default_rng(0)
    batches = [(b.X, b.y) for b in distinct(rng, [30, 9, 12], 2, False)]
    utility = sb.NeighborUtility(
        rng.normal(size=(40, 2)), rng.normal(size=40), k=25, weights=weights
    )
    sb.testing.check_utility(utility, batches)
    assert ("weights='distance'" in repr(utility)) == (weights == "distance")


def test_lists_are_no_longer_than_a_draw():
    rng = np.random.default_rng(0)
    utility = sb.NeighborUtility(rng.normal(size=(40, 2)), rng.normal(size=40), k=500)
    games = utility.summarise_games([Draws.whole(b) for b in distinct(rng, [7, 9], 2, False)])
    assert games.shape == (1, 2, 2, 9, 40)
    assert utility.summary_floats(9) == 2 * 9 * 40


def test_unknown_weights_are_refused():
    with pytest.raises(sb.errors.InvalidInput, match="weights must be 'uniform' or 'distance'"):
        sb.NeighborUtility([[0.0], [1.0]], [0.5, 1.0], weights="inverse")


@pytest.mark.parametrize(("k", "weights"), [(1, "uniform"), (3, "uniform"), (3, "distance")])
def test_a_loss_that_is_not_a_number_is_never_the_value_of_nobody(k, weights):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    utility = sb.NeighborUtility(X, y, k=k, weights=weights, empty=7.0)
    utility._y[3] = np.nan  # as if an unknown target had come through the checks
    summaries = np.stack([utility.summarise(sb.Batch(X[:6], y[:6]))] * 2)
    inside = np.array([[0, 0], [1, 0], [1, 1]], dtype=np.uint8)
    orders = np.array([[[0, 1]]])
    table = utility.evaluate_all(summaries[None])[0]
    assert table[0] == 7.0
    assert np.isnan(table[1:]).all()
    rows = utility.evaluate_rows(summaries[None], inside, np.zeros(3, dtype=np.int64))
    assert rows[0] == 7.0
    assert np.isnan(rows[1:]).all()
    walked = utility.evaluate_prefixes(summaries[None], orders, first_occurrences(orders))
    assert np.isnan(walked).all()


def test_an_unknown_target_as_a_string_does_not_give_everybody_the_same_value():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    texts = y.astype(str)
    texts[3] = "nan"
    providers = [sb.Provider(name, sb.ArraySource(X, y)) for name in ("a", "b")]

    def value():
        utility = sb.NeighborUtility(X, texts, task="regression")
        return sb.value(providers, utility, sampling=sb.Fresh(6), n_games=2)

    with pytest.raises(sb.errors.ShapbandError):
        value()


def test_distances_of_tiny_features_do_not_vanish():
    """Squares of 1e-170 are zero in floats, which would tie all records."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    values = []
    for unit in (1.0, 2.0**-600, 2.0**600):
        utility = sb.NeighborUtility(X * unit, y, k=2)
        values.append(utility.evaluate([utility.summarise(sb.Batch(X[:6] * unit, y[:6]))], [1])[0])
    assert values[0] == values[1] == values[2]


def test_many_validation_rows_have_the_same_values_and_the_same_bits_for_any_workers(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 30, 2))
    y = X.sum(axis=2) + rng.normal(size=(5, 30))
    providers = [sb.Provider(f"p{i}", sb.ArraySource(X[i], y[i])) for i in range(5)]
    X_val = rng.normal(size=(MANY_ROWS, 2))
    utility = sb.NeighborUtility(X_val, X_val.sum(axis=1), k=3, task="regression")
    given = {"sampling": sb.Fresh(10), "solver": sb.Exact(), "n_games": 4, "seed": 1}
    whole = sb.value(providers, utility, **given).games
    for other in ({"chunk_size": 1}, {"chunk_size": 2, "n_jobs": 2}):
        assert np.array_equal(whole, sb.value(providers, utility, **given, **other).games)
    monkeypatch.setattr("shapband.utilities.neighbors.MANY_ROWS", MANY_ROWS + 1)
    few = sb.value(providers, utility, **given).games
    np.testing.assert_allclose(whole, few, rtol=1e-11)
