"""Tests of the neighbour kernels, compiled and plain."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from tests.reference import nearest_neighbor as plain_nearest
from tests.reference import neighbor_halves as plain_halves
from tests.reference import neighbor_lists as plain_lists
from tests.reference import neighbor_sets as plain_sets
from tests.reference import neighbors as plain_losses
from tests.reference.walks import coalitions_of

from shapband.kernels.compiled import nearest_neighbor as compiled_nearest
from shapband.kernels.compiled import neighbor_halves as compiled_halves
from shapband.kernels.compiled import neighbor_lists as compiled_lists
from shapband.kernels.compiled import neighbor_sets as compiled_sets
from shapband.kernels.compiled import neighbors as compiled_losses
from shapband.kernels.walks import walk_of_orders, walk_of_rows, walk_of_table


def room(lists, losses):
    """One way to compute lists, tables and prefixes, under one name."""

    def summaries(X, y, rows, X_val, k):
        found = np.full((len(rows), 2, k, len(X_val)), np.nan)
        lists(X, y, rows, X_val, found)
        return found

    def table(summaries, y_val, classify):
        n = summaries.shape[1]
        return np.stack(
            [losses(game, walk_of_table(n), 1 << n, y_val, classify)[0] for game in summaries]
        )

    def prefixes(summaries, orders, first, y_val, classify):
        found = np.empty(orders.shape)
        for g, game in enumerate(summaries):
            walk = walk_of_orders(orders[g], first[g])
            found[g].flat = losses(game, walk, orders[g].size, y_val, classify)[0]
        return np.take_along_axis(found, first, axis=1)

    return SimpleNamespace(
        neighbor_summaries=summaries, neighbor_table=table, neighbor_prefixes=prefixes
    )


compiled = room(compiled_lists.fill_lists, compiled_losses.neighbor_losses)
plain = room(plain_lists.fill_lists, plain_losses.neighbor_losses)
MODULES = [compiled, plain]


def make_game(seed, n, size, m, d, games=2, ties=False, classes=0):
    """Return X, y, rows (n, g, size), X_val, y_val."""
    rng = np.random.default_rng(seed)
    total = n * size * 2
    if ties:
        X = rng.integers(0, 4, (total, d)).astype(float)
        X_val = rng.integers(0, 8, (m, d)) / 2.0
    else:
        X, X_val = rng.normal(size=(total, d)), rng.normal(size=(m, d))
    if classes:
        y, y_val = (rng.integers(0, classes, s).astype(float) for s in (total, m))
    elif ties:
        y, y_val = (rng.integers(-3, 4, s).astype(float) for s in (total, m))
    else:
        y, y_val = rng.normal(size=total), rng.normal(size=m)
    rows = np.stack(
        [
            np.stack([rng.choice(total, size, replace=ties) for _ in range(games)])
            if ties
            else rng.permutation(total)[: games * size].reshape(games, size)
            for _ in range(n)
        ]
    )
    return X, y, rows, X_val, y_val


def summarise(module, X, y, rows, X_val, k):
    parts = [module.neighbor_summaries(X, y, r, X_val, k) for r in rows]
    return np.ascontiguousarray(np.stack(parts, axis=1))


def first_of(orders):
    first = np.empty_like(orders)
    for g, t, s in np.ndindex(*orders.shape):
        own = set(orders[g, t, : s + 1])
        first[g, t, s] = next(u for u in range(t + 1) if set(orders[g, u, : s + 1]) == own)
    return first


def brute_table(X, y, rows, X_val, y_val, k, classify, g):
    """The definition, record by record."""
    n = rows.shape[0]
    out = np.zeros(1 << n)
    for mask in range(1, 1 << n):
        records = [j for i in range(n) if mask >> i & 1 for j in rows[i, g]]
        if not records:
            continue
        losses = []
        for point, truth in zip(X_val, y_val, strict=True):
            pairs = []
            for j in records:
                distance = 0.0
                for a, b in zip(X[j], point, strict=True):
                    distance += (a - b) ** 2
                pairs.append((distance, y[j]))
            labels = [t for _, t in sorted(pairs)[:k]]
            if classify:
                guess = min(set(labels), key=lambda t: (-labels.count(t), t))
                losses.append(float(guess != truth))
            else:
                losses.append((sum(labels) / len(labels) - truth) ** 2)
        out[mask] = np.mean(losses)
    return out


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(("k", "d"), list(itertools.product([1, 3, 5], [1, 4])))
@pytest.mark.parametrize("classify", [False, True])
def test_against_sklearn(module, k, d, classify):
    X, y, rows, X_val, y_val = make_game(k + d, 4, 12, 37, d, classes=3 * classify)
    table = module.neighbor_table(summarise(module, X, y, rows, X_val, k), y_val, classify)
    assert (table[:, 0] == 0).all()
    model = KNeighborsClassifier(k) if classify else KNeighborsRegressor(k)
    for g, mask in itertools.product(range(2), range(1, 16)):
        j = np.concatenate([rows[i, g] for i in range(4) if mask >> i & 1])
        guess = model.fit(X[j], y[j]).predict(X_val)
        expected = np.mean(guess != y_val) if classify else np.mean((guess - y_val) ** 2)
        assert table[g, mask] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(("k", "d"), list(itertools.product([1, 2, 3, 6], [1, 2, 3])))
@pytest.mark.parametrize("classify", [False, True])
@pytest.mark.parametrize("size", [1, 2, 9])
def test_ties_against_definition(module, k, d, classify, size):
    X, y, rows, X_val, y_val = make_game(
        10 * k + d, 4, size, 11, d, games=1, ties=True, classes=3 * classify
    )
    rows[2] = rows[1]
    table = module.neighbor_table(summarise(module, X, y, rows, X_val, k), y_val, classify)
    expected = brute_table(X, y, rows, X_val, y_val, k, classify, 0)
    np.testing.assert_allclose(table[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("classify", [False, True])
def test_providers_without_records(module, k, classify):
    X, y, rows, X_val, y_val = make_game(3, 5, 2, 13, 2, ties=True, classes=3 * classify)
    summaries = summarise(module, X, y, rows, X_val, k)
    empty = module.neighbor_summaries(X, y, rows[0][:, :0], X_val, k)
    assert np.isinf(empty[:, 0]).all()
    assert (empty[:, 1] == 0).all()
    summaries[:, 1], summaries[:, 3] = empty, empty
    table = module.neighbor_table(summaries, y_val, classify)
    for mask in range(32):
        np.testing.assert_array_equal(table[:, mask], table[:, mask & ~10])
    assert (table[:, [0, 2, 8, 10]] == 0).all()
    assert (table == 0).sum() == 8
    orders = np.stack([np.stack([np.array([1, 3, 0, 2, 4]), np.array([3, 1, 0, 4, 2])])] * 2)
    check_prefixes(module, summaries, orders, y_val, classify, table)


def check_prefixes(module, summaries, orders, y_val, classify, table):
    loss = module.neighbor_prefixes(summaries, orders, first_of(orders), y_val, classify)
    for g, t, s in np.ndindex(*orders.shape):
        mask = sum(1 << i for i in orders[g, t, : s + 1])
        np.testing.assert_allclose(loss[g, t, s], table[g, mask], rtol=0, atol=1e-12)


@pytest.mark.parametrize(("k", "d"), list(itertools.product([1, 2, 5], [1, 3])))
@pytest.mark.parametrize("classify", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_compiled_equals_plain_and_prefixes_equal_table(k, d, classify, ties):
    n = 6
    X, y, rows, X_val, y_val = make_game(7, n, 8, 29, d, games=3, ties=ties, classes=4 * classify)
    fast, slow = (summarise(module, X, y, rows, X_val, k) for module in MODULES)
    np.testing.assert_array_equal(fast, slow)
    tables = [module.neighbor_table(fast, y_val, classify) for module in MODULES]
    np.testing.assert_allclose(*tables, rtol=1e-12, atol=1e-12)
    rng = np.random.default_rng(0)
    orders = np.array([[rng.permutation(n) for _ in range(9)] for _ in range(3)])
    orders[:, 5] = orders[:, 2]
    for module in MODULES:
        check_prefixes(module, fast, orders, y_val, classify, tables[0])


@pytest.mark.parametrize(("k", "d"), list(itertools.product([1, 4], [1, 2])))
def test_a_game_does_not_depend_on_the_others(k, d):
    X, y, rows, X_val, y_val = make_game(11, 5, 20, 101, d, games=4)
    summaries = summarise(compiled, X, y, rows, X_val, k)
    rng = np.random.default_rng(0)
    orders = np.array([[rng.permutation(5) for _ in range(6)] for _ in range(4)])
    first = first_of(orders)
    table = compiled.neighbor_table(summaries, y_val, False)
    loss = compiled.neighbor_prefixes(summaries, orders, first, y_val, False)
    for g in range(4):
        one = slice(g, g + 1)
        alone = summarise(compiled, X, y, rows[:, one].copy(), X_val, k)
        np.testing.assert_array_equal(alone, summaries[one])
        np.testing.assert_array_equal(compiled.neighbor_table(alone, y_val, False), table[one])
        np.testing.assert_array_equal(
            compiled.neighbor_prefixes(alone, orders[one], first[one], y_val, False),
            loss[one],
        )


@pytest.mark.parametrize(("k", "d"), list(itertools.product([1, 3], [1, 2])))
@pytest.mark.parametrize("ties", [False, True])
def test_order_of_records_and_providers(k, d, ties):
    n = 5
    X, y, rows, X_val, y_val = make_game(13, n, 15, 50, d, ties=ties)
    table = compiled.neighbor_table(summarise(compiled, X, y, rows, X_val, k), y_val, False)
    shuffled = rows[:, :, np.random.default_rng(1).permutation(15)]
    again = compiled.neighbor_table(
        summarise(compiled, X, y, np.ascontiguousarray(shuffled), X_val, k), y_val, False
    )
    np.testing.assert_array_equal(again, table)
    order = np.array([3, 0, 4, 1, 2])
    moved = compiled.neighbor_table(summarise(compiled, X, y, rows[order], X_val, k), y_val, False)
    for mask in range(1, 1 << n):
        old = sum(1 << order[i] for i in range(n) if mask >> i & 1)
        np.testing.assert_allclose(moved[:, mask], table[:, old], rtol=1e-13)


@pytest.mark.parametrize("k", [1, 2, 4, 50])
@pytest.mark.parametrize(
    "values",
    [
        np.r_[1e300, np.linspace(0, 1, 40)],
        np.full(41, 2.0),
        np.r_[np.arange(20) * 1e-20, np.arange(21) + 1.0],
        np.arange(41) * 5e-324,
        np.repeat([0.0, 1.0], [20, 21]),
    ],
)
def test_awkward_lines(k, values):
    rng = np.random.default_rng(5)
    y = rng.integers(-4, 4, 41).astype(float)
    X_val = np.array([[1.0], [0.5], [-3.0], [0.5], [1e6], [2.0], [1e-20]])
    rows = np.array([rng.permutation(41), rng.integers(0, 41, 41)])
    with np.errstate(over="ignore"):
        fast, slow = (
            module.neighbor_summaries(values[:, None], y, rows, X_val, k) for module in MODULES
        )
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize(("k", "classify"), list(itertools.product([1, 2, 5], [False, True])))
def test_wide_ranks_and_blocks(k, classify):
    """The paths chosen for many records agree with those for few."""
    X, y, rows, X_val, y_val = make_game(17, 5, 9, 600, 2, games=1, classes=3 * classify)
    summaries = summarise(compiled, X, y, rows, X_val, k)
    table = compiled.neighbor_table(summaries, y_val, classify)[0]
    steps = walk_of_table(5)
    for kind in (np.int16, np.int32):
        last = (32, y_val, classify, kind(5 * k))
        loss, found = compiled_losses._losses(summaries[0], *steps, *last)
        np.testing.assert_array_equal(loss, table)
        assert (found[1:] == k).all()
    expected = plain.neighbor_table(summaries, y_val, classify)[0]
    np.testing.assert_allclose(table, expected, rtol=1e-12)


@pytest.mark.parametrize("classify", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("k", "length"), [(1, 1), (5, 5), (30, 12), (70, 40)])
def test_sets_of_neighbours_agree(k, length, weighted, classify):
    rng = np.random.default_rng(k)
    squares = np.sort(rng.integers(0, 60, size=(2, 4, length, 300)) / 4, axis=2)
    squares[1, 2, length // 2 + 1 :] = np.inf  # a provider with fewer records
    squares[0, 3] = np.inf
    targets = rng.integers(0, 4, size=squares.shape) * (squares < np.inf) * 1.0
    order = np.lexsort((targets, squares), axis=2)
    summaries = np.stack(
        [np.take_along_axis(squares, order, 2), np.take_along_axis(targets, order, 2)], axis=2
    )
    y_val = rng.integers(0, 4, size=300) * 1.0
    walk = walk_of_table(4)
    for g, summary in enumerate(summaries):
        asked = (summary, walk, 16, y_val, classify)
        one, counts = plain_sets.neighbor_losses(*asked, k, weighted)
        other, found = compiled_sets.neighbor_losses(*asked, k, weighted)
        np.testing.assert_array_equal(found, counts)
        assert (one == 0).sum() == (2 if g == 0 else 1)  # nobody, and who has no records
        np.testing.assert_allclose(other, one, rtol=1e-11)
        if not weighted and k == length:
            np.testing.assert_array_equal(other, compiled_losses.neighbor_losses(*asked)[0])


@pytest.mark.parametrize(("k", "classify"), list(itertools.product([1, 3], [False, True])))
@pytest.mark.parametrize("ties", [False, True])
def test_tables_of_the_nearest_neighbour_agree(k, classify, ties):
    X, y, rows, X_val, y_val = make_game(23, 5, 6, 70, 2, ties=ties, classes=3 * classify)
    summaries = summarise(compiled, X, y, rows, X_val, k)[:, :, :, :1].copy()
    summaries[1, 3, 0], summaries[1, 3, 1] = np.inf, 0.0  # a provider without records
    found = compiled_nearest.nearest_tables(summaries, y_val, classify)
    expected = plain_nearest.nearest_tables(summaries, y_val, classify)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_coalitions_given_as_rows_are_walked_once_each():
    rng = np.random.default_rng(2)
    inside = rng.integers(0, 2, size=(40, 5)).astype(np.uint8)
    inside[7] = 0
    walk = walk_of_rows(inside)
    met = dict(coalitions_of(walk))
    assert met == {r: np.flatnonzero(row).tolist() for r, row in enumerate(inside) if row.any()}
    assert len(np.unique(inside, axis=0)) < len(inside)
    assert len(walk.sizes) < inside.sum()  # coalitions share the steps of their first members


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("ties", [False, True])
def test_tables_from_two_halves_agree(n, k, ties):
    """Draws of 3 records, so that lists of 5 have missing entries; blocks are not filled."""
    X, y, rows, X_val, y_val = make_game(k, n, 3, 75, 2, ties=ties)
    for summary in summarise(compiled, X, y, rows, X_val, k):
        expected, expected_found = plain_halves.regression_table(summary, y_val)
        found, neighbours = compiled_halves.regression_table(summary, y_val)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_array_equal(neighbours, expected_found)


@pytest.mark.parametrize("k", [1, 4, 5, 6, 10, 13, 20, 21])
@pytest.mark.parametrize("size", [1, 7, 40, 150])
@pytest.mark.parametrize("ties", [False, True])
def test_lists_of_several_features_have_the_bits_of_the_definition(k, size, ties):
    """Lists beyond five records need several passes, and beyond twenty another loop."""
    X, y, rows, X_val, _ = make_game(size, 2, size, 43, 3, ties=ties)
    found = summarise(compiled, X, y, rows, X_val, k)
    np.testing.assert_array_equal(found, summarise(plain, X, y, rows, X_val, k))
    assert np.isinf(found[:, :, 0, size:]).all()
    assert np.isfinite(found[:, :, 0, :size]).all()
