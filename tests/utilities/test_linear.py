import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import shapband as sb
from shapband.coalitions import members
from shapband.draws import Draws, FixedRows
from shapband.kernels.walks import first_occurrences
from shapband.records import Batch, concat


def draws(rng, sizes, features=4, scale=1.0):
    slope = rng.normal(size=features)
    batches = []
    for size in sizes:
        X = rng.normal(size=(size, features)) * scale + rng.normal(size=features)
        batches.append(Batch(X, X @ slope + rng.normal(size=size)))
    return batches


def refit(batches, coalition, X_val, y_val, score):
    joined = concat([batches[i] for i in members(coalition)])
    predicted = LinearRegression().fit(joined.X, joined.y).predict(X_val)
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
    table = utility.evaluate_all(np.stack(summaries)[None])[0]
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
    broken = np.stack([utility.summarise(b) for b in draws(rng, [2, 10, 10])])
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
    assert utility.evaluate_all(np.stack(summaries)[None])[0, :3].tolist() == [-0.25] * 3


def test_prefixes_agree_with_the_table():
    rng = np.random.default_rng(5)
    validation = draws(rng, [40])[0]
    utility = sb.LinearUtility(validation.X, validation.y)
    games = np.stack(
        [np.stack([utility.summarise(b) for b in draws(rng, [3, 8, 9, 12])]) for _ in range(3)]
    )
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
