"""The compiled kernels give the values of the plain ones, and are not disturbed by neighbours."""

import numpy as np
import pytest
from tests.reference import exact_fits as plain_exact_fits
from tests.reference import exact_sums as plain_exact_sums
from tests.reference import least_norm as plain_least_norm
from tests.reference import linear as plain
from tests.reference import linear_wide as plain_wide
from tests.reference import shuffle as plain_shuffle
from tests.reference.walks import coalitions_of

from benchmarks import operations
from shapband.kernels.compiled import exact_fits as compiled_exact_fits
from shapband.kernels.compiled import exact_sums as compiled_exact_sums
from shapband.kernels.compiled import least_norm as compiled_least_norm
from shapband.kernels.compiled import linear as compiled
from shapband.kernels.compiled import linear_wide as compiled_wide
from shapband.kernels.compiled import shuffle as compiled_shuffle
from shapband.kernels.walks import first_occurrences, walk_of_rows, walk_of_table


def gram(kernels, X, y, rows, mean, inv_scale, y_mean):
    """Gram matrices (g, S) of one provider, relative to the mean."""
    p = X.shape[1] + 1
    summaries = np.full((len(rows), 1, (p + 1) * (p + 2) // 2 + p - 1), np.nan)
    kernels.gram_summaries(X, y, rows, inv_scale, y_mean, summaries, 0)
    np.testing.assert_array_equal(summaries[:, 0, 1 - p :], X[rows[:, 0]])
    moved, clear = kernels.recentred(summaries, mean, inv_scale)
    assert clear.all()
    return moved[:, 0]


def games(seed, n_games=4, n=5, features=3, size=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, features)) + 2.0
    y = X @ rng.normal(size=features) + rng.normal(size=200)
    mean, inv_scale = X.mean(axis=0), 1 / X.std(axis=0)
    rows = rng.integers(0, 200, size=(n_games * n, size))
    summaries = gram(compiled, X, y, rows, mean, inv_scale, y.mean())
    whole = gram(compiled, X, y, np.arange(200)[None], mean, inv_scale, y.mean())[0] / 200
    p = features + 1
    moments = whole[: -p - 1].copy(), whole[-p - 1 : -1].copy()
    form = (*moments, float(y.var()), np.zeros(len(whole)), 1.0)
    return (X, y, rows, mean, inv_scale, y.mean()), summaries.reshape(n_games, n, -1), form


def sure(summaries):
    """Limits of games that no rounding can harm."""
    return np.full(len(summaries), np.inf)


@pytest.mark.parametrize("features", [1, 2, 3, 8, 11])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_tables_agree(features, n):
    _, summaries, form = games(features * 10 + n, n=n, features=features, size=2 * features + 4)
    one, other = (
        kernels.linear_table(summaries, sure(summaries), *form) for kernels in (plain, compiled)
    )
    assert np.isnan(one[:, 0]).all()
    assert np.isfinite(one[:, 1:]).all()
    np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("features", [1, 4, 11])
def test_prefixes_agree(features):
    _, summaries, form = games(features, n=6, features=features, size=30)
    orders = np.argsort(np.random.default_rng(0).random((4, 9, 6)), axis=2)
    first = first_occurrences(orders)
    one = plain.linear_prefixes(summaries, sure(summaries), orders, first, *form)
    other = compiled.linear_prefixes(summaries, sure(summaries), orders, first, *form)
    assert np.isfinite(one).all()
    np.testing.assert_allclose(other, one, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("features", [1, 6, 7, 8, 15, 40])
@pytest.mark.parametrize("limit", [0.0, np.inf])
def test_wide_games_agree(features, limit):
    """With the limit 0, what rounding may do is estimated for every coalition."""
    _, summaries, form = games(features, n=4, features=features, size=2 * features + 4)
    walk = walk_of_table(4)
    one, other = (
        kernels.wide_errors(summaries[0], limit, *walk, 16, *form)
        for kernels in (plain_wide, compiled_wide)
    )
    assert np.isnan(one[0])
    assert np.isfinite(one[1:]).all()
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernels", [plain_wide, compiled_wide])
def test_wide_games_leave_open_what_has_no_certain_answer(kernels):
    """Of three providers one has a constant feature, and one a single record."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 30, 9))
    X[0, :, 4] = 0.5
    y = X @ rng.normal(size=9) + rng.normal(size=(3, 30))
    sizes = [30, 30, 1]
    summaries = np.stack([
        gram(compiled, X[i], y[i], np.arange(sizes[i])[None], np.zeros(9), np.ones(9), 0.0)[0]
        for i in range(2)
    ] + [np.zeros(66)])  # fmt: skip
    row = np.concatenate([[1.0], X[2, 0], y[2, :1]])
    summaries[2] = np.outer(row, row)[np.tril_indices(11)]
    moments = summaries[1] / 30
    form = (moments[:55].copy(), moments[55:65].copy(), float(moments[65]), np.zeros(66), 1.0)
    found = kernels.wide_errors(summaries, np.inf, *walk_of_table(3), 8, *form)
    open_ones = [0b000, 0b001, 0b100]
    assert np.flatnonzero(np.isnan(found)).tolist() == open_ones
    summaries[:, -1] = 1e30  # rounding errors of such large targets change every fit
    assert np.isnan(kernels.wide_errors(summaries, 0.0, *walk_of_table(3), 8, *form)).all()


def test_a_wide_coalition_has_the_same_bits_among_others():
    _, summaries, form = games(3, n=5, features=20, size=50)
    inside = np.array([[1, 1, 0, 1, 0], [1, 0, 0, 1, 1], [0, 1, 1, 0, 0]], dtype=np.uint8)
    together = compiled_wide.wide_errors(summaries[0], 0.0, *walk_of_rows(inside), 3, *form)
    for r in range(3):
        walk = walk_of_rows(inside[r : r + 1])
        alone = compiled_wide.wide_errors(summaries[0], 0.0, *walk, 1, *form)
        np.testing.assert_array_equal(alone, together[r : r + 1])


def test_penalties_agree():
    _, summaries, form = games(1, n=5, features=4, size=3)
    penalty = np.zeros(summaries.shape[2])
    penalty[[2, 5, 9, 14]] = 0.1, 1.0, 2.0, 30.0  # the diagonal without the intercept
    form = (*form[:3], penalty, 1.0)
    orders = np.argsort(np.random.default_rng(0).random((4, 9, 5)), axis=2)
    first = first_occurrences(orders)
    inside = np.random.default_rng(1).integers(0, 2, size=(30, 5)).astype(np.uint8)
    of_game = np.sort(np.arange(30) % 4)
    for name, arguments in (
        ("linear_table", ()),
        ("linear_prefixes", (orders, first)),
        ("linear_rows", (inside, of_game)),
    ):
        one = getattr(plain, name)(summaries, sure(summaries), *arguments, *form)
        other = getattr(compiled, name)(summaries, sure(summaries), *arguments, *form)
        np.testing.assert_allclose(other, one, rtol=1e-10)
        without = getattr(compiled, name)(
            summaries, sure(summaries), *arguments, *form[:3], 0 * penalty, 1.0
        )
        assert not np.allclose(without, other, rtol=1e-3)


def test_least_norms_agree():
    rng = np.random.default_rng(0)
    edges = np.array([0, 5, 8, 8, 17, 18])
    records = rng.normal(size=(18, 31))
    records[6] = records[2]  # drawn twice
    records[10, :-1] = records[1, :-1]  # the same features with another target
    scale = rng.uniform(0.1, 10.0, size=30)
    paths = [[0], [0, 1], [0, 1, 4], [3, 2], [3, 0, 1], [1, 0]]
    rows = rng.normal(size=(50, 31))
    A, b = (rows.T @ rows / 50)[np.tril_indices(31)], rng.normal(size=31)
    fixed = (scale, A, b, 2.0, 1.0)
    walk = np.array(
        [[0, 0, 0], [1, 1, 1], [2, 4, 2], [0, 3, -1], [1, 2, 3], [1, 0, -1], [2, 1, 4],
         [0, 1, -1], [1, 0, 5]]
    ).T.copy()  # fmt: skip
    assert list(coalitions_of(walk)) == list(enumerate(paths))
    one = plain_least_norm.least_norm_errors(records, edges, *walk, 6, *fixed)
    other = compiled_least_norm.least_norm_errors(records, edges, *walk, 6, *fixed)
    assert np.isnan(one).tolist() == [False, False, False, False, True, False]
    np.testing.assert_allclose(other, one, rtol=1e-9)
    for at, path in enumerate(paths):
        steps = np.arange(len(path)), np.array(path), np.array([-1, -1, -1, 0][-len(path) :])
        alone = compiled_least_norm.least_norm_errors(records, edges, *steps, 1, *fixed)
        np.testing.assert_array_equal(alone[0], other[at])


@pytest.mark.parametrize("size", [1, 7, 8, 60, 128, 300])
def test_summaries_agree(size):
    arguments, _, _ = games(size, size=size)
    one, other = gram(plain, *arguments), gram(compiled, *arguments)
    np.testing.assert_allclose(other, one, atol=1e-9)


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
def test_lacking_rank_is_nan_and_stays_where_it_is(kernels):
    _, summaries, form = games(0, n=5, features=3)
    sound = kernels.linear_table(summaries, sure(summaries), *form)
    broken = summaries.copy()
    broken[1, 2] = 0.0
    found = kernels.linear_table(broken, sure(broken), *form)
    np.testing.assert_array_equal(found[[0, 2, 3]], sound[[0, 2, 3]])
    assert np.isnan(found[1, 0b00100])
    np.testing.assert_array_equal(found[1, 0b00001], sound[1, 0b00001])


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
def test_a_game_has_the_same_bits_alone(kernels):
    arguments, summaries, form = games(3, n_games=5, n=6)
    table = kernels.linear_table(summaries, sure(summaries), *form)
    orders = np.argsort(np.random.default_rng(0).random((5, 4, 6)), axis=2)
    first = first_occurrences(orders)
    walked = kernels.linear_prefixes(summaries, sure(summaries), orders, first, *form)
    for g in range(5):
        one = slice(g, g + 1)
        np.testing.assert_array_equal(
            kernels.linear_table(summaries[one], sure(summaries[one]), *form)[0], table[g]
        )
        alone = kernels.linear_prefixes(
            summaries[one], sure(summaries[one]), orders[one], first[one], *form
        )
        np.testing.assert_array_equal(alone[0], walked[g])
    X, y, rows, *rest = arguments
    together = gram(kernels, X, y, rows, *rest)
    np.testing.assert_array_equal(gram(kernels, X, y, rows[7:8], *rest)[0], together[7])


@pytest.mark.parametrize(("size", "k"), [(1, 1), (5, 5), (340, 60), (1000, 1)])
def test_the_same_rows_compiled_or_not(size, k):
    words = np.random.Philox(size).random_raw((20, k))
    one = plain_shuffle.first_of_shuffle(words, size)
    np.testing.assert_array_equal(compiled_shuffle.first_of_shuffle(words, size), one)
    assert all(len(set(rows)) == k for rows in one.tolist())
    assert one.max() < size


@pytest.mark.parametrize("size", [1, 7, 250, 2**40])
def test_rows_with_repeats_are_the_same(size):
    words = np.random.default_rng(0).integers(0, 2**64, size=(50, 9), dtype=np.uint64)
    words[0, :2] = 0, 2**64 - 1
    rows = compiled_shuffle.below(words, size)
    np.testing.assert_array_equal(rows, plain_shuffle.below(words, size))
    assert rows.min() >= 0
    assert rows.max() < size


def test_rows_are_chosen_evenly():
    words = np.random.Philox(0).random_raw((6000, 3))
    chosen = plain_shuffle.first_of_shuffle(words, 10)
    counts = np.bincount(chosen.ravel(), minlength=10)
    # 18,000 choices over 10 rows, without replacement in threes; 5 standard deviations.
    assert np.abs(counts - 1800).max() < 5 * np.sqrt(6000 * 0.3 * 0.7)


def test_operation_counts_of_small_systems():
    """p = 1: one division, one scaling, and one square and one product of the form."""
    assert operations.solve_operations(1) == 1 + 1 + 2
    assert operations.merge_operations(12) == 90
    assert operations.table_operations(2, 1) == 3 * (2 + 4)


def summarised(X, y):
    """The summary of records as they are, neither centred nor scaled."""
    d = X.shape[1]
    every = np.arange(len(y))[None]
    return gram(plain, X, y, every, np.zeros(d), np.ones(d), 0.0)[0]


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize("constants", [[0], [2], [0, 1], [0, 1, 2]])
def test_constant_features_are_left_out(kernels, constants):
    rng = np.random.default_rng(0)
    X, X_val = rng.normal(size=(12, 3)), rng.normal(size=(40, 3))
    X[:, constants] = [1.5, 0.0, -3.0][: len(constants)]
    y, y_val = rng.normal(size=12), rng.normal(size=40)
    moments = summarised(X_val, y_val) / 40
    form = moments[:-5].copy(), moments[-5:-1].copy(), moments[-1], np.zeros(15), 1.0
    others = rng.normal(size=(12, 3))
    games = np.stack([summarised(X, y), summarised(others, y)])[None]
    found = kernels.linear_table(games, sure(games), *form)[0]
    orders = np.array([[[0, 1]]])
    walked = kernels.linear_prefixes(games, sure(games), orders, np.zeros_like(orders), *form)[0, 0]
    with_ones = np.column_stack([np.ones(12), X])
    beta = np.linalg.lstsq(np.delete(with_ones, np.add(constants, 1), axis=1), y)[0]
    kept = np.delete(np.column_stack([np.ones(40), X_val]), np.add(constants, 1), axis=1)
    assert found[0b01] == pytest.approx(np.mean((kept @ beta - y_val) ** 2), rel=1e-9)
    assert walked[0] == found[0b01]
    # Together they vary, and every feature counts again.
    both = np.column_stack([np.ones(24), np.concatenate([X, others])])
    beta = np.linalg.lstsq(both, np.concatenate([y, y]))[0]
    expected = np.mean((np.column_stack([np.ones(40), X_val]) @ beta - y_val) ** 2)
    assert found[0b11] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kernels", [plain, compiled], ids=["plain", "compiled"])
def test_what_has_no_simple_answer_is_left_open(kernels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    X[:, 2] = X[:, 0] + X[:, 1]
    y = rng.normal(size=12)
    form = np.eye(4)[np.tril_indices(4)], np.zeros(4), 1.0, np.zeros(15), 1.0
    dependent, alone = summarised(X, y), summarised(X[:1], y[:1])
    assert np.isnan(kernels.linear_table(dependent[None, None], sure([0]), *form)).all()
    assert np.isnan(kernels.linear_table(alone[None, None], sure([0]), *form)).all()


def exact_game(seed, sizes, features, change=None, alpha=0.0):
    """Arguments of the exact fits of all coalitions, but for the sums of draws, and the records."""
    rng = np.random.default_rng(seed)
    parts = [(rng.normal(size=(n, features)), rng.normal(size=n)) for n in sizes]
    if change is not None:
        for X, _ in parts:
            change(X)
    n = len(sizes)
    masks = np.arange(1, 2**n)
    inside = (masks[:, None] >> np.arange(n) & 1).astype(np.uint8)
    anchors = np.stack([X[0] for X, _ in parts])
    rows = rng.normal(size=(features, 7))
    return parts, (anchors, inside, alpha, np.array([1e-10, 1e-20]), rows, rng.normal(size=7))


def duplicate_in_other_units(X):
    X[:, 2] = X[:, 0] * 2.0**40


def nearly_dependent(X):
    X[:, 2] = X[:, 0] + 1e-4 * X[:, 2]


def counted_as_dependent(X):
    X[:, 2] = X[:, 0] + 1e-6 * X[:, 2]


def far_apart(X):
    X *= [1e120, 1e-120, 1.0]
    X[:, 1] += 1e-110


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("sizes", [(5, 6, 4), (1, 2, 1)])
@pytest.mark.parametrize(
    "change",
    [None, duplicate_in_other_units, nearly_dependent, counted_as_dependent, far_apart],
)
def test_exact_fits_agree(change, sizes, alpha):
    parts, arguments = exact_game(0, sizes, 3, change, alpha)
    found = []
    for sums, fits in (
        (plain_exact_sums, plain_exact_fits),
        (compiled_exact_sums, compiled_exact_fits),
    ):
        draws = [sums.all_draw_sums(X, y, np.arange(len(y))[None])[0] for X, y in parts]
        found.append(fits.exact_errors(np.stack(draws), *arguments))
    few = [sum(n for i, n in enumerate(sizes) if mask >> i & 1) < 2 for mask in range(1, 8)]
    assert np.isnan(found[0]).tolist() == few
    np.testing.assert_allclose(found[1], found[0], rtol=1e-13)


def test_exact_sums_agree():
    rng = np.random.default_rng(0)
    X, y = (
        rng.normal(size=(30, 4)) * [1.0, 1e-150, 1e150, 1e-5] + [0, 0, 0, 1e6],
        rng.normal(size=30),
    )
    X[:, 0] = 0.1
    rows = rng.integers(0, 30, size=(3, 9))
    one, other = (
        plain_exact_sums.all_draw_sums(X, y, rows),
        compiled_exact_sums.all_draw_sums(X, y, rows),
    )
    assert other.shape == (3, compiled_exact_sums.size_of(4)) == (3, plain_exact_sums.size_of(4))
    np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-28)


def test_what_rounding_may_change_is_left_open():
    for apart, sure_of in ((1e-1, True), (2e-3, False)):
        rng = np.random.default_rng(0)
        X, X_val = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
        X[:, 2] = X[:, 0] + apart * X[:, 2]
        moments = summarised(X_val, X_val.sum(axis=1)) / 30
        form = moments[:-5].copy(), moments[-5:-1].copy(), moments[-1], np.zeros(15), 1.0
        games = summarised(X, 1e3 * X.sum(axis=1))[None, None]
        for kernels in (plain, compiled):
            limits = kernels.harmless(games, form[0], form[2], 4, 1.0)
            np.testing.assert_allclose(limits, plain.harmless(games, form[0], form[2], 4, 1.0))
            assert np.isfinite(kernels.linear_table(games, limits, *form)[0, 1]) == sure_of
            assert np.isfinite(kernels.linear_table(games, sure(games), *form)[0, 1])
