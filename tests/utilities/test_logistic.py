import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, get_scorer, log_loss
from sklearn.preprocessing import StandardScaler

import shapband as sb
from shapband.coalitions import members
from shapband.kernels.walks import first_occurrences
from shapband.records.batch import concat
from shapband.utilities.logistic import WIDE

SCORES = ["accuracy", "neg_log_loss", "roc_auc", "neg_brier_score"]


def labelled(rng, size, features, classes, noise=0.7):
    """Records of different scales, labelled by a noisy sum of their first features."""
    Z = rng.normal(size=(size, features))
    levels = Z[:, :3].sum(axis=1) + noise * rng.normal(size=size)
    edges = np.linspace(-1.0, 1.0, classes + 1)[1:-1]
    X = Z * np.geomspace(0.05, 40.0, features) + np.linspace(-5, 30, features)
    return sb.Batch(X, np.searchsorted(edges, levels).astype(float))


def refitted(batch, C):
    """Scikit-learn's model at a tight tolerance."""
    model = LogisticRegression(C=C, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    return model.fit(batch.X, batch.y)


def tables(utility, batches):
    """Values of all coalitions, from a table, in single calls and along permutations."""
    summaries = [utility.summarise(batch) for batch in batches]
    n = len(batches)
    table = utility.evaluate_all([summaries])[0]
    alone = [utility.evaluate(summaries, [c])[0] for c in range(1 << n)]
    orders = np.argsort(np.random.default_rng(0).random((1, 12, n)), axis=2)
    walked = utility.evaluate_prefixes([summaries], orders, first_occurrences(orders))
    return table, np.array(alone), (walked, np.cumsum(1 << orders, axis=2))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("score", SCORES)
def test_all_coalitions_equal_scikit_learn(classes, C, score):
    if score == "roc_auc" and classes > 2:
        pytest.skip("the AUC is defined for two labels")
    rng = np.random.default_rng(classes)
    batches = [labelled(rng, size, 4, classes) for size in (25, 12, 40, 31)]
    validation = labelled(rng, 200, 4, classes)
    utility = sb.LogisticUtility(validation.X, validation.y, C, score)
    table, alone, (walked, masks) = tables(utility, batches)
    scorer = get_scorer(score)
    models = [refitted(concat([batches[i] for i in members(c)]), C) for c in range(1, 16)]
    expected = [scorer(model, validation.X, validation.y) for model in models]
    np.testing.assert_allclose(table[1:], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(alone, table, rtol=0, atol=1e-10)
    np.testing.assert_allclose(walked, table[masks], rtol=0, atol=1e-10)
    loose = LogisticRegression(C=C, tol=0.3).fit(*_pair(batches[0]))
    if score not in ("accuracy", "roc_auc"):
        # The comparison would notice a model that has not converged.
        assert abs(scorer(loose, validation.X, validation.y) - table[1]) > 1e-7


def _pair(batch):
    return batch.X, batch.y


@pytest.mark.parametrize("score", SCORES)
def test_the_empty_coalition_is_worth_a_dummy_model(score):
    validation = labelled(np.random.default_rng(0), 50, 2, 2)
    utility = sb.LogisticUtility(validation.X, validation.y, score=score)
    dummy = DummyClassifier().fit(validation.X, validation.y)
    expected = get_scorer(score)(dummy, validation.X, validation.y)
    assert utility.empty == pytest.approx(expected, abs=1e-12)
    assert utility.baseline
    summary = utility.summarise(validation)
    assert utility.evaluate([summary], [0]).tolist() == [utility.empty]
    assert sb.LogisticUtility(validation.X, validation.y, score=score, empty=0.25).empty == 0.25


def test_one_label_is_always_predicted():
    X, y = np.arange(8.0).reshape(-1, 1), np.array([0.0] * 5 + [1.0] * 3)
    alone = sb.Batch(X[:2], y[:2])
    expected = {
        "accuracy": accuracy_score(y, np.zeros(8)),
        "neg_log_loss": -log_loss(y, np.tile([1.0, 0.0], (8, 1))),
        "roc_auc": 0.5,
        "neg_brier_score": -brier_score_loss(y, np.zeros(8)),
    }
    for score, value in expected.items():
        utility = sb.LogisticUtility(X, y, score=score)
        found = utility.evaluate([utility.summarise(alone)], [1])[0]
        assert found == pytest.approx(value, rel=1e-12)


def test_labels_that_only_one_side_has():
    rng = np.random.default_rng(1)
    validation, records = labelled(rng, 60, 3, 3), labelled(rng, 80, 3, 3)
    names = np.array(["a", "b", "c"])
    seen = records.y != 1  # no record is labelled "b"
    batch = sb.Batch(records.X[seen], names[records.y.astype(int)][seen])
    model = refitted(batch, 1.0)
    chances = np.insert(model.predict_proba(validation.X), 1, 0.0, axis=1)
    y_val = names[validation.y.astype(int)]
    utility = sb.LogisticUtility(validation.X, y_val, score="neg_log_loss")
    found = utility.evaluate([utility.summarise(batch)], [1])[0]
    assert found == pytest.approx(-log_loss(y_val, chances, labels=names), rel=1e-9)
    # Labels "c" and "d" do not occur in y_val, and are different classes.
    names = np.array(["a", "c", "d"])
    others = sb.Batch(records.X, names[records.y.astype(int)])
    model = refitted(others, 1.0)
    y_val = np.array(["a", "b"])[(validation.y > 0).astype(int)]
    accuracy = sb.LogisticUtility(validation.X, y_val)
    halves = [others.take(np.arange(40)), others.take(np.arange(40, 80))]
    found = accuracy.evaluate([accuracy.summarise(half) for half in halves], [3])[0]
    assert found == np.mean(model.predict(validation.X) == y_val)
    assert 0 < found < 1


def test_the_brier_score_is_on_one_scale_for_all_coalitions():
    """Half the squared distance, as for two labels, even if a coalition has a third one."""
    rng = np.random.default_rng(2)
    validation, records = labelled(rng, 60, 3, 2), labelled(rng, 80, 3, 3)
    two = sb.Batch(records.X[records.y < 2], records.y[records.y < 2])
    utility = sb.LogisticUtility(validation.X, validation.y, score="neg_brier_score")
    for batch in (two, records):
        chances = refitted(batch, 1.0).predict_proba(validation.X)
        true = validation.y[:, None] == np.arange(chances.shape[1])
        expected = -0.5 * ((chances - true) ** 2).sum(axis=1).mean()
        found = utility.evaluate([utility.summarise(batch)], [1])[0]
        assert found == pytest.approx(expected, rel=1e-9)
    assert utility.empty == pytest.approx(-np.mean(validation.y) * (1 - np.mean(validation.y)))


def test_labels_may_be_numbers_texts_or_truth_values():
    batch = labelled(np.random.default_rng(2), 40, 2, 2)
    values = []
    for labels in (
        np.array([0, 1]),
        np.array([3, 7]),
        np.array(["x", "y"]),
        np.array([False, True]),
    ):
        source = sb.ArraySource(batch.X, labels[batch.y.astype(int)])
        utility = sb.LogisticUtility(batch.X, labels[batch.y.astype(int)], score="neg_log_loss")
        values.append(utility.evaluate([utility.summarise(source.records)], [1])[0])
    assert len(set(values)) == 1


@pytest.mark.parametrize(
    ("kind", "C"),
    [("separable", 1e6), ("constant", 1.0), ("collinear", 1.0), ("wide", 1.0), ("outlier", 1.0)],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_hard_coalitions_equal_scikit_learn(kind, C, classes):
    rng = np.random.default_rng(3)
    features = 40 if kind == "wide" else 4
    noise = 0.0 if kind == "separable" else 0.7
    batches = [labelled(rng, 20, features, classes, noise) for _ in range(3)]
    for batch in batches:
        if kind == "constant":
            batch.X[:, 2] = 17.5
        if kind == "collinear":
            batch.X[:, 2] = 2.0 * batch.X[:, 1] - 3.0
        if kind == "outlier":
            batch.X[0, 1] = 1e5
    validation = labelled(rng, 150, features, classes)
    utility = sb.LogisticUtility(validation.X, validation.y, C, "neg_brier_score")
    table, alone, (walked, masks) = tables(utility, batches)
    np.testing.assert_allclose(alone, table, rtol=0, atol=1e-9)
    np.testing.assert_allclose(walked, table[masks], rtol=0, atol=1e-9)
    scorer = get_scorer("neg_brier_score")
    for coalition in range(1, 8):
        joined = concat([batches[i] for i in members(coalition)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ill-conditioned, though solved
            model = refitted(joined, C)
        expected = scorer(model, validation.X, validation.y)
        assert table[coalition] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_one_record_and_one_feature(n):
    X = np.arange(6.0).reshape(-1, 1)  # rows at the same distance from two labels are ties
    utility = sb.LogisticUtility(X, X[:, 0] > 2)
    batches = [sb.Batch(X[[i]], np.array([float(i > 2)])) for i in range(n)]
    table, alone, _ = tables(utility, batches)
    np.testing.assert_array_equal(table, alone)
    for coalition in range(1, 1 << n):
        labels = {float(i > 2) for i in members(coalition)}
        if len(labels) == 1:
            assert table[coalition] == 0.5


@pytest.mark.filterwarnings("ignore::shapband.errors.UnseenLabels")
def test_same_bits_for_any_workers_and_chunks():
    rng = np.random.default_rng(4)
    sources = [sb.ArraySource(*_pair(labelled(rng, 60, 3, 3))) for _ in range(4)]
    providers = [sb.Provider(f"p{i}", source) for i, source in enumerate(sources)]
    validation = labelled(rng, 90, 3, 3)
    utility = sb.LogisticUtility(validation.X, validation.y, score="neg_log_loss")
    options = {"sampling": sb.Fresh({"p0": 30, "p1": 8, "p2": 15, "p3": 20}), "n_games": 6}
    for solver in (sb.Exact(), sb.Permutation(3), sb.Strata(15)):
        one = sb.value(providers, utility, solver=solver, seed=1, **options)
        for more in ({"n_jobs": 2}, {"chunk_size": 4}):
            other = sb.value(providers, utility, solver=solver, seed=1, **options, **more)
            np.testing.assert_array_equal(one.games, other.games)


def test_a_transformer_is_applied_once_to_each_source():
    rng = np.random.default_rng(5)
    batches = [labelled(rng, 40, 3, 2) for _ in range(3)]
    validation = labelled(rng, 80, 3, 2)
    scaler = StandardScaler().fit(validation.X)
    calls = []

    class Counted:
        def transform(self, X):
            calls.append(len(X))
            return RBFSampler(n_components=20, random_state=0).fit(X).transform(scaler.transform(X))

    providers = [sb.Provider(str(i), sb.ArraySource(*_pair(b))) for i, b in enumerate(batches)]
    utility = sb.LogisticUtility(validation.X, validation.y, score="roc_auc", embed=Counted())
    valued = sb.value(providers, utility, sampling=sb.Fresh(30), n_games=5, seed=0)
    assert calls == [80, 1, 40, 40, 40]  # with one row alone, to check the transformer
    embedded = [sb.ArraySource(Counted().transform(b.X), b.y) for b in batches]
    providers = [sb.Provider(str(i), source) for i, source in enumerate(embedded)]
    plain = sb.LogisticUtility(Counted().transform(validation.X), validation.y, score="roc_auc")
    expected = sb.value(providers, plain, sampling=sb.Fresh(30), n_games=5, seed=0)
    np.testing.assert_array_equal(valued.games, expected.games)


def test_a_transformer_may_take_frames_with_texts():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", "blue"]})

    class Encoder:
        def transform(self, X):
            return np.column_stack([X["size"], X["colour"] == "red"])

    y = np.array([0.0, 0.0, 1.0, 1.0])
    utility = sb.LogisticUtility(frame, y, embed=Encoder())
    sb.testing.check_utility(utility, [sb.Batch(frame, y)] * 2)
    with pytest.raises(sb.errors.InvalidInput, match="numeric"):
        sb.LogisticUtility(frame, y)


@pytest.mark.parametrize("score", SCORES)
def test_conforms(score):
    rng = np.random.default_rng(6)
    validation = labelled(rng, 50, 3, 2)
    batches = [labelled(rng, 30, 3, 2) for _ in range(3)]
    sb.testing.check_utility(sb.LogisticUtility(validation.X, validation.y, score=score), batches)


@pytest.mark.parametrize("classes", [2, 3])
def test_numbers_too_large_are_an_error_and_no_value(classes):
    batch = labelled(np.random.default_rng(0), 30, 2, classes)
    utility = sb.LogisticUtility(batch.X, batch.y)
    batch.X[3, 1] = 1e200
    provider = sb.Provider("north", sb.ArraySource(batch.X, batch.y))
    with pytest.raises(sb.errors.InvalidInput, match=r"'north'.*feature 1 holds 1e\+200"):
        sb.value([provider], utility, sampling=sb.Fresh(30), n_games=2)


X, Y = np.arange(6.0).reshape(-1, 1), np.array([0, 1, 0, 1, 1, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"C": 0.0}, "C must be positive"),
        ({"C": "1"}, "C must be a finite number"),
        ({"score": "r2"}, "score must be one of accuracy"),
        ({"score": "roc_auc", "y_val": [0, 1, 2, 0, 1, 2]}, "two labels in y_val; received 3"),
        ({"score": "roc_auc", "y_val": [1] * 6}, "two labels in y_val; received 1"),
        ({"y_val": [0.5, 1, 0, 1, 0, 1]}, "integers or strings; received 0.5"),
        ({"empty": "nothing"}, "empty must be a finite number"),
        ({"embed": StandardScaler}, "embed must be a fitted transformer"),
        ({"embed": StandardScaler()}, "embed cannot transform the rows .NotFittedError"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(sb.errors.InvalidInput, match=message):
        sb.LogisticUtility(**({"X_val": X, "y_val": Y} | arguments))


@pytest.mark.parametrize(
    ("y", "message"),
    [([0.5, 1.0], "integers or strings; received 0.5"), (["a", "b"], "labels are strings")],
)
def test_bad_labels_of_a_provider(y, message):
    provider = sb.Provider("north", sb.ArraySource(X[:2], y))
    with pytest.raises(sb.errors.InvalidInput, match=f"'north'.*{message}"):
        sb.value([provider], sb.LogisticUtility(X, Y), sampling=sb.Fresh(1), n_games=3)


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
def test_wine_games_equal_scikit_learn(classes):
    """All coalitions of 20 games of ten providers, 60 records each."""
    task = sb.datasets.wine()
    edges = [6] if classes == 2 else [6, 7]
    y_val = np.searchsorted(edges, task.y_val, "right").astype(float)
    utility = sb.LogisticUtility(task.X_val, y_val)
    rng = np.random.default_rng(7)
    for _ in range(20):
        records = [p.source.records for p in task.providers]
        batches = [r.take(rng.choice(len(r), 60, replace=False)) for r in records]
        batches = [
            sb.Batch(b.X, np.searchsorted(edges, b.y, "right").astype(float)) for b in batches
        ]
        table = utility.evaluate_all([[utility.summarise(b) for b in batches]])[0]
        for coalition in range(1, 1024):
            joined = concat([batches[i] for i in members(coalition)])
            if np.ptp(joined.y) > 0:
                expected = refitted(joined, 1.0).score(task.X_val, y_val)
            else:  # scikit-learn refuses records of one class
                expected = np.mean(y_val == joined.y[0])
            assert table[coalition] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sizes", [[12, 15, 9, 30], [90, 70, 80]])
@pytest.mark.parametrize("score", ["accuracy", "neg_log_loss"])
def test_many_features_equal_scikit_learn(sizes, score):
    """Some features are constant, repeated or on another scale; one provider has one label."""
    rng = np.random.default_rng(0)
    batches = [labelled(rng, size, WIDE + 3, 2) for size in [*sizes, 60]]
    for batch in batches:
        batch.X[:, 1] = 1.0
        batch.X[:, 2] = batch.X[:, 3]
        batch.X[:, 4] *= 30.0
    validation = batches.pop()
    batches[0].y[:] = batches[0].y[0]
    utility = sb.LogisticUtility(validation.X, validation.y, score=score)
    table = utility.evaluate_all([[utility.summarise(batch) for batch in batches]])[0]
    for coalition in range(2, 1 << len(batches)):
        model = refitted(concat([batches[i] for i in members(coalition)]), 1.0)
        expected = get_scorer(score)(model, validation.X, validation.y)
        np.testing.assert_allclose(table[coalition], expected, rtol=1e-6)  # theirs has 7 digits


def test_many_features_have_the_same_bits_for_any_workers_and_chunks():
    rng = np.random.default_rng(1)
    batches = [labelled(rng, 60, WIDE, 2) for _ in range(5)]
    providers = [sb.Provider(f"p{i}", sb.ArraySource(b.X, b.y)) for i, b in enumerate(batches[:4])]
    utility = sb.LogisticUtility(batches[4].X, batches[4].y, score="neg_log_loss")
    for solver in (sb.Exact(), sb.Permutation(3)):
        given = {"sampling": sb.Fresh(30), "solver": solver, "n_games": 5, "seed": 4}
        whole = sb.value(providers, utility, **given)
        for other in ({"chunk_size": 1}, {"chunk_size": 2, "n_jobs": 2}):
            assert np.array_equal(whole.games, sb.value(providers, utility, **given, **other).games)
