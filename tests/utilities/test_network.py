"""Networks equal scikit-learn's, and none depends on the others."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import shapband as sb
from shapband.coalitions import members
from shapband.errors import EvaluationError, InvalidInput, SourceError
from shapband.records.batch import Batch, concat
from shapband.utilities.networks.training import Problem, first_weights, predict, train

pytestmark = pytest.mark.filterwarnings("ignore:lbfgs failed to converge")


def batches(seed=0, sizes=(30, 12, 50, 7), n_classes=4, features=5):
    """Records whose classes are where one of a few linear functions is the largest."""
    rng = np.random.default_rng(seed)
    slopes = np.random.default_rng(99).normal(size=(features, n_classes))
    made = []
    for size in sizes:
        X = rng.normal(size=(size, features)) * 3 + rng.normal(size=features)
        noise = rng.normal(size=(size, n_classes))
        made.append(Batch(X, (X @ slopes + noise).argmax(axis=1).astype(float)))
    return made


def pipeline(hidden, seed=0, max_iter=200, alpha=1e-4):
    network = MLPClassifier(
        hidden, solver="lbfgs", random_state=seed, max_iter=max_iter, alpha=alpha
    )
    return make_pipeline(StandardScaler(), network)


def refit(records, coalition, validation, model):
    joined = concat([records[i] for i in members(coalition)])
    return model.fit(joined.X, joined.y).score(validation.X, validation.y)


def weights_of(network):
    layers = zip(network.coefs_, network.intercepts_, strict=True)
    return np.concatenate([np.append(matrix, intercepts) for matrix, intercepts in layers])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("hidden", [(16,), (12, 6), (4, 3, 5)])
@pytest.mark.parametrize("max_iter", [1, 4, 15])
def test_weights_and_loss_equal_scikit_learn(n_classes, hidden, max_iter):
    (batch,) = batches(sizes=[80], n_classes=n_classes)
    model = pipeline(hidden, seed=5, max_iter=max_iter, alpha=0.1)[-1]
    Z = StandardScaler().fit_transform(batch.X)
    model.fit(Z, batch.y)
    units = np.array([5, *hidden, n_classes if n_classes > 2 else 1])
    weights = first_weights(units, seed=5)
    problem = Problem(units, Z, batch.y.astype(np.int64), np.ones(80), 0.1)
    loss, iterations = train(weights, problem, max_iter, 1e-4)
    assert iterations == model.n_iter_
    assert loss == pytest.approx(model.loss_, rel=1e-9)
    np.testing.assert_allclose(weights, weights_of(model), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(predict(weights, units, Z), model.predict(Z))


def test_another_seed_or_penalty_gives_another_network():
    """The control of the test above: the comparison notices small differences."""
    (batch,) = batches(sizes=[80], n_classes=3)
    Z = StandardScaler().fit_transform(batch.X)
    units, found = np.array([5, 8, 3]), []
    for seed, alpha in [(0, 1e-4), (1, 1e-4), (0, 2e-4)]:
        weights = first_weights(units, seed)
        problem = Problem(units, Z, batch.y.astype(np.int64), np.ones(80), alpha)
        train(weights, problem, 15, 1e-4)
        found.append(weights)
    assert np.abs(found[0] - found[1]).max() > 1e-3
    assert np.abs(found[0] - found[2]).max() > 1e-7


@pytest.mark.parametrize("n_classes", [2, 4])
def test_every_coalition_equals_scikit_learn(n_classes):
    records, (validation,) = (
        batches(n_classes=n_classes),
        batches(7, sizes=[200], n_classes=n_classes),
    )
    utility = sb.NetworkUtility(validation.X, validation.y, (10,), max_iter=20, seed=3)
    model = pipeline((10,), seed=3, max_iter=20)
    expected = [refit(records, c, validation, model) for c in range(1, 16)]
    values = utility.evaluate([utility.summarise(batch) for batch in records], range(1, 16))
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)
    assert len(set(values)) > 5


def test_digits_equal_the_network_of_the_paper():
    task = sb.datasets.digits()
    rng = np.random.default_rng(0)
    stocks = [provider.source.records for provider in task.providers]
    records = [batch.take(rng.integers(0, len(batch), 60)) for batch in stocks]
    coalitions = [0b1, 0b11, 0b1010010, 0b1111111111]
    model = pipeline((128, 64), seed=314159, max_iter=300)
    validation = Batch(task.X_val, task.y_val)
    values = task.utility.evaluate([task.utility.summarise(b) for b in records], coalitions)
    expected = [refit(records, c, validation, model) for c in coalitions]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


def test_repeated_records_count_as_often_as_they_occur():
    (batch,), (validation,) = batches(sizes=[40]), batches(7, sizes=[100])
    rows = np.random.default_rng(0).integers(0, 40, 120)
    utility = sb.NetworkUtility(validation.X, validation.y, (8,), max_iter=15)
    summary = utility.summarise(batch.take(rows))
    assert len(summary.y) < 40
    assert summary.count.sum() == 120
    model = pipeline((8,), max_iter=15)
    expected = refit([batch.take(rows)], 1, validation, model)
    assert utility.evaluate([summary], [1])[0] == pytest.approx(expected, abs=1e-12)
    assert expected != refit([batch], 1, validation, model)


def test_alone_equals_together_bit_for_bit():
    records, (validation,) = batches(), batches(7, sizes=[100])
    utility = sb.NetworkUtility(validation.X, validation.y, (8, 4), max_iter=60)
    summaries = [utility.summarise(batch) for batch in records]
    together = utility.evaluate(summaries, range(16))
    alone = [utility.evaluate(summaries, [c])[0] for c in range(15, -1, -1)][::-1]
    np.testing.assert_array_equal(together, alone)
    sb.testing.check_utility(utility, records)


def test_workers_chunks_and_draws_of_different_sizes_keep_the_bits():
    records, (validation,) = batches(), batches(7, sizes=[100])
    providers = [
        sb.Provider(f"p{i}", sb.ArraySource(batch.X, batch.y)) for i, batch in enumerate(records)
    ]
    utility = sb.NetworkUtility(validation.X, validation.y, (6,), max_iter=30)
    settings = {"sampling": sb.Fresh({"p0": 20, "p1": 5, "p2": 50, "p3": 1}), "n_games": 6}
    games = [
        sb.value(providers, utility, **settings, seed=0, **more).games
        for more in ({}, {"n_jobs": 2}, {"chunk_size": 4}, {"n_jobs": 2, "chunk_size": 3})
    ]
    for other in games[1:]:
        np.testing.assert_array_equal(games[0], other)


def test_one_class_is_predicted_everywhere_and_missing_labels_nowhere():
    X = np.arange(10.0)[:, None]
    utility = sb.NetworkUtility(X, [0, 0, 0, 1, 1, 1, 1, 2, 2, 9], (4,), empty=0.25)

    def draw(*labels):
        return utility.summarise(Batch(X[: len(labels)], np.array(labels, dtype=float)))

    one, unknown = draw(1, 1, 1), draw(5, 5)
    assert utility.evaluate([one, unknown], [0, 1, 2]).tolist() == [0.25, 0.4, 0.0]
    assert utility.evaluate([draw(0, 0, 2)], [1])[0] <= 0.5
    assert utility.evaluate([draw(5, 6, 5), draw(7, 5)], [1, 3]).tolist() == [0.0, 0.0]
    assert utility.evaluate([draw(0)], [1])[0] == 0.3  # one record


def test_texts_and_frames_are_as_good_as_numbers():
    records, (validation,) = batches(n_classes=3), batches(7, sizes=[60], n_classes=3)
    words = np.array(["ash", "beech", "cedar"])
    plain = sb.NetworkUtility(validation.X, validation.y, (6,), max_iter=15)
    frame = pd.DataFrame(validation.X, columns=list("abcde"))
    named = sb.NetworkUtility(frame, words[validation.y.astype(int)], (6,), max_iter=15)
    tables = [
        Batch(pd.DataFrame(b.X, columns=list("abcde")), words[b.y.astype(int)]) for b in records
    ]
    np.testing.assert_array_equal(
        plain.evaluate([plain.summarise(b) for b in records], range(16)),
        named.evaluate([named.summarise(b) for b in tables], range(16)),
    )
    with pytest.raises(InvalidInput, match="'oak' does not occur in y_val"):
        named.check_batch(Batch(frame[:1], np.array(["oak"])))


@pytest.mark.parametrize(
    "columns",
    [
        lambda X: np.zeros_like(X),  # all constant
        lambda X: np.full_like(X, 0.1),
        lambda X: X[:, [0, 0, 0]],  # dependent
        lambda X: X * [1e-9, 1.0, 1e9] + [1e6, 0.0, -1e12],
        lambda X: np.column_stack([X] * 30),  # more features than records
    ],
    ids=["zeros", "constants", "dependent", "scales", "wide"],
)
def test_odd_features_equal_scikit_learn(columns):
    (batch,), (validation,) = batches(sizes=[40], features=3), batches(7, [60], features=3)
    batch = Batch(columns(batch.X), batch.y)
    validation = Batch(columns(validation.X), validation.y)
    utility = sb.NetworkUtility(validation.X, validation.y, (5,), max_iter=10)
    expected = refit([batch], 1, validation, pipeline((5,), max_iter=10))
    value = utility.evaluate([utility.summarise(batch)], [1])[0]
    assert value == pytest.approx(expected, abs=1e-12)


def test_values_that_cannot_be_used_are_refused():
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    with pytest.raises(InvalidInput, match="X_val"):
        sb.NetworkUtility([[np.nan, 1.0]], [0])
    with pytest.raises(InvalidInput, match=r"integers or strings; received 0\.5"):
        sb.NetworkUtility(X, [0.0, 0.5, 1.0, 1.0])
    for name, wrong in [
        ("hidden", ()), ("hidden", (0,)), ("hidden", 5), ("hidden", "ab"), ("alpha", -1.0),
        ("alpha", np.nan), ("max_iter", 0), ("seed", -1), ("seed", 2**32), ("empty", np.inf),
    ]:  # fmt: skip
        with pytest.raises(InvalidInput, match=f"NetworkUtility: {name}"):
            sb.NetworkUtility(X, y, **{name: wrong})
    holes = sb.FunctionSource(lambda size, rng: (np.full((size, 2), np.nan), np.zeros(size)))
    with pytest.raises(SourceError, match="NaN or infinite"):
        sb.value([sb.Provider("a", holes)], sb.NetworkUtility(X, y), sampling=sb.Fresh(2))


@pytest.mark.parametrize(
    ("scale", "settings", "reason"),
    [(1e200, {}, "too large to be standardised"), (1.0, {"alpha": 1e308}, "smaller alpha")],
)
def test_a_network_that_cannot_be_trained_stops_the_valuation(scale, settings, reason):
    X = np.arange(8.0).reshape(4, 2)
    utility = sb.NetworkUtility(X, [0, 1, 0, 1], (3,), **settings)
    provider = sb.Provider("far", sb.ArraySource(X * scale, [0.0, 1.0, 0.0, 1.0]))
    with pytest.raises(EvaluationError, match=f"far.*{reason}"):
        sb.value([provider], utility, sampling=sb.Fresh(4), n_games=2)


@pytest.mark.parametrize("seed", range(5))
def test_training_equals_scipy_where_records_contradict_each_other(seed):
    """Random labels make the search hard: steps are rejected and the loss bends."""
    rng = np.random.default_rng(seed)
    units, X = np.array([3, 6, 3]), rng.normal(size=(25, 3))
    problem = Problem(units, X, rng.integers(0, 3, 25), rng.integers(1, 4, 25) * 1.0, 1e-2)

    def loss(weights):
        own, gradient = weights.copy(), np.empty(len(weights))
        from shapband.utilities.networks.training import _Loss

        return _Loss(problem)(own, gradient), gradient

    start = first_weights(units, seed)
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 25, "gtol": 1e-4}
    )
    weights = start.copy()
    value, iterations = train(weights, problem, 25, 1e-4)
    assert iterations == found.nit
    assert value == pytest.approx(found.fun, rel=1e-8)
    np.testing.assert_allclose(weights, found.x, rtol=0, atol=1e-6)


def test_a_large_constant_feature_counts_as_a_constant_zero():
    rng = np.random.default_rng(0)
    X, rows = rng.normal(size=(7, 2)), rng.normal(size=(30, 2))
    y, labels = X[:, 0] > 0, rows[:, 0] > 0

    def valued(constant):
        wide, of_rows = (np.column_stack([A, np.full(len(A), constant)]) for A in (X, rows))
        utility = sb.NetworkUtility(of_rows, labels.astype(int), hidden=(3,), max_iter=8)
        return utility.evaluate([utility.summarise(sb.Batch(wide, y.astype(int)))], [1])[0]

    # The mean of seven such numbers is rounded by 2e7, which would be left as the feature.
    assert valued(-9.98588395e22) == valued(0.0) > 0.7
