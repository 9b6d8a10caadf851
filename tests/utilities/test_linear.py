import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.preprocessing import PolynomialFeatures
from tests.conftest import linear_providers

import shapband as sb
from shapband.coalitions import members
from shapband.kernels.walks import first_occurrences
from shapband.records.batch import Batch, concat
from shapband.records.draws import Draws, FixedRows
from shapband.utilities.gram import gram_games
from shapband.utilities.linear import WIDE


def draws(rng, sizes, features=4, scale=1.0):
    slope = rng.normal(size=features)
    batches = []
    for size in sizes:
        X = rng.normal(size=(size, features)) * scale + rng.normal(size=features)
        batches.append(Batch(X, X @ slope + rng.normal(size=size)))
    return batches


def refit(batches, coalition, X_val, y_val, score, alpha=0.0):
    joined = concat([batches[i] for i in members(coalition)])
    model = Ridge(alpha) if alpha else LinearRegression()
    if not alpha and hasattr(model, "tol"):
        model.set_params(tol=1e-14)  # newer versions ignore features that vary little
    predicted = model.fit(joined.X, joined.y).predict(X_val)
    mse = np.mean((predicted - y_val) ** 2)
    return {"inverse_mse": 1 / (1 + mse), "neg_mse": -mse, "r2": 1 - mse / y_val.var()}[score]


@pytest.mark.parametrize("score", ["inverse_mse", "r2", "neg_mse"])
def test_all_coalitions_equal_scikit_learn(score):
    rng = np.random.default_rng(0)
    batches = draws(rng, [12, 15, 9, 30])
    X_val, y_val = (lambda b: (b.X, b.y))(draws(rng, [80])[0])
    utility = sb.LinearUtility(X_val, y_val, score=score)
    coalitions = range(1, 16)
    expected = [refit(batches, c, X_val, y_val, score) for c in coalitions]
    summaries = [utility.summarise(b) for b in batches]
    np.testing.assert_allclose(utility.evaluate(summaries, coalitions), expected, atol=1e-9)
    table = utility.evaluate_all(np.stack(summaries)[None])[0]
    np.testing.assert_allclose(table[1:], expected, atol=1e-9)


def test_wine_coalitions_equal_scikit_learn(wine):
    rng = np.random.default_rng(1)
    batches = [p.source.take(rng.choice(p.source.size, 60, False)) for p in wine.providers]
    summaries = [wine.utility.summarise(b) for b in batches]
    coalitions = [1 << i for i in range(10)] + rng.integers(1, 1023, 60).tolist() + [1023]
    expected = [refit(batches, c, wine.X_val, wine.y_val, "inverse_mse") for c in coalitions]
    np.testing.assert_allclose(wine.utility.evaluate(summaries, coalitions), expected, atol=1e-9)


@pytest.mark.parametrize("case", ["few records", "constant", "collinear", "duplicates"])
def test_rank_deficient_coalitions_get_the_minimum_norm_fit(case):
    rng = np.random.default_rng(2)
    batches = draws(rng, [3 if case == "few records" else 20, 25], features=5)
    deficient = batches[0].X
    if case == "constant":
        deficient[:, 2] = 0.3
    if case == "collinear":
        deficient[:, 3] = 2 * deficient[:, 0] - deficient[:, 1]
    if case == "duplicates":
        deficient[3:] = deficient[rng.integers(0, 3, 17)]
        batches[0].y[3:] = rng.normal(size=17)
    validation = draws(rng, [50], features=5)[0]
    utility = sb.LinearUtility(validation.X * [1, 10, 0.1, 1, 5], validation.y)
    for b in batches:
        b.X[:] *= [1, 10, 0.1, 1, 5]
    summaries = [utility.summarise(b) for b in batches]
    X_val = validation.X * [1, 10, 0.1, 1, 5]
    expected = [refit(batches, c, X_val, validation.y, "inverse_mse") for c in (1, 2, 3)]
    np.testing.assert_allclose(utility.evaluate(summaries, [1, 2, 3]), expected, atol=1e-7)
    table = utility.evaluate_all([summaries])[0]
    np.testing.assert_allclose(table[1:], expected, atol=1e-7)


@pytest.mark.parametrize("constant", [0.0, 0.1, 0.3, 1e-3, 2.2e-5, 1e6])
def test_a_constant_in_all_rows_leaves_the_minimum_norm_of_the_others(constant):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X_val, X = rng.normal(size=(40, 4)), rng.normal(size=(3, 4))
        X_val[:, 0] = X[:, 0] = constant
        y_val, y = X_val[:, 1:].sum(axis=1), X[:, 1:].sum(axis=1)
        utility = sb.LinearUtility(X_val, y_val, score="neg_mse")
        found = utility.evaluate([utility.summarise(Batch(X, y))], [1])[0]
        expected = -np.mean(
            (LinearRegression().fit(X[:, 1:], y).predict(X_val[:, 1:]) - y_val) ** 2
        )
        assert found == pytest.approx(expected, rel=1e-8)


def test_a_deficient_game_does_not_disturb_its_neighbours():
    rng = np.random.default_rng(3)
    utility = sb.LinearUtility(*(lambda b: (b.X, b.y))(draws(rng, [50])[0]))
    sound = [np.stack([utility.summarise(b) for b in draws(rng, [10, 10, 10])]) for _ in range(3)]
    dependent = draws(rng, [10, 10, 10])
    dependent[0].X[:, 3] = dependent[0].X[:, 1]
    broken = np.stack([utility.summarise(b) for b in dependent])
    together = utility.evaluate_all(np.stack([sound[0], broken, sound[1], sound[2]]))
    for place, game in ((0, sound[0]), (2, sound[1]), (3, sound[2])):
        np.testing.assert_array_equal(together[place], utility.evaluate_all(game[None])[0])


def test_fewer_than_two_records_are_worth_empty():
    rng = np.random.default_rng(4)
    batches = draws(rng, [1, 1])
    validation = draws(rng, [30])[0]
    utility = sb.LinearUtility(validation.X, validation.y, empty=-0.25)
    summaries = [utility.summarise(b) for b in batches]
    assert utility.evaluate(summaries, [0, 1, 2]).tolist() == [-0.25] * 3
    assert utility.evaluate(summaries, [3])[0] != -0.25
    assert utility.evaluate_all([summaries])[0, :3].tolist() == [-0.25] * 3


def test_prefixes_agree_with_the_table():
    rng = np.random.default_rng(5)
    validation = draws(rng, [40])[0]
    utility = sb.LinearUtility(validation.X, validation.y)
    games = [[utility.summarise(b) for b in draws(rng, [3, 8, 9, 12])] for _ in range(3)]
    orders = np.argsort(rng.random((3, 6, 4)), axis=2)
    table = utility.evaluate_all(games)
    masks = np.cumsum(1 << orders, axis=2)
    expected = np.take_along_axis(table[:, None, :], masks, axis=2)
    found = utility.evaluate_prefixes(games, orders, first_occurrences(orders))
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_bootstrap_duplicates_count_twice():
    rng = np.random.default_rng(6)
    batch, validation = draws(rng, [10])[0], draws(rng, [30])[0]
    utility = sb.LinearUtility(validation.X, validation.y)
    rows = np.array([[0, 1, 2, 3, 4, 5, 5, 5, 6, 7]])
    summary = utility.summarise_games([Draws(batch, FixedRows(rows))])[0, 0]
    repeated = utility.summarise(batch.take(rows[0]))
    np.testing.assert_allclose(summary, repeated, rtol=1e-12)
    assert summary[0] == 10


def table_and_refits(batches, validation, score="neg_mse", alpha=0.0):
    """The table of one game, from its summaries, and the same with scikit-learn."""
    X_val, y_val = validation.X, validation.y
    utility = sb.LinearUtility(X_val, y_val, score=score, alpha=alpha)
    games = utility.summarise_games([Draws.whole(b) for b in batches])
    expected = [refit(batches, c, X_val, y_val, score, alpha) for c in range(1, 2 ** len(batches))]
    return utility.evaluate_all(games)[0, 1:], expected


@pytest.mark.parametrize("score", ["inverse_mse", "r2", "neg_mse"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 300.0])
def test_ridge_equals_scikit_learn_in_the_features_own_units(score, alpha):
    rng = np.random.default_rng(0)
    units = np.array([1.0, 100.0, 0.01, 5.0])
    batches = [Batch(b.X * units, b.y) for b in draws(rng, [12, 15, 9, 30])]
    validation = draws(rng, [80])[0]
    found, expected = table_and_refits(
        batches, Batch(validation.X * units, validation.y), score, alpha
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_ridge_with_more_features_than_records_stays_in_the_kernel(alpha, monkeypatch):
    def fail(*_):
        raise AssertionError("left the kernel")

    monkeypatch.setattr("shapband.utilities.linear.LinearUtility._exactly", fail)
    rng = np.random.default_rng(0)
    batches, validation = draws(rng, [5, 2, 12], features=30), draws(rng, [60], features=30)[0]
    found, expected = table_and_refits(batches, validation, alpha=alpha)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_ridge_with_a_penalty_too_small_to_count_is_the_least_norm():
    rng = np.random.default_rng(0)
    batches, validation = draws(rng, [40, 40], features=3), draws(rng, [60], features=3)[0]
    for b in [*batches, validation]:
        b.X[:] *= 1e7
        b.X[:, 2] = b.X[:, 0] - b.X[:, 1]
    _, expected = table_and_refits(batches, validation)
    utility = sb.LinearUtility(validation.X, validation.y, score="neg_mse", alpha=1e-3)
    found = utility.evaluate([utility.summarise(b) for b in batches], [1, 2, 3])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_one_record_is_worth_empty_with_a_penalty_too():
    rng = np.random.default_rng(0)
    batches, validation = draws(rng, [1, 1]), draws(rng, [30])[0]
    utility = sb.LinearUtility(validation.X, validation.y, alpha=2.0, empty=-0.25)
    summaries = [utility.summarise(b) for b in batches]
    values = utility.evaluate(summaries, [0, 1, 2, 3])
    assert values[:3].tolist() == [-0.25] * 3
    assert values[3] == pytest.approx(
        refit(batches, 3, validation.X, validation.y, "inverse_mse", 2.0), rel=1e-9
    )
    np.testing.assert_allclose(utility.evaluate_all([summaries])[0], values, rtol=1e-12)


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, "1"])
def test_a_penalty_must_not_be_negative(alpha):
    with pytest.raises(sb.errors.InvalidInput, match="alpha"):
        sb.LinearUtility(np.eye(3), np.arange(3.0), alpha=alpha)


@pytest.mark.parametrize("units", [1.0, "mixed"])
@pytest.mark.parametrize("sizes", [[6, 6, 6, 6], [1, 2, 3, 20], [2, 40, 4, 4], [20, 1, 1, 1]])
def test_draws_with_fewer_records_than_features_equal_scikit_learn(sizes, units):
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.integers(-3, 4, size=20) if units == "mixed" else 1.0
    batches = [Batch(b.X * scale, b.y) for b in draws(rng, sizes, features=20)]
    validation = draws(rng, [50], features=20)[0]
    validation = Batch(validation.X * scale, validation.y)
    found, expected = table_and_refits(batches, validation)
    alone = np.array([sum(sizes[i] for i in members(c)) < 2 for c in range(1, 16)])
    np.testing.assert_allclose(found[~alone], np.array(expected)[~alone], rtol=1e-7)
    np.testing.assert_array_equal(found[alone], -validation.y.var())


@pytest.mark.parametrize("case", ["drawn twice", "repeated", "constant", "dependent", "one point"])
def test_few_records_that_depend_on_each_other(case):
    rng = np.random.default_rng(1)
    batches, validation = draws(rng, [6, 7, 4], features=20), draws(rng, [50], features=20)[0]
    X, y = batches[0].X, batches[0].y
    if case in ("drawn twice", "repeated"):
        X[3:] = X[[0, 0, 1]]
    if case == "drawn twice":
        y[3:] = y[[0, 0, 1]]
    if case == "constant":
        X[:, 3:] = 0.3
    if case == "dependent":
        X[:] = X[:, :2] @ rng.normal(size=(2, 20))
    if case == "one point":
        X[:] = X[0]
    found, expected = table_and_refits(batches, validation)
    if case == "one point":  # scikit-learn fits the rounding errors of the mean
        expected[0] = -np.mean((validation.y - y.mean()) ** 2)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_few_records_are_kept_and_many_are_not():
    rng = np.random.default_rng(0)
    utility = sb.LinearUtility(rng.normal(size=(30, 20)), rng.normal(size=30))
    ridge = sb.LinearUtility(rng.normal(size=(30, 20)), rng.normal(size=30), alpha=1.0)
    few, many = draws(rng, [20, 21], features=20)
    assert utility.summarise(few).shape == (20, 21)
    sums, in_32_digits = 22 * 23 // 2 + 20, 3 + 7 * 20 + 20 * 21
    assert utility.summarise(many).shape == (sums + in_32_digits,) == ridge.summarise(few).shape
    for which in (few, many):
        assert utility.summary_floats(len(which)) == utility.summarise(which).size
    sb.testing.check_utility(utility, [(b.X, b.y) for b in draws(rng, [9, 40, 30], features=20)])


def test_many_features_take_little_memory():
    """Dependent features of 3 × 1,023 coalitions; each has 30,000 numbers, together 700 MB."""
    import tracemalloc

    rng = np.random.default_rng(0)
    batches, validation = draws(rng, [12] * 10, features=150), draws(rng, [9], features=150)[0]
    utility = sb.LinearUtility(validation.X, validation.y)
    rows = np.tile(np.arange(12), (3, 1))
    games = utility.summarise_games([Draws(b, FixedRows(rows)) for b in batches])
    tracemalloc.start()
    utility.evaluate_all(games)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


class Centred:
    """A transformer whose rows depend on each other."""

    def transform(self, X):
        return X - X.mean(axis=0)


@pytest.mark.parametrize("make", [sb.LinearUtility, sb.LogisticUtility])
def test_an_embedding_that_mixes_rows_is_refused(make):
    with pytest.raises(sb.errors.InvalidInput, match=r"X_val: embed must treat every row alone"):
        make([[1.0], [2.0], [4.0]], [0, 1, 1], embed=Centred())


def test_embedded_features_are_those_of_the_fit():
    rng = np.random.default_rng(0)
    batches, validation = draws(rng, [30, 20], features=2), draws(rng, [40], features=2)[0]
    squares = PolynomialFeatures(2, include_bias=False).fit(validation.X)
    utility = sb.LinearUtility(validation.X, validation.y, score="neg_mse", embed=squares)
    found = utility.evaluate([utility.summarise(b) for b in batches], [1, 2, 3])
    embedded = [Batch(squares.transform(b.X), b.y) for b in batches]
    X_val = squares.transform(validation.X)
    expected = [refit(embedded, c, X_val, validation.y, "neg_mse") for c in (1, 2, 3)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert utility.schema.n_features == 2
    assert "embed='PolynomialFeatures'" in repr(utility)
    sb.testing.check_utility(utility)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_many_features_equal_scikit_learn(alpha):
    """Some features are constant in some coalitions, and some depend on others."""
    rng = np.random.default_rng(0)
    features = WIDE + 5
    batches = draws(rng, [2 * features, 300, 2 * features], features)
    for at, batch in enumerate(batches):
        batch.X[:, 3] = at
        if at < 2:
            batch.X[:, 8] = batch.X[:, 7] + batch.X[:, 6]
    validation = draws(rng, [400], features)[0]
    found, expected = table_and_refits(batches, validation, alpha=alpha)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_many_features_have_the_same_values_asked_in_all_ways():
    rng, features = np.random.default_rng(0), WIDE
    batches = draws(rng, [2 * features] * 4, features)
    validation = draws(rng, [200], features)[0]
    utility = sb.LinearUtility(validation.X, validation.y)
    games = [[utility.summarise(batch) for batch in batches]] * 2
    table = utility.evaluate_all(games)
    orders = np.argsort(rng.random((2, 3, 4)), axis=2)
    prefixes = utility.evaluate_prefixes(games, orders, first_occurrences(orders))
    masks = np.cumsum(1 << orders, axis=2)
    np.testing.assert_allclose(prefixes, table[0][masks], rtol=1e-12)
    arcs = np.array([[0, 1, 2], [1, 0, 3]])
    found = utility.evaluate_arcs(games, orders, arcs)
    for a, (g, circle, size) in enumerate(arcs):
        for at in range(4):
            mask = sum(1 << orders[g, circle, (at + k) % 4] for k in range(size))
            np.testing.assert_allclose(found[a, at], table[0][mask], rtol=1e-12)


def test_many_features_have_the_same_bits_for_any_workers_and_chunks():
    providers, (X, y) = linear_providers(4, 600, WIDE)
    utility = sb.LinearUtility(X, y)
    given = {"sampling": sb.Fresh(2 * WIDE), "solver": sb.Exact(), "n_games": 5, "seed": 4}
    whole = sb.value(providers, utility, **given)
    for other in ({"chunk_size": 1}, {"chunk_size": 2, "n_jobs": 2}):
        assert np.array_equal(whole.games, sb.value(providers, utility, **given, **other).games)


def test_two_records_are_fitted_in_many_digits_and_one_is_not():
    X, y = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 3.0, 6.0])
    utility = sb.LinearUtility(X, y, "neg_mse")
    parts = slice(0, 2), slice(2, 3)
    draws = [Draws.whole(Batch(X[part], y[part])) for part in parts]
    games = gram_games(draws, [X[part] for part in parts], utility._centre)
    found = utility._answer(games, 0, np.array([[1, 0], [0, 1]], dtype=np.uint8))
    # The line through two records, 1 + 2 x, misses the third target by 1.
    assert found == pytest.approx([-1 / 3, utility.empty])
